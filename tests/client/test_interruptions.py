"""Calls in the middle of calls: a signal's handler, or a finaliser, interrupts its own thread."""

import logging
import sys
import threading
from collections.abc import Callable
from types import FrameType

import pytest

from deniable.client import Client, Outcome, OutcomeStatus, StateUnavailable
from deniable.client.sending import uploader
from tests.support.devices import NAME, Bench
from tests.support.watched import SECONDS, WatchedTransport, device, threads

RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED
_INTERRUPTED = (uploader.__file__, threading.__file__)


def interrupt_everywhere(call: Callable[[], object], interruption: Callable[[], object]) -> int:
    """Call, interrupted at every line that wakes or starts a thread; return how often it was.

    On a thread of its own, which is left behind if it hangs.
    """
    times = 0

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal times
        if event == "line" and frame.f_code.co_filename in _INTERRUPTED:
            times += 1
            interruption()  # as a handler is run: between two lines; and it is not traced itself
        return trace

    def run() -> None:
        sys.settrace(trace)  # type: ignore[arg-type]
        call()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive(), "it waits for a lock that it holds itself"
    return times


def test_a_signals_handler_may_report_wherever_it_comes(
    bench: Bench, transport: WatchedTransport
) -> None:
    bench.ready()
    client = device(bench)
    outcomes: list[Outcome] = []

    def report(client: Client = client) -> None:
        outcomes.append(client.report(NAME, "good"))

    assert interrupt_everywhere(report, report) > 5
    assert {outcome.status for outcome in outcomes} == {RECORDED, REPEATED}
    assert transport.uploaded.wait(SECONDS)
    assert len(threads()) == 1
    client.close()


def test_a_report_within_a_report_is_turned_away_and_disturbs_nothing(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.ready()
    inner: list[Outcome] = []

    def draw() -> int:  # within the one transaction
        inner.append(client.report(NAME, "poor"))
        return bench.draw()

    client = bench.client(unsafe_draw=draw)
    with caplog.at_level(logging.WARNING, "deniable"):
        assert client.report(NAME, "good").status is RECORDED
    (turned_away,) = inner
    assert isinstance(turned_away.error, StateUnavailable)
    assert "interrupted" in str(turned_away.error)
    assert caplog.messages == []  # no outage of the disk
    assert client.report(NAME, "good").status is REPEATED
