"""Batches, which an app has to ask for by a name that says what they do (D7)."""

import pytest

from deniable.client import Client, Delivery, HttpAnswer, OutboxCaps
from deniable.client.client import engine_of
from deniable.messages import (
    RefusalCode,
    Schedule,
    SignedReport,
    UploadAnswer,
    split_upload,
)
from tests.support.devices import NAME, UNREACHABLE, Bench, problem, refused
from tests.support.surveys import DAY, START, manifest

JSON = {"content-type": "application/json"}
LONG = manifest(schedule=Schedule(START, DAY, 400, 90 * DAY))


def reported(bench: Bench, days: int, *, linkable_batches: bool = True) -> Client:
    bench.transport.publish(LONG)
    client = bench.ready(
        linkable_batches=linkable_batches,
        lifetime_epsilon="1000",
        caps=OutboxCaps(days=1000),
    )
    for day in range(days):
        bench.clock.time = START + day * DAY
        assert client.report(NAME, "good").ok
    return client


def epochs(body: bytes) -> list[int]:
    return [SignedReport.from_envelope(each).report.epoch for each in split_upload(body)]


def sizes(bench: Bench) -> list[int]:
    return [len(epochs(body)) for body in bench.transport.uploads]


def taken(body: bytes) -> HttpAnswer:
    return HttpAnswer(200, JSON, UploadAnswer(len(epochs(body)), 0).to_json())


def ends(bench: Bench) -> list[tuple[str, str]]:
    return bench.rows("SELECT status, verdict FROM decisions ORDER BY epoch")


def test_all_that_is_due_goes_in_one_request(bench: Bench) -> None:
    client = reported(bench, 5)
    bench.transport.answer = taken
    assert client.flush() == Delivery(delivered=5)
    assert sizes(bench) == [5]
    assert sorted(epochs(bench.transport.uploads[0])) == [0, 1, 2, 3, 4]
    assert ends(bench) == 5 * [("delivered", "accepted")]


def test_without_the_word_every_report_has_its_own(bench: Bench) -> None:
    client = reported(bench, 5, linkable_batches=False)
    assert client.flush() == Delivery(delivered=5)
    assert sizes(bench) == 5 * [1]


@pytest.mark.long
def test_a_request_holds_no_more_than_the_protocol_allows(bench: Bench) -> None:
    client = reported(bench, 300)
    bench.transport.answer = taken
    assert client.flush() == Delivery(delivered=300)
    assert sizes(bench) == [256, 44]


def test_the_thread_sends_what_is_due_and_nothing_before_its_time(bench: Bench) -> None:
    client = reported(bench, 4)
    bench.transport.answer = taken
    bench.rows(f"UPDATE decisions SET due = {START + 900.0 * DAY} WHERE epoch = 1")
    bench.clock.time = START + 4 * DAY
    engine_of(client).outbox._longest = 1000.0 * DAY
    engine_of(client).uploader.send_due()
    assert [sorted(epochs(body)) for body in bench.transport.uploads] == [[0, 2, 3]]


def test_each_refusal_is_acted_on_for_its_report(bench: Bench) -> None:
    client = reported(bench, 4)

    def judge(body: bytes) -> HttpAnswer:
        if len(bench.transport.uploads) > 1:
            return taken(body)
        found = dict(enumerate(epochs(body)))
        codes = {1: RefusalCode.OUT_OF_DOMAIN, 3: RefusalCode.OVERLOADED}
        listed = tuple((index, codes[e]) for index, e in found.items() if e in codes)
        return HttpAnswer(200, JSON, UploadAnswer(1, 1, listed).to_json())

    bench.transport.answer = judge
    assert client.flush(100) == Delivery(delivered=3, dropped=1)
    assert ends(bench) == [
        ("delivered", "accepted-or-duplicate"),
        ("dropped", "out-of-domain"),
        ("delivered", "accepted-or-duplicate"),
        ("delivered", "accepted"),
    ]
    assert epochs(bench.transport.uploads[1]) == [3]


def test_what_a_batch_that_is_too_large_held_is_sent_singly(bench: Bench) -> None:
    client = reported(bench, 10)

    def judge(body: bytes) -> HttpAnswer:
        too_large = len(epochs(body)) > 3
        return problem(RefusalCode.TOO_LARGE) if too_large else taken(body)

    bench.transport.answer = judge
    assert client.flush() == Delivery(delivered=10)
    # D8 leaves no sends for more than one split.
    assert sizes(bench) == [10, *10 * [1]]
    assert bench.rows("SELECT DISTINCT attempts, unanswered FROM decisions") == [(2, 0)]
    assert bench.clock.slept == []


def test_a_single_report_that_is_too_large_is_dropped(bench: Bench) -> None:
    client = reported(bench, 4)
    bench.transport.answer = problem(RefusalCode.TOO_LARGE)
    assert client.flush() == Delivery(dropped=4)
    assert sizes(bench) == [4, 1, 1, 1, 1]
    assert ends(bench) == 4 * [("dropped", "too-large")]


def test_one_report_that_rotted_does_not_take_the_others_with_it(bench: Bench) -> None:
    client = reported(bench, 4)
    bench.rows("UPDATE decisions SET envelope = x'ff00' WHERE epoch = 2")

    def judge(body: bytes) -> HttpAnswer:
        if b"\xff\x00" in body[:3] or body.endswith(b"\xff\x00"):
            return problem(RefusalCode.MALFORMED)
        return problem(RefusalCode.MALFORMED) if body[0] != 0x91 else taken(body)

    bench.transport.answer = judge
    assert client.flush() == Delivery(delivered=3, dropped=1)
    assert [status for status, _ in ends(bench)] == [
        "delivered",
        "delivered",
        "dropped",
        "delivered",
    ]


def test_a_batch_whose_fate_is_unknown_is_sent_again_with_the_same_bytes(bench: Bench) -> None:
    client = reported(bench, 3)
    bench.transport.answer = UNREACHABLE
    assert client.flush(1) == Delivery(pending=3)
    bench.transport.answer = taken
    assert client.flush(100) == Delivery(delivered=3)
    first, second = bench.transport.uploads
    assert sorted(split_upload(first)) == sorted(split_upload(second))
    assert bench.rows("SELECT DISTINCT attempts, unanswered FROM decisions") == [(2, 1)]


def test_an_answer_to_one_report_ends_no_batch(bench: Bench) -> None:
    client = reported(bench, 2)
    bench.transport.answer = refused(RefusalCode.OUT_OF_DOMAIN)
    assert client.flush(1) == Delivery(pending=2)
