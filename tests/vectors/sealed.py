"""Vectors of what goes through a relay: sealed requests and answers."""

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
    return [group("SealedExchange", exchanges(), **shared)]


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
