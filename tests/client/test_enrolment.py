"""Certificates: asked for before there is an answer, verified, kept, and erased."""

import urllib.error
from collections.abc import Callable
from dataclasses import replace
from email.message import Message
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from deniable.client import (
    Client,
    Delivery,
    EnrolmentRequest,
    ManifestFault,
    NotEnrolled,
    NotReady,
    OutcomeStatus,
)
from deniable.counterparts.signing import sign_manifest
from deniable.fakes import FakeIssuer
from deniable.messages import (
    Refusal,
    RefusalCode,
    SigningKey,
    codec,
    derive_report_key,
    enrolment_statement,
)
from deniable.messages.ed25519 import CONTEXT_ENROL
from tests.support.devices import (
    ACCEPTED,
    NAME,
    UNREACHABLE,
    Bench,
    entries_of,
    fault_of,
    plain,
    refused,
)
from tests.support.surveys import AUTHORITY, DAY, DECLARED, START
from tests.support.vouched import Vouched, enroller_of

NOT_ENROLLED = refused(RefusalCode.NOT_ENROLLED)
FATE = "SELECT status, verdict, envelope FROM decisions"
DROPPED = [("dropped", "not-enrolled", None)]


@pytest.fixture
def vouched(bench: Bench) -> Vouched:
    return Vouched(bench)


def not_enrolled(client: Client) -> str:
    """Report in vain; return why."""
    outcome = client.report(NAME, "good")
    assert outcome.status is OutcomeStatus.NOT_RECORDED
    assert isinstance(outcome.error, NotEnrolled)
    assert isinstance(outcome.error, NotReady)
    return str(outcome.error)


def nothing_spent(bench: Bench) -> bool:
    return bench.draw.count == 0 and bench.rows("SELECT * FROM decisions") == []


def test_without_enrol_such_a_survey_is_refused_and_says_what_is_missing(vouched: Vouched) -> None:
    client = vouched.bench.client()
    error = client.refresh(force=True).errors[NAME]
    assert fault_of(error) is ManifestFault.ENROLMENT
    for said in (error, client.report(NAME, "good").error, client.explain()):
        assert "enrol=" in str(said)
    assert nothing_spent(vouched.bench)
    assert vouched.bench.rows("SELECT sum(reserved) FROM manifests") == [(0,)]
    # A later version of the app that asks an issuer takes it, and one that asks no more does not.
    client.close()
    with vouched.client():
        pass
    vouched.bench.clock.time += DAY
    assert "pass enrol= to Client" in not_enrolled(vouched.bench.client())
    assert nothing_spent(vouched.bench)


def test_a_request_is_nothing_but_the_survey_the_epoch_and_the_key(vouched: Vouched) -> None:
    client = vouched.client()
    (request,) = vouched.issuer.requests
    ((secret,),) = vouched.bench.rows("SELECT secret FROM device")
    key = derive_report_key(secret, request.survey_id, 0).public_key
    assert request == EnrolmentRequest(NAME, vouched.survey.survey_id, 0, key)
    assert request.body == enrolment_statement(request.survey_id, 0, key)
    assert request.read_answer(codec.encode(b"x" * 64)) == b"x" * 64
    for body in (b"", b"x" * 64, codec.encode(b"x" * 63), codec.encode(b"x" * 64) + b"\0"):
        with pytest.raises(Refusal, match="malformed"):
            request.read_answer(body)
    # The report bears what came, and the collector takes it.
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED
    assert client.report(NAME, "good").status is OutcomeStatus.REPEATED
    assert client.flush().delivered == 1
    (report,) = vouched.sent()
    assert report.public_key == key
    issuer = vouched.issuer.enrolment.issuers[0]
    assert vouched.row("credential, issuer, asks, renewal") == (report.credential, issuer, 1, 0)


@pytest.mark.parametrize("consent", ["unset", "off"])
def test_nobody_is_asked_without_consent(vouched: Vouched, consent: str) -> None:
    bundled = [sign_manifest(vouched.survey, AUTHORITY)]
    client = vouched.bench.client(enrol=vouched.issuer, consent=consent, manifests=bundled)
    client.refresh(force=True)
    assert enroller_of(client).step() == float("inf")
    assert not client.report(NAME, "good").ok
    assert vouched.issuer.requests == ()
    client.set_consent("on")
    client.refresh(force=True)
    assert len(vouched.issuer.requests) == 1


def test_an_epoch_that_cannot_be_decided_is_not_asked_for(vouched: Vouched) -> None:
    client = vouched.client()
    assert client.report(NAME, "good").ok
    client.close()
    vouched.bench.path.unlink()
    # The state was lost: this epoch may have been decided by it.
    again = vouched.client()
    assert again.report(NAME, "good").error is not None
    assert len(vouched.issuer.requests) == 1
    vouched.bench.clock.time += DAY
    again.refresh(force=True)
    assert again.report(NAME, "good").ok
    assert len({request.public_key for request in vouched.issuer.requests}) == 2


async def _late(_: EnrolmentRequest) -> bytes:
    return bytes(64)


def _signed(request: EnrolmentRequest, by: SigningKey, **changes: Any) -> bytes:
    other = replace(request, **changes)
    return by.sign(CONTEXT_ENROL, other.body)


USELESS: dict[str, Callable[[EnrolmentRequest, SigningKey], object]] = {
    "nothing": lambda _request, _key: b"",
    "text": lambda _request, _key: "certificate",
    "zeros": lambda _request, _key: bytes(64),
    "a number": lambda _request, _key: 7,
    "a coroutine": lambda request, _key: _late(request),
    "too long": lambda request, key: _signed(request, key) + b"\0",
    "a bytearray": lambda request, key: bytearray(_signed(request, key)),
    "a stranger's": lambda request, _key: _signed(request, SigningKey(bytes(32))),
    "another epoch's": lambda request, key: _signed(request, key, epoch=1),
    "a different survey's": lambda request, key: _signed(request, key, survey_id=bytes(32)),
    "another key's": lambda request, key: _signed(request, key, public_key=key.public_key),
    "in another context": lambda request, key: key.sign(b"deniable/report/v1\0", request.body),
}


@pytest.mark.parametrize("what", USELESS)
def test_what_no_issuer_signed_for_this_key_is_not_kept(vouched: Vouched, what: str) -> None:
    honest = vouched.issuer
    key = honest._keys[0]
    assert _signed(EnrolmentRequest(NAME, bytes(32), 0, bytes(32)), key)
    client = vouched.client(enrol=lambda request: USELESS[what](request, key))
    refreshed = client.refresh(force=True)
    assert isinstance(refreshed.errors[NAME], NotEnrolled)
    assert "enrol= returned" in str(refreshed.errors[NAME])
    not_enrolled(client)
    assert vouched.row("credential, issuer, asks") == (None, None, 2)
    assert nothing_spent(vouched.bench)


def test_an_apps_mistakes_are_told_at_construction(bench: Bench) -> None:
    with pytest.raises(TypeError, match="enrol must be"):
        bench.client(enrol=b"certificate")
    bench.client(enrol=None)


URL = "https://app.example.org/v1/enrolments?session=secret"
RAISED = [
    (ConnectionError("secret"), "ConnectionError"),
    (ValueError(), "ValueError"),
    (RecursionError(), "RecursionError"),
    (urllib.error.HTTPError(URL, 401, "secret", Message(), None), r"HTTPError (HTTP 401)"),
]


@pytest.mark.parametrize(("error", "told"), RAISED)
def test_what_enrol_raises_refresh_does_not(vouched: Vouched, error: Exception, told: str) -> None:
    vouched.issuer.error = error
    client = vouched.client()
    refreshed = client.refresh(force=True)
    why = str(refreshed.errors[NAME])
    assert f"enrol= raised {told}; the issuer will be asked again later" in why
    assert "secret" not in why
    assert refreshed.ready == ()


def test_what_ends_the_app_goes_through_refresh_and_leaves_nothing_locked(vouched: Vouched) -> None:
    client = vouched.client()
    vouched.bench.clock.time += DAY
    ends = mock.patch.object(FakeIssuer, "__call__", side_effect=KeyboardInterrupt)
    with ends, pytest.raises(KeyboardInterrupt):
        client.refresh(force=True)
    client.refresh(force=True)
    assert client.report(NAME, "good").ok


def test_who_gets_none_is_asked_again_and_nothing_else_happens(vouched: Vouched) -> None:
    vouched.issuer.vouches = False
    client = vouched.client()
    assert "no issuer vouches" in str(client.refresh(force=True).errors[NAME])
    due, asks = vouched.row("due, asks")
    assert asks == 2
    assert START + 1800 < due <= START + 3600  # the longest wait, jittered
    vouched.issuer.vouches = True
    assert client.refresh(force=True).errors == {}
    assert client.report(NAME, "good").ok


@pytest.mark.parametrize("meanwhile", ["off", "another key", "calls"])
def test_a_callback_may_use_the_client_as_keys_change(vouched: Vouched, meanwhile: str) -> None:
    clients: list[Client] = []

    def enrol(request: EnrolmentRequest) -> bytes | None:
        client = clients[0]
        match meanwhile:
            case "off":
                client.set_consent("off")
            case "another key":
                client.close()
                vouched.bench.mark.unlink()  # as of a copy
                client.set_consent("on")
            case _:
                not_enrolled(client)
                assert isinstance(client.refresh().errors[NAME], NotEnrolled)
        return vouched.issuer(request)

    clients.append(vouched.bench.client(enrol=enrol))
    errors, kept = clients[0].refresh().errors, meanwhile == "calls"
    assert errors == {} if kept else isinstance(errors[NAME], NotEnrolled)
    assert (vouched.row("credential") != (None,)) is kept
    assert clients[0].report(NAME, "good").ok is kept


# The collector refuses a certificate: once more for the same key, else the report is dropped.


def refused_once(vouched: Vouched) -> Client:
    """Return a client whose report waits for another certificate."""
    client = vouched.client()
    assert client.report(NAME, "good").ok
    vouched.bench.transport.answer = NOT_ENROLLED
    for _ in range(2):  # it is sent once, and then waits
        assert client.flush() == Delivery(pending=1)
    assert len(vouched.bench.transport.uploads) == 1
    assert vouched.row("credential, renewal") == (None, 1)
    return client


def test_a_refused_certificate_is_asked_for_once_more_for_the_same_key(vouched: Vouched) -> None:
    client = refused_once(vouched)
    vouched.issuer.rotate()  # as after distrust-issuer
    assert client.refresh(force=True).errors == {}
    vouched.bench.transport.answer = ACCEPTED
    assert client.flush().delivered == 1
    first, second = vouched.sent()
    assert replace(second, credential=first.credential) == first
    assert first.credential != second.credential
    assert len({request.public_key for request in vouched.issuer.requests}) == 1
    assert vouched.row("issuer, asks, renewal") == (vouched.issuer.enrolment.issuers[1], 2, 2)
    assert vouched.bench.draw.count == 1


@pytest.mark.parametrize("other", [True, False])
def test_no_other_certificate_or_one_refused_drops_it(vouched: Vouched, other: bool) -> None:
    client = refused_once(vouched)
    vouched.issuer.vouches = other
    why = client.refresh(force=True).errors
    assert why == {} if other else "did not issue a new one" in str(why[NAME])
    assert (client.flush().dropped, client.flush().pending) == (other, 0)
    assert vouched.bench.rows(FATE) == DROPPED
    # D4: the epoch stays decided, and nobody is asked any more.
    assert client.report(NAME, "good").status is OutcomeStatus.NOT_RECORDED
    client.refresh(force=True)
    assert len(vouched.issuer.requests) == 2
    assert vouched.bench.draw.count == 1


def test_a_report_waits_for_an_issuer_until_a_day_after_its_time(vouched: Vouched) -> None:
    client = refused_once(vouched)
    vouched.issuer.error = ConnectionError()
    for later, pending in ((0, 1), (DAY, 1), (3 * DAY - 1, 1), (3 * DAY, 0)):
        vouched.bench.clock.time = START + later
        client.refresh(force=True)
        assert client.flush().pending == pending

    assert vouched.bench.rows(FATE) == DROPPED
    assert len(vouched.bench.transport.uploads) == 1


def test_an_app_that_asks_no_more_drops_what_is_refused(vouched: Vouched) -> None:
    refused_once(vouched).close()
    # It sends what it has, since nobody will bring anything better.
    assert vouched.bench.client().flush().dropped == 1


@pytest.mark.parametrize("reported", [False, True])
@pytest.mark.parametrize("how", ["off", "purge", "closed"])
def test_a_certificate_is_erased_from_the_disk(vouched: Vouched, how: str, reported: bool) -> None:
    client = vouched.client()
    assert not reported or client.report(NAME, "good").ok
    (credential,) = vouched.row("credential")
    vouched.bench.transport.answer = ACCEPTED if how == "closed" else UNREACHABLE
    client.flush(timeout=0.1)
    assert vouched.bench.on_disk(credential)
    match how:
        case "closed":
            vouched.bench.clock.time = START + 2 * DAY
            client.flush()
        case "purge":
            client.purge()
        case _:
            client.set_consent(how)
    assert vouched.bench.on_disk(credential) == []
    rows = vouched.bench.rows("SELECT credential, asks FROM credentials")
    assert rows == ([] if how == "purge" else [(None, 1)])


def test_the_journal_tells_who_was_asked_and_what_they_saw(vouched: Vouched) -> None:
    def entry() -> SimpleNamespace:
        (entry,) = entries_of(client.journal(), "enrolment")
        return entry

    client = vouched.client()
    assert client.report(NAME, "good").ok
    client.flush()
    issuer = vouched.issuer.enrolment.issuers[0].hex()
    held, text = entry(), plain(client.journal())
    assert (held.survey, held.epoch, held.asks, held.issuer) == (NAME, 0, 1, issuer)
    assert held.content is not None
    assert vouched.bench.envelope.endswith(held.content)
    assert f"certificate for '{NAME}', epoch 0: held" in text
    assert "Asked the app's issuer, once: it saw the account, the survey, the epoch and" in text
    assert issuer in text
    vouched.bench.rows("UPDATE credentials SET asks = 0")  # as before the first call
    assert "Asked the app's issuer, never Given by" in plain(client.journal())
    vouched.bench.rows("UPDATE credentials SET asks = 1")
    client.set_consent("off")
    assert (entry().content, entry().issuer, entry().asks) == (None, issuer, 1)
    assert "epoch 0: erased" in str(client.journal())


@pytest.mark.parametrize("held", [False, True])
def test_whoever_is_asked_for_consent_is_told_of_the_issuer(vouched: Vouched, held: bool) -> None:
    bundled = [sign_manifest(vouched.survey, AUTHORITY)]
    asked = {"enrol": vouched.issuer, "consent": "unset", "manifests": bundled}
    client = vouched.client() if held else vouched.bench.client(**asked)
    page = client.explain()
    for text in (str(page), page.brief()):
        assert "issuer vouches can take part." in plain(text) or "vouches that you" in plain(text)
        assert (
            "Which account a response came from: the issuer and the collector together, by the key"
        ) in plain(text)
    assert "An issuer's signature of that key" in plain(page)
    assert "may be asked to vouch" not in plain(page)


def test_before_the_survey_is_known_it_is_said_what_a_backend_may_see(vouched: Vouched) -> None:
    bench, blindly = vouched.bench, [replace(DECLARED, enrolment="blind")]
    brief = bench.client(enrol=vouched.issuer, surveys=blindly).explain().brief()
    assert "The issuer sees your account, but neither a response nor its key." in plain(brief)
    for enrol in (vouched.issuer, None):
        page = bench.client(enrol=enrol).explain()
        for text in (str(page), page.brief()):
            assert (
                "may be asked to vouch for this device. The issuer sees your account and the key "
                "of a response. Unless it signs blindly, the issuer and the collector together "
                "can tell which response is yours" in plain(text)
            ) == (enrol is not None)
            assert max(map(len, text.splitlines())) <= 80
