"""The issuer for tests of apps: what it gives is what a real one gives."""

from pathlib import Path

import pytest

from deniable.client import Client, EnrolmentRequest, NotEnrolled, Survey
from deniable.client.testing import FakeCollector, FakeIssuer, Refused
from deniable.messages import RefusalCode, check_credential
from tests.support.watched import until

THEME = Survey("theme", "Which theme do you use?", ("dark", "light"), max_epsilon="1")
REQUEST = EnrolmentRequest("theme", bytes(32), 0, bytes(31) + b"\1")


def device(
    collector: FakeCollector, issuer: FakeIssuer, state: Path, *, background: bool = False
) -> Client:
    return Client(
        collector.origin,
        authority=collector.authority,
        surveys=[THEME],
        state=state,
        consent="on",
        delivery_seconds=0,
        enrol=issuer,
        background=background,
    )


@pytest.mark.parametrize("background", [True, False])
def test_a_report_is_vouched_for_and_taken(tmp_path: Path, background: bool) -> None:
    issuer = FakeIssuer()
    with FakeCollector() as collector:
        collector.publish(THEME, enrolment=issuer.enrolment)
        with device(collector, issuer, tmp_path / "state", background=background) as client:
            if background:
                client.start()
                issuer.await_requests(1)
            client.refresh(force=True)
            until(lambda: client.report("theme", "dark").ok)  # the thread may be about to store it
            client.flush()
            collector.await_reports(1)
    (request,) = issuer.requests
    assert request.survey == "theme"
    assert "requests=1" in repr(issuer)


def test_a_report_that_the_issuer_did_not_sign_is_not_taken(tmp_path: Path) -> None:
    issuer, stranger = FakeIssuer(), FakeIssuer()
    with FakeCollector() as collector:
        collector.publish(THEME, enrolment=issuer.enrolment)
        with device(collector, stranger, tmp_path / "state") as client:
            assert isinstance(client.refresh(force=True).errors["theme"], NotEnrolled)
        assert collector.reports == ()


def test_a_refused_certificate_can_be_played(tmp_path: Path) -> None:
    issuer = FakeIssuer()
    with FakeCollector() as collector:
        collector.publish(THEME, enrolment=issuer.enrolment)
        collector.misbehave(Refused(RefusalCode.NOT_ENROLLED))
        with device(collector, issuer, tmp_path / "state") as client:
            client.refresh(force=True)
            client.report("theme", "dark", strict=True)
            assert client.flush().pending == 1
            client.refresh(force=True)
            assert client.flush().delivered == 1
    assert len(issuer.requests) == 2


def test_an_account_gets_one_key_a_survey_and_epoch() -> None:
    issuer = FakeIssuer()
    first = issuer(REQUEST)
    assert first is not None
    assert issuer(REQUEST) == first
    other = EnrolmentRequest("theme", bytes(32), 0, bytes(31) + b"\2")
    assert issuer(other) is None
    assert issuer.account("bob")(other) is not None
    assert issuer(EnrolmentRequest("theme", bytes(32), 1, other.public_key)) is not None


def test_it_rotates_fails_and_declines_when_told() -> None:
    issuer = FakeIssuer()
    current, following = issuer.enrolment.issuers
    before = issuer(REQUEST)
    issuer.rotate()
    after = issuer(REQUEST)
    assert before is not None
    assert after is not None
    assert check_credential([current], REQUEST.body, before) == current
    assert check_credential([following], REQUEST.body, after) == following
    issuer.vouches = False
    assert issuer(REQUEST) is None
    issuer.error = ConnectionError()
    with pytest.raises(ConnectionError):
        issuer(REQUEST)
    assert len(issuer.requests) == 4
    with pytest.raises(TimeoutError, match="4 of 5"):
        issuer.await_requests(5, timeout=0.01)
