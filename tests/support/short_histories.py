"""Everything that can happen to a device within a few actions, and what must hold after each.

A node is what a history leads to: the bytes of both files, a backup of them, the clocks, and a
model's own memory of what was drawn, sent, asked and said. Each action starts from the files, with
a new process; histories that lead to the same node but for random bytes are followed once.

The model does not know how the device does it. It knows what the files that stand there were told:
what a file was told before it was backed up is all that it can know once it is put back.
"""

import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from threading import Event
from typing import Any, Final
from unittest import mock

from deniable.client import (
    Client,
    ClientSettings,
    Consent,
    HttpAnswer,
    OutcomeStatus,
    SlidingCeiling,
    TransportError,
    engine,
)
from deniable.client.state import state_file
from deniable.client.state.mark import Mark
from deniable.messages import RefusalCode, Schedule, pack_manifests, sign_manifest, split_upload
from tests.support.devices import ACCEPTED, connect_carelessly, dated, lie, problem
from tests.support.surveys import (
    AUTHORITY,
    CATEGORIES,
    DAY,
    DECLARED,
    MANIFEST,
    ORIGIN,
    START,
    manifest,
)
from tests.support.transports import Call, TransportDouble

NAME: Final = MANIFEST.name
UNIT: Final = 10**9  # what a report costs, in 1e-9 epsilon
WEEK: Final = 7 * DAY
MOST_SENDS: Final = 6
MOST_REQUESTS: Final = 8

_write_mark = Mark.write
_TABLES: Final = (
    "SELECT generation, ledger_time, looked_at, lived, fresh_from, unsure, consent, secret, mark"
    " FROM device",
    "SELECT * FROM carried",
    "SELECT survey_id, role, reserved FROM manifests",
    "SELECT epoch, survey_id, status, verdict, envelope, attempts, unanswered, due, held, decided,"
    " settled, lived FROM decisions",
    "SELECT due, failures, day, requests FROM refreshes",
)


class Died(BaseException):
    """The process was killed."""


@dataclass(frozen=True)
class Terms:
    """What the app and the operator want."""

    epochs: int  # how many a manifest runs on from the day on which it is published
    lifetime: int  # the app's ceiling on all that is ever drawn, since its update
    sliding: SlidingCeiling | None  # likewise, within a period


@dataclass(frozen=True)
class Drawn:
    """A report that was drawn and committed.

    Attributes:
        epoch, starts, ends: what it is about.
    """

    epoch: int
    starts: int
    ends: int
    envelope: bytes  # its bytes
    lived: float  # the model's time of use


@dataclass(frozen=True)
class Files:
    """What stands on the disk."""

    state: bytes | None = None  # compressed; None if it is gone
    mark: bytes | None = None  # without the file's own time and number; None if it is gone
    late: bool = False  # whether it was put back more than a minute after it was written


@dataclass(frozen=True)
class Line:
    """What the two files were told, and hence must keep to.

    Attributes:
        by_state: the reports that the state knows to be drawn; None if it is gone.
        sends: of each report, by the forward-only time.
        asked: the day of the latest request for manifests, and how many were made on it.
        succeeded: when the latest one was made, by the device's clock, if it brought something.
    """

    by_state: frozenset[Drawn] | None = None
    by_mark: frozenset[Drawn] | None = None  # those that the mark counts
    user: Consent = Consent.UNSET  # the user's last word, or none where nobody can know it
    withdrawn: frozenset[bytes] = frozenset()  # reports that must not leave any more
    sends: Mapping[bytes, tuple[float, ...]] = field(default_factory=dict)
    asked: tuple[int, int] = (0, 0)
    succeeded: float | None = None
    doubted: bool = False  # whether the state may wait for the collector's time

    @property
    def known(self) -> frozenset[Drawn]:
        """Return all that was drawn as far as any of the files knows."""
        return (self.by_state or frozenset()) | (self.by_mark or frozenset())


@dataclass(frozen=True)
class Node:
    """What a history leads to.

    Attributes:
        files, line: what stands there, and what it knows.
        sent: how often each report was sent, by whatever state.
    """

    history: tuple[str, ...] = ()  # the first one that did
    files: Files = Files()
    line: Line = Line()
    backup: tuple[Files, Line] = (Files(), Line())  # the same, as they were backed up
    true: float = START + 10_000.0  # the collector's clock, Unix seconds
    offset: float = 0.0  # by which the device's is ahead
    forward: float = 0.0  # all steps forward of the device's clock, in seconds
    lived: float = 0.0  # the same, but of each a week at most
    sequence: int = -1  # of the manifest that is published
    ever: frozenset[Drawn] = frozenset()  # all that was ever drawn
    sent: Mapping[bytes, int] = field(default_factory=dict)
    refused: frozenset[bytes] = frozenset()  # what must not leave since the user's last refusal
    said: Consent = Consent.UNSET  # the user's last word
    exceptions: frozenset[str] = frozenset()  # rules that held only for what the files could know


class World(TransportDouble):
    """Runs actions on a node; is clock, transport and draw of the device meanwhile.

    Args:
        folder: where the files are put.
        terms: of the survey.
    """

    def __init__(self, folder: Path, terms: Terms) -> None:
        self.state, self.mark = folder / "device.sqlite", folder / "device.sqlite.mark"
        self.terms = terms
        self.node = Node()
        self.lifetime = 9999
        self.fate, self.served, self.force = "accepted", True, False
        self.draws = 0
        self._rows: dict[bytes, list[list[tuple[Any, ...]]]] = {}

    @contextmanager
    def patched(self) -> Iterator[None]:
        """Leave out what is for power cuts, and what is random but for the bytes of keys."""
        with ExitStack() as patches:
            for owner, name, value in (
                (state_file, "_connect", connect_carelessly),
                (os, "fsync", lambda _descriptor: None),
                (engine, "uniform", lambda: 0.0),
                (logging.getLogger("deniable"), "disabled", True),
            ):
                patches.enter_context(mock.patch.object(owner, name, value))
            yield

    # The clock.

    def now(self) -> float:
        return self.node.true + self.node.offset

    def monotonic(self) -> float:
        return self.node.true

    def wait(self, event: Event, seconds: float) -> None:
        if not event.is_set():
            self.time_passes(seconds)

    def time_passes(self, seconds: float) -> None:
        self.node = replace(self.node, true=self.node.true + seconds)
        self._count(seconds)

    def jump(self, seconds: float) -> None:
        """Set the device's clock, and nobody else's."""
        self.node = replace(self.node, offset=self.node.offset + seconds)
        self._count(max(0.0, seconds))

    def _count(self, seconds: float) -> None:
        node = self.node
        lived = node.lived + min(seconds, WEEK)
        self.node = replace(node, forward=node.forward + seconds, lived=lived)

    # What the device draws and sends.

    def draw(self) -> int:
        self.needs_consent("draws")
        self.draws += 1
        return lie(self.draws % len(CATEGORIES))()

    def needs_consent(self, what: str) -> None:
        """D5, D6, rule 3 of outbox.py: nothing without consent."""
        assert self.node.line.user is Consent.ON, what
        if self.node.said is not Consent.ON:
            self.excuse(f"{what} without consent")

    def excuse(self, what: str) -> None:
        self.node = replace(self.node, exceptions=self.node.exceptions | {what})

    def respond(self, call: Call) -> HttpAnswer:
        if self.fate == "unsent":
            raise TransportError("gaierror", unsent=True)
        call.stands()
        if call.method == "GET":
            return self.tell(call.path)
        (envelope,) = split_upload(call.body)
        self.take(envelope)
        if self.fate == "killed":
            raise Died
        if self.fate == "lost":
            raise TransportError("TimeoutError")
        return ACCEPTED if self.fate == "accepted" else problem(RefusalCode.OVERLOADED)

    def take(self, envelope: bytes) -> None:
        """D3, D5, D8: the collector sees a report."""
        self.needs_consent("sends")
        node, line = self.node, self.node.line
        assert envelope in {each.envelope for each in node.ever}, "what was never committed is sent"
        assert envelope not in line.withdrawn, "what was drawn before a refusal is sent"
        sends = line.sends.get(envelope, ())
        assert len(sends) < MOST_SENDS
        assert len(sends) < 2 or node.forward - sends[-1] >= DAY
        line = replace(line, sends={**line.sends, envelope: (*sends, node.forward)})
        count = node.sent.get(envelope, 0) + 1
        self.node = replace(node, line=line, sent={**node.sent, envelope: count})
        if count > MOST_SENDS:
            self.excuse("sent too often")
        if envelope in node.refused:
            self.excuse("sent after a refusal")

    def tell(self, path: str) -> HttpAnswer:
        """D10: the collector is asked for manifests."""
        self.needs_consent("asks")
        now, line = self.now(), self.node.line
        assert path == f"/v1/surveys/{NAME}/manifests"
        today = int(now // DAY)
        asked = line.asked[1] if line.asked[0] == today else 0
        assert asked < MOST_REQUESTS
        rested = line.succeeded is None or not 0 <= now - line.succeeded < DAY
        assert rested or self.force or line.doubted
        line = replace(line, asked=(today, asked + 1), succeeded=now if self.served else None)
        line = replace(line, doubted=line.doubted and not self.served)
        self.node = replace(self.node, line=line)
        if not self.served:
            return dated(HttpAnswer(404, {}, b""), self.node.true)
        day = int(self.node.true - START) // DAY
        envelope = _published(self.node.sequence, day + self.terms.epochs)
        return dated(HttpAnswer(200, {}, pack_manifests([envelope])), self.node.true)

    # What the user and the app do.

    def device(self) -> Client:
        self.put(self.node.files)
        if self.is_old(self.node.files):
            self.node = replace(self.node, line=self.doubt(self.node.line))
        return Client(
            ORIGIN,
            authority=AUTHORITY.public_key,
            surveys=[DECLARED],
            state=self.state,
            lifetime_epsilon=self.lifetime,
            sliding=self.terms.sliding,
            background=False,
            settings=ClientSettings(
                clock=self, transport=self, environment={}, unsafe_draw=self.draw
            ),
        )

    def update(self) -> None:
        """Have the app lower its ceiling below what was reserved under the one before."""
        self.lifetime = self.terms.lifetime

    def report(self) -> None:
        with self.opened() as device:
            outcome = device.report(NAME, CATEGORIES[0])
        if outcome.status is OutcomeStatus.RECORDED:
            self.note_draw(outcome.epoch)

    def report_later(self) -> None:
        self.time_passes(DAY)
        self.report()

    def note_draw(self, epoch: int | None) -> None:
        """D3, rules 1 and 2 of allowance.py: one response an epoch, none beyond a ceiling."""
        node, line = self.node, self.node.line
        query = f"SELECT epoch, starts, ends, envelope FROM decisions WHERE epoch = {epoch}"
        with closing(sqlite3.connect(self.state)) as connection:
            ((when, starts, ends, envelope),) = connection.execute(query).fetchall()
        drawn = Drawn(when, starts, ends, envelope, node.lived)
        self.check_draw(drawn, line.known)
        try:
            self.check_draw(drawn, node.ever)
        except AssertionError as error:
            self.excuse(str(error).split("\n")[0])
        assert line.by_state is not None
        assert line.by_mark is not None
        line = replace(line, by_state=line.by_state | {drawn}, by_mark=line.by_mark | {drawn})
        self.node = replace(self.node, line=line, ever=node.ever | {drawn})

    def check_draw(self, drawn: Drawn, known: frozenset[Drawn]) -> None:
        sliding = self.terms.sliding
        assert drawn.epoch not in {each.epoch for each in known}, "a second response"
        assert all(each.ends <= drawn.starts or drawn.ends <= each.starts for each in known), (
            "a response about the same time"
        )
        assert len(known) + 1 <= self.lifetime, "drawn beyond the lifetime ceiling"
        if sliding is not None:
            recent = [each for each in known if each.lived > drawn.lived - sliding.seconds]
            assert (len(recent) + 1) * UNIT <= sliding.most, "drawn beyond the sliding ceiling"

    def flush(self, fate: str, seconds: float = 1.0) -> None:
        self.fate = fate
        with self.opened() as device, suppress(Died):
            device.flush(seconds)

    def refresh(self, *, served: bool, times: int = 1) -> None:
        """Ask, or ask as often as the device lets anybody."""
        self.fate, self.served, self.force = "accepted", served, times > 1
        with self.opened() as device:
            for _ in range(times):
                device.refresh(force=self.force)

    def publish(self) -> None:
        self.node = replace(self.node, sequence=self.node.sequence + 1)
        self.refresh(served=True)

    def consent(self, consent: Consent) -> None:
        with self.opened() as device:
            self.says(consent)
            device.set_consent(consent)

    def says(self, consent: Consent) -> None:
        node, line = self.node, replace(self.node.line, user=consent)
        refused = node.refused
        if consent is not Consent.ON:
            refused = frozenset(each.envelope for each in node.ever)
            line = replace(line, withdrawn=refused)
        self.node = replace(node, line=line, said=consent, refused=refused)

    @contextmanager
    def opened(self) -> Iterator[Client]:
        """Run a process; what either file knew, both know then."""
        device = self.device()
        try:
            yield device
        finally:
            device.close()
            line = self.node.line
            by_state = line.known if self.state.exists() else None
            by_mark = line.known if self.mark.exists() else None
            line = replace(line, by_state=by_state, by_mark=by_mark)
            self.node = replace(self.node, line=line, files=self.read())

    def killed(self, call: Callable[[Client], object]) -> Mark | None:
        """Kill a process when it has written the mark, and not committed yet; return that mark."""
        written: Mark | None = None

        def write_and_die(mark: Mark, state: Path) -> None:
            nonlocal written
            if written is None:
                _write_mark(mark, state)
                written = mark
            raise Died

        device = self.device()
        with mock.patch.object(Mark, "write", write_and_die), suppress(Died):
            call(device)
        device.close()
        line = replace(self.node.line, doubted=True)
        if self.state.exists() and line.by_state is None:
            line = replace(line, by_state=frozenset())
        line = replace(line, by_mark=line.known if self.mark.exists() else None)
        self.node = replace(self.node, line=line, files=self.read())
        return written

    def killed_report(self) -> None:
        self.killed(lambda device: device.report(NAME, CATEGORIES[0]))

    def killed_refusal(self) -> None:
        mark = self.killed(lambda device: device.set_consent(Consent.OFF))
        if mark is not None and mark.consent == Consent.OFF:  # and not the one of a new state
            self.says(Consent.OFF)

    # What happens to the files.

    def back_up(self) -> None:
        self.node = replace(self.node, backup=(self.node.files, self.node.line))

    def put_back(self, *, state: bool, mark: bool, late: bool = True) -> None:
        node = self.node
        files, line = node.files, replace(node.line, doubted=True)
        saved, told = node.backup
        if state:
            files = replace(files, state=saved.state)
            line = replace(
                line,
                by_state=told.by_state,
                sends=told.sends,
                asked=told.asked,
                succeeded=told.succeeded,
            )
        if mark:
            files = replace(files, mark=saved.mark, late=saved.late or late)
            line = replace(line, by_mark=told.by_mark)
            line = self.doubt(line) if late else replace(told, doubted=True)
        self.node = replace(node, files=files, line=line)

    def is_old(self, files: Files) -> bool:
        """Tell whether a state is more than one change older than its mark, or not its own."""
        if files.state is None or files.mark is None or not (rows := self.rows(files.state)):
            return False
        (generation, *_, token), told = rows[0][0], files.mark.split()
        return bool(told[0] != token.encode() or int(told[1]) > generation + 1)

    def delete(self, *, state: bool) -> None:
        node = self.node
        line = replace(node.line, doubted=True)
        if state:
            files = replace(node.files, state=None)
            line = replace(line, by_state=None, asked=(0, 0), succeeded=None)
            line = line if node.files.mark else self.doubt(line)
        else:
            files = replace(node.files, mark=None)
            line = self.doubt(replace(line, by_mark=None))
        self.node = replace(node, files=files, line=line)

    def doubt(self, line: Line) -> Line:
        """D5: a copy, an old backup or a state without its mark has no consent and no reports."""
        withdrawn = frozenset(each.envelope for each in self.node.ever)
        return replace(line, user=Consent.UNSET, withdrawn=withdrawn)

    # From node to node.

    def after(self, node: Node, action: str, act: Callable[["World"], None]) -> Node:
        self.node = replace(node, history=(*node.history, action))
        act(self)
        return self.node

    def put(self, files: Files) -> None:
        for file in self.state.parent.iterdir():
            file.unlink()
        if files.state is not None:
            self.state.write_bytes(zlib.decompress(files.state))
        if files.mark is not None:
            written = 0 if files.late else int(time.time())  # what came from a backup changed since
            self.mark.write_bytes(files.mark + f" {written}:0\n".encode())

    def read(self) -> Files:
        state, mark, late = None, None, False
        if self.state.exists():
            state = zlib.compress(self.state.read_bytes(), 1)
        if self.mark.exists():
            mark, written = self.mark.read_bytes().rsplit(maxsplit=1)
            late = written.startswith(b"0:")
        return Files(state, mark, late)

    def key(self, node: Node) -> object:
        """Return what decides about all that can follow, with numbers in place of random bytes."""
        numbers: dict[bytes, int] = {}

        def number(value: Any) -> Any:
            if isinstance(value, bytes):
                return numbers.setdefault(value, len(numbers))
            if isinstance(value, str) and len(value) > 32:
                return numbers.setdefault(value.encode(), len(numbers))
            return value

        def of_files(files: Files) -> object:
            mark = None if files.mark is None else files.mark.split()
            told = None if mark is None else (number(mark[0]), b" ".join(mark[1:]), files.late)
            rows = [] if files.state is None else self.rows(files.state)
            return told, tuple(tuple(map(number, row)) for table in rows for row in table)

        def of_drawn(drawn: frozenset[Drawn] | None) -> object:
            order = [] if drawn is None else sorted(drawn, key=lambda each: each.lived)
            return drawn is None, tuple(
                (each.starts, each.ends, number(each.envelope), node.lived - each.lived)
                for each in order
            )

        def of_line(line: Line) -> object:
            sends = {
                number(key): (node.forward - each[-1], len(each))
                for key, each in line.sends.items()
            }
            return (
                of_drawn(line.by_state),
                of_drawn(line.by_mark),
                line.user,
                frozenset(map(number, line.withdrawn)),
                frozenset(sends.items()),
                line.asked,
                line.succeeded,
                line.doubted,
            )

        return (
            (node.true, node.offset, node.sequence, node.said),
            of_files(node.files),
            of_line(node.line),
            of_files(node.backup[0]),
            of_line(node.backup[1]),
            of_drawn(node.ever),
            frozenset((number(key), count) for key, count in node.sent.items()),
            frozenset(map(number, node.refused)),
            node.exceptions,
        )

    def rows(self, state: bytes) -> list[list[tuple[Any, ...]]]:
        if state not in self._rows:
            file = self.state.with_name("looked-at.sqlite")
            file.write_bytes(zlib.decompress(state))
            with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as connection:
                self._rows[state] = (
                    [connection.execute(query).fetchall() for query in _TABLES]
                    if connection.execute("SELECT 1 FROM sqlite_master").fetchone()
                    else []
                )
        return self._rows[state]


@cache
def _published(sequence: int, epochs: int) -> bytes:
    """Return a signed manifest; the epochs of every other one begin half a day earlier."""
    schedule = Schedule(START - DAY // 2 * (sequence % 2), DAY, epochs, DAY)
    return sign_manifest(
        manifest(sequence=sequence, nonce=sequence.to_bytes(16), schedule=schedule), AUTHORITY
    )
