"""Each remedy that doctor names is one: break something, do what it says, and it is mended."""

import os
import pwd
import re
import resource
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from deniable.directory import read_authority_key
from deniable.doctor.diagnosis import Diagnosis, Status
from deniable.stores.sqlite import SqliteStore
from deniable.stores.sqlite.database import VERSION
from tests.cli.commands import Workplace
from tests.cli.test_doctor import examined
from tests.support.effort import some
from tests.support.surveys import AUTHORITY

HTTPS = "https://collector.example"
NOBODY = pwd.getpwnam("nobody").pw_uid
"""Somebody else, if root runs the tests."""
ROOT = not os.geteuid()


@dataclass
class Broken:
    """A collector with something wrong, and what doctor told to do."""

    place: Workplace
    monkeypatch: pytest.MonkeyPatch
    remedy: str = ""
    user: int = 0
    may_grow: bool = True

    @property
    def folder(self) -> Path:
        return self.place.directory

    @property
    def store(self) -> Path:
        return self.folder / "store.sqlite"

    @property
    def backup(self) -> Path:
        return self.folder.with_name("backup.sqlite")

    def execute(self, statement: str) -> None:
        with closing(sqlite3.connect(self.store)) as store, store:
            store.execute(statement)

    def do(self, behind: str = "^") -> None:
        """Run the shell's command that the remedy has behind some words, or is."""
        command = re.split(behind, self.remedy, maxsplit=1)[1]
        subprocess.run(["/bin/sh", "-c", command], check=True)

    def empty(self) -> None:
        for file in self.folder.glob("store.sqlite*"):
            file.unlink()

    def begin_anew(self) -> None:
        self.empty()
        self.store.touch()
        self.place.succeed("store migrate")

    def restore(self) -> None:
        self.empty()
        self.place.succeed("store restore", self.backup)


Act = Callable[[Broken], object]


def setting(**changes: str) -> Act:
    return lambda it: it.place.set(**changes)


def ours(words: str) -> Act:
    """Return the act of running a command of ours, which the remedy has."""

    def act(it: Broken) -> None:
        assert f"deniable {words.removesuffix(' --yes')}" in it.remedy
        it.place.succeed(words)

    return act


def open_to_others(it: Broken) -> None:
    it.folder.chmod(0o755)
    it.store.chmod(0o644)


def inside(it: Broken) -> Path:
    return it.folder / it.place.key_file.name


def take_out(it: Broken) -> None:
    inside(it).unlink()
    it.place.key_file.rename(it.place.key_file.with_name("offline"))


OPEN = {"origin": f'"{HTTPS}"', "host": '"0.0.0.0"', "trusted_proxies": '["127.0.0.1"]'}


def of_another(it: Broken) -> None:
    """As root, look as somebody else; anybody else takes their own rights away."""
    if not ROOT:
        it.store.chmod(0o400)
        return
    it.user = NOBODY
    it.folder.chmod(0o755)
    it.place.settings.chmod(0o644)


def take_back(it: Broken) -> None:
    if not ROOT:
        it.store.chmod(0o600)
        return
    assert "runuser -u root -- deniable doctor" in it.remedy
    it.user = 0


def in_another_time(it: Broken) -> None:
    async def time(_: SqliteStore) -> float:
        return 2.0**31

    it.monkeypatch.setattr(SqliteStore, "time", time)


def without_surveys(it: Broken) -> None:
    it.begin_anew()
    it.folder.with_name("collector-log.127.0.0.1_8377.checkpoint").unlink()


def with_epochs_that_are_over(it: Broken) -> None:
    past = datetime.now(UTC) - timedelta(days=10)
    it.place.publish(name='"coffee"', start=past.isoformat(timespec="seconds"))
    it.place.count([0], epoch=0, name="coffee")


def right_authority(it: Broken) -> None:
    it.place.set(authority=f'"{read_authority_key(it.place.key_file).public_key.hex()}"')


@dataclass
class State:
    """What is wrong: the check that must notice, what breaks it, the remedy's words, what mends."""

    check: str
    breaks: Act
    told: tuple[str, ...]
    mends: Act
    status: Status = Status.FAIL


def doubtful(check: str, breaks: Act, told: tuple[str, ...], mends: Act) -> State:
    """Return a state in which the server serves all the same, and the exit status is 0."""
    return State(check, breaks, told, mends, Status.WARN)


RESTORE = ("stop the server", "its file and the -wal and -shm files", "deniable store restore")
STATES = {
    "a misspelt variable": doubtful(
        "environment", lambda it: it.monkeypatch.setenv("DENIABLE_PROT", "1"),
        ("check the spelling",), lambda it: it.monkeypatch.delenv("DENIABLE_PROT"),
    ),
    "files that others may read": doubtful("file modes", open_to_others, (), Broken.do),
    "a key in the directory": State(
        "authority key", lambda it: shutil.copy2(it.place.key_file, inside(it)),
        ("move it off the server",), take_out,
    ),
    "a relay without gateway": doubtful(
        "gateway", setting(relays='["192.0.2.7"]'), (), ours("gateway new")
    ),
    "plain HTTP that is open to all": doubtful(
        "proxy", setting(**OPEN), ("set host to 127.0.0.1",), setting(host='"127.0.0.1"')
    ),
    "a proxy that is not trusted": doubtful(
        "proxy", setting(origin=f'"{HTTPS}"'),
        ("set trusted_proxies to the proxy's address, such as 127.0.0.1",),
        setting(trusted_proxies='["127.0.0.1"]'),
    ),
    "a lost store": State("store", Broken.empty, ("deniable store restore",), Broken.restore),
    "a store that is not there": State(
        "store", setting(store='"elsewhere/store.sqlite"'), ("check `store`",),
        setting(store='"store.sqlite"'),
    ),
    "an empty store": doubtful(
        "store", lambda it: it.store.write_bytes(b""), ("deniable store backup FILE",),
        ours("store migrate"),
    ),
    "a newer store": State(
        "store", lambda it: it.execute(f"PRAGMA user_version={VERSION + 1}"),
        ("upgrade deniable",), lambda it: it.execute(f"PRAGMA user_version={VERSION}"),
    ),
    "a store that is damaged": State(
        "store", lambda it: it.store.write_bytes(b"no database, but long enough" * 100),
        RESTORE, Broken.restore,
    ),
    "counts without receipts": State(
        "recount", lambda it: it.execute("DELETE FROM receipts"), ("Stop the server", *RESTORE[1:]),
        Broken.restore,
    ),
    "a store of another user": State("store", of_another, (), take_back),
    "clocks that differ": State(
        "store's clock", in_another_time, ("correct the wrong clock",),
        lambda it: it.monkeypatch.undo(),
    ),
    "settings of another user": State(
        "settings", lambda it: setattr(it, "user", NOBODY),
        ("runuser -u root -- deniable doctor",), lambda it: setattr(it, "user", 0),
    ),
    "a file that must not grow": State(
        "store", lambda it: setattr(it, "may_grow", False), ("free space", "ulimit -f"),
        lambda it: setattr(it, "may_grow", True),
    ),
    "nothing that is published": doubtful(
        "surveys", without_surveys, ("deniable survey publish FILE",),
        lambda it: it.place.publish(),
    ),
    "an epoch that nobody sealed": doubtful(
        "seals", with_epochs_that_are_over, (), ours("survey seal coffee 0 --yes")
    ),
    "another authority": State(
        "authority", setting(authority=f'"{AUTHORITY.public_key.hex()}"'),
        ("check that `authority` is the key that apps pin",), right_authority,
    ),
    "an origin that was changed": State(
        "signed origin", setting(origin='"http://127.0.0.1:1"'), ("files again",),
        lambda it: it.place.publish(),
    ),
    "more than a device spends": doubtful(
        "lifetime", lambda it: it.place.publish(name='"coffee"', epochs="25"),
        ("deniable survey end",), lambda it: it.place.succeed("survey end coffee --yes"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def sound() -> Iterator[Path]:
    """Return the folder of a collector with reports and a backup, in which nothing is wrong."""
    # Not below pytest's directories: nobody but its owner gets there.
    with tempfile.TemporaryDirectory() as folder:
        place = Workplace.made(Path(folder) / "collector")
        place.publish(epochs="8")
        place.count([0, 1, 2])
        place.succeed("store backup", Path(folder) / "backup.sqlite")
        before = examined(place)[1]
        for check in {state.check for state in STATES.values()}:
            if check not in {"authority key", "gateway"}:  # it has the first alone
                assert before[check].status is Status.OK
        yield Path(folder)


@pytest.fixture
def broken(sound: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Broken]:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(sound, folder, dirs_exist_ok=True)
        Path(folder).chmod(0o755)
        yield Broken(Workplace(Path(folder) / "collector"), monkeypatch)


@contextmanager
def as_seen_by(it: Broken) -> Iterator[None]:
    """Be that user, and without room if that is what is wrong."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if not it.may_grow:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    if ROOT:
        os.seteuid(it.user)
    try:
        yield
    finally:
        if ROOT:
            os.seteuid(0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", some([*STATES]))
def test_what_doctor_says_is_wrong_is_right_once_done_as_it_says(name: str, broken: Broken) -> None:
    state = STATES[name]

    def look() -> Diagnosis:
        with as_seen_by(broken):
            return examined(broken.place)[1][state.check]

    state.breaks(broken)
    wrong = look()
    assert wrong.status is state.status
    broken.remedy = wrong.remedy
    for words in state.told:
        assert words in wrong.remedy
    state.mends(broken)
    mended = look()
    assert mended.status is Status.OK, mended
