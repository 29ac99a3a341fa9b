"""The fixed cast of the vectors: keys, surveys and a clock, all derived from names.

Maps and lists are packed with msgpack itself, not with ``deniable.messages.codec``, so that a
vector can say what the codec refuses to say.
"""

from hashlib import sha256
from typing import Final

import msgpack

from deniable import messages
from deniable.messages.blind import blind_request
from deniable.messages.ed25519 import CONTEXT_ENROL, CONTEXT_MANIFEST, CONTEXT_REPORT
from tests.support.rsa_keys import RSA_KEYS


def seed(name: str) -> bytes:
    """Return 32 bytes that belong to a name."""
    return sha256(b"deniable test vectors: " + name.encode()).digest()


AUTHORITY: Final = messages.SigningKey(seed("authority"))
ISSUER: Final = messages.SigningKey(seed("issuer"))
NEXT_ISSUER: Final = messages.SigningKey(seed("next issuer"))
DEVICE_SECRET: Final = seed("device secret")

START: Final = 1_800_000_000
DAY: Final = 86_400
EPOCHS: Final = 10
GRACE: Final = 3_600
EPOCH: Final = 3
NOW: Final = START + EPOCH * DAY + DAY // 2
"""The middle of epoch 3."""

CATEGORIES: Final = ("never", "sometimes", "often", "always")
RESPONSE: Final = 2


def pack(value: object) -> bytes:
    """Pack a value of any kind, listed in the protocol or not."""
    packed = msgpack.packb(value)
    assert isinstance(packed, bytes)
    return packed


def manifest_fields(**changes: object) -> dict[str, object]:
    """Return the fields of a sound manifest in the protocol's order, some of them replaced."""
    fields: dict[str, object] = {
        "version": 1,
        "name": "tea",
        "sequence": 1,
        "nonce": seed("nonce")[:16],
        "question": "How often do you drink tea?",
        "categories": list(CATEGORIES),
        "mechanism": {"kind": "randomised-response"},
        "epsilon": "1",
        "delta": "0",
        "repeat": {"kind": "fresh"},
        "start": START,
        "epoch_seconds": DAY,
        "epochs": EPOCHS,
        "grace_seconds": GRACE,
        "origin": "https://collector.example",
        "enrolment": {"mode": "open"},
        "minimum_reports": 100,
    }
    assert set(changes) <= set(fields)
    return fields | changes


CERTIFICATE: Final = {"mode": "certificate", "issuers": [ISSUER.public_key, NEXT_ISSUER.public_key]}
BLIND: Final = {
    "mode": "blind",
    "issuer": "issuer.example",
    "first": 1,
    "keys": [key.modulus for key in RSA_KEYS],
}
BLIND_EPOCHS: Final = 5
OPEN_PAYLOAD: Final = pack(manifest_fields())
CERTIFICATE_PAYLOAD: Final = pack(
    manifest_fields(name="tea-certified", nonce=seed("other nonce")[:16], enrolment=CERTIFICATE)
)
BLIND_FIELDS: Final = manifest_fields(
    name="tea-blind",
    nonce=seed("third nonce")[:16],
    epochs=BLIND_EPOCHS,
    origin="https://collector.example:8443",
    enrolment=BLIND,
)
BLIND_PAYLOAD: Final = pack(BLIND_FIELDS)
OPEN_SURVEY: Final = messages.Manifest.from_payload(OPEN_PAYLOAD)
CERTIFICATE_SURVEY: Final = messages.Manifest.from_payload(CERTIFICATE_PAYLOAD)
BLIND_SURVEY: Final = messages.Manifest.from_payload(BLIND_PAYLOAD)


def manifest_envelope(payload: bytes) -> bytes:
    """Return ``[payload, signature]``, whatever the payload says."""
    return pack([payload, AUTHORITY.sign(CONTEXT_MANIFEST, payload)])


def report_key(survey: messages.Manifest = OPEN_SURVEY) -> messages.SigningKey:
    """Return the device's key."""
    return messages.derive_report_key(DEVICE_SECRET, survey.survey_id, EPOCH)


def credential(by: messages.SigningKey = ISSUER) -> bytes:
    """Return what an issuer hands to the device."""
    survey_id, public_key = CERTIFICATE_SURVEY.survey_id, report_key(CERTIFICATE_SURVEY).public_key
    statement = messages.enrolment_statement(survey_id, EPOCH, public_key)
    return by.sign(CONTEXT_ENROL, statement)


def token(survey: messages.Manifest, secret: bytes) -> bytes:
    """Return what a device makes of a blind issuer's answer."""
    request = blind_request(secret, survey, EPOCH)
    return request.finish(RSA_KEYS[EPOCH - survey.enrolment.first].answer(request.body))


def report_envelope() -> bytes:
    """Return the envelope of a report of the open survey."""
    payload, key = pack([OPEN_SURVEY.survey_id, EPOCH, RESPONSE]), report_key()
    return pack([key.public_key, payload, key.sign(CONTEXT_REPORT, payload), None])
