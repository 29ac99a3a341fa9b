"""Blind enrolment: a token's verification beside a certificate's, device's and issuer's steps."""

import os
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Final

from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA384

from benchmarks.rounds import interleave, processor_seconds_each
from benchmarks.table import Row, show
from deniable.enrolment.epoch_keys import PrivateKey
from deniable.messages import (
    Enrolment,
    Manifest,
    Schedule,
    SigningKey,
    derive_report_key,
    enrolment_statement,
)
from deniable.messages.blind import blind_request, blind_token_input, check_token
from deniable.messages.ed25519 import CONTEXT_ENROL
from deniable.messages.enrolment import check_credential
from deniable.privacy_pass import EXPONENT, MODULUS_BYTES, check_moduli
from deniable.server.routes.uploads import verify_by_libsodium as by_libsodium

_DEVICES: Final = 1_000
_REQUESTS: Final = 100
_KEYS: Final = 64
_PADDING: Final = PSS(MGF1(SHA384()), 48)
_HASH: Final = SHA384()


def run() -> None:
    """Measure and print."""
    keys = [generate_private_key(EXPONENT, 8 * MODULUS_BYTES) for _ in range(_KEYS)]
    moduli = tuple(map(_modulus, keys))
    issuers = [SigningKey(os.urandom(32)) for _ in range(2)]
    blind = _manifest(Enrolment("blind", issuer="issuer.example.org", keys=moduli))
    certified = _manifest(Enrolment("certificate", tuple(key.public_key for key in issuers)))
    devices = [os.urandom(32) for _ in range(_DEVICES)]
    tokens = cycle([_token(blind, keys[0], device) for device in devices])
    first, second = (
        cycle([_certificate(certified, issuer, device) for device in devices]) for issuer in issuers
    )
    request = blind_request(devices[0], blind, 0)
    n, d = keys[0].public_key().public_numbers().n, keys[0].private_numbers().d
    private = PrivateKey(keys[0])
    answer = pow(int.from_bytes(request.body[3:]), d, n).to_bytes(MODULUS_BYTES)

    def token() -> object:
        key, credential = next(tokens)
        return check_token(blind, 0, key, credential)

    found = interleave(
        {
            "token": processor_seconds_each(token, _DEVICES),
            "first": processor_seconds_each(_verifying(certified, first), _DEVICES),
            "second": processor_seconds_each(_verifying(certified, second), _DEVICES),
            "blind": processor_seconds_each(lambda: blind_request(devices[0], blind, 0), _REQUESTS),
            "finish": processor_seconds_each(lambda: request.finish(answer), _REQUESTS),
            "keys": processor_seconds_each(lambda: check_moduli(moduli), 1),
            "issue": processor_seconds_each(lambda: private.answer(request.body[3:]), _REQUESTS),
            "openssl": processor_seconds_each(
                lambda: keys[0].sign(b"", _PADDING, _HASH), _REQUESTS
            ),
        }
    )
    show(
        "who vouches for one report, at the collector",
        [
            Row("a token", found["token"].scaled(1e6), "µs"),
            Row("a certificate of the first issuer listed", found["first"].scaled(1e6), "µs"),
            Row("one of the second", found["second"].scaled(1e6), "µs"),
            Row("token ÷ certificate of the first", found["token"] / found["first"]),
            Row("token ÷ certificate of the second", found["token"] / found["second"]),
        ],
    )
    show(
        "a device's blind enrolment in one epoch",
        [
            Row("keys, salt, factor and the blinded request", found["blind"].scaled(1e3), "ms"),
            Row("its token, verified", found["finish"].scaled(1e3), "ms"),
            Row(
                f"the {_KEYS} moduli of a manifest, checked",
                found["keys"].scaled(1e3),
                "ms",
            ),
        ],
    )
    show(
        "an issuer's private operation for one token",
        [
            Row("hidden, exponentiated, verified", found["issue"].scaled(1e3), "ms"),
            Row("OpenSSL's own signature by the same key", found["openssl"].scaled(1e3), "ms"),
            Row("issue ÷ OpenSSL's signature", found["issue"] / found["openssl"]),
        ],
    )


def _verifying(
    certified: Manifest, certificates: Iterator[tuple[bytes, bytes]]
) -> Callable[[], object]:
    def verify() -> object:
        key, credential = next(certificates)
        statement = enrolment_statement(certified.survey_id, 0, key)
        return check_credential(certified.enrolment.issuers, statement, credential, by_libsodium)

    return verify


def _manifest(enrolment: Enrolment) -> Manifest:
    schedule = Schedule(1_800_000_000, 86_400, _KEYS, 0)
    origin = "https://collector.example.org"
    return Manifest(
        "benchmark", 0, bytes(16), "Tea?", ("no", "yes"), "1", "0", schedule, origin, enrolment, 1
    )


def _modulus(key: RSAPrivateKey) -> bytes:
    return key.public_key().public_numbers().n.to_bytes(MODULUS_BYTES)


def _token(survey: Manifest, issuer: RSAPrivateKey, device: bytes) -> tuple[bytes, bytes]:
    """Return a report's key and its token, which a signature that is not blind is as well."""
    key = derive_report_key(device, survey.survey_id, 0).public_key
    message = blind_token_input(survey, 0, key)
    return key, issuer.sign(message, _PADDING, _HASH)


def _certificate(survey: Manifest, issuer: SigningKey, device: bytes) -> tuple[bytes, bytes]:
    key = derive_report_key(device, survey.survey_id, 0).public_key
    return key, issuer.sign(CONTEXT_ENROL, enrolment_statement(survey.survey_id, 0, key))
