"""Several processes on one state, and processes that are killed at the worst moments (D5)."""

from pathlib import Path

import pytest

from deniable.client import Delivery, EpochUndecidable, OutcomeStatus, ReportDropped
from tests.support.device_process import race, race_through, report_and_die
from tests.support.devices import NAME, Bench, took
from tests.support.surveys import DAY, MANIFEST, START


@pytest.mark.parametrize("created", [pytest.param(True, marks=pytest.mark.long), False])
def test_d5_processes_that_race_decide_each_epoch_once(bench: Bench, created: bool) -> None:
    if created:
        bench.ready().close()
    days = 4
    found = race(bench.path.parent, 3, days)
    by_day = zip(*(statuses[:days] for statuses in found), strict=True)
    assert [sorted(statuses) for statuses in by_day] == days * [["recorded"] + 2 * ["repeated"]]
    sent = {body for statuses in found for body in statuses[days:]}
    assert len(sent) <= days
    assert bench.rows("SELECT count(*), max(epoch) FROM decisions") == [(days, days - 1)]
    # None of them took the state for a copy.
    assert bench.rows("SELECT generation, fresh_from < 0 FROM device") == [(days, 1)]


@pytest.mark.long
def test_d5_processes_that_race_through_fifty_surveys_decide_each_once(bench: Bench) -> None:
    # Nobody has made the state before: they race for that too.
    processes, surveys = 4, 50
    found = race_through(bench.path.parent, processes, surveys)
    by_survey = [sorted(statuses) for statuses in zip(*found, strict=True)]
    assert by_survey == surveys * [["recorded"] + (processes - 1) * ["repeated"]]
    assert bench.rows("SELECT count(*) FROM decisions") == [(surveys,)]
    assert bench.rows("SELECT generation, fresh_from < 0 FROM device") == [(surveys, 1)]


@pytest.mark.parametrize("moment", ["reported", "exiting"])
def test_d5_what_was_reported_before_a_kill_is_delivered_by_the_next_process_exactly_once(
    bench: Bench, moment: str
) -> None:
    report_and_die(bench.path.parent, moment)
    client = bench.client()
    assert client.report(NAME, "poor").status is OutcomeStatus.REPEATED
    ((envelope,),) = bench.rows("SELECT envelope FROM decisions")
    assert client.flush().delivered == 1
    client.flush()
    (body,) = bench.transport.uploads
    assert body.endswith(envelope)
    assert bench.draw.count == 0


def test_d5_a_kill_between_sending_and_hearing_the_answer_repeats_the_same_bytes(
    bench: Bench, tmp_path: Path
) -> None:
    report_and_die(bench.path.parent, "sending")
    bench.client().flush()
    assert bench.transport.uploads == [(tmp_path / "sent").read_bytes()]


def test_d5_a_kill_while_drawing_decides_nothing(bench: Bench) -> None:
    report_and_die(bench.path.parent, "drawing")
    client = bench.client()
    assert bench.rows("SELECT * FROM decisions") == []
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED
    assert bench.draw.count == 1


def test_d5_a_kill_between_the_mark_and_its_commit_costs_the_epoch(bench: Bench) -> None:
    # The state is behind its mark, as an old backup would be: better no report than a second one.
    report_and_die(bench.path.parent, "committing")
    client = bench.client()
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    assert client.flush() == Delivery()
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED


def test_d5_a_kill_while_creating_the_state_costs_no_epoch(bench: Bench) -> None:
    report_and_die(bench.path.parent, "creating")
    assert bench.path.exists()
    bench.reported()


def test_d5_a_state_whose_mark_was_never_written_costs_the_current_epoch_only(bench: Bench) -> None:
    report_and_die(bench.path.parent, "reported")
    bench.path.with_name(bench.path.name + ".mark").unlink()
    client = bench.client()
    assert client.consent == "unset"
    client.set_consent("on")
    assert took(client.refresh(force=True))
    assert isinstance(client.report(NAME, "good").error, ReportDropped)
    bench.clock.time = MANIFEST.schedule.epoch_start(1)
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED
    assert not isinstance(client.report(NAME, "good").error, EpochUndecidable)
