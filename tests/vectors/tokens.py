"""Vectors of blind surveys: which one a device draws, and from its secret to its token."""

import hmac
from collections.abc import Iterator
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from deniable.messages import blind_request, blind_token_input, derive_report_key
from deniable.privacy_pass import token_key_id
from tests.support.rsa_keys import RSA_KEYS
from tests.vectors import scene
from tests.vectors.layout import Case, case, group

START, DAY = scene.START, scene.DAY
ENROLMENT = scene.BLIND_SURVEY.enrolment


def groups() -> list[dict[str, Any]]:
    """Return the groups of blind_tokens.json."""
    return [
        group(
            "BlindToken",
            tokens(),
            authority=scene.AUTHORITY.public_key,
            survey=scene.manifest_envelope(scene.BLIND_PAYLOAD),
            survey_id=scene.BLIND_SURVEY.survey_id,
            issuer=ENROLMENT.issuer,
            issuer_id=ENROLMENT.issuer_ids[0],
            origin=scene.BLIND_SURVEY.origin,
            issuer_keys=[
                {"epoch": ENROLMENT.first + at, "p": f"{key.p:x}", "q": f"{key.q:x}"}
                for at, key in enumerate(RSA_KEYS)
            ],
        )
    ]


def tokens() -> Iterator[Case]:
    """Return enrolments that come to a token, in each epoch that has a key."""
    for epoch in range(ENROLMENT.first, ENROLMENT.first + len(RSA_KEYS)):
        for name in ("device secret", "another device"):
            yield _enrolment(f"{name}, epoch {epoch}", "Ordinary", scene.seed(name), epoch)


def _enrolment(
    comment: str,
    flag: str,
    secret: bytes,
    epoch: int,
    answer: bytes | None = None,
    code: str | None = None,
) -> Case:
    request = blind_request(secret, scene.BLIND_SURVEY, epoch)
    public_key = derive_report_key(secret, scene.BLIND_SURVEY.survey_id, epoch).public_key
    key = RSA_KEYS[epoch - ENROLMENT.first]
    key_id = token_key_id(key.modulus)
    info = b"deniable/blind-salt/v1\0" + epoch.to_bytes(8) + key_id + bytes(8)
    outcome = {}
    if answer is None:
        answer = key.answer(request.body)
        outcome["credential"] = request.finish(answer)
    return case(
        comment,
        flag,
        code=code,
        device_secret=secret,
        epoch=str(epoch),
        public_key=public_key,
        token_key_id=key_id,
        token_input=blind_token_input(scene.BLIND_SURVEY, epoch, public_key),
        salt=HKDF(SHA256(), 48, salt=scene.BLIND_SURVEY.survey_id, info=info).derive(secret),
        blind=request._factor.to_bytes(256),
        request=request.body,
        answer=answer,
        **outcome,
    )


def draws() -> Iterator[Case]:
    """Return which of several surveys devices answer in an epoch, by the protocol alone."""
    three, many = ["light", "tabs", "theme"], [f"survey-{number}" for number in range(64)]
    for name in ("device secret", "another device"):
        for epoch in range(8):
            yield _drawn(f"{name}, epoch {epoch}, of three", name, START + epoch * DAY, three)
        # Fewer surveys change nothing, if the one that was drawn is among them; nor does an order.
        for left in three:
            names = [other for other in three if other != left]
            yield _drawn(f"{name}, epoch 0, without {left}", name, START, names)
        yield _drawn(f"{name}, epoch 0, of three in reverse", name, START, three[::-1])
        yield _drawn(f"{name}, epoch 0, of one", name, START, ["tea"])
        yield _drawn(f"{name}, epoch 0, of 64", name, START, many)
        yield _drawn(f"{name}, an epoch that begins at 0", name, 0, ["a", "aa", "aaa"])


def _drawn(comment: str, device: str, starts: int, names: list[str]) -> Case:
    secret = scene.seed(device)
    message = b"deniable/blind-survey/v1\0" + starts.to_bytes(8)
    digests = [hmac.digest(secret, message + name.encode(), "sha256") for name in names]
    return case(
        comment,
        "OneAnswer",
        device_secret=secret,
        starts=starts,
        names=names,
        digests=digests,
        drawn=names[digests.index(min(digests))],
    )
