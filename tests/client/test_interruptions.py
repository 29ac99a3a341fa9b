"""Calls that are interrupted, or find the disk hanging, harm nobody (D5a).

Whatever is raised at whatever instruction of our code leaves no lock and no transaction: neither on
the app's own thread (Ctrl-C, a time limit's signal) nor on those of ours that work for it (no
memory). No call waits for another one that hangs in the disk longer than it says.
"""

import gc
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final
from unittest.mock import Mock

import pytest

import deniable.client
from deniable.client import Client, Consent, OutcomeStatus, StateUnavailable, Survey, threads
from deniable.client import engine as engine_module
from deniable.client.client import engine_of
from deniable.client.state import state_file
from deniable.fakes import FakeCollector
from deniable.messages import Schedule
from tests.support.devices import NAME, Bench
from tests.support.processes import run
from tests.support.surveys import DAY, START, manifest
from tests.support.watched import SECONDS, until

_OURS: Final = str(Path(deniable.client.__file__).parent)
_MOST_DAYS: Final = 390
_LONG: Final = Schedule(START, DAY, _MOST_DAYS + 8, 90 * DAY)
CALLS: Final[dict[str, Callable[[Client], object]]] = {
    "report": lambda client: client.report(NAME, "poor"),
    "set_consent": lambda client: client.set_consent("on"),
    "refresh": lambda client: client.refresh(0.1, force=True),
    "flush": lambda client: client.flush(0.1),
    "close": lambda client: client.close(),
}

Patch = pytest.MonkeyPatch
THEME: Final = Survey("theme", "Which theme?", ("dark", "light"), max_epsilon="1")


class Interrupted(KeyboardInterrupt):
    """What is raised, once."""


class Interruption:
    """Raises at the nth instruction of our code that the traced threads come to."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.came = self.is_over = False

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(_OURS) or self.came or self.is_over:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and not self.is_over:
            self.left -= 1
            if self.left < 0:
                self.came = True
                raise Interrupted
        return self


@contextmanager
def raising(interruption: Interruption, *, in_ours: bool) -> Iterator[None]:
    """Trace this thread, or those of ours that begin now."""
    set_trace = threading.settrace if in_ours else sys.settrace
    before = threading.gettrace() if in_ours else sys.gettrace()
    set_trace(interruption)
    try:
        yield
    finally:
        set_trace(before)
        interruption.is_over = True  # for threads that go on


def interrupt(bench: Bench, name: str, at: int, *, in_ours: bool) -> bool:
    """Interrupt a call of a new client at its nth instruction; tell whether it has so many."""
    client = bench.client(lifetime_epsilon="1000")
    assert client.report(NAME, "good").ok  # the state is open
    bench.clock.time += DAY
    if in_ours:
        engine_of(client).state.close()
        until(lambda: not engine_of(client).state.keeper._turn.is_taken())  # or it is not traced
    interruption = Interruption(at)
    with Patch.context() as hasty:
        for owner, seconds in (
            (threads, "DISK_SECONDS"),
            (state_file, "BUSY_SECONDS"),
            (engine_module, "CLOSE_SECONDS"),
        ):
            hasty.setattr(owner, seconds, 0.1)  # nobody may be there to answer
        with suppress(Interrupted, StateUnavailable), raising(interruption, in_ours=in_ours):
            CALLS[name](client)
    until(lambda: not engine_of(client).uploader._flushing.is_taken())  # it goes on unseen
    # Whatever it was, the same client works, and so does everybody else.
    assert client.report(NAME, "good").ok
    bench.clock.time += DAY
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED
    # (A refresh that was interrupted goes on unseen, and may be writing just now.)
    with closing(sqlite3.connect(bench.path, timeout=SECONDS, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    assert client.flush(10.0).error is None
    assert client.refresh(10.0, force=True).ready == (NAME,) or name == "refresh"
    client.set_consent("on")
    assert client.consent is Consent.ON
    client.close()
    gc.collect()  # of what was raised, which may hold a connection that nobody else has yet
    assert not bench.is_open
    return interruption.came


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    ("in_ours", "stride"),
    [
        pytest.param(False, 907, id="the app's thread"),
        pytest.param(True, 9001, id="our threads"),
        pytest.param(False, 1, id="the app's thread, everywhere", marks=pytest.mark.long),
        pytest.param(True, 17, id="our threads, in many places", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("name", CALLS)
def test_d5a_no_error_locks_anybody(tmp_path: Path, name: str, in_ours: bool, stride: int) -> None:
    at, came = 0, True
    while came:
        (folder := tmp_path / str(at)).mkdir()
        with Bench(folder) as bench:
            bench.transport.publish(manifest(schedule=_LONG))
            bench.ready(lifetime_epsilon="1000").close()
            for _ in range(_MOST_DAYS // 2):
                came = interrupt(bench, name, at, in_ours=in_ours)
                at += stride
                if not came:
                    break
            decided = bench.rows("SELECT count(*), count(DISTINCT epoch) FROM decisions")
            assert decided[0][0] == decided[0][1]


class Disk:
    """A disk on which one thread's ``fsync`` hangs until the gate is opened."""

    def __init__(self, monkeypatch: Patch) -> None:
        self.entered, self.gate = threading.Event(), threading.Event()
        self.hangs = False
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, _file: object) -> None:
        if self.hangs:
            self.hangs = False
            self.entered.set()
            assert self.gate.wait(SECONDS)


@pytest.fixture
def disk(monkeypatch: Patch) -> Iterator[Disk]:
    disk = Disk(monkeypatch)
    yield disk
    disk.gate.set()


def error_of(call: Callable[[], object]) -> object:
    """Return what a call returns, or raises for the world."""
    try:
        return call()
    except StateUnavailable as error:
        return error


def test_d5a_no_call_waits_for_a_hanging_one(bench: Bench, disk: Disk, monkeypatch: Patch) -> None:
    # The gate opens once all have returned: whoever waited for it would fail the test.
    monkeypatch.setattr(state_file, "BUSY_SECONDS", 0.1)
    client = bench.ready()
    disk.hangs = True
    calls: dict[str, Callable[[], object]] = {
        "report": lambda: client.report(NAME, "poor").error,
        "flush": lambda: client.flush(0.1).error,
        "refresh": lambda: client.refresh(0.1, force=True).errors[NAME],
        "set_consent": lambda: client.set_consent("off", strict=True),
        "purge": lambda: engine_of(client).purge(),
    }
    with ThreadPoolExecutor(2) as pool:
        hanging = pool.submit(client.report, NAME, "good")
        assert disk.entered.wait(SECONDS)
        for name, call in calls.items():
            error = pool.submit(error_of, call).result(SECONDS)
            assert isinstance(error, StateUnavailable), name
            assert "another thread" in str(error), name
        assert not pool.submit(client.set_consent, "off").result(SECONDS)
        assert pool.submit(lambda: client.consent).result(SECONDS) is Consent.OFF
        assert pool.submit(lambda: client.uncovered).result(SECONDS) == ()
        assert "another thread" in pool.submit(client.journal).result(SECONDS).consent.problem
        assert "another thread" in str(pool.submit(client.explain).result(SECONDS))
        pool.submit(client.start).result(SECONDS)
        pool.submit(client.close).result(SECONDS)
        assert not hanging.done()
        disk.gate.set()
        assert hanging.result(SECONDS).status is OutcomeStatus.RECORDED
    # None of them did later what it had said that it did not; but a refusal holds, if unstored.
    assert bench.rows("SELECT consent, status FROM device, decisions") == [("on", "pending")]
    assert client.consent is Consent.OFF
    client.set_consent("off")
    assert bench.rows("SELECT consent, status FROM device, decisions") == [("off", "dropped")]


def test_d5a_a_report_says_that_disks_hang(bench: Bench, disk: Disk, monkeypatch: Patch) -> None:
    client = bench.ready()
    disk.hangs = True
    with monkeypatch.context() as hasty:
        hasty.setattr(threads, "DISK_SECONDS", 0.1)
        hasty.setattr(engine_module, "REPORT_PATIENCE", 0.1)
        outcome = client.report(NAME, "good")
    assert outcome.status is OutcomeStatus.NOT_RECORDED
    assert "may still complete" in str(outcome.error)
    disk.gate.set()
    assert client.report(NAME, "poor").status is OutcomeStatus.REPEATED
    assert bench.draw.count == 1


def test_d5a_a_call_has_its_time_once(bench: Bench, disk: Disk, monkeypatch: Patch) -> None:
    monkeypatch.setattr(threads, "DISK_SECONDS", 2 * SECONDS)
    state = engine_of(bench.ready()).state
    disk.hangs = True

    def late() -> None:  # whatever was asked for before has used it up
        with state.patience(-2 * SECONDS):
            state.do(lambda: os.fsync(0))

    with ThreadPoolExecutor(1) as pool:
        assert isinstance(pool.submit(error_of, late).result(SECONDS), StateUnavailable)


def test_d5a_a_no_outlives_an_earlier_yes(bench: Bench, disk: Disk, monkeypatch: Patch) -> None:
    client = bench.ready()
    monkeypatch.setattr(state_file, "BUSY_SECONDS", 0.1)
    disk.hangs = True
    with ThreadPoolExecutor(1) as pool:
        earlier = pool.submit(client.set_consent, "on")
        assert disk.entered.wait(SECONDS)
        assert not client.set_consent("off")
        disk.gate.set()
        earlier.result(SECONDS)
    assert client.consent is Consent.OFF
    assert client.report(NAME, "good").error is not None


@pytest.mark.parametrize("ends", ["__del__", "atexit"])
def test_d5a_an_end_may_call_anything(tmp_path: Path, collector: FakeCollector, ends: str) -> None:
    collector.publish(THEME, epochs=3)
    app = f"""
import atexit, builtins
from deniable.client import Client, Survey

class App:
    def __init__(self):
        survey = Survey('theme', 'Which theme?', ('dark', 'light'), max_epsilon='1')
        self.telemetry = Client({collector.origin!r}, authority={collector.authority!r},
            surveys=[survey], state={str(tmp_path / "state")!r})
        self.telemetry.set_consent("on")
    def end(self):
        telemetry = self.telemetry
        telemetry.start()
        telemetry.report('theme', 'dark')
        telemetry.flush(1), telemetry.refresh(1), telemetry.set_consent('off')
        telemetry.consent
        telemetry.close(), telemetry.explain()

app = builtins.app = App()
app.itself = app
app.telemetry.report("theme", "dark")
if {ends == "atexit"}:
    atexit.register(app.end)
else:
    App.__del__ = App.end
"""
    done = run([sys.executable, "-c", app], seconds=SECONDS)
    # (By then nothing can be imported any more, which explain() does when somebody asks.)
    said = done.stderr if "ImportError" not in done.stderr else ""
    assert (done.stdout, said) == ("", "")


@pytest.mark.parametrize("name", ["flush", "refresh", "close"])
def test_d5a_a_finaliser_waits_for_nobody(bench: Bench, monkeypatch: Patch, name: str) -> None:
    monkeypatch.setattr(engine_module, "CLOSE_SECONDS", 2 * SECONDS)
    monkeypatch.setattr(state_file, "BUSY_SECONDS", 2 * SECONDS)
    client = bench.ready()
    calls: dict[str, Callable[[], object]] = {
        "flush": lambda: client.flush(2 * SECONDS).error,
        "refresh": lambda: client.refresh(2 * SECONDS).errors[NAME],
        "close": client.close,
    }
    said: list[object] = []
    with ThreadPoolExecutor(1) as pool:
        kept = partial(engine_of(client).state.do, lambda: said.append(calls[name]()))
        pool.submit(kept).result(SECONDS)
    assert said[0] is None or "interrupted call" in str(said[0])
    until(lambda: said[0] is not None or not bench.is_open)  # closed, unseen


def test_d5a_without_threads_nobody_waits(bench: Bench, monkeypatch: Patch) -> None:
    client = bench.ready()
    client.close()
    with monkeypatch.context() as limited:
        no_thread = Mock(side_effect=RuntimeError("no thread"))
        limited.setattr(threads, "start_new_thread", no_thread)
        assert "no thread can be started" in str(bench.client().report(NAME, "good").error)
    assert bench.client().report(NAME, "good").status is OutcomeStatus.RECORDED


def test_d5a_a_handler_may_call_anything_in_the_middle_of_a_call(bench: Bench) -> None:
    client = bench.ready()
    found: list[object] = []

    def handle(*_: object) -> None:
        found.append(client.report(NAME, "poor").status)
        found.append(client.flush(10.0).delivered)
        client.close()

    def draw() -> int:  # while the app's thread waits for its report
        if not found:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        return bench.draw()

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        client = bench.client(unsafe_draw=draw)
        outcome = client.report(NAME, "good")
        until(lambda: len(found) == 2)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert (outcome.status, *found) == (OutcomeStatus.RECORDED, OutcomeStatus.REPEATED, 1)
