"""What the device remembers of manifests: reservations, rollbacks, and proofs of equivocation."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from deniable.budget import pure_cost
from deniable.client import Client, ManifestFault, OutcomeStatus, ReportEntry, Survey
from deniable.messages import Manifest, Schedule, sign_manifest
from tests.support.devices import NAME, UNREACHABLE, Bench, fault_of
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, DECLARED, MANIFEST, START, manifest

COST = pure_cost(MANIFEST.mechanism)


def twin(sequence: int, **changes: Any) -> Manifest:
    """Return a manifest that differs from the usual one of this sequence."""
    return manifest(sequence=sequence, nonce=b"another nonce 16", **changes)


def offer(bench: Bench, client: Client, offered: Manifest) -> ManifestFault | None:
    """Let the collector publish a manifest; return what the client says of it."""
    bench.transport.publish(offered)
    return fault_of(client.refresh(force=True), offered.name)


def roles(bench: Bench) -> list[tuple[int, str, int]]:
    query = "SELECT sequence, role, reserved FROM manifests ORDER BY sequence, role"
    return [(int(sequence), str(role), int(cost)) for sequence, role, cost in bench.rows(query)]


REFUSED: list[tuple[ManifestFault, Callable[[], Manifest]]] = [
    (ManifestFault.NOT_AS_DECLARED, lambda: manifest(categories=CATEGORIES[::-1])),
    (ManifestFault.NOT_AS_DECLARED, lambda: manifest(categories=CATEGORIES[:2])),
    (ManifestFault.TOO_HIGH_EPSILON, lambda: manifest(epsilon="1.1")),
    (ManifestFault.TOO_HIGH_DELTA, lambda: manifest(delta="0.1")),
    (ManifestFault.TOO_SHORT_EPOCHS, lambda: manifest(schedule=Schedule(START, DAY - 1, 8, 0))),
    (ManifestFault.ENDED, lambda: manifest(schedule=Schedule(START - DAY, DAY, 1, DAY))),
    (ManifestFault.OVER_BUDGET, lambda: manifest(schedule=Schedule(START, DAY, 21, DAY))),
    (ManifestFault.WRONG_ORIGIN, lambda: manifest(origin="http://127.0.0.1:1")),
]


@pytest.mark.parametrize(("fault", "offered"), REFUSED)
def test_d2_a_refused_manifest_leaves_nothing_spent_sent_or_drawn(
    bench: Bench, fault: ManifestFault, offered: Callable[[], Manifest]
) -> None:
    client = bench.client()
    assert offer(bench, client, offered()) is fault
    outcome = client.report(NAME, "good")
    assert outcome.status is OutcomeStatus.NOT_RECORDED
    assert fault_of(outcome.error) is fault
    client.flush()
    assert bench.draw.count == 0
    assert bench.transport.uploads == []
    assert bench.rows("SELECT * FROM decisions") == []
    assert bench.rows("SELECT coalesce(sum(reserved), 0) FROM manifests") == [(0,)]


def test_d2_a_rollback_is_noticed_even_to_one_that_was_accepted(bench: Bench) -> None:
    client = bench.ready()
    assert offer(bench, client, manifest(sequence=1)) is None
    assert offer(bench, client, MANIFEST) is ManifestFault.ROLLED_BACK
    # The last one that was replaced stands: it is what is known of if the clock is put back.
    assert roles(bench) == [(0, "replaced", 8 * COST), (1, "accepted", 8 * COST)]


def test_d2_a_second_manifest_of_a_sequence_that_was_refused_proves_an_equivocation(
    bench: Bench,
) -> None:
    client = bench.ready()
    assert offer(bench, client, manifest(sequence=5, epsilon="2")) is ManifestFault.TOO_HIGH_EPSILON
    client.close()
    again = bench.client()
    assert offer(bench, again, twin(5)) is ManifestFault.EQUIVOCATION
    assert offer(bench, again, manifest(sequence=6)) is None


def test_d2_both_manifests_of_an_equivocation_are_kept_as_proof(bench: Bench) -> None:
    client = bench.ready()
    assert offer(bench, client, twin(0)) is ManifestFault.EQUIVOCATION
    kept = bench.rows("SELECT envelope FROM manifests WHERE sequence = 0")
    assert {envelope for (envelope,) in kept} == {
        sign_manifest(MANIFEST, AUTHORITY),
        sign_manifest(twin(0), AUTHORITY),
    }
    assert client.report(NAME, "good").ok  # the first one stands


def test_d2_the_proof_outlives_the_manifests_that_follow(bench: Bench) -> None:
    client = bench.client()
    first, second = manifest(sequence=1, epsilon="2"), twin(1)
    assert offer(bench, client, first) is ManifestFault.TOO_HIGH_EPSILON
    assert offer(bench, client, second) is ManifestFault.EQUIVOCATION
    assert offer(bench, client, manifest(sequence=2)) is None
    assert offer(bench, client, manifest(sequence=3, epsilon="3")) is not None
    kept = bench.rows("SELECT survey_id FROM manifests WHERE sequence = 1")
    assert {survey_id for (survey_id,) in kept} == {first.survey_id, second.survey_id}


def test_d2_equivocating_manifests_do_not_fill_the_disk(bench: Bench) -> None:
    client = bench.ready()
    for number in range(12):
        bench.clock.time += DAY / 2
        other = manifest(nonce=bytes([number + 1] * 16))
        assert offer(bench, client, other) is ManifestFault.EQUIVOCATION
        assert offer(bench, client, other) is ManifestFault.EQUIVOCATION
    assert 2 <= len(roles(bench)) <= 5


def test_d2_refused_manifests_do_not_fill_the_disk(bench: Bench) -> None:
    client = bench.ready()
    for sequence in range(1, 12):
        bench.clock.time += DAY / 4  # no more than eight requests a day leave
        offered = manifest(sequence=sequence, epsilon="2")
        assert offer(bench, client, offered) is ManifestFault.TOO_HIGH_EPSILON
    assert len(roles(bench)) == 2
    for sequence in range(12, 20):
        bench.clock.time += DAY / 2
        assert offer(bench, client, manifest(sequence=sequence, epsilon="2")) is not None
        assert offer(bench, client, twin(sequence)) is ManifestFault.EQUIVOCATION
    assert len(roles(bench)) <= 10


def test_manifests_that_were_replaced_are_let_go_once_nothing_needs_them(bench: Bench) -> None:
    client = bench.client(lifetime_epsilon="1000")
    held = "SELECT sequence FROM manifests ORDER BY sequence"
    for day in range(9):
        bench.clock.time = START + day * DAY
        following = manifest(sequence=day, schedule=Schedule(START, DAY, 20, DAY))
        assert offer(bench, client, following) is None
        if day == 3:
            assert offer(bench, client, twin(day)) is ManifestFault.EQUIVOCATION
        assert client.report(NAME, "good").ok
        client.flush()
    # A report's bytes stand until its grace is over; both of an equivocation are kept as its proof.
    assert bench.rows(held) == [(3,), (3,), (6,), (7,), (8,)]
    bench.transport.answer = UNREACHABLE
    for day in range(9, 12):
        bench.clock.time = START + day * DAY
        following = manifest(sequence=day, schedule=Schedule(START, DAY, 20, DAY))
        assert offer(bench, client, following) is None
        assert client.report(NAME, "good").ok
    waiting = [entry for entry in client.journal().entries if isinstance(entry, ReportEntry)][-3:]
    assert [entry.response in CATEGORIES for entry in waiting] == [True] * 3
    assert offer(bench, client, manifest(sequence=10)) is ManifestFault.ROLLED_BACK


def test_d2_a_clock_that_is_put_back_lets_nothing_go_that_was_followed(bench: Bench) -> None:
    client = bench.client(lifetime_epsilon="1000")
    for sequence, day in ((1, 0), (2, 1), (3, 10)):
        bench.clock.time = START + day * DAY
        following = manifest(sequence=sequence, schedule=Schedule(START + day * DAY, DAY, 20, DAY))
        assert offer(bench, client, following) is None
    bench.clock.time = START + DAY / 2
    for again in (1, 2):
        offered = twin(again, schedule=Schedule(START, DAY, 20, DAY))
        assert offer(bench, client, offered) in {
            ManifestFault.ROLLED_BACK,
            ManifestFault.EQUIVOCATION,
        }


def named(name: str) -> tuple[Survey, Manifest]:
    return replace(DECLARED, name=name), manifest(name=name)


def test_d3_the_lifetime_ceiling_is_shared_by_all_names(bench: Bench) -> None:
    surveys = [named(name) for name in ("one", "two", "three")]
    for _, offered in surveys:
        bench.transport.publish(offered)
    client = bench.client(surveys=[survey for survey, _ in surveys], lifetime_epsilon="16.1")
    refresh = client.refresh(force=True)
    assert refresh.ready == ("one", "two")
    assert fault_of(refresh.errors["three"]) is ManifestFault.OVER_BUDGET
    assert bench.rows("SELECT sum(reserved) FROM manifests") == [(16 * COST,)]
    assert [client.report(name, "good").ok for name in ("one", "two", "three")] == [
        True,
        True,
        False,
    ]


def test_d3_accepting_the_same_manifest_again_reserves_once(bench: Bench) -> None:
    client = bench.ready(lifetime_epsilon="8.1")
    for _ in range(3):
        assert offer(bench, client, MANIFEST) is None
    assert roles(bench) == [(0, "accepted", 8 * COST)]


def test_d3_an_app_that_allows_more_may_accept_what_was_over_budget(bench: Bench) -> None:
    client = bench.client(lifetime_epsilon="7.9")
    assert offer(bench, client, MANIFEST) is ManifestFault.OVER_BUDGET
    client.close()
    assert offer(bench, bench.client(lifetime_epsilon="8.1"), MANIFEST) is None
    assert roles(bench) == [(0, "accepted", 8 * COST)]


LOWERED: list[tuple[ManifestFault, dict[str, Any]]] = [
    (ManifestFault.TOO_HIGH_EPSILON, {"max_epsilon": "0.9"}),
    (ManifestFault.TOO_SHORT_EPOCHS, {"min_epoch_seconds": DAY + 1}),
    (ManifestFault.TOO_LONG_GRACE, {"max_grace_seconds": DAY - 1}),
    (ManifestFault.NOT_AS_DECLARED, {"question": "Is all well?"}),
]


@pytest.mark.parametrize(("fault", "changes"), LOWERED)
def test_d2_an_app_that_demands_more_after_the_acceptance_is_obeyed_at_the_next_draw(
    bench: Bench, fault: ManifestFault, changes: dict[str, Any]
) -> None:
    bench.ready().close()
    client = bench.client(surveys=[replace(DECLARED, **changes)])
    outcome = client.report(NAME, "good")
    assert fault_of(outcome.error) is fault
    assert bench.draw.count == 0
