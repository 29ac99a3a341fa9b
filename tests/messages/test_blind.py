"""Blind enrolment: requests that repeat, tokens of one survey, epoch and key, keys by epoch."""

import pickle
from dataclasses import replace
from math import prod

import pytest

from deniable.messages import (
    Enrolment,
    InvalidManifest,
    Manifest,
    Refusal,
    Report,
    Schedule,
    SignedReport,
    sign_report,
)
from deniable.messages.blind import blind_request
from deniable.privacy_pass import MODULUS_BYTES
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


@pytest.mark.parametrize("length", [0, 63, 65, 255, 257])
def test_a_credential_has_one_of_two_lengths(length: int) -> None:
    envelope = sign_report(SECRET, Report(MANIFEST.survey_id, 2, 1), bytes(length))
    with pytest.raises(Refusal, match="malformed"):
        SignedReport.from_envelope(envelope)


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
