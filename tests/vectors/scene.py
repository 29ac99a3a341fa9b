"""The fixed cast of the vectors: keys, surveys and a clock, all derived from names.

Maps and lists are packed with msgpack itself, not with ``deniable.messages.codec``, so that a
vector can say what the codec refuses to say.
"""

from hashlib import sha256
from typing import Final

import msgpack

from deniable import messages
from deniable.messages.ed25519 import (
    CONTEXT_AUTHORITY,
    CONTEXT_AUTHORITY_ACCEPT,
    CONTEXT_ENROL,
    CONTEXT_MANIFEST,
    CONTEXT_REPORT,
)
from tests.support.rsa_keys import RSA_KEYS
from tests.vectors.layout import Case, case, flag_of


def seed(name: str) -> bytes:
    """Return 32 bytes that belong to a name."""
    return sha256(b"deniable test vectors: " + name.encode()).digest()


AUTHORITY: Final = messages.SigningKey(seed("authority"))
NEXT_AUTHORITY: Final = messages.SigningKey(seed("next authority"))
LAST_AUTHORITY: Final = messages.SigningKey(seed("last authority"))
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


def manifest_envelope(
    payload: bytes, *, by: messages.SigningKey = AUTHORITY, context: bytes = CONTEXT_MANIFEST
) -> bytes:
    """Return ``[payload, signature]``, whatever the payload says."""
    return pack([payload, by.sign(context, payload)])


def rotation_payload(old_key: object, new_key: object, sequence: object) -> bytes:
    """Return a rotation's payload, in the domain or not."""
    return pack([old_key, new_key, sequence])


def rotation_envelope(
    old_key: messages.SigningKey,
    new_key: messages.SigningKey,
    sequence: int,
    *,
    old: messages.SigningKey | None = None,
    new: messages.SigningKey | None = None,
    payload: bytes | None = None,
) -> bytes:
    """Return ``[payload, old signature, new signature]``, by the two keys unless told otherwise."""
    if payload is None:
        payload = rotation_payload(old_key.public_key, new_key.public_key, sequence)
    return pack(
        [
            payload,
            (old or old_key).sign(CONTEXT_AUTHORITY, payload),
            (new or new_key).sign(CONTEXT_AUTHORITY_ACCEPT, payload),
        ]
    )


def report_key(survey: messages.Manifest = OPEN_SURVEY, epoch: int = EPOCH) -> messages.SigningKey:
    """Return the device's key."""
    return messages.derive_report_key(DEVICE_SECRET, survey.survey_id, epoch)


def report_payload(
    survey: messages.Manifest = OPEN_SURVEY, epoch: int = EPOCH, response: int = RESPONSE
) -> bytes:
    """Return a report's payload, in the domain or not."""
    return pack([survey.survey_id, epoch, response])


def credential(
    survey: messages.Manifest = CERTIFICATE_SURVEY,
    epoch: int = EPOCH,
    *,
    by: messages.SigningKey = ISSUER,
    context: bytes = CONTEXT_ENROL,
) -> bytes:
    """Return what an issuer hands to the device."""
    public_key = report_key(survey, epoch).public_key
    return by.sign(context, messages.enrolment_statement(survey.survey_id, epoch, public_key))


def token(
    survey: messages.Manifest = BLIND_SURVEY, epoch: int = EPOCH, secret: bytes = DEVICE_SECRET
) -> bytes:
    """Return what a device makes of a blind issuer's answer."""
    request = messages.blind_request(secret, survey, epoch)
    return request.finish(RSA_KEYS[epoch - survey.enrolment.first].answer(request.body))


def report_envelope(
    payload: bytes | None = None,
    *,
    by: messages.SigningKey | None = None,
    context: bytes = CONTEXT_REPORT,
    credential: object = None,
) -> bytes:
    """Return an envelope whose signature is good, whatever else is not."""
    payload = report_payload() if payload is None else payload
    key = by or report_key()
    return pack([key.public_key, payload, key.sign(context, payload), credential])


def vector(
    name: str, what: str, code: str, *, layer: str = "messages", now: int = NOW, **fields: bytes
) -> Case:
    """Return a bad message, with the layer that judges it and the time."""
    comment = f"{name}: {what}"
    return case(comment, flag_of(code, comment), layer=layer, now=now, **fields, code=code)
