"""Intake judges a report in the order of docs/protocol.md, so that every fault has one code."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from deniable.intake import judge_report
from deniable.messages import (
    Enrolment,
    Manifest,
    Refusal,
    SigningKey,
    codec,
    derive_report_key,
    enrolment_statement,
)
from deniable.messages.ed25519 import CONTEXT_ENROL, CONTEXT_REPORT
from deniable.stores.values import Receipt
from tests.support.reports import envelope, secret
from tests.support.surveys import DAY, MANIFEST, START, manifest

ISSUER = SigningKey(b"issuer's seed of the tests 00001")
NEXT_ISSUER = SigningKey(b"issuer's seed of the tests 00002")
CERTIFIED = manifest(
    name="certified",
    enrolment=Enrolment("certificate", (ISSUER.public_key, NEXT_ISSUER.public_key)),
)
SURVEYS = {survey.survey_id: survey for survey in (MANIFEST, CERTIFIED)}
K = len(MANIFEST.categories)
HUGE = 2**63 - 1


def verdict(message: bytes, now: float = START) -> str:
    """Return the code of the refusal, or "admissible"."""
    try:
        judge_report(message, now, SURVEYS.get)
    except Refusal as refusal:
        return refusal.code.value
    return "admissible"


def vouch(issuer: SigningKey) -> bytes:
    """Return a credential for a device's key in the certified survey."""
    key = derive_report_key(secret(1), CERTIFIED.survey_id, 0).public_key
    return issuer.sign(CONTEXT_ENROL, enrolment_statement(CERTIFIED.survey_id, 0, key))


@dataclass(frozen=True)
class Parts:
    """An envelope whose parts are put together without any check."""

    survey_id: bytes = MANIFEST.survey_id
    epoch: int = 0
    response: int = 0
    public_key: bytes | None = None
    signature: bytes | None = None
    credential: bytes | None = None
    tail: bytes = b""

    def __bytes__(self) -> bytes:
        payload = codec.encode([self.survey_id, self.epoch, self.response])
        key = derive_report_key(secret(1), self.survey_id, self.epoch)
        fields = [
            self.public_key or key.public_key,
            payload,
            self.signature or key.sign(CONTEXT_REPORT, payload),
            self.credential,
        ]
        return codec.encode(fields) + self.tail


# One fault of each kind, in the protocol's order: form, key, survey, epoch, domain, signature,
# credential. Each changes another part of the envelope, so that any of them can be combined.
FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("malformed", {"tail": b"\0"}),
    ("bad-key", {"public_key": b"\1" + bytes(31)}),
    ("unknown-survey", {"survey_id": bytes(32)}),
    ("out-of-domain", {"epoch": HUGE}),
    ("out-of-domain", {"response": K}),
    ("bad-signature", {"signature": bytes(64)}),
    ("malformed", {"credential": bytes(64)}),
]


@pytest.mark.parametrize("first", range(len(FAULTS)))
def test_of_several_faults_the_first_in_order_names_the_refusal(first: int) -> None:
    code, change = FAULTS[first]
    assert verdict(bytes(replace(Parts(), **change))) == code
    changes = {key: value for _, each in FAULTS[first:][::-1] for key, value in each.items()}
    assert verdict(bytes(replace(Parts(), **changes))) == code


@pytest.mark.parametrize(
    ("now", "code"), [(START - 301, "too-early"), (START + DAY + DAY, "epoch-closed")]
)
def test_the_time_is_judged_after_the_epoch_and_before_the_response(now: int, code: str) -> None:
    beyond = MANIFEST.schedule.epochs
    assert verdict(bytes(Parts(epoch=beyond, response=K)), now) == "out-of-domain"
    assert verdict(bytes(Parts(response=K, signature=bytes(64))), now) == code


def test_what_is_kept_of_a_report_is_its_identity_its_response_and_who_vouched() -> None:
    key = derive_report_key(secret(1), MANIFEST.survey_id, 0).public_key
    kept = judge_report(envelope(1, K - 1), START, SURVEYS.get)
    assert kept == Receipt(MANIFEST.survey_id, 0, key[:16], K - 1, None)
    for issuer in (ISSUER, NEXT_ISSUER):
        message = envelope(1, survey=CERTIFIED, credential=vouch(issuer))
        assert judge_report(message, START, SURVEYS.get).issuer == issuer.public_key


@pytest.mark.parametrize("epoch", [0, 1, MANIFEST.schedule.epochs - 1])
def test_an_epoch_is_open_from_300_s_before_its_start_until_its_grace_is_over(epoch: int) -> None:
    message = envelope(1, epoch=epoch)
    opens = START + epoch * DAY - 300
    closes = START + (epoch + 1) * DAY + DAY
    assert verdict(message, opens - 0.001) == "too-early"
    assert verdict(message, opens) == "admissible"
    assert verdict(message, closes - 0.001) == "admissible"
    assert verdict(message, closes) == "epoch-closed"


def test_the_survey_is_looked_up_by_the_id_that_was_signed_and_not_before_form_and_key() -> None:
    asked: list[bytes] = []

    def known(survey_id: bytes) -> Manifest | None:
        asked.append(survey_id)
        return None

    for change in (FAULTS[0][1], FAULTS[1][1], {}):
        assert asked == []
        with pytest.raises(Refusal):
            judge_report(bytes(replace(Parts(), **change)), START, known)
    assert asked == [MANIFEST.survey_id]


@pytest.mark.parametrize("survey", [MANIFEST, CERTIFIED])
def test_the_signature_is_judged_before_the_credential(survey: Manifest) -> None:
    forged = Parts(survey.survey_id, signature=bytes(64), credential=bytes(64))
    assert verdict(bytes(forged)) == "bad-signature"
    assert verdict(bytes(replace(forged, signature=None))) == (
        "malformed" if survey is MANIFEST else "not-enrolled"
    )


def test_refusals_never_repeat_the_message() -> None:
    marker = b"a marker answer of 32 bytes 0000"
    for code, change in FAULTS:
        with pytest.raises(Refusal) as caught:
            judge_report(bytes(replace(Parts(survey_id=marker), **change)), START, SURVEYS.get)
        shown = f"{caught.value} {caught.value!r} {caught.value.reason}"
        assert "marker" not in shown, code
        assert marker.hex() not in shown, code
