"""Which manifests of a name a device follows (D2), reserves for (D3) and remembers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from deniable.budget import pure_cost
from deniable.client import (
    Client,
    ManifestFault,
    ManifestRefused,
    OutcomeStatus,
    Survey,
)
from deniable.counterparts.signing import sign_manifest
from deniable.messages import InvalidManifest, Manifest, Schedule
from tests.support.devices import NAME, UNREACHABLE, Bench, entries_of, fault_of, read_upload
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, DECLARED, MANIFEST, START, manifest

RECORDED = OutcomeStatus.RECORDED
COST = pure_cost(MANIFEST.mechanism)
MORE = (*CATEGORIES, "no answer")
WIDER = replace(DECLARED, categories=MORE)
ID = MANIFEST.survey_id.hex()
SUCCESSOR = manifest(sequence=1)


def following(sequence: int, start: int = START, epochs: int = 8, **changes: Any) -> Manifest:
    return manifest(sequence=sequence, schedule=Schedule(start, DAY, epochs, DAY), **changes)


def wider(sequence: int, start: int = START, epochs: int = 8) -> Manifest:
    """Return a manifest with one more category."""
    return following(sequence, start, epochs, categories=MORE)


def twin(sequence: int, **changes: Any) -> Manifest:
    """Return a manifest that differs from the usual one of this sequence."""
    return manifest(sequence=sequence, nonce=b"another nonce 16", **changes)


def roles(bench: Bench) -> list[tuple[int, str]]:
    return bench.rows("SELECT sequence, role FROM manifests ORDER BY sequence, role")


def reserved(client: Client) -> int:
    budget = client.explain().budget
    assert budget is not None
    return budget.reserved


def sent_to(bench: Bench) -> list[bytes]:
    return [read_upload(body).report.survey_id for body in bench.transport.uploads]


def offer(bench: Bench, client: Client, *offered: Manifest) -> ManifestFault | None:
    """Let the collector publish these of one name; return what the client says of the newest."""
    bench.transport.publish_all(*offered)
    return fault_of(client.refresh(force=True), offered[0].name)


def test_d3_an_app_that_adds_a_category_releases_what_was_reserved(bench: Bench) -> None:
    bench.reported(lifetime_epsilon="9").close()
    bench.transport.publish_all(MANIFEST, wider(1, START - 8 * DAY, epochs=16))
    bench.clock.time += DAY
    new = bench.client(surveys=[WIDER], lifetime_epsilon="9")
    assert new.refresh(force=True).errors == {}
    assert reserved(new) == COST + 7 * COST  # what was spent stays spent
    assert new.report(NAME, "no answer").status is RECORDED
    assert roles(bench) == [(0, "replaced"), (1, "accepted")]


def test_d2_what_begins_later_is_held_beside_what_runs(bench: Bench) -> None:
    later = following(1, START + 4 * DAY)
    bench.transport.publish_all(MANIFEST, later)
    client = bench.ready()
    assert reserved(client) == (4 + 8) * COST
    assert client.report(NAME, "good").status is RECORDED
    bench.clock.time = later.schedule.epoch_start(2)
    assert client.report(NAME, "good").status is RECORDED
    client.flush()
    assert sent_to(bench) == [MANIFEST.survey_id, later.survey_id]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_d2_two_of_one_sequence_prove_an_equivocation(bench: Bench, order: Sequence[int]) -> None:
    twins = [manifest(sequence=1), twin(1)]
    offered = (twins[number] for number in order)
    assert offer(bench, bench.client(), *offered) is ManifestFault.EQUIVOCATION
    assert sorted(role for _, role in roles(bench)) == ["accepted", "equivocating"]


def test_an_updated_app_that_was_never_online_follows_its_bundle(bench: Bench) -> None:
    bench.ready().close()
    client = bench.client(surveys=[WIDER], manifests=[sign_manifest(wider(1), AUTHORITY)])
    assert client.report(NAME, "no answer").status is RECORDED


def test_a_refused_manifest_keeps_out_none_of_a_lower_sequence(bench: Bench) -> None:
    client = bench.client()
    assert offer(bench, client, wider(5)) is ManifestFault.NOT_AS_DECLARED
    offer(bench, client, manifest(sequence=3), wider(5))
    assert client.refresh().ready == (NAME,)


def test_d3_a_ceiling_of_the_name_counts_what_ran_before(bench: Bench) -> None:
    capped: Survey = replace(DECLARED, max_total_epsilon="8")
    client = bench.ready(surveys=[capped])
    bench.report_daily(client, range(3))
    assert offer(bench, client, following(1, epochs=9)) is ManifestFault.OVER_BUDGET
    bench.report_daily(client, [3])  # under the one that runs
    assert offer(bench, client, following(2)) is None


def test_a_coming_manifest_that_is_no_longer_declared_silences_nothing(bench: Bench) -> None:
    bench.transport.publish_all(MANIFEST, following(1, START + 2 * DAY, epsilon="2"))
    bench.ready(surveys=[replace(DECLARED, max_epsilon="2")], lifetime_epsilon="40").close()
    client = bench.client(lifetime_epsilon="40")
    bench.report_daily(client, [3])
    client.flush()
    assert sent_to(bench) == [MANIFEST.survey_id]


def test_d3_what_begins_before_a_coming_manifest_is_reserved_beside_it(bench: Bench) -> None:
    coming = following(5, START + 10 * DAY, epochs=12)
    bench.transport.publish_all(coming)
    bench.ready(lifetime_epsilon="20").close()
    client = bench.client(lifetime_epsilon="20")
    bench.transport.publish_all(following(4, START, epochs=12), coming)
    client.refresh(force=True)
    assert reserved(client) <= 20 * COST


def test_the_bundled_manifest_that_is_shown_is_the_one_that_is_answered(bench: Bench) -> None:
    coming = following(1, START + 3 * DAY, epsilon="0.1")
    bundled = [sign_manifest(offered, AUTHORITY) for offered in (coming, MANIFEST)]
    client = bench.client(manifests=bundled, consent="unset")
    (survey,) = client.explain().surveys
    assert survey.survey_id == MANIFEST.survey_id.hex()
    client.set_consent("on")
    assert client.report(NAME, "good").status is RECORDED
    client.flush()
    assert sent_to(bench) == [MANIFEST.survey_id]


def test_a_pinned_manifest_is_followed_and_another_is_not(bench: Bench) -> None:
    client = bench.client(surveys=[replace(DECLARED, pinned_ids={ID})])
    assert offer(bench, client, SUCCESSOR) is ManifestFault.NOT_PINNED
    assert isinstance(client.report(NAME, "good").error, ManifestRefused)
    assert bench.draw.count == 0
    # The one that was refused, though newer, does not keep the pinned one out.
    assert offer(bench, client, MANIFEST) is None
    assert client.report(NAME, "good").status is RECORDED
    # A second one of its sequence is still kept as proof (D2).
    assert offer(bench, client, twin(0)) is ManifestFault.EQUIVOCATION
    query = "SELECT survey_id FROM manifests WHERE role = 'equivocating'"
    assert bench.rows(query) == [(twin(0).survey_id,)]
    unpinnable: list[Any] = [[], [ID[:-1]], [ID.upper()], [ID + "\n"], [bytes(32)], 7]
    for ids in unpinnable:
        with pytest.raises(InvalidManifest, match="pinned_ids"):
            replace(DECLARED, pinned_ids=ids)


def test_d2_a_rollback_is_noticed_even_to_one_that_was_accepted(bench: Bench) -> None:
    client = bench.ready()
    assert offer(bench, client, manifest(sequence=1)) is None
    assert offer(bench, client, MANIFEST) is ManifestFault.ROLLED_BACK
    # The last one that was replaced stands: it is what is known of if the clock is put back.
    kept = bench.rows("SELECT sequence, role, reserved FROM manifests ORDER BY sequence, role")
    assert kept == [(0, "replaced", 8 * COST), (1, "accepted", 8 * COST)]


def test_d2_a_second_manifest_of_a_refused_sequence_is_a_lasting_proof(bench: Bench) -> None:
    first, client = manifest(sequence=5, epsilon="2"), bench.ready()
    assert offer(bench, client, first) is ManifestFault.TOO_HIGH_EPSILON
    client.close()
    again = bench.client()
    assert offer(bench, again, twin(5)) is ManifestFault.EQUIVOCATION
    assert offer(bench, again, manifest(sequence=6)) is None
    assert offer(bench, again, manifest(sequence=7, epsilon="3")) is not None
    kept = bench.rows("SELECT survey_id FROM manifests WHERE sequence = 5")
    assert {survey_id for (survey_id,) in kept} == {first.survey_id, twin(5).survey_id}


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
        assert offer(bench, client, following(day, START, 20)) is None
        if day == 3:
            assert offer(bench, client, twin(day)) is ManifestFault.EQUIVOCATION
        assert client.report(NAME, "good").ok
        client.flush()
    # A report's bytes stand until its grace is over; both of an equivocation are kept as its proof.
    assert bench.rows(held) == [(3,), (3,), (6,), (7,), (8,)]
    bench.transport.answer = UNREACHABLE
    for day in range(9, 12):
        bench.clock.time = START + day * DAY
        assert offer(bench, client, following(day, START, 20)) is None
        assert client.report(NAME, "good").ok
    waiting = entries_of(client.journal(), "report")[-3:]
    assert [entry.response in CATEGORIES for entry in waiting] == [True] * 3
    assert offer(bench, client, manifest(sequence=10)) is ManifestFault.ROLLED_BACK


def test_d2_a_clock_that_is_put_back_lets_nothing_go_that_was_followed(bench: Bench) -> None:
    client = bench.client(lifetime_epsilon="1000")
    for sequence, day in ((1, 0), (2, 1), (3, 10)):
        bench.clock.time = START + day * DAY
        assert offer(bench, client, following(sequence, START + day * DAY, 20)) is None
    bench.clock.time = START + DAY / 2
    for again in (1, 2):
        offered = twin(again, schedule=Schedule(START, DAY, 20, DAY))
        fault = offer(bench, client, offered)
        assert fault in {ManifestFault.ROLLED_BACK, ManifestFault.EQUIVOCATION}


def test_d3_the_lifetime_ceiling_is_shared_by_all_names(bench: Bench) -> None:
    names = ("one", "two", "three")
    for name in names:
        bench.transport.publish(manifest(name=name))
    surveys = [replace(DECLARED, name=name) for name in names]
    client = bench.client(surveys=surveys, lifetime_epsilon="16.1")
    refresh = client.refresh(force=True)
    assert refresh.ready == ("one", "two")
    assert fault_of(refresh.errors["three"]) is ManifestFault.OVER_BUDGET
    assert bench.rows("SELECT sum(reserved) FROM manifests") == [(16 * COST,)]
    assert [client.report(name, "good").ok for name in names] == [True, True, False]


def test_d2_an_app_that_demands_more_later_is_obeyed_at_the_next_draw(bench: Bench) -> None:
    bench.ready().close()
    lowered: list[tuple[ManifestFault, dict[str, Any]]] = [
        (ManifestFault.TOO_HIGH_EPSILON, {"max_epsilon": "0.9"}),
        (ManifestFault.TOO_SHORT_EPOCHS, {"min_epoch_seconds": DAY + 1}),
        (ManifestFault.TOO_LONG_GRACE, {"max_grace_seconds": DAY - 1}),
        (ManifestFault.NOT_AS_DECLARED, {"question": "Is all well?"}),
        (ManifestFault.NOT_PINNED, {"pinned_ids": {SUCCESSOR.survey_id.hex()}}),
    ]
    for fault, changes in lowered:
        client = bench.client(surveys=[replace(DECLARED, **changes)])
        assert fault_of(client.report(NAME, "good").error) is fault
    assert bench.draw.count == 0
