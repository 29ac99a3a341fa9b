"""What marks devices in a log: found where it is, and in no honest history."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import gcd
from pathlib import Path
from random import Random
from typing import Any

import pytest

from deniable.counterparts.signing import sign_manifest
from deniable.directory.gateway_file import first_gateway, rotated_gateway
from deniable.documents import Level
from deniable.logs import leaf_hash
from deniable.messages import Enrolment, Manifest, Schedule
from deniable.public_log.audit.checks import audit
from deniable.public_log.audit.history import History, crowd_findings
from deniable.public_log.audit.visiting import Visit
from deniable.publishing.numbering import current_number, next_manifest
from deniable.publishing.survey_file import EXAMPLE, SurveyFile
from tests.public_log.audit.served import (
    TRUST,
    audited,
    checkpoint_of,
    codes,
    downloaded,
    files_of,
    signed,
)
from tests.support.effort import every, some
from tests.support.rsa_keys import small_primes
from tests.support.surveys import AUTHORITY, DAY

ORIGIN = "https://collector.example"
WEEK = 7 * DAY
BEGIN = 1_700_000_000
KEYS = (AUTHORITY.public_key,)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> SurveyFile:
    file: Path = tmp_path_factory.mktemp("survey") / "survey.toml"
    file.write_text(EXAMPLE, "utf-8")
    return SurveyFile.load(file)


class Collector:
    """What a collector logs, by its own rules of publishing, at times of a test."""

    def __init__(self, written: SurveyFile) -> None:
        self.written = written
        self.manifests: list[Manifest] = []  # the newest first
        self.envelopes: list[bytes] = []
        self.times: list[float] = []  # of the envelopes
        self.gateway = first_gateway(ORIGIN, AUTHORITY, BEGIN)

    def log(self, envelope: bytes, now: float) -> None:
        self.envelopes.append(envelope)
        self.times.append(now)

    def publish(self, now: float, weeks: int, **changes: Any) -> None:
        """Publish what runs for so many weeks more."""
        numbers = [current_number(one.schedule, now) for one in self.manifests[:1]]
        epochs = 1 + max(numbers, default=-1) + weeks
        nonce = len(self.envelopes).to_bytes(16)
        survey = replace(self.written, **{"epochs": epochs} | changes)
        made = next_manifest(survey, self.manifests, ORIGIN, nonce, now)
        self.manifests.insert(0, made)
        self.log(sign_manifest(made, AUTHORITY), now)

    def rotate(self, now: float) -> None:
        """Add a gateway key as ``deniable gateway rotate`` does."""
        keys = self.gateway.opened(KEYS)
        self.gateway = rotated_gateway(self.gateway, keys, AUTHORITY, self.manifests, now)
        self.log(self.gateway.signed, now)

    def seen(self, now: float, visits: Sequence[float] = ()) -> list[str]:
        """Return the findings of whoever comes now, and was there at these times before."""
        visit = Visit(None, AUTHORITY.public_key, checkpoint_of(()))
        for at in visits:
            known = [envelope for envelope, when in self.logged() if when <= at]
            visit = replace(visit, checkpoint=checkpoint_of(known)).again(at)
        envelopes = [envelope for envelope, when in self.logged() if when <= now]
        history = History.read(envelopes, AUTHORITY.public_key)
        found = crowd_findings(history, visit.visits, frozenset(), now)
        return [one.code for one in found if one.level is Level.WARNING]

    def logged(self) -> list[tuple[bytes, float]]:
        return [*zip(self.envelopes, self.times, strict=True)]


@pytest.mark.parametrize("seed", some(range(4)))
def test_honest_histories_of_years_are_clean_whenever_anybody_comes(
    written: SurveyFile, seed: int
) -> None:
    random, collector = Random(seed), Collector(written)
    collector.log(collector.gateway.signed, BEGIN)
    now, rotation = float(BEGIN), BEGIN + 30 * WEEK
    for _ in range(16):  # some six years, with epsilon, grace and length as an operator pleases
        epsilon, grace = random.choice(["0.5", "1", "2"]), random.choice([DAY, 2 * DAY])
        collector.publish(now, 26, epsilon=epsilon, grace_seconds=grace)
        now += random.choice([random.uniform(20, 24), random.uniform(27, 60)]) * WEEK
        if now > rotation:
            collector.rotate(now)
            rotation = int(now + random.uniform(30, 60) * WEEK)
    for _ in range(40):
        assert collector.seen(random.uniform(BEGIN, now + 40 * WEEK)) == []
    # Whoever changes it as often as every other week is told from a crowd by weekly visits.
    busy, visits, now = Collector(written), [], float(BEGIN)
    for number in range(12):
        busy.publish(now, 40, minimum_reports=2 + number)
        now += random.uniform(2, 4) * WEEK
    visits = [BEGIN - random.uniform(0, WEEK) + week * WEEK for week in range(60)]
    for last in range(1, 60, 5):
        assert busy.seen(visits[last], visits[:last]) == []


@pytest.mark.parametrize("seed", some(range(4)))
def test_manifests_and_keys_for_few_devices_are_found(written: SurveyFile, seed: int) -> None:
    random, collector = Random(seed), Collector(written)
    start = BEGIN + random.uniform(0, WEEK)
    collector.publish(start, 26)
    collector.log(collector.gateway.signed, start)
    now = start + random.uniform(0, 20) * WEEK
    for number in range(12):  # 12 more of each within 90 seconds
        at = now + number * 7
        collector.publish(at, 26 + number, minimum_reports=2 + number)
        collector.rotate(at)
    later = now + random.uniform(90, WEEK)
    assert set(collector.seen(later)) == {"crowd", "gateway-crowd"}
    result = audit(downloaded(files_of(collector.envelopes)), None, TRUST, later)
    assert codes(result) >= {"crowd", "gateway-crowd"}
    assert result.worst is Level.WARNING
    visits = [start - DAY + week * WEEK for week in range(int((later - start + DAY) // WEEK) + 1)]
    assert set(collector.seen(later, visits)) == {"crowd", "gateway-crowd"}
    # Once all of it is over, whoever came in time still sees it.
    over = later + 100 * WEEK
    assert collector.seen(over, [*visits, later]) == ["crowd"]


@pytest.mark.parametrize("more", [0, 1, 5])
def test_many_manifests_that_run_are_found_by_entries_alone(written: SurveyFile, more: int) -> None:
    collector = Collector(written)
    collector.publish(BEGIN, 26)
    for place in range(1, 13):
        weeks = 26 + place * more % 13
        collector.publish(BEGIN + 7 * place, weeks, minimum_reports=2 + place)
    assert collector.seen(BEGIN + DAY) == ["crowd"]


def test_two_changes_of_a_survey_that_runs_raise_no_suspicion(written: SurveyFile) -> None:
    collector = Collector(written)
    for run in range(3):
        for change, week in enumerate((0, 10, 20)):
            now = BEGIN + (26 * run + week) * WEEK
            collector.publish(now, 26 - week + 1, minimum_reports=2 + change)
            assert collector.seen(now) == []
    history = History.read(collector.envelopes, AUTHORITY.public_key)
    for week in every(100):
        now = BEGIN + week * WEEK
        assert collector.seen(now) == []
    (note,) = crowd_findings(history, (), frozenset(), now)
    assert (note.code, note.level) == ("undated", Level.NOTE)
    assert "--remember" in note.text


def test_two_of_one_epoch_are_found_by_who_comes_in_each(written: SurveyFile) -> None:
    twice = Collector(written)
    twice.publish(BEGIN, 26)
    twice.publish(BEGIN + 10 * WEEK, 26, epsilon="0.5")
    twice.publish(BEGIN + 10 * WEEK + 90, 2, question="Another?")  # another declaration's
    before, after = BEGIN + 10 * WEEK - DAY, BEGIN + 10 * WEEK + DAY
    assert twice.seen(after, [before]) == twice.seen(after) == []
    twice.publish(BEGIN + 10 * WEEK + 99, 26, epsilon="0.4")
    assert twice.seen(after, [before]) == ["crowd"]
    assert twice.seen(after + 100 * WEEK, [before, after]) == ["crowd"]


@cache
def moduli(number: int) -> tuple[bytes, ...]:
    """Return numbers that pass for keys: without small factors, and pairwise without one."""
    random, product = Random(number), 1
    for prime in small_primes(1 << 16):
        product *= prime
    found: list[bytes] = []
    while len(found) < number:
        n = random.getrandbits(2048) | 1 << 2047 | 1
        if gcd(product % n, n) == 1:
            found.append(n.to_bytes(256))
    return tuple(found)


def blind(*keys: bytes, first: int = 0, issuer: str = "issuer.example", **changes: Any) -> bytes:
    """Return the envelope of a survey whose issuer has these keys from the first epoch on."""
    schedule = Schedule(BEGIN, DAY, first + len(keys), DAY)
    enrolment = Enrolment("blind", issuer=issuer, first=first, keys=keys)
    return signed(enrolment=enrolment, schedule=schedule, **changes)


A, B, C, D = moduli(4)


@pytest.mark.parametrize(
    ("envelopes", "expected"),
    [
        ([blind(A, B)], set()),
        ([blind(A, B), blind(B, C, D, first=1, sequence=1)], set()),
        ([blind(A, B), blind(A, D, sequence=1)], {"issuer-keys"}),
        ([blind(A, B), blind(A, D, sequence=1, issuer="next.example")], set()),
        ([blind(A, B), blind(C, A, name="other")], {"issuer-keys"}),
        ([blind(A, B), blind(B, C, sequence=1, question="Other?")], {"issuer-keys"}),
    ],
)
def test_issuer_keys_that_no_honest_publisher_lists_are_found(
    envelopes: Sequence[bytes], expected: set[str]
) -> None:
    assert codes(audited(files_of(envelopes))) == expected


def test_what_was_looked_into_is_a_suspicion_no_more_until_there_is_more() -> None:
    logged = (blind(A, B), blind(A, D, sequence=1))
    assert audited(files_of(logged)).worst is Level.WARNING
    trust = replace(TRUST, acknowledged=frozenset({leaf_hash(logged[1])}))
    result = audited(files_of(logged), trust=trust)
    assert (codes(result), result.worst) == ({"acknowledged"}, Level.NOTE)
    more = (*logged, blind(C, D, sequence=2))
    assert codes(audited(files_of(more), trust=trust)) == {"acknowledged", "issuer-keys"}
