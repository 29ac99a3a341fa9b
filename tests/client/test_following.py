"""Which manifests of a name a device follows (D2), and what it reserves for them (D3)."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from deniable.budget import pure_cost
from deniable.client import (
    Client,
    ManifestFault,
    NotRunning,
    OutcomeStatus,
    Survey,
)
from deniable.client.client import engine_of
from deniable.client.ledger import following as following_module
from deniable.messages import Manifest, Schedule, open_manifest_of_chain, sign_manifest
from tests.support.devices import NAME, Bench, fault_of, read_upload
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, DECLARED, MANIFEST, START, manifest

RECORDED = OutcomeStatus.RECORDED
COST = pure_cost(MANIFEST.mechanism)
MORE = (*CATEGORIES, "no answer")
WIDER = replace(DECLARED, categories=MORE)


def wider(sequence: int, start: int = START, first: int = 0, epochs: int = 8) -> Manifest:
    """Return a manifest with one more category."""
    schedule = Schedule(start, DAY, epochs, DAY)
    return manifest(sequence=sequence, categories=MORE, schedule=schedule)


def following(sequence: int, start: int, epochs: int = 8) -> Manifest:
    return manifest(sequence=sequence, schedule=Schedule(start, DAY, epochs, DAY))


def roles(bench: Bench) -> list[tuple[int, str]]:
    return [
        (int(sequence), str(role))
        for sequence, role in bench.rows("SELECT sequence, role FROM manifests ORDER BY sequence")
    ]


def reserved(client: Client) -> int:
    budget = client.explain().budget
    assert budget is not None
    return budget.reserved


def sent_to(bench: Bench) -> list[bytes]:
    return [read_upload(body).report.survey_id for body in bench.transport.uploads]


def offering(bench: Bench, *offered: Manifest) -> None:
    bench.transport.publish_all(*offered)


def test_d2_apps_of_different_age_each_follow_the_newest_that_matches(bench: Bench) -> None:
    offering(bench, MANIFEST, wider(1))
    old = bench.client()
    refreshed = old.refresh(force=True)
    assert refreshed.ready == (NAME,)
    assert fault_of(refreshed) is ManifestFault.NOT_AS_DECLARED
    assert old.report(NAME, "good").status is RECORDED
    new = bench.client(surveys=[WIDER], state=bench.path.with_name("other.sqlite"))
    assert new.refresh(force=True).errors == {}
    assert new.report(NAME, "no answer").status is RECORDED
    for client in (old, new):
        client.flush()
    assert sent_to(bench) == [MANIFEST.survey_id, wider(1).survey_id]


def test_d3_an_app_that_adds_a_category_releases_what_its_old_manifest_had_reserved(
    bench: Bench,
) -> None:
    old = bench.reported(lifetime_epsilon="9")
    old.close()
    offering(bench, MANIFEST, wider(1, START - 8 * DAY, epochs=16))
    bench.clock.time += DAY
    new = bench.client(surveys=[WIDER], lifetime_epsilon="9")
    assert new.refresh(force=True).errors == {}
    assert reserved(new) == COST + 7 * COST  # what was spent stays spent
    assert new.report(NAME, "no answer").status is RECORDED
    assert roles(bench) == [(0, "replaced"), (1, "accepted")]


def test_d3_epochs_that_are_over_are_released(bench: Bench) -> None:
    client = bench.ready()
    assert reserved(client) == 8 * COST
    bench.clock.time += 3 * DAY
    client.report(NAME, "good")
    assert reserved(client) == 5 * COST  # epochs 3 to 7, of which 3 is spent
    bench.clock.time += 2 * DAY
    client.report(NAME, "good")
    assert reserved(client) == 4 * COST


def test_d2_what_begins_later_is_held_beside_what_runs(bench: Bench) -> None:
    later = following(1, START + 4 * DAY)
    offering(bench, MANIFEST, later)
    client = bench.ready()
    assert reserved(client) == (4 + 8) * COST
    assert client.report(NAME, "good").status is RECORDED
    bench.clock.time = later.schedule.epoch_start(2)
    assert client.report(NAME, "good").status is RECORDED
    client.flush()
    assert sent_to(bench) == [MANIFEST.survey_id, later.survey_id]


def test_d2_at_most_two_manifests_of_a_name_are_accepted_however_many_are_offered(
    bench: Bench,
) -> None:
    client = bench.client(lifetime_epsilon="1000")
    for turn in range(40):
        offering(bench, MANIFEST, following(turn + 1, START + (50 - turn) * DAY))
        client.refresh(force=True)
        accepted = [role for _, role in roles(bench) if role == "accepted"]
        assert len(accepted) == 1 + min(1, turn + 1)
        assert len(roles(bench)) <= 3
        bench.clock.time += 1
        if turn % 8 == 7:
            bench.clock.time += DAY  # no more than eight requests a day leave
    assert client.report(NAME, "good").status is RECORDED


def test_d2_whoever_follows_a_successor_never_goes_back(bench: Bench) -> None:
    offering(bench, MANIFEST, following(1, START, epochs=1))
    client = bench.reported()
    bench.clock.time += DAY
    assert isinstance(client.report(NAME, "good").error, NotRunning)
    offering(bench, MANIFEST)
    assert fault_of(client.refresh(force=True)) is ManifestFault.ROLLED_BACK
    assert not client.report(NAME, "good").ok


def test_a_successor_that_does_not_fit_the_budget_leaves_the_one_that_runs(bench: Bench) -> None:
    client = bench.ready(lifetime_epsilon="8.1")
    offering(bench, MANIFEST, following(1, START - DAY, epochs=10))
    assert fault_of(client.refresh(force=True)) is ManifestFault.OVER_BUDGET
    assert client.report(NAME, "good").status is RECORDED


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_d2_two_offered_with_one_sequence_prove_an_equivocation(
    bench: Bench, order: Sequence[int]
) -> None:
    twins = [manifest(sequence=1), manifest(sequence=1, nonce=b"another nonce 16")]
    offering(bench, *(twins[number] for number in order))
    client = bench.client()
    assert fault_of(client.refresh(force=True)) is ManifestFault.EQUIVOCATION
    assert sorted(role for _, role in roles(bench)) == ["accepted", "equivocating"]


def test_an_updated_app_that_was_never_online_follows_the_manifest_of_its_bundle(
    bench: Bench,
) -> None:
    bench.ready().close()
    bundled = [sign_manifest(wider(1), AUTHORITY)]
    client = bench.client(surveys=[WIDER], manifests=bundled)
    assert client.report(NAME, "no answer").status is RECORDED


def test_a_refused_manifest_keeps_out_none_of_a_lower_sequence(bench: Bench) -> None:
    offering(bench, wider(5))
    client = bench.client()
    assert client.refresh(force=True).ready == ()
    offering(bench, manifest(sequence=3), wider(5))
    assert client.refresh(force=True).ready == (NAME,)


def test_d3_a_ceiling_of_the_name_counts_what_ran_before(bench: Bench) -> None:
    capped: Survey = replace(DECLARED, max_total_epsilon="8")
    client = bench.ready(surveys=[capped])
    for _ in range(3):
        assert client.report(NAME, "good").status is RECORDED
        bench.clock.time += DAY
    offering(bench, following(1, START, epochs=9))
    assert fault_of(client.refresh(force=True)) is ManifestFault.OVER_BUDGET
    offering(bench, following(2, START, epochs=8))
    assert client.refresh(force=True).errors == {}


def test_what_is_accepted_is_opened_before_the_state_is_locked(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A manifest may take a second to open, and other processes' reports would wait for the lock.
    bench.ready().close()
    client = bench.client()
    within: list[bool] = []

    def watched(envelope: bytes, chain: Sequence[bytes]) -> tuple[Manifest, bytes]:
        within.append(engine_of(client).state._within)
        return open_manifest_of_chain(envelope, chain)

    monkeypatch.setattr(following_module, "open_manifest_of_chain", watched)
    assert client.report(NAME, "good").status is RECORDED
    assert within == [False]


def test_a_coming_manifest_that_the_app_does_not_declare_any_more_silences_nothing(
    bench: Bench,
) -> None:
    louder = manifest(sequence=1, epsilon="2", schedule=Schedule(START + 2 * DAY, DAY, 8, DAY))
    offering(bench, MANIFEST, louder)
    bench.ready(surveys=[replace(DECLARED, max_epsilon="2")], lifetime_epsilon="40").close()
    client = bench.client(lifetime_epsilon="40")
    bench.clock.time = START + 3 * DAY
    assert client.report(NAME, "good").status is RECORDED
    client.flush()
    assert sent_to(bench) == [MANIFEST.survey_id]


def test_d3_what_begins_before_a_coming_manifest_is_reserved_beside_it(bench: Bench) -> None:
    coming = following(5, START + 10 * DAY, epochs=12)
    offering(bench, coming)
    bench.ready(lifetime_epsilon="20").close()
    offering(bench, following(4, START, epochs=12), coming)
    client = bench.client(lifetime_epsilon="20")
    client.refresh(force=True)
    assert reserved(client) <= 20 * COST


def test_the_bundled_manifest_that_is_shown_is_the_one_that_is_answered(bench: Bench) -> None:
    coming = manifest(sequence=1, epsilon="0.1", schedule=Schedule(START + 3 * DAY, DAY, 8, DAY))
    bundled = [sign_manifest(each, AUTHORITY) for each in (coming, MANIFEST)]
    client = bench.client(manifests=bundled, consent="unset")
    (survey,) = client.explain().surveys
    assert survey.terms is not None
    assert survey.terms.survey_id == MANIFEST.survey_id.hex()
    client.set_consent("on")
    assert client.report(NAME, "good").status is RECORDED
    client.flush()
    assert sent_to(bench) == [MANIFEST.survey_id]
