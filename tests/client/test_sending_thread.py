"""The thread: it starts late, once, ends when told; what it sends, and when (D6, D7).

Every wait here is bounded.
"""

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest

from deniable.client import Delivery, HttpAnswer, NotReady, OutcomeStatus
from deniable.client.client import engine_of
from deniable.client.sending import uploader
from tests.support.devices import ACCEPTED, NAME, Bench, read_upload
from tests.support.surveys import DAY, MANIFEST, START
from tests.support.watched import SECONDS, WatchedTransport, device, settled, threads, until

Patch = pytest.MonkeyPatch


def test_d6_the_first_report_starts_the_thread(bench: Bench, transport: WatchedTransport) -> None:
    client = device(bench)
    assert threads() == []
    assert isinstance(client.report(NAME, "good").error, NotReady)
    (thread,) = threads()
    assert thread.daemon
    assert transport.fetched.wait(SECONDS)
    until(lambda: client.report(NAME, "good").ok)  # the answer is not stored at once
    assert transport.uploaded.wait(SECONDS)
    assert settled(bench, client) == [(0, "delivered")]
    assert read_upload(transport.uploads[0]).report.epoch == 0
    assert transport.threads == {"deniable"}
    asked = [(request.method, request.path) for request in transport.requests]
    assert asked == [("GET", f"/v1/surveys/{NAME}/manifests"), ("POST", "/v1/reports")]
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").ok
    assert threads() == []  # none starts after close()


def test_one_thread_works(bench: Bench, transport: WatchedTransport, monkeypatch: Patch) -> None:
    uploader, thread_class = engine_of(device(bench)).uploader, threading.Thread
    made: list[threading.Thread] = []

    def make_slowly(**arguments: Any) -> threading.Thread:
        made.append(thread_class(**arguments))
        if len(made) == 1:
            # Another caller comes between the decision to make a thread and its start.
            wait([pool.submit(uploader.start)], timeout=0.2)
        return made[-1]

    with ThreadPoolExecutor(1) as pool:
        pool.submit(bool).result(SECONDS)  # its own thread exists by now
        monkeypatch.setattr(threading, "Thread", make_slowly)
        uploader.start()
    until(lambda: len(threads()) == 1)
    assert len(made) == 2


@pytest.fixture
def hasty(monkeypatch: Patch) -> None:
    """Let closing wait for what hangs only as long as a test may."""
    monkeypatch.setattr(uploader, "_STOP_SECONDS", 0.01)


@pytest.mark.usefixtures("hasty")
def test_closing_ends_a_hanging_thread(bench: Bench, transport: WatchedTransport) -> None:
    bench.ready()
    client = device(bench)
    transport.gate.clear()
    client.report(NAME, "good")
    assert transport.entered.wait(SECONDS)
    (thread,) = threads()
    client.close()
    assert bench.rows("SELECT status FROM decisions") == [("pending",)]
    transport.gate.set()
    thread.join(SECONDS)
    assert not thread.is_alive()
    bench.client().flush()
    assert len(set(transport.uploads)) == 1


@pytest.mark.usefixtures("hasty")
def test_closing_waits_for_no_hanging_flush(bench: Bench, transport: WatchedTransport) -> None:
    client = bench.reported()
    transport.gate.clear()
    with ThreadPoolExecutor(1) as pool:
        flushed = pool.submit(client.flush)
        assert transport.entered.wait(SECONDS)
        client.close()
        assert not flushed.done()
        transport.gate.set()
        assert flushed.result(SECONDS) == Delivery(delivered=1)
    client.close()


def test_without_background_there_is_no_thread(bench: Bench, transport: WatchedTransport) -> None:
    client = bench.reported()
    client.flush()
    assert threads() == []
    assert transport.threads == {"deniable-call"}  # which ended with the call


def test_the_thread_outlives_an_unreadable_state(bench: Bench, transport: WatchedTransport) -> None:
    client = device(bench)
    bench.path.mkdir()
    client.report(NAME, "good")
    (thread,) = threads()
    bench.path.rmdir()
    until(lambda: client.refresh(force=True).ready == (NAME,))
    client.report(NAME, "good")
    assert transport.uploaded.wait(SECONDS)
    assert threads() == [thread]
    assert settled(bench, client) == [(0, "delivered")]


def test_a_start_is_retried(bench: Bench, transport: WatchedTransport, monkeypatch: Patch) -> None:
    client = device(bench)
    bench.ready()

    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", none_left)
        assert client.report(NAME, "good").ok
        other = device(bench)
        assert other.report(NAME, "good").ok
        other.close()  # which raises for none
    assert client.report(NAME, "good").ok
    assert transport.uploaded.wait(SECONDS)


def test_a_late_stop_works(bench: Bench, transport: WatchedTransport, monkeypatch: Patch) -> None:
    client = device(bench)
    bench.ready()
    asleep = threading.Event()
    wake = engine_of(client).uploader._wake
    clear, wait_for = wake.clear, wake.wait

    def stopped_before() -> None:
        if asleep.is_set():
            engine_of(client).uploader._stopping = True  # the first half of stop()
            wake.set()  # and the second
        clear()

    def wait_a_little(seconds: float) -> None:
        if asleep.is_set():
            wait_for(seconds)  # an hour, for whoever did not hear
        asleep.set()

    monkeypatch.setattr(wake, "clear", stopped_before)
    monkeypatch.setattr(wake, "wait", wait_a_little)
    engine_of(client).uploader.start()
    until(lambda: threads() == [])


def test_what_nobody_foresaw_is_logged_once_and_ends_no_thread(
    bench: Bench, transport: WatchedTransport, caplog: pytest.LogCaptureFixture
) -> None:
    bench.ready()
    client = device(bench)
    transport.answer = ZeroDivisionError("secret")  # of an app's own transport
    client.report(NAME, "good")
    assert transport.entered.wait(SECONDS)
    until(lambda: any("ZeroDivisionError" in line for line in caplog.messages))
    for seconds in (41, DAY, DAY):  # nobody answered: it is sent only then
        transport.entered.clear()
        bench.clock.time += seconds
        engine_of(client).uploader.start()
        assert transport.entered.wait(SECONDS)
    (thread,) = threads()
    client.close()
    assert not thread.is_alive()
    lines = [record for record in caplog.records if record.levelname == "WARNING"]
    assert [record.getMessage() for record in lines] == [
        "reports are waiting: unexpected ZeroDivisionError"
    ]


def test_a_stop_ends_fetches(bench: Bench, transport: WatchedTransport, monkeypatch: Patch) -> None:
    bench.reported().close()
    bench.clock.time += 2 * DAY  # a fetch is due
    client, before = device(bench), len(transport.requests)

    def send_long() -> float:
        engine_of(client).uploader._stopping = True
        engine_of(client).uploader._wake.set()
        return 0.0

    monkeypatch.setattr(engine_of(client).uploader, "send_due", send_long)
    client.start()
    until(lambda: threads() == [])
    assert len(transport.requests) == before


def test_d7_the_thread_sends_nothing_too_early(bench: Bench, transport: WatchedTransport) -> None:
    bench.reported()
    client = device(bench)
    assert client.report(NAME, "good").status is OutcomeStatus.REPEATED  # that starts it too
    assert len(threads()) == 1
    client.close()
    assert transport.uploads == []


def test_a_second_report_wakes_the_thread(bench: Bench, transport: WatchedTransport) -> None:
    bench.ready()
    client = device(bench)
    client.report(NAME, "good")
    assert transport.uploaded.wait(SECONDS)
    transport.gate.clear()
    transport.entered.clear()
    bench.clock.time = START + DAY
    client.report(NAME, "good")
    assert transport.entered.wait(SECONDS)
    with ThreadPoolExecutor(1) as pool:
        flushed = pool.submit(client.flush)
        transport.gate.set()
        assert flushed.result(SECONDS) == Delivery()
    assert settled(bench, client) == [(0, "delivered"), (1, "delivered")]
    assert len(transport.uploads) == 2


def test_d7_a_report_late_in_its_time_is_sent_before_its_time_is_over(bench: Bench) -> None:
    bench.ready()
    bench.clock.time = MANIFEST.schedule.epoch_start(1) - 30
    bench.client().report(NAME, "good")
    ((due,),) = bench.rows("SELECT due FROM decisions")
    assert due < MANIFEST.schedule.closes(0)


def test_start_sends_what_was_left_on_consent(bench: Bench, transport: WatchedTransport) -> None:
    bench.reported().close()
    client = device(bench)
    bench.clock.time += 3600
    client.start()
    assert transport.uploaded.wait(SECONDS)
    client.set_consent("off")
    client.close()
    device(bench).start()
    assert threads() == []


def test_of_several_processes_one_sends_a_report_and_the_others_wait_for_it(bench: Bench) -> None:
    # Both threads wake when the report is due; the second asks while the first one's send is open.
    client, other = bench.ready(delivery_seconds=0.0), bench.client(delivery_seconds=0.0)
    assert client.report(NAME, "good").ok

    def beside(body: bytes) -> HttpAnswer:
        pauses.append(engine_of(other).uploader.send_due())
        return ACCEPTED

    pauses: list[float] = []
    bench.transport.answer = beside
    engine_of(client).uploader.send_due()
    assert pauses == [40.0]  # twice as long as a request may take
    assert len(bench.transport.uploads) == 1
    assert bench.rows("SELECT status, attempts FROM decisions") == [("delivered", 1)]
