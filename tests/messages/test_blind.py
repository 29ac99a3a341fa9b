"""Blind enrolment: requests that repeat, tokens of one survey, epoch and key, keys by epoch."""

import pickle
from dataclasses import replace
from hashlib import sha256
from math import prod

import pytest

from deniable.intake.judge import check_report
from deniable.messages import (
    Enrolment,
    InvalidManifest,
    Manifest,
    Refusal,
    Report,
    Schedule,
    SignedReport,
    blind_request,
    blind_token_input,
    check_token,
    derive_report_key,
    sign_report,
)
from deniable.privacy_pass import MODULUS_BYTES, verify
from tests.support.rsa_keys import RSA_KEYS, small_primes

SECRET = bytes(range(32))
KEYS = RSA_KEYS[:3]
MODULI = tuple(key.modulus for key in KEYS)
ENROLMENT = Enrolment("blind", issuer="issuer.example.org", first=1, keys=MODULI)
MANIFEST = Manifest(
    name="tea",
    sequence=1,
    nonce=bytes(16),
    question="Tea?",
    categories=("no", "yes"),
    epsilon="1",
    delta="0",
    schedule=Schedule(1_800_000_000, 86_400, 4, 3_600),
    origin="https://collector.example:8443",
    enrolment=ENROLMENT,
    minimum_reports=1,
)


def token(manifest: Manifest = MANIFEST, epoch: int = 2, secret: bytes = SECRET) -> bytes:
    request = blind_request(secret, manifest, epoch)
    return request.finish(KEYS[epoch - manifest.enrolment.first].answer(request.body))


def test_a_request_repeats_and_no_two_are_alike() -> None:
    first = blind_request(SECRET, MANIFEST, 2)
    assert first == blind_request(SECRET, MANIFEST, 2)
    # The last is of one survey id and epoch: two keys shown to a device see two factors.
    twin = replace(MANIFEST, enrolment=replace(ENROLMENT, keys=MODULI[::-1]))
    twin.__dict__["survey_id"] = MANIFEST.survey_id
    others = [
        blind_request(bytes(32), MANIFEST, 2),
        blind_request(SECRET, MANIFEST, 1),
        blind_request(SECRET, replace(MANIFEST, sequence=2), 2),
        blind_request(SECRET, twin, 3),
        blind_request(SECRET, twin, 1),
    ]
    requests = [first, *others]
    assert len({request.body for request in requests}) == len(requests)
    assert len({request._factor for request in requests}) == len(requests)


def test_whose_message_is_no_unit_asks_for_nothing() -> None:
    # 127 primes of 17 bits: the smallest that a modulus may have, and one message in 600 has one.
    primes = [prime for prime in small_primes(80_000) if prime > 1 << 16][438:565]
    hostile = prod(primes).to_bytes(MODULUS_BYTES)
    survey = replace(MANIFEST, enrolment=replace(ENROLMENT, keys=(hostile, *MODULI[1:])))
    blind_request((142).to_bytes(32), survey, 1)
    with pytest.raises(Refusal, match="not-enrolled"):
        blind_request((143).to_bytes(32), survey, 1)


def test_a_token_is_of_one_survey_epoch_key_and_issuer() -> None:
    credential, key = token(), derive_report_key(SECRET, MANIFEST.survey_id, 2).public_key
    assert check_token(MANIFEST, 2, key, credential) == sha256(b"issuer.example.org").digest()
    # It is a Privacy Pass token as others verify them.
    verify(blind_token_input(MANIFEST, 2, key), credential, MODULI[1])
    elsewhere = replace(MANIFEST, enrolment=replace(ENROLMENT, issuer="other.example.org"))
    same_key = replace(MANIFEST, enrolment=replace(ENROLMENT, first=3, keys=MODULI[1:2]))
    another_key = derive_report_key(SECRET, MANIFEST.survey_id, 1).public_key
    for manifest, epoch, public_key, given in (
        (MANIFEST, 1, key, credential),
        (MANIFEST, 0, key, credential),
        (MANIFEST, 2, another_key, credential),
        (replace(MANIFEST, sequence=2), 2, key, credential),
        (replace(MANIFEST, origin="https://collector.other"), 2, key, credential),
        (elsewhere, 2, key, credential),
        (same_key, 3, key, credential),
        (MANIFEST, 2, key, None),
        (MANIFEST, 2, key, credential[:64]),
        (MANIFEST, 2, key, bytes(MODULUS_BYTES)),
        (MANIFEST, 2, key, b"\xff" * MODULUS_BYTES),
    ):
        with pytest.raises(Refusal, match="not-enrolled"):
            check_token(manifest, epoch, public_key, given)


def test_the_intake_takes_a_report_with_its_token() -> None:
    now = MANIFEST.schedule.opens(2) + 1
    report = Report(MANIFEST.survey_id, 2, 1)
    signed = SignedReport.from_envelope(sign_report(SECRET, report, token()))
    assert check_report(signed, MANIFEST, now) == ENROLMENT.issuer_ids[0]
    for credential in (None, bytes(64), token(secret=bytes(32))):
        signed = SignedReport.from_envelope(sign_report(SECRET, report, credential))
        with pytest.raises(Refusal, match="not-enrolled"):
            check_report(signed, MANIFEST, now)


@pytest.mark.parametrize("length", [0, 63, 65, 255, 257])
def test_a_credential_has_one_of_two_lengths(length: int) -> None:
    envelope = sign_report(SECRET, Report(MANIFEST.survey_id, 2, 1), bytes(length))
    with pytest.raises(Refusal, match="malformed"):
        SignedReport.from_envelope(envelope)


def test_an_answer_that_is_no_token_is_refused() -> None:
    request = blind_request(SECRET, MANIFEST, 2)
    good = KEYS[1].answer(request.body)
    for response in (b"", good[:-1], good + b"\0", b"\xff" * MODULUS_BYTES):
        with pytest.raises(Refusal, match="malformed"):
            request.finish(response)
    for response in (bytes(MODULUS_BYTES), KEYS[0].answer(request.body)):
        with pytest.raises(Refusal, match=r"not-enrolled|malformed"):
            request.finish(response)


def test_a_request_shows_no_secret() -> None:
    request = blind_request(SECRET, MANIFEST, 2)
    assert str(request._factor) not in repr(request)
    with pytest.raises(TypeError):
        pickle.dumps(request)


def test_the_map_of_the_wire() -> None:
    assert Manifest.from_payload(MANIFEST.payload) == MANIFEST
    assert list(ENROLMENT.to_map()) == ["mode", "issuer", "first", "keys"]
    assert [ENROLMENT.key_of(epoch) for epoch in range(-1, 5)] == [None, None, *MODULI, None]
    with pytest.raises(InvalidManifest, match="each epoch"):
        replace(MANIFEST, enrolment=replace(ENROLMENT, first=0))


@pytest.mark.parametrize(
    "name", ["", "Issuer.example", "issuer.example:443", "a..b", "issüer", "-a"]
)
def test_an_issuer_is_a_host_name(name: str) -> None:
    with pytest.raises(InvalidManifest, match="host name"):
        replace(ENROLMENT, issuer=name)
