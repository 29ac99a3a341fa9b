"""One state, and more than one collector or authority: what belongs to whom."""

from dataclasses import replace

from deniable.client import Delivery, OutcomeStatus, Survey
from deniable.messages import SigningKey
from tests.support.devices import NAME, Bench, FakeTransport, read_upload
from tests.support.surveys import DAY, DECLARED, MANIFEST, START, manifest

OTHER_ORIGIN = "http://127.0.0.1:9999"
OTHER_AUTHORITY = SigningKey(b"authority seed of the tests 0002")
TEA = Survey("tea", "How often do you drink tea?", ("never", "often"), max_epsilon="1")


def tea(**changes: object) -> FakeTransport:
    survey = replace(
        manifest(origin=OTHER_ORIGIN, **changes),
        name=TEA.name,
        question=TEA.question,
        categories=TEA.categories,
    )
    transport = FakeTransport()
    transport.publish(survey)
    return transport


def test_a_report_goes_to_the_collector_it_is_for_and_to_no_other(bench: Bench) -> None:
    bench.ready().report(NAME, "good")
    theirs = tea()
    other = bench.client(collector=OTHER_ORIGIN, surveys=[TEA], transport=theirs)
    other.refresh(force=True)
    other.report("tea", "often")
    assert other.flush() == Delivery(delivered=1)
    assert [read_upload(body).report.survey_id != MANIFEST.survey_id for body in theirs.uploads]
    assert len(theirs.uploads) == 1
    assert bench.client().flush() == Delivery(delivered=1)
    assert read_upload(bench.transport.uploads[0]).report.survey_id == MANIFEST.survey_id


def test_both_collectors_together_stay_below_the_lifetimes_ceiling(bench: Bench) -> None:
    # MANIFEST reserves 8 epochs at epsilon 1; 8 more do not fit into 15.
    bench.ready(lifetime_epsilon="15")
    other = bench.client(
        collector=OTHER_ORIGIN, surveys=[TEA], transport=tea(), lifetime_epsilon="15"
    )
    assert "over-budget" in str(other.refresh(force=True).errors["tea"])


def test_an_app_update_to_another_authority_is_followed_whatever_a_thief_has_signed(
    bench: Bench,
) -> None:
    bench.transport.publish(manifest(sequence=2**32 - 1))
    bench.ready().report(NAME, "good")
    bench.transport.publish(manifest(sequence=0, nonce=b"n" * 16), OTHER_AUTHORITY)
    updated = bench.client(authority=OTHER_AUTHORITY.public_key)
    assert updated.refresh(force=True).errors == {}
    # What was decided under the name stays decided.
    assert updated.report(NAME, "poor").status is OutcomeStatus.REPEATED
    bench.clock.time = START + DAY
    assert updated.report(NAME, "poor").status is OutcomeStatus.RECORDED
    assert bench.draw.count == 2


def test_what_was_accepted_from_an_authority_is_not_followed_under_another(bench: Bench) -> None:
    bench.ready()
    updated = bench.client(authority=OTHER_AUTHORITY.public_key)
    assert not updated.report(NAME, "good").ok
    assert bench.draw.count == 0


def test_a_ceiling_that_was_lowered_holds_for_the_next_draw(bench: Bench) -> None:
    bench.ready()
    lowered = bench.client(lifetime_epsilon="1.5")
    assert lowered.report(NAME, "good").ok
    bench.clock.time = START + DAY
    assert "is spent" in str(lowered.report(NAME, "good").error)
    assert bench.client(surveys=[DECLARED]).report(NAME, "good").ok
