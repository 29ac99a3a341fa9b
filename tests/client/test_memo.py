"""Memoised surveys on the device: the rules at the head of ``kept_answers``."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from deniable.client import Client, OutcomeStatus
from deniable.client.ledger.kept_answers import memo_draw
from deniable.messages import Manifest, Repeat, Schedule, Specification
from tests.support.devices import NAME, Bench, read_upload
from tests.support.surveys import DAY, DECLARED, START, manifest

RECORDED = OutcomeStatus.RECORDED
RANGE = 4
MEMOISED = manifest(
    schedule=Schedule(START, DAY, 10, DAY), repeat=Repeat("memoised", RANGE), sequence=1
)
TWO_ROUND = replace(
    MEMOISED,
    epsilon="1",
    specification=Specification("two-round", {"kept": "2", "fresh": ("subset", 1)}),
    sequence=2,
)
KEPT = replace(DECLARED, max_kept_epsilon="2")
KEY = bytes(range(32))


def following(bench: Bench, published: Manifest, **changes: Any) -> Client:
    bench.transport.publish(published)
    return bench.ready(surveys=[KEPT], lifetime_epsilon="1000", **changes)


@pytest.fixture
def device(bench: Bench) -> Client:
    return following(bench, MEMOISED)


def responses(bench: Bench, client: Client, answers: list[str], first: int = 0) -> list[int]:
    """Report one answer after the other, an epoch each, and send; return the responses."""
    before = len(bench.transport.uploads)
    for epoch, answer in enumerate(answers, start=first):
        bench.clock.time = START + epoch * DAY
        assert client.report(NAME, answer).status is RECORDED
        assert client.flush().delivered == 1
    return [read_upload(body).report.response for body in bench.transport.uploads[before:]]


def keys(bench: Bench) -> list[bytes | None]:
    return [key for (key,) in bench.rows("SELECT key FROM memos ORDER BY survey_id, first")]


def the_key(bench: Bench) -> bytes:
    (key,) = keys(bench)
    assert key is not None
    return key


def test_a_key_is_of_a_range_and_costs_what_answers_could(bench: Bench, device: Client) -> None:
    responses(bench, device, ["good"] * 10)
    stored = bench.rows("SELECT first, ends, reports FROM memos ORDER BY first")
    assert stored == [
        (0, START + 4 * DAY, 4),
        (4, START + 8 * DAY, 4),
        (8, START + 10 * DAY, 2),  # the survey ends within the range
    ]
    # 5 categories and ranges of 4: four reports could be of four answers, ten of 4 + 4 + 2.
    assert bench.rows("SELECT sum(cost) FROM decisions") == [(10 * 10**9,)]
    assert bench.rows("SELECT reserved FROM manifests WHERE role = 'accepted'") == [(10 * 10**9,)]


def test_the_key_of_a_range_is_erased_when_the_range_ends(bench: Bench, device: Client) -> None:
    responses(bench, device, ["good"])
    key = the_key(bench)
    assert bench.on_disk(key) != []
    bench.clock.time = START + RANGE * DAY
    device.report(NAME, "good")
    old, new = keys(bench)
    assert old is None
    assert new not in {None, key}
    assert bench.on_disk(key) == []


def test_beyond_as_many_reports_as_answers_a_range_costs_nothing_more(bench: Bench) -> None:
    changes: dict[str, Any] = {"question": "Is it dark?", "categories": ("no", "yes")}
    bench.transport.publish(replace(MEMOISED, sequence=3, **changes))
    client = bench.ready(surveys=[replace(KEPT, **changes)], lifetime_epsilon="6")
    responses(bench, client, ["no", "yes", "yes", "no"] * 2 + ["no", "no"])
    costs = [cost for (cost,) in bench.rows("SELECT cost FROM decisions ORDER BY epoch")]
    one = 10**9
    assert costs == [one, one, 0, 0, one, one, 0, 0, one, one]


def test_two_rounds_keep_one_response_and_add_noise_to_each_report(bench: Bench) -> None:
    client = following(bench, TWO_ROUND)
    responses(bench, client, ["good"] * RANGE)
    assert bench.draw.count == 3 * RANGE  # the fresh noise of each report is the system's
    assert the_key(bench)


def test_two_rounds_are_the_kept_response_with_noise(bench: Bench) -> None:
    # With fresh noise that never lies, what is sent is the kept response.
    client = following(bench, TWO_ROUND, unsafe_draw=lambda: 2**64 - 1)
    sent = responses(bench, client, ["good", "poor", "good", "poor"])
    assert (sent[0], sent[1]) == (sent[2], sent[3])


def test_every_input_of_the_prf_counts() -> None:
    usual = (KEY, MEMOISED.survey_id, 0, 1)
    changed = enumerate((bytes(32), bytes(32), 4, 2))
    inputs: list[Any] = [usual, *((*usual[:at], new, *usual[at + 1 :]) for at, new in changed)]
    draws = [memo_draw(*each) for each in inputs]
    drawn = [draw() for draw in draws for _ in range(3)]
    assert len(set(drawn)) == len(drawn)
    assert all(0 <= word < 2**64 for word in drawn)
    assert memo_draw(*usual)() == drawn[0]


def test_keys_make_the_laws_of_the_mechanism() -> None:
    # 4,000 keys, one answer: the number of truths is binomial. A deviation of 5.5 standard
    # deviations has a probability below 4e-8; the keys are fixed, so it passes always or never.
    mechanism = MEMOISED.mechanism
    seen = Counter(
        mechanism.randomise(2, memo_draw(seed.to_bytes(32), MEMOISED.survey_id, 0, 2))
        for seed in range(4000)
    )
    truth = float(mechanism.truth or 0)
    assert abs(seen[2] - 4000 * truth) < 5.5 * (4000 * truth * (1 - truth)) ** 0.5
