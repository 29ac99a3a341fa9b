"""Vectors of what goes through a relay: sealed requests and answers, good and bad."""

from collections.abc import Iterator
from typing import Any

from deniable.messages import pack_upload
from deniable.oblivious_http import (
    BinaryRequest,
    BinaryResponse,
    KeyConfiguration,
    PrivateKey,
    open_request,
    seal_request,
)
from tests.vectors import edwards25519 as curve
from tests.vectors.golden_messages import GATEWAY
from tests.vectors.layout import Case, case, group
from tests.vectors.scene import report_envelope, seed

KEY_ID = 1
KEY = KeyConfiguration(KEY_ID, GATEWAY[KEY_ID].public_key)
OPENS = {KEY_ID: GATEWAY[KEY_ID]}
JSON = (("content-type", "application/json"), ("date", "Mon, 18 Jan 2027 20:00:00 GMT"))
TAKEN = b'{"accepted": 1, "duplicates": 0, "refused": []}'
LARGE = bytes(range(256)) * 6

EXCHANGES = {
    "a report": (
        ("POST", "/v1/reports"),
        (("content-type", "application/msgpack"),),
        pack_upload([report_envelope()]),
        BinaryResponse(200, JSON, TAKEN),
        512,
    ),
    "manifests": (
        ("GET", "/v1/surveys/tea/manifests"),
        (),
        b"",
        BinaryResponse(200, (("content-type", "application/msgpack"), JSON[1]), LARGE),
        2_048,
    ),
}


def groups() -> list[dict[str, Any]]:
    """Return the groups of sealed_requests.json."""
    private = seed(f"gateway key {KEY_ID}")
    shared = {"key_id": KEY_ID, "private_key": private, "public_key": KEY.public_key}
    return [
        group("SealedExchange", exchanges(), **shared),
        group("SealedRequest", bad_requests(), **shared),
        group("SealedAnswer", bad_answers(), **shared),
    ]


def exchanges() -> Iterator[Case]:
    """Return requests and their answers, from the ephemeral key to the bytes."""
    for what in EXCHANGES:
        yield case(what, "Ordinary", **exchange(what))


def exchange(what: str) -> dict[str, Any]:
    """Return all of a request and its answer."""
    (method, path), headers, body, response, size = EXCHANGES[what]
    ephemeral, nonce = seed(f"ephemeral {what}"), seed(f"response nonce {what}")[:16]
    message = BinaryRequest(method, "https", "collector.example", path, headers, body)
    request = message.encode(padded_to=1_024 - 55)
    sealed, _ = seal_request(KEY, request, ephemeral=PrivateKey(ephemeral))
    _, sealer = open_request(OPENS, sealed)
    answer = response.encode(padded_to=size - 32)
    return {
        "ephemeral_key": ephemeral,
        "request": request,
        "sealed_request": sealed,
        "response_nonce": nonce,
        "response": answer,
        "sealed_response": sealer.seal(answer, nonce=nonce),
    }


def bad_requests() -> Iterator[Case]:
    """Return requests that no gateway opens."""
    good = exchange("a report")["sealed_request"]
    other = KeyConfiguration(KEY_ID, GATEWAY[0].public_key)
    foreign, _ = seal_request(other, bytes(969), ephemeral=PrivateKey(seed("ephemeral")))
    given = {
        "empty": ("WrongLength", b""),
        "a byte too few": ("WrongLength", good[:-1]),
        "another key's identifier": ("ForeignKey", b"\0" + good[1:]),
        "sealed for another key of this identifier": ("ForeignKey", foreign),
        "another KEM": ("Altered", good[:2] + b"\x10" + good[3:]),
        "another KDF": ("Altered", good[:4] + b"\x02" + good[5:]),
        "another AEAD": ("Altered", good[:6] + b"\x02" + good[7:]),
        "a flipped bit of the encapsulated key": ("Altered", _flipped(good, 7)),
        "a flipped bit of the message": ("Altered", _flipped(good, 500)),
        "a flipped bit of the tag": ("Altered", _flipped(good, len(good) - 1)),
        **{
            f"an encapsulated key of small order, u = {u}": (
                "SmallOrder",
                good[:7] + number.to_bytes(32, "little") + good[39:],
            )
            for u, number in {"0": 0, "1": 1, "p - 1": curve.P - 1, "p": curve.P}.items()
        },
    }
    for what, (flag, sealed) in given.items():
        yield case(f"request: {what}", flag, code="ohttp-key", sealed_request=sealed)


def bad_answers() -> Iterator[Case]:
    """Return answers that are none of the request: a device backs off."""
    own, other = exchange("a report"), exchange("manifests")
    good = own["sealed_response"]
    given = {
        "empty": ("WrongLength", b""),
        "shorter than a nonce": ("WrongLength", good[:15]),
        "truncated": ("WrongLength", good[:-1]),
        "not sealed": ("CaptivePortal", own["response"]),
        "a flipped bit of the nonce": ("Altered", _flipped(good, 0)),
        "a flipped bit of the message": ("Altered", _flipped(good, 100)),
        "the answer to another request": ("ForeignKey", other["sealed_response"]),
        "the request": ("ForeignKey", own["sealed_request"]),
    }
    for what, (flag, sealed) in given.items():
        yield case(
            f"answer: {what}",
            flag,
            code="no-answer",
            ephemeral_key=own["ephemeral_key"],
            request=own["request"],
            sealed_response=sealed,
        )


def _flipped(sealed: bytes, at: int) -> bytes:
    return sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
