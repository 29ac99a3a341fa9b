"""Each remedy that doctor names is one: break something, do what it says, and it is mended."""

import os
import pwd
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
from deniable.messages import SigningKey
from deniable.stores.sqlite import SqliteStore
from deniable.stores.sqlite.database import VERSION
from tests.cli.commands import SURVEY, Workplace, succeed
from tests.cli.test_doctor import examined
from tests.support.certificates import certificate
from tests.support.effort import some
from tests.support.surveys import AUTHORITY

HTTPS = "https://collector.example"
NOBODY = pwd.getpwnam("nobody").pw_uid
"""Somebody else, if root runs the tests."""
TIME = SqliteStore.time


@dataclass
class Broken:
    """A collector with something wrong, and what doctor told to do."""

    place: Workplace
    monkeypatch: pytest.MonkeyPatch
    remedy: str = ""
    user: int = 0
    may_grow: bool = True

    @property
    def store(self) -> Path:
        return self.place.directory / "store.sqlite"

    @property
    def backup(self) -> Path:
        return self.place.directory.with_name("backup.sqlite")

    def set(self, name: str, value: str) -> None:
        """Change a setting."""
        lines = self.place.settings.read_text("utf-8").splitlines()
        kept = [line for line in lines if not line.startswith(f"{name} =")]
        self.place.settings.write_text("\n".join([*kept, f"{name} = {value}"]), "utf-8")

    def told(self, *words: str) -> None:
        """Check that the remedy says so."""
        for word in words:
            assert word in self.remedy

    def do(self, command: str) -> None:
        """Run a command of the shell that the remedy has literally."""
        self.told(command)
        subprocess.run(["/bin/sh", "-c", command], check=True)

    def deniable(self, words: str, *given: str | Path) -> None:
        """Run a command of ours that the remedy has, with what is given for its arguments."""
        self.told(f"deniable {words}")
        succeed(*words.split(), *given, "--dir", self.place.directory)

    def empty(self) -> None:
        for file in self.place.directory.glob("store.sqlite*"):
            file.unlink()

    def restore(self) -> None:
        self.told("stop the server", "its file and those beside it")
        self.empty()
        self.deniable("store restore", self.backup)


Act = Callable[[Broken], object]
STATES: dict[str, tuple[str, Act, Act]] = {}
"""By name: the check that must notice, what breaks it, and what the remedy says."""


def state(check: str, breaks: Act) -> Callable[[Act], Act]:
    def note(mends: Act) -> Act:
        STATES[mends.__name__] = (check, breaks, mends)
        return mends

    return note


@state("settings", lambda it: it.set("port", '"x"'))
def a_wrong_setting(it: Broken) -> None:
    it.told("correct it")
    it.set("port", "8377")


@state("environment", lambda it: it.monkeypatch.setenv("DENIABLE_PROT", "1"))
def a_misspelt_variable(it: Broken) -> None:
    it.told("is it misspelt?")
    it.monkeypatch.delenv("DENIABLE_PROT")


def open_to_others(it: Broken) -> None:
    it.place.directory.chmod(0o755)
    it.store.chmod(0o644)


@state("file modes", open_to_others)
def files_that_others_may_read(it: Broken) -> None:
    it.do(it.remedy)


@state("authority key", lambda it: shutil.copy2(it.place.key_file, it.place.directory))
def a_key_in_the_directory(it: Broken) -> None:
    it.told("move it away from the server")
    (it.place.directory / it.place.key_file.name).unlink()
    it.place.key_file.rename(it.place.key_file.with_name("offline"))


def only_the_rotated_key(it: Broken) -> None:
    succeed("authority", "rotate", "--yes", "--dir", it.place.directory)
    it.place.key_file.unlink()


def another_gateway(it: Broken) -> None:
    succeed("gateway", "new", "--dir", it.place.directory)
    file = it.place.directory / "gateway.json"
    file.write_text(file.read_text("utf-8").replace('"signed": "92c', '"signed": "93c'), "utf-8")


@state("gateway", another_gateway)
def gateway_keys_that_are_not_the_authoritys(it: Broken) -> None:
    it.told("remove the file", "deniable gateway new")
    (it.place.directory / "gateway.json").unlink()
    succeed("gateway", "new", "--dir", it.place.directory)


@state("gateway", lambda it: it.set("relays", '["192.0.2.7"]'))
def a_relay_without_gateway(it: Broken) -> None:
    it.deniable("gateway new")


@state("authority key", only_the_rotated_key)
def a_key_that_signs_since_a_rotation(it: Broken) -> None:
    it.told("keep it elsewhere", "--authority-key")
    (key,) = it.place.directory.parent.glob("*-authority-2.pem")
    offline = key.rename(key.with_name("offline.pem"))
    file = it.place.written(SURVEY, name='"coffee"')
    there = ("--authority-key", offline, "--dir", it.place.directory)
    succeed("survey", "publish", file, *there)


def open_behind_a_proxy(it: Broken) -> None:
    it.set("origin", f'"{HTTPS}"')
    it.set("host", '"0.0.0.0"')
    it.set("trusted_proxies", '["127.0.0.1"]')


@state("proxy", open_behind_a_proxy)
def plain_http_that_is_open_to_all(it: Broken) -> None:
    it.told("set host to 127.0.0.1")
    it.set("host", '"127.0.0.1"')


@state("proxy", lambda it: it.set("origin", f'"{HTTPS}"'))
def a_proxy_that_is_not_trusted(it: Broken) -> None:
    it.told("set trusted_proxies to its address, such as 127.0.0.1")
    it.set("trusted_proxies", '["127.0.0.1"]')


def with_certificate(it: Broken, host: str, days: int) -> None:
    certificate(it.place.directory, host, days)
    it.set("origin", f'"{HTTPS}"')
    it.set("tls_certificate", '"certificate.pem"')
    it.set("tls_key", '"key.pem"')


def another_certificate(it: Broken, told: str) -> None:
    it.told(told)
    certificate(it.place.directory, "collector.example", 90)


@state("certificate", lambda it: with_certificate(it, "collector.example", -1))
def a_certificate_that_is_over(it: Broken) -> None:
    another_certificate(it, "renew it")


@state("certificate", lambda it: with_certificate(it, "another.example", 90))
def a_certificate_of_another_host(it: Broken) -> None:
    another_certificate(it, "get one for collector.example")


def without_pem(it: Broken) -> None:
    with_certificate(it, "collector.example", 90)
    (it.place.directory / "certificate.pem").write_text("no PEM", "utf-8")


@state("certificate", without_pem)
def a_certificate_that_is_none(it: Broken) -> None:
    another_certificate(it, "give the PEM files")


@state("workers", lambda it: it.set("workers", "256"))
def more_workers_than_processors(it: Broken) -> None:
    cores = str(len(os.sched_getaffinity(0)))
    it.told(f"set {cores}")
    it.set("workers", cores)


FILES = resource.getrlimit(resource.RLIMIT_NOFILE)


def few_files(_: Broken) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (1_000, FILES[1]))


@state("open files", few_files)
def more_connections_than_files(it: Broken) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, FILES)
    it.told("LimitNOFILE=")


def written_by_a_wrong_clock(it: Broken) -> None:
    file = it.place.directory / "from the future"
    file.touch()
    os.utime(file, (2**32, 2**32))


@state("clock", written_by_a_wrong_clock)
def a_file_of_the_future(it: Broken) -> None:
    it.do(f"touch '{it.place.directory / 'from the future'}'")


@state("store", Broken.empty)
def a_lost_store(it: Broken) -> None:
    it.deniable("store restore", it.backup)


@state("store", Broken.empty)
def a_lost_store_that_begins_anew(it: Broken) -> None:
    it.do(f"touch {it.store}")
    it.deniable("store migrate")


@state("store", lambda it: it.set("store", '"elsewhere/store.sqlite"'))
def a_store_that_is_not_there(it: Broken) -> None:
    it.told("is `store` right?")
    it.set("store", '"store.sqlite"')


def as_written_by_version(it: Broken, number: int) -> None:
    with closing(sqlite3.connect(it.store)) as store, store:
        store.execute(f"PRAGMA user_version={number}")


@state("store", lambda it: it.store.write_bytes(b""))
def an_empty_store(it: Broken) -> None:
    it.told("deniable store backup FILE")
    it.deniable("store migrate")


@state("store", lambda it: as_written_by_version(it, VERSION + 1))
def a_newer_store(it: Broken) -> None:
    it.told("upgrade deniable")
    as_written_by_version(it, VERSION)


@state("store", lambda it: it.store.write_bytes(b"no database, but long enough" * 100))
def a_store_that_is_damaged(it: Broken) -> None:
    it.restore()


def moved_away(it: Broken) -> None:
    succeed("store", "move", it.store.with_name("new.sqlite"), "--dir", it.place.directory)


@state("store", moved_away)
def a_store_that_was_moved(it: Broken) -> None:
    it.told("set `store` to its new place")
    it.set("store", '"new.sqlite"')


@state("store", moved_away)
def a_store_that_is_not_to_be_moved(it: Broken) -> None:
    it.deniable("store cancel-move", "--yes")


def without_a_receipt(it: Broken) -> None:
    with closing(sqlite3.connect(it.store)) as store, store:
        store.execute("DELETE FROM receipts")


@state("recount", without_a_receipt)
def counts_without_receipts(it: Broken) -> None:
    it.remedy = it.remedy.replace("Stop", "stop")
    it.restore()


def belongs_to(user: int, *files: Path) -> None:
    for file in files:
        os.chown(file, user, -1)


def of_another(it: Broken) -> None:
    """As root, look as somebody else; anybody else takes their own rights away."""
    if os.geteuid():
        it.store.chmod(0o400)
        return
    it.user = NOBODY
    it.place.directory.chmod(0o755)
    it.place.settings.chmod(0o644)


@state("store", of_another)
def a_store_of_another_user(it: Broken) -> None:
    if os.geteuid():
        it.do(it.remedy)
        return
    it.told("runuser -u root -- deniable doctor")
    it.user = 0


def mine_but_for(it: Broken, file: Path) -> None:
    """As root, look as somebody who owns all but one file; anybody else must not write it."""
    file.touch()
    if os.geteuid():
        file.chmod(0o400)
        return
    it.user = NOBODY
    belongs_to(NOBODY, it.place.directory, *it.place.directory.iterdir())
    belongs_to(0, file)
    file.chmod(0o600)


@state("store", lambda it: mine_but_for(it, it.store.with_name("store.sqlite-wal")))
def a_log_that_root_made(it: Broken) -> None:
    it.do(it.remedy.removeprefix("as root: "))


@state("store", lambda it: mine_but_for(it, it.store))
def a_store_that_root_put_into_my_folder(it: Broken) -> None:
    it.do(it.remedy.removeprefix("as root: "))


def all_read_only(it: Broken) -> None:
    shared = it.store.with_name("store.sqlite-shm")
    shared.touch()
    if not os.geteuid():
        it.user = NOBODY
        belongs_to(NOBODY, it.place.directory, *it.place.directory.iterdir())
    it.store.chmod(0o400)
    shared.chmod(0o400)


@state("store", all_read_only)
def files_that_nobody_may_write(it: Broken) -> None:
    it.do(it.remedy)


def in_another_time(it: Broken) -> None:
    async def time(_: SqliteStore) -> float:
        return 2.0**31

    it.monkeypatch.setattr(SqliteStore, "time", time)


@state("store's clock", in_another_time)
def clocks_that_differ(it: Broken) -> None:
    it.told("set the wrong one right")
    it.monkeypatch.setattr(SqliteStore, "time", TIME)


@state("settings", lambda it: setattr(it, "user", NOBODY))
def settings_of_another_user(it: Broken) -> None:
    it.told("runuser -u root -- deniable doctor")
    it.user = 0


def without_room(it: Broken) -> None:
    it.may_grow = False


@state("store", without_room)
def a_file_that_must_not_grow(it: Broken) -> None:
    it.told("room", "ulimit -f")
    it.may_grow = True


def without_surveys(it: Broken) -> None:
    it.empty()
    it.store.touch()
    succeed("store", "migrate", "--dir", it.place.directory)
    it.place.directory.with_name("collector-log.127.0.0.1_8377.checkpoint").unlink()


def put_back(it: Broken) -> None:
    it.place.publish(name='"coffee"', epochs="8")
    succeed("log", "export", it.place.directory / "copy", "--dir", it.place.directory)
    it.empty()
    succeed("store", "restore", it.backup, "--dir", it.place.directory)


@state("public log", put_back)
def a_store_that_has_less_than_was_signed(it: Broken) -> None:
    it.deniable("log recover", it.place.directory / "copy")
    it.place.publish(name='"milk"', epochs="8")


@state("surveys", without_surveys)
def nothing_that_is_published(it: Broken) -> None:
    it.told("deniable survey publish FILE")
    it.place.publish()


def with_epochs_that_are_over(it: Broken) -> None:
    past = datetime.now(UTC) - timedelta(days=10)
    it.place.publish(name='"coffee"', start=past.isoformat(timespec="seconds"))
    it.place.count([0], epoch=0, name="coffee")


@state("seals", with_epochs_that_are_over)
def an_epoch_that_nobody_sealed(it: Broken) -> None:
    it.deniable("survey seal coffee 0", "--yes")


@state("authority", lambda it: it.set("authority", f'"{AUTHORITY.public_key.hex()}"'))
def another_authority(it: Broken) -> None:
    it.told("is `authority` the key that apps pin?")
    it.set("authority", f'"{read_authority_key(it.place.key_file).public_key.hex()}"')


@state("signed origin", lambda it: it.set("origin", '"http://127.0.0.1:1"'))
def an_origin_that_was_changed(it: Broken) -> None:
    it.told("publish their files again")
    it.place.publish()


def with_a_stolen_issuer(it: Broken) -> None:
    issuers = f'["{AUTHORITY.public_key.hex()}"]'
    it.place.publish(name='"coffee"', enrolment='"certificate"', issuers=issuers)
    here = ("--yes", "--dir", it.place.directory)
    succeed("survey", "distrust-issuer", AUTHORITY.public_key.hex(), *here)


@state("trusted issuers", with_a_stolen_issuer)
def a_survey_without_an_issuer(it: Broken) -> None:
    it.told("publish a successor that lists an issuer whose key is safe")
    stuck = it.place.manifest("coffee").survey_id.hex()
    issuers = f'["{SigningKey(bytes(32)).public_key.hex()}"]'
    it.place.publish(name='"coffee"', enrolment='"certificate"', issuers=issuers)
    it.deniable("survey end", "coffee", "--survey", stuck, "--yes")


@state("lifetime", lambda it: it.place.publish(name='"coffee"', epochs="25"))
def more_than_a_device_spends(it: Broken) -> None:
    it.deniable("survey end", "coffee", "--yes")


DOUBTFUL = {
    a_misspelt_variable,
    files_that_others_may_read,
    a_key_that_signs_since_a_rotation,
    plain_http_that_is_open_to_all,
    a_proxy_that_is_not_trusted,
    more_workers_than_processors,
    more_connections_than_files,
    an_empty_store,
    nothing_that_is_published,
    an_epoch_that_nobody_sealed,
    more_than_a_device_spends,
    a_relay_without_gateway,
}
"""The server serves all the same, and the exit status is 0."""


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broken]:
    # Not below pytest's directories: nobody but its owner gets there.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        directory = Path(folder) / "collector"
        succeed("init", directory)
        it = Broken(Workplace(directory), monkeypatch)
        it.place.publish(epochs="8")
        it.place.count([0, 1, 2])
        succeed("store", "backup", it.backup, "--dir", directory)
        yield it


@contextmanager
def as_seen_by(it: Broken) -> Iterator[None]:
    """Be that user, and without room if that is what is wrong."""
    me = os.geteuid()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if not it.may_grow:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    if not me:
        os.seteuid(it.user)
    try:
        yield
    finally:
        os.seteuid(me)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", some([*STATES]))
def test_what_doctor_says_is_wrong_is_right_once_done_as_it_says(name: str, broken: Broken) -> None:
    check, breaks, mends = STATES[name]
    broken.monkeypatch.setattr("deniable.doctor.machine._synchronised", lambda: None)
    before = examined(broken.place.directory)[1]
    if check not in {"authority key", "certificate", "gateway"}:  # it has the first alone
        assert before[check].status is Status.OK

    def look() -> Diagnosis:
        with as_seen_by(broken):
            return examined(broken.place.directory)[1][check]

    breaks(broken)
    found = look()
    assert found.status is (Status.WARN if mends in DOUBTFUL else Status.FAIL)
    broken.remedy = found.remedy
    mends(broken)
    found = look()
    assert found.status is Status.OK, found
