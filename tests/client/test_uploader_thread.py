"""The one thread: it starts late, sends what is due, and ends when told.

Every wait here is bounded and ends as soon as what is waited for has happened.
"""

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest

from deniable.client import Client, Delivery, HttpAnswer, NotReady, OutcomeStatus
from tests.support.devices import (
    ACCEPTED,
    NAME,
    Bench,
    FakeTransport,
    Request,
    read_upload,
)
from tests.support.surveys import DAY, MANIFEST, START

SECONDS = 20.0


class WatchedTransport(FakeTransport):
    """Tells when a request has come; may hold it back.

    Attributes:
        fetched, uploaded: set once such a request was answered.
        gate: while clear, uploads wait for it.
    """

    def __init__(self) -> None:
        super().__init__(MANIFEST)
        self.fetched = threading.Event()
        self.entered = threading.Event()
        self.uploaded = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        self.threads: set[str] = set()

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        most: int,
        timeout: float = 20.0,
    ) -> HttpAnswer:
        self.threads.add(threading.current_thread().name)
        if method == "POST":
            self.entered.set()
            assert self.gate.wait(SECONDS)
        answer = super().request(method, path, headers, body, most)
        (self.uploaded if method == "POST" else self.fetched).set()
        return answer


@pytest.fixture
def transport(bench: Bench) -> WatchedTransport:
    watched = WatchedTransport()
    bench.transport = watched
    return watched


def device(bench: Bench, *, delivery_seconds: float = 0.0) -> Client:
    return bench.client(background=True, delivery_seconds=delivery_seconds)


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "deniable"]


def settled(bench: Bench, client: Client) -> list[tuple[object, ...]]:
    """Return the decisions once the thread has ended."""
    client.close()
    assert threads() == []
    return bench.rows("SELECT epoch, status FROM decisions ORDER BY epoch")


def test_the_thread_starts_with_the_first_report_and_is_a_daemon(
    bench: Bench, transport: WatchedTransport
) -> None:
    client = device(bench)
    assert threads() == []
    assert isinstance(client.report(NAME, "good").error, NotReady)
    (thread,) = threads()
    assert thread.daemon
    assert transport.fetched.wait(SECONDS)
    client.close()
    assert threads() == []


def test_d6_without_a_manifest_the_thread_fetches_one_and_the_next_report_is_sent(
    bench: Bench, transport: WatchedTransport
) -> None:
    client = device(bench)
    assert isinstance(client.report(NAME, "good").error, NotReady)
    assert transport.fetched.wait(SECONDS)
    while isinstance(client.report(NAME, "good").error, NotReady):  # until the answer is stored
        pass
    assert transport.uploaded.wait(SECONDS)
    assert settled(bench, client) == [(0, "delivered")]
    assert read_upload(transport.uploads[0]).report.epoch == 0
    assert transport.threads == {"deniable"}


def test_the_thread_sends_what_an_earlier_process_left(
    bench: Bench, transport: WatchedTransport
) -> None:
    assert bench.ready().report(NAME, "good").status is OutcomeStatus.RECORDED
    bench.close()
    bench.clock.time = START + 4000  # after its delivery time
    client = device(bench)
    assert client.report(NAME, "good").status is OutcomeStatus.REPEATED
    assert transport.uploaded.wait(SECONDS)
    assert settled(bench, client) == [(0, "delivered")]


def test_d7_the_thread_does_not_send_before_the_delivery_time(
    bench: Bench, transport: WatchedTransport
) -> None:
    bench.ready().report(NAME, "good")
    client = device(bench)
    client.report(NAME, "good")
    assert len(threads()) == 1
    client.close()
    assert transport.uploads == []


def test_a_second_report_wakes_the_thread(bench: Bench, transport: WatchedTransport) -> None:
    bench.ready()
    client = device(bench)
    client.report(NAME, "good")
    assert transport.uploaded.wait(SECONDS)
    transport.uploaded.clear()
    bench.clock.time = START + DAY
    client.report(NAME, "good")
    assert transport.uploaded.wait(SECONDS)
    assert settled(bench, client) == [(0, "delivered"), (1, "delivered")]


def test_many_calls_at_once_start_one_thread(bench: Bench, transport: WatchedTransport) -> None:
    bench.ready()
    client = device(bench, delivery_seconds=3600.0)
    barrier = threading.Barrier(16)

    def report() -> bool:
        barrier.wait(SECONDS)
        return client.report(NAME, "good").ok

    with ThreadPoolExecutor(16) as pool:
        assert all(task.result(SECONDS) for task in [pool.submit(report) for _ in range(16)])
    assert len(threads()) == 1
    assert bench.draw.count == 1


def test_a_thread_is_started_once_even_if_starting_takes_long(
    bench: Bench, transport: WatchedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = device(bench)
    made: list[threading.Thread] = []
    thread_class = threading.Thread

    def make_slowly(**arguments: Any) -> threading.Thread:
        made.append(thread_class(**arguments))
        if len(made) == 1:
            # Another caller comes between the decision to make a thread and its start.
            wait([pool.submit(client._uploader.start)], timeout=0.2)
        return made[-1]

    with ThreadPoolExecutor(1) as pool:
        pool.submit(bool).result(SECONDS)  # its own thread exists by now
        monkeypatch.setattr(threading, "Thread", make_slowly)
        client._uploader.start()
    assert len(made) == 1


def test_closing_ends_the_thread_while_a_request_hangs_and_loses_nothing(
    bench: Bench, transport: WatchedTransport
) -> None:
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


def test_no_thread_starts_after_close(bench: Bench, transport: WatchedTransport) -> None:
    bench.ready()
    client = device(bench)
    client.close()
    assert client.report(NAME, "good").ok
    assert threads() == []


def test_a_client_without_background_has_no_thread_whatever_it_does(
    bench: Bench, transport: WatchedTransport
) -> None:
    client = bench.ready()
    client.report(NAME, "good")
    client.flush()
    assert threads() == []
    assert transport.threads == {threading.current_thread().name}


def test_a_flush_beside_the_thread_sends_nothing_twice(
    bench: Bench, transport: WatchedTransport
) -> None:
    bench.ready()
    client = device(bench)
    transport.gate.clear()
    client.report(NAME, "good")
    assert transport.entered.wait(SECONDS)
    with ThreadPoolExecutor(1) as pool:
        flushed = pool.submit(client.flush)
        transport.gate.set()
        assert flushed.result(SECONDS) == Delivery()
    assert settled(bench, client) == [(0, "delivered")]
    assert len(transport.uploads) == 1


def test_the_thread_outlives_a_state_that_cannot_be_read_for_a_while(
    bench: Bench, transport: WatchedTransport, caplog: pytest.LogCaptureFixture
) -> None:
    client = device(bench)
    bench.path.mkdir()
    client.report(NAME, "good")
    (thread,) = threads()
    bench.path.rmdir()
    while not client.refresh().ready:
        pass
    client.report(NAME, "good")
    assert transport.uploaded.wait(SECONDS)
    assert threads() == [thread]
    assert settled(bench, client) == [(0, "delivered")]


def test_consent_withdrawn_stops_what_the_thread_had_not_sent(
    bench: Bench, transport: WatchedTransport
) -> None:
    bench.ready()
    client = device(bench, delivery_seconds=3600.0)
    client.report(NAME, "good")
    client.set_consent("off")
    bench.clock.time = START + 4000
    client._uploader.start()
    assert settled(bench, client) == [(0, "dropped")]
    assert transport.uploads == []


def test_what_was_asked_of_the_transport_is_the_documented_traffic(
    bench: Bench, transport: WatchedTransport
) -> None:
    client = device(bench)
    client.report(NAME, "good")
    assert transport.fetched.wait(SECONDS)
    while not client.report(NAME, "good").ok:
        pass
    assert transport.uploaded.wait(SECONDS)
    client.close()
    asked = [(request.method, request.path) for request in transport.requests]
    assert asked == [("GET", f"/v1/surveys/{NAME}/manifest"), ("POST", "/v1/reports")]
    assert isinstance(transport.requests[0], Request)
    assert transport.answer is ACCEPTED


def test_d7_reports_that_are_due_together_are_not_sent_together(bench: Bench) -> None:
    client = bench.ready()
    for day in range(4):
        bench.clock.time = START + day * DAY
        client.report(NAME, "good")
    # The device was off for an hour: all four are due.
    bench.rows("UPDATE decisions SET due = 0")
    now = bench.clock.time
    pause = client._uploader._send_one()
    assert len(bench.transport.uploads) == 1
    dues = [due for (due,) in bench.rows("SELECT due FROM decisions WHERE status = 'pending'")]
    assert len(set(dues)) == 3
    assert all(now < due <= now + 3600 for due in dues)
    assert pause == min(dues) - now


def test_d7_a_report_late_in_its_time_is_sent_before_its_time_is_over(bench: Bench) -> None:
    client = bench.ready()
    bench.clock.time = MANIFEST.schedule.epoch_start(1) - 30
    client.report(NAME, "good")
    ((due,),) = bench.rows("SELECT due FROM decisions")
    assert due < MANIFEST.schedule.closes(0)


def test_start_sends_what_an_earlier_run_left_and_needs_consent(
    bench: Bench, transport: WatchedTransport
) -> None:
    earlier = bench.ready()
    earlier.report(NAME, "good")
    earlier.close()
    client = device(bench)
    bench.clock.time += 3600
    client.start()
    assert transport.uploaded.wait(SECONDS)
    client.set_consent("off")
    client.close()
    silent = device(bench)
    silent.start()
    assert silent._uploader._thread is None


def test_a_thread_that_cannot_start_is_tried_again(
    bench: Bench, transport: WatchedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = device(bench)
    bench.ready()

    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", none_left)
        assert client.report(NAME, "good").ok
    assert client.report(NAME, "good").ok
    assert transport.uploaded.wait(SECONDS)
