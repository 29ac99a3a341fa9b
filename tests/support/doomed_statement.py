"""A device that is killed at one SQL statement after another, and started again each time.

``python -m tests.support.doomed_statement FOLDER FIRST STEP`` prints one line of JSON a kill. It
forks, so it is a process of its own, with one thread.
"""

import json
import os
import shutil
import signal
import sqlite3
import sys
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from deniable.client import Client, HttpAnswer, StateUnavailable, Survey
from deniable.client.state.mark import Mark
from deniable.messages import Repeat
from tests.support.devices import ACCEPTED, PORTAL, Bench, FakeTransport, read_upload
from tests.support.doomed import Say, copied, fork
from tests.support.effort import THOROUGH
from tests.support.surveys import CATEGORIES, DAY, QUESTION, START, manifest

FIRST, SECOND = "first-survey", "second-survey"
_RANGE = 2  # epochs in which the second survey keeps its responses
_MANIFESTS = (
    manifest(name=FIRST, epsilon="0.5"),
    manifest(name=SECOND, epsilon="0.5", repeat=Repeat("memoised", _RANGE)),
)
_DECLARED = [
    Survey(name, QUESTION, CATEGORIES, max_epsilon="1", max_kept_epsilon="1")
    for name in (FIRST, SECOND)
]
_connect = sqlite3.connect


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one device.

    Attributes:
        kept: what the state held as pending after the kill: [name, epoch, envelope in hex].
        sent: [name, epoch, envelope in hex, whether it was committed by then], before and after.
        charged: what the state has charged in the end, and what it has reserved: 1e-9 epsilon.
    """

    at: int  # the instant of the kill: before the statement of half this number, or after it if odd
    killed: bool  # whether it came before the device was through
    statement: str  # beside which it came
    withdrawn: bool  # whether the mark knew by then that consent had been withdrawn, or all purged
    kept: list[tuple[str, int, str]]
    recorded: list[tuple[str, int]]  # [name, epoch] of what ``report()`` had said was recorded
    sent: list[tuple[str, int, str, bool]]
    after: list[str]  # what the restarted device said of its reports, or of its failure
    decided: list[tuple[str, int]]  # [name, epoch] of all decisions in the end
    charged: tuple[int, int]
    damaged: int  # how many states were set aside


class _Doomed(sqlite3.Connection):
    """Counts the instants before and after each statement, and dies at one of them."""

    at = -1
    passed = 0
    say: Say

    def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
        self._pass(statement)
        # The process is killed, not the machine: what was written stays written.
        skipped = statement == "PRAGMA synchronous=FULL"
        cursor = super().execute("PRAGMA synchronous=OFF" if skipped else statement, *arguments)
        self._pass(statement)
        return cursor

    def executescript(self, script: str) -> sqlite3.Cursor:
        statement = ""
        for part in script.split(";"):
            statement += part + ";"
            if sqlite3.complete_statement(statement):
                self.execute(statement)
                statement = ""
        return self.cursor()

    @staticmethod
    def _pass(statement: str) -> None:
        if _Doomed.passed == _Doomed.at:
            _Doomed.say(f"K{statement.split(maxsplit=1)[0]} {statement[-40:]}\n")
            os.kill(os.getpid(), signal.SIGKILL)
        _Doomed.passed += 1


class _Exposing(FakeTransport):
    """Notes what it is given in a file, with whether the state held it by then."""

    def __init__(self, state: Path, log: Path) -> None:
        super().__init__(*_MANIFESTS)
        self.state, self.log = state, log
        self.next: HttpAnswer | Exception = ACCEPTED
        self.answer = self.expose

    def expose(self, body: bytes) -> HttpAnswer:
        signed = read_upload(body)
        names = {each.survey_id: each.name for each in _MANIFESTS}
        with closing(_connect(self.state)) as beside:
            held = beside.execute("SELECT name, epoch, envelope FROM decisions").fetchall()
        exposed = (names[signed.report.survey_id], signed.report.epoch)
        ours = [envelope for *key, envelope in held if tuple(key) == exposed and envelope in body]
        _append(self.log, [*exposed, body.hex(), len(ours) == 1])
        if isinstance(self.next, Exception):
            raise self.next
        return self.next


def _append(log: Path, line: list[Any]) -> None:
    with log.open("ab", buffering=0) as file:
        file.write(json.dumps(line).encode() + b"\n")


def _bench(folder: Path, transport: FakeTransport) -> Bench:
    bench = Bench(folder)
    bench.transport = transport
    return bench


def _client(bench: Bench) -> Client:
    return bench.client(surveys=_DECLARED, consent="unset", delivery_seconds=0.0)


def live(bench: Bench, transport: _Exposing, say: Say) -> None:
    """Do everything that a device does to its state, in order, always the same."""
    client = _client(bench)

    def report(name: str) -> None:
        outcome = client.report(name, CATEGORIES[1])
        if outcome.status == "recorded":
            say(f"R{name} {outcome.epoch}\n")

    def day(number: int) -> None:
        bench.clock.time = START + number * DAY + 9.0
        say(f"D{number}\n")

    client.set_consent("on", "the script")
    client.refresh()
    report(FIRST)
    report(SECOND)
    client.flush()
    day(1)
    report(FIRST)
    report(FIRST)
    transport.next = PORTAL
    client.flush(1.0)
    report(SECOND)
    client.set_consent("off", "the script")
    client.set_consent("on", "the script")
    report(FIRST)
    day(2)
    client.set_consent("local", "the script")
    report(FIRST)
    client.set_consent("on", "the script")
    report(FIRST)
    report(SECOND)
    transport.next = ACCEPTED
    client.flush(1.0)
    day(3)
    report(SECOND)
    client.purge()
    report(SECOND)
    report(FIRST)
    day(6)
    client.flush()
    client.close()


def _die(bench: Bench, transport: _Exposing, say: Say, at: int) -> None:
    _Doomed.at, _Doomed.passed, _Doomed.say = at, 0, staticmethod(say)
    live(bench, transport, say)


def _pending(state: Path) -> list[tuple[str, int, str]]:
    with copied(state) as copy:
        query = "SELECT name, epoch, hex(envelope) FROM decisions WHERE status = 'pending'"
        return copy.execute(query).fetchall() if copy else []


def _restart(bench: Bench, day: int) -> list[str]:
    """Start again on the same day: consent, answer otherwise, send, and so in the next range."""
    client = _client(bench)
    said: list[str] = []
    for number in (day, day + _RANGE):
        bench.clock.time = START + number * DAY + 20.0
        try:
            if client.consent != "on":
                client.set_consent("on", "the restart")
        except StateUnavailable as error:
            said.append(f"{type(error).__name__}: {error}")
        client.refresh(force=True)  # the kill may have come within a request
        for name in (FIRST, SECOND):
            outcome = client.report(name, CATEGORIES[3])
            said.append(type(outcome.error).__name__ if outcome.error else outcome.status)
        client.flush(5000.0)
    client.close()
    return said


def _fate(folder: Path, at: int) -> Fate:
    folder.mkdir()
    log = folder / "sent"
    log.touch()
    transport = _Exposing(folder / "device.sqlite", log)
    with _bench(folder, transport) as bench:
        killed, words = fork(partial(_die, bench, transport, at=at))
    said = words.splitlines()
    recorded = [line[1:].rsplit(" ", 1) for line in said if line.startswith("R")]
    kept = _pending(folder / "device.sqlite") if killed else []
    mark = Mark.read(folder / "device.sqlite")
    # The latest change that the mark knows of is an end of consent, or a purge.
    withdrawn = mark is not None and mark.erases
    day = max((int(line[1:]) for line in said if line.startswith("D")), default=0)
    transport = _Exposing(folder / "device.sqlite", log)
    with _bench(folder, transport) as bench:
        after = _restart(bench, min(day, 5))
        decided = bench.rows("SELECT name, epoch FROM decisions")
        charged = bench.rows(
            "SELECT carried + (SELECT coalesce(sum(cost), 0) FROM decisions),"
            " carried + (SELECT coalesce(sum(reserved), 0) FROM manifests)"
            " FROM (SELECT coalesce(sum(cost), 0) AS carried FROM carried)"
        )[0]
    fate = Fate(
        at,
        killed,
        next((line[1:] for line in said if line.startswith("K")), ""),
        withdrawn,
        kept,
        [(name, int(epoch)) for name, epoch in recorded],
        [tuple(json.loads(line)) for line in log.read_text("utf-8").splitlines()],
        after,
        decided,
        charged,
        len(list(folder.glob("*.damaged-*"))),
    )
    shutil.rmtree(folder)
    return fate


def main() -> None:
    """Kill at every instant of this share until the device lives through the script.

    In ``make test`` at every thirty-first of them.
    """
    folder, first, step = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    os.fsync = lambda _: None  # type: ignore[assignment]
    sqlite3.connect = partial(_connect, factory=_Doomed)  # type: ignore[assignment]
    stride = 1 if THOROUGH else 31
    at, killed = first * stride, True
    while killed:
        fate = _fate(folder / str(at), at)
        print(json.dumps(asdict(fate)), flush=True)
        at, killed = at + step * stride, fate.killed


if __name__ == "__main__":
    main()
