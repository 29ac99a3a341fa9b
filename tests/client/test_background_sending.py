"""What the thread sends, and when (D6, D7). Every wait here is bounded."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deniable.client import Delivery, HttpAnswer, NotReady, OutcomeStatus
from deniable.client.client import engine_of
from deniable.messages import RefusalCode
from tests.support.devices import (
    ACCEPTED,
    NAME,
    UNREACHABLE,
    Bench,
    read_upload,
    refused,
)
from tests.support.effort import THOROUGH
from tests.support.surveys import CATEGORIES, DAY, MANIFEST, START
from tests.support.watched import SECONDS, WatchedTransport, device, settled, threads, until


def test_d6_without_a_manifest_the_thread_fetches_one_and_the_next_report_is_sent(
    bench: Bench, transport: WatchedTransport
) -> None:
    client = device(bench)
    assert isinstance(client.report(NAME, "good").error, NotReady)
    assert transport.fetched.wait(SECONDS)
    until(lambda: client.report(NAME, "good").ok)  # the answer is not stored at once
    assert transport.uploaded.wait(SECONDS)
    assert settled(bench, client) == [(0, "delivered")]
    assert read_upload(transport.uploads[0]).report.epoch == 0
    assert transport.threads == {"deniable"}
    asked = [(request.method, request.path) for request in transport.requests]
    assert asked == [("GET", f"/v1/surveys/{NAME}/manifests"), ("POST", "/v1/reports")]


def test_d7_the_thread_does_not_send_before_the_delivery_time(
    bench: Bench, transport: WatchedTransport
) -> None:
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
    transport.uploaded.clear()
    bench.clock.time = START + DAY
    client.report(NAME, "good")
    assert transport.uploaded.wait(SECONDS)
    assert settled(bench, client) == [(0, "delivered"), (1, "delivered")]


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


def test_consent_withdrawn_stops_what_the_thread_had_not_sent(
    bench: Bench, transport: WatchedTransport
) -> None:
    bench.ready()
    client = device(bench, delivery_seconds=3600.0)
    client.report(NAME, "good")
    client.set_consent("off")
    bench.clock.time = START + 4000
    engine_of(client).uploader.start()
    assert settled(bench, client) == [(0, "dropped")]
    assert transport.uploads == []


def test_d7_reports_that_are_due_together_are_not_sent_together(bench: Bench) -> None:
    client = bench.ready()
    for day in range(4):
        bench.clock.time = START + day * DAY
        client.report(NAME, "good")
    # The device was off for an hour: all four are due.
    bench.rows("UPDATE decisions SET due = 0")
    now = bench.clock.time
    pause = engine_of(client).uploader.send_due()
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
    earlier = bench.reported()
    earlier.close()
    client = device(bench)
    bench.clock.time += 3600
    client.start()
    assert transport.uploaded.wait(SECONDS)
    client.set_consent("off")
    client.close()
    silent = device(bench)
    silent.start()
    assert engine_of(silent).uploader._thread is None


def traffic(folder: Path, answer: str, word: int) -> list[tuple[float, str, int, str]]:
    """Return when a device sends what, and how much of it, that always gives this answer."""
    folder.mkdir()
    with Bench(folder) as bench:
        times: list[float] = []

        def judge(_: bytes) -> HttpAnswer:
            times.append(bench.clock.time)
            if len(times) % 3 == 1:
                raise UNREACHABLE
            later = refused(RefusalCode.OVERLOADED, retry_after="7")
            return later if len(times) % 3 == 2 else ACCEPTED

        bench.transport.answer = judge
        client = bench.ready(unsafe_draw=lambda: word)
        for day in range(5):
            bench.clock.time = START + day * DAY
            assert client.report(NAME, answer).ok
            for _ in range(20):
                bench.clock.time += engine_of(client).uploader.send_due() if day else 600.0
        posts = [request for request in bench.transport.requests if request.method == "POST"]
        sizes = [len(request.body) for request in posts]
        settled = bench.rows("SELECT epoch, attempts, due, held FROM decisions ORDER BY epoch")
        return [
            (time, request.path, size, str(settled))
            for time, request, size in zip(times, posts, sizes, strict=True)
        ]


@pytest.mark.parametrize("word", [0, 2**63, 2**64 - 1] if THOROUGH else [2**64 - 1])
def test_when_and_how_much_a_device_sends_depends_on_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: int
) -> None:
    # Also not on the response: the last of these words tells the truth.
    found = []
    for number, answer in enumerate(CATEGORIES):
        # What every device draws its times from.
        monkeypatch.setattr("deniable.client.engine.uniform", random.Random(20_061_204).random)
        found.append(traffic(tmp_path / str(number), answer, word))
    first, *others = found
    assert len(first) > 10
    assert all(other == first for other in others)


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


def test_what_a_killed_process_was_sending_is_sent_by_another(bench: Bench) -> None:
    client, other = bench.ready(delivery_seconds=0.0), bench.client(delivery_seconds=0.0)
    assert client.report(NAME, "good").ok

    class Kill(BaseException):
        pass

    def die(body: bytes) -> HttpAnswer:
        raise Kill

    bench.transport.answer = die
    with pytest.raises(Kill):
        engine_of(client).uploader.send_due()
    bench.transport.answer = ACCEPTED
    assert engine_of(other).uploader.send_due() == 40.0
    bench.clock.time += 40
    engine_of(other).uploader.send_due()
    first, second = bench.transport.uploads
    assert first == second
    assert bench.rows("SELECT status FROM decisions") == [("delivered",)]
