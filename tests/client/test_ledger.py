"""One decision per name and epoch (D3), whatever clock, collector and app do; and D4."""

from dataclasses import replace

import pytest

from deniable.budget import pure_cost
from deniable.client import (
    Client,
    EpochUndecidable,
    ManifestRefused,
    NotReady,
    NotRunning,
    Outcome,
    OutcomeStatus,
    ReportDropped,
)
from deniable.messages import Manifest, RefusalCode, Schedule
from tests.support.devices import NAME, Bench, read_upload, refused
from tests.support.surveys import CATEGORIES, DAY, DECLARED, MANIFEST, START, manifest

RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED


def at(bench: Bench, client: Client, day: float) -> Outcome:
    """Report on some day of the survey."""
    bench.clock.time = START + day * DAY
    return client.report(NAME, "good")


def publish(bench: Bench, client: Client, offered: Manifest) -> None:
    bench.transport.publish(offered)
    errors = client.refresh(force=True).errors.values()
    assert not any(isinstance(error, ManifestRefused) for error in errors)


def test_d3_the_first_report_of_an_epoch_decides_it_and_every_other_repeats_it(
    bench: Bench,
) -> None:
    client = bench.ready()
    outcomes = [client.report(NAME, answer) for answer in CATEGORIES * 3]
    assert [outcome.status for outcome in outcomes] == [RECORDED] + 14 * [REPEATED]
    assert {outcome.epoch for outcome in outcomes} == {0}
    assert bench.draw.count == 1
    assert all(outcome.ok for outcome in outcomes)


def test_d3_an_epoch_lasts_to_its_last_moment(bench: Bench) -> None:
    client = bench.ready()
    days = [0, 0.999999, 1, 1.999999, 2, 7.999999]
    found = [(at(bench, client, day).status, at(bench, client, day).epoch) for day in days]
    assert found == [
        (RECORDED, 0),
        (REPEATED, 0),
        (RECORDED, 1),
        (REPEATED, 1),
        (RECORDED, 2),
        (RECORDED, 7),
    ]
    assert bench.draw.count == 4


def test_d3_asking_again_sends_the_same_bytes_again(bench: Bench) -> None:
    client = bench.ready()
    bench.transport.answer = refused(RefusalCode.OVERLOADED)
    for answer in CATEGORIES:
        client.report(NAME, answer)
        client.flush(4000)
    assert len(bench.transport.uploads) == 2
    assert len(set(bench.transport.uploads)) == 1


def test_d3_what_is_reported_is_the_current_epoch_of_the_manifest_held(bench: Bench) -> None:
    client = bench.ready()
    assert at(bench, client, 3.5).epoch == 3
    client.flush()
    (body,) = bench.transport.uploads
    report = read_upload(body).report
    assert (report.survey_id, report.epoch) == (MANIFEST.survey_id, 3)
    assert bench.rows("SELECT cost FROM decisions") == [(pure_cost(MANIFEST.mechanism),)]


@pytest.mark.parametrize("day", [-1, -0.000001, 8, 400])
def test_outside_its_epochs_a_survey_is_not_running(bench: Bench, day: float) -> None:
    client = bench.ready()
    assert isinstance(at(bench, client, day).error, NotRunning)
    assert bench.draw.count == 0


def test_d6_without_a_manifest_nothing_is_stored_spent_or_asked_of_the_network(
    bench: Bench,
) -> None:
    client = bench.client()
    assert isinstance(client.report(NAME, "good").error, NotReady)
    assert bench.transport.requests == []
    assert (
        bench.rows("SELECT survey_id FROM decisions UNION ALL SELECT survey_id FROM manifests")
        == []
    )
    assert bench.draw.count == 0


def test_d6_a_report_never_waits_for_the_network(bench: Bench) -> None:
    client = bench.ready()
    asked = len(bench.transport.requests)
    for day in range(8):
        assert at(bench, client, day).ok
    assert len(bench.transport.requests) == asked


def test_d3_a_clock_put_back_gets_no_second_draw(bench: Bench) -> None:
    client = bench.ready()
    assert at(bench, client, 5).status is RECORDED
    back = [at(bench, client, day) for day in (4, 3, 0, -3, 5.5)]
    assert [(outcome.status, outcome.epoch) for outcome in back] == 5 * [(REPEATED, 5)]
    assert at(bench, client, 6).status is RECORDED
    assert bench.draw.count == 2


def test_d3_a_clock_put_forward_decides_one_epoch_and_skips_none_of_its_rules(bench: Bench) -> None:
    client = bench.ready()
    days = [0, 7, 1, 2, 0, 7]
    assert [at(bench, client, day).status for day in days] == [RECORDED, RECORDED] + 4 * [REPEATED]
    assert bench.draw.count == 2


def test_d3_a_successor_takes_effect_only_after_the_end_of_the_last_epoch_decided(
    bench: Bench,
) -> None:
    client = bench.ready()
    assert at(bench, client, 0.2).status is RECORDED
    publish(bench, client, manifest(sequence=1, schedule=Schedule(START + DAY, DAY, 8, DAY)))
    assert at(bench, client, 0.9).status is REPEATED
    assert isinstance(at(bench, client, 1).error, EpochUndecidable)  # its epoch 0, decided before
    outcome = at(bench, client, 2)
    assert (outcome.status, outcome.epoch) == (RECORDED, 1)


def test_d3_a_successor_with_the_same_schedule_continues_it(bench: Bench) -> None:
    client = bench.ready()
    assert at(bench, client, 0).status is RECORDED
    successor = manifest(sequence=1, minimum_reports=7)
    publish(bench, client, successor)
    assert [at(bench, client, day).status for day in (0.9, 1)] == [REPEATED, RECORDED]
    client.flush()
    newest = read_upload(bench.transport.uploads[-1]).report
    assert (newest.survey_id, newest.epoch) == (successor.survey_id, 1)


def test_d3_republishing_never_gets_a_second_draw_of_an_epoch(bench: Bench) -> None:
    client = bench.ready(lifetime_epsilon="1000")
    for sequence in range(1, 20):
        assert client.report(NAME, "good").epoch == 0
        publish(bench, client, manifest(sequence=sequence))
    assert bench.draw.count == 1


def test_d3_a_successor_that_restarts_its_numbers_waits_until_they_are_new(bench: Bench) -> None:
    client = bench.ready(lifetime_epsilon="100")
    assert at(bench, client, 3).epoch == 3
    publish(bench, client, manifest(sequence=1, schedule=Schedule(START + 4 * DAY, DAY, 8, DAY)))
    for day in (4, 5, 6, 7):
        assert isinstance(at(bench, client, day).error, EpochUndecidable)
    assert at(bench, client, 8).epoch == 4
    assert bench.draw.count == 2


def test_d3_schedules_that_end_just_after_each_other_get_no_second_draw_of_a_day(
    bench: Bench,
) -> None:
    # Each is an honest schedule of days; together they end once a second.
    client = bench.client(lifetime_epsilon="1000")
    for number in range(6):
        start = START - number * DAY + number + 1
        schedule = Schedule(start, DAY, number + 2, DAY)
        publish(bench, client, manifest(sequence=number, schedule=schedule))
        bench.clock.time = START + DAY + number + 0.5
        client.report(NAME, "good")
    assert bench.draw.count == 1


def test_d3_a_successor_may_shift_the_days_at_the_price_of_one(bench: Bench) -> None:
    client = bench.ready(lifetime_epsilon="100")
    assert at(bench, client, 1).epoch == 1
    noon = Schedule(START + DAY // 2, DAY, 8, DAY)
    publish(bench, client, manifest(sequence=1, schedule=noon))
    assert at(bench, client, 1.9).status is REPEATED
    assert isinstance(at(bench, client, 2.4).error, EpochUndecidable)
    outcome = at(bench, client, 2.5)
    assert (outcome.status, outcome.epoch) == (RECORDED, 2)


@pytest.mark.parametrize("code", [RefusalCode.REPORT_CONFLICT, RefusalCode.EPOCH_CLOSED])
def test_d4_a_drop_undoes_no_decision_and_refunds_no_budget(
    bench: Bench, code: RefusalCode
) -> None:
    client = bench.reported()
    spent = bench.rows("SELECT sum(cost) FROM decisions")
    bench.transport.answer = refused(code)
    assert client.flush().dropped == 1
    outcome = client.report(NAME, "good")
    assert isinstance(outcome.error, ReportDropped)
    assert code.value in str(outcome.error)
    assert bench.draw.count == 1
    assert bench.rows("SELECT sum(cost) FROM decisions") == spent
    assert at(bench, client, 1).status is RECORDED


def test_d4_the_decision_outlives_the_process(bench: Bench) -> None:
    bench.reported()
    bench.close()
    again = bench.client()
    assert again.report(NAME, "fair").status is REPEATED
    again.flush()
    assert (bench.draw.count, len(bench.transport.uploads)) == (1, 1)


def test_names_are_decided_one_by_one(bench: Bench) -> None:
    other = manifest(name="another")
    bench.transport.publish(other)
    client = bench.ready(surveys=[DECLARED, replace(DECLARED, name="another")])
    assert [client.report(name, "good").status for name in (NAME, "another", NAME)] == [
        RECORDED,
        RECORDED,
        REPEATED,
    ]
    client.flush()
    keys = {read_upload(body).public_key for body in bench.transport.uploads}
    assert len(keys) == 2  # nothing that two reports share
