"""One decision per name and epoch (D3), whatever clock, collector and app do; and D4."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.client import (
    EpochUndecidable,
    ManifestRefused,
    NotReady,
    NotRunning,
    OutcomeStatus,
)
from deniable.counterparts.signing import sign_manifest
from deniable.messages import Schedule
from tests.support.devices import NAME, Bench
from tests.support.effort import THOROUGH
from tests.support.surveys import AUTHORITY, DAY, MANIFEST, START, manifest

RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED


_moments = st.one_of(
    st.sampled_from([day + part for day in range(9) for part in (-0.000001, 0, 0.000001)]),
    st.floats(-1, 12),
)
_turns = st.tuples(_moments, st.one_of(st.none(), st.tuples(_moments, st.integers(1, 8))))


@settings(max_examples=200 if THOROUGH else 15)
@given(st.lists(_turns, min_size=2, max_size=7))
def test_d3_whatever_clock_and_authority_do_an_epoch_and_a_moment_are_decided_once(
    turns: list[tuple[float, tuple[float, int] | None]],
) -> None:
    """Report on some days, at times after a successor was published that began on another day."""
    schedule = MANIFEST.schedule
    decided: list[tuple[int, int, int]] = []  # number, start and end of each epoch
    with tempfile.TemporaryDirectory() as folder, Bench(Path(folder)) as bench:
        client = bench.ready(lifetime_epsilon="9999")
        for sequence, (day, successor) in enumerate(turns, start=1):
            now = bench.clock.time = START + day * DAY
            if successor is not None and now >= max((end for *_, end in decided), default=START):
                began, epochs = successor
                offered = Schedule(int(min(now, START + began * DAY)), DAY, epochs, DAY)
                if now < offered.end:
                    schedule = offered
                    bench.transport.publish(manifest(sequence=sequence, schedule=offered))
                    errors = client.refresh(force=True).errors.values()
                    assert not any(isinstance(error, ManifestRefused) for error in errors)
            outcome, epoch = client.report(NAME, "good"), schedule.epoch_at(now)
            if any(now < end for *_, end in decided):
                assert (outcome.status, outcome.epoch) == (REPEATED, decided[-1][0])
            elif epoch is None:
                assert isinstance(outcome.error, NotRunning)
            else:
                start, end = schedule.epoch_start(epoch), schedule.epoch_start(epoch + 1)
                if any(epoch <= other or start < until for other, _, until in decided):
                    assert isinstance(outcome.error, EpochUndecidable)
                else:
                    assert (outcome.status, outcome.epoch) == (RECORDED, epoch)
                    decided.append((epoch, start, end))
            assert bench.draw.count == len(decided)


def test_an_answer_is_wanted_once_in_an_epoch_if_it_would_be_used(bench: Bench) -> None:
    client = bench.client(consent="unset", manifests=[sign_manifest(MANIFEST, AUTHORITY)])
    assert [*client.unanswered] == []
    assert not bench.path.exists()
    for day, consent, wanted in (
        *((1.4, "on", True), (1.8, "on", False), (2, "on", True), (2.4, "off", False)),
    ):
        bench.clock.time, draws = START + day * DAY, bench.draw.count
        if client.consent != consent:
            client.set_consent(consent)
        assert [survey.name for survey in client.unanswered] == [NAME] * wanted
        assert bench.draw.count == draws
        assert not wanted or client.report(NAME, "good").status is RECORDED
    bench.clock.time = START + 3 * DAY
    client.set_consent("on")
    client.set_consent("off", surveys=[NAME])
    assert [*client.unanswered] == []
    client.set_consent("on", surveys=[NAME])
    assert [survey.name for survey in client.unanswered] == [NAME]
    bench.clock.time = MANIFEST.schedule.end
    assert [*client.unanswered] == []


def test_d6_a_report_asks_nothing_and_without_a_manifest_stores_nothing(bench: Bench) -> None:
    client = bench.client()
    assert isinstance(client.report(NAME, "good").error, NotReady)
    assert bench.transport.requests == []
    tables = "SELECT survey_id FROM decisions UNION ALL SELECT survey_id FROM manifests"
    assert bench.rows(tables) == []
    assert bench.draw.count == 0
    client.refresh(force=True)
    asked = len(bench.transport.requests)
    bench.report_daily(client, range(8))
    assert len(bench.transport.requests) == asked
