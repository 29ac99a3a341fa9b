"""Uploads and requests that are nearly good: mutated as bytes, as msgpack, and as HTTP.

Everything takes its chances from a ``random.Random``, so that hypothesis can shrink it and a seed
repeats it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Final

import msgpack

from deniable.messages import Enrolment, pack_upload
from deniable.messages.blind import blind_request
from tests.support.reports import envelope, secret
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import MANIFEST, manifest
from tests.vectors import edwards25519 as curve

DEVICES: Final = 40
"""How many devices the genuine reports are of: no more can ever be counted."""

BLIND: Final = manifest(
    name="blind",
    schedule=replace(MANIFEST.schedule, epochs=len(RSA_KEYS)),
    enrolment=Enrolment("blind", issuer="issuer.example", keys=tuple(k.modulus for k in RSA_KEYS)),
)
BLIND_DEVICES: Final = 4
"""How many devices have a token of its epoch 0."""

MARKER: Final = b"xyzzy"
"""Stands in many a request, and must stand in no answer."""

_INTERESTING: Final = (
    [curve.encode(point) for point in curve.small_order_points()]
    + [(curve.P + extra).to_bytes(32, "little") for extra in range(3)]
    + [curve.L.to_bytes(32, "little"), bytes(32), b"\xff" * 32, MANIFEST.survey_id]
)
_ODD_BYTES: Final = (
    b"\x00\x7f\x80\x81\x8f\x90\x91\x9f\xa0\xbf\xc0\xc1\xc2\xc4\xc6\xc7\xc9\xca\xcb\xcc\xcf\xd0\xd3"
    b"\xd4\xd8\xd9\xdb\xdc\xdd\xde\xdf\xe0\xff\r\n :;,\"'\\%&=?#/.0-+_"
)


def mutated_bytes(chance: Random, data: bytes) -> bytes:
    """Return bytes with a few of them changed, moved, repeated or gone."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(changed))
        end = min(len(changed), at + chance.choice((1, 1, 2, 4, 32, 64)))
        match chance.randrange(6):
            case 0 if changed and at < len(changed):
                changed[at] ^= 1 << chance.randrange(8)
            case 1:
                changed[at:at] = bytes([chance.choice(_ODD_BYTES)])
            case 2:
                del changed[at:end]
            case 3:
                changed[at:at] = changed[at:end] * chance.choice((1, 1, 2, 50))
            case 4:
                start = chance.randint(0, len(changed))
                changed[at:end] = changed[start : start + end - at]
            case _:
                del changed[at:]
    return bytes(changed)


def _odd_value(chance: Random, depth: int = 0) -> object:
    """Return any value that msgpack has, mostly one that is nearly right."""
    simple: Sequence[Callable[[], object]] = (
        lambda: None,
        lambda: chance.choice((True, False)),
        lambda: chance.choice((0, 1, 4, 5, 7, 8, 127, 128, 255, 256, 2**31, 2**63 - 1, 2**63)),
        lambda: -chance.randint(1, 1 << 40),
        lambda: chance.choice((0.0, -0.0, 3.0, float("nan"), float("inf"))),
        lambda: chance.choice(_INTERESTING),
        lambda: chance.choice(_INTERESTING) + chance.choice(_INTERESTING),
        lambda: chance.randbytes(chance.choice((0, 1, 31, 32, 33, 63, 64, 65))),
        lambda: MARKER.decode() * chance.randint(0, 8),
        lambda: msgpack.ExtType(chance.randint(0, 127), chance.randbytes(chance.randint(0, 20))),
        lambda: msgpack.Timestamp(chance.randrange(1 << 32), 0),
    )
    if depth > 3 or chance.random() < 0.8:
        return chance.choice(simple)()
    if chance.random() < 0.5:
        return [_odd_value(chance, depth + 1) for _ in range(chance.choice((0, 1, 3, 4, 5)))]
    return {chance.choice((1, "a", b"b")): _odd_value(chance, depth + 1)}


def _mutated_envelope(chance: Random, data: bytes) -> bytes:
    """Return an envelope with one field, or one field of its payload, of another kind or value."""
    fields = msgpack.unpackb(data)
    if chance.random() < 0.5:
        payload = msgpack.unpackb(fields[1])
        _mutate_list(chance, payload)
        fields[1] = msgpack.packb(payload)
    else:
        _mutate_list(chance, fields)
    packed: bytes = msgpack.packb(fields)
    return packed


def _mutate_list(chance: Random, values: list[object]) -> None:
    at = chance.randrange(len(values))
    match chance.randrange(8):
        case 0:
            del values[at]
        case 1:
            values.insert(at, _odd_value(chance))
        case 2:
            other = chance.randrange(len(values))
            values[at], values[other] = values[other], values[at]
        case 3:
            values[at] = _odd_value(chance)
        case _:
            values[at] = _of_the_same_kind(chance, values[at])


def _of_the_same_kind(chance: Random, value: object) -> object:
    if isinstance(value, bytes) and value:
        if chance.random() < 0.5:
            flipped = bytearray(value)
            flipped[chance.randrange(len(value))] ^= 1 << chance.randrange(8)
            return bytes(flipped)
        half = len(value) // 2
        found = chance.choice(_INTERESTING)
        return (chance.choice((value[:half], found)) + found + found)[: len(value)]
    return chance.choice((0, 1, 4, 5, 8, 255, 256, 2**63 - 1)) if type(value) is int else value


@cache
def token(device: int) -> bytes:
    """Return a device's token of the blind survey's epoch 0."""
    request = blind_request(secret(device), BLIND, 0)
    return request.finish(RSA_KEYS[0].answer(request.body))


def _vouched(chance: Random) -> bytes:
    """Return a report of the blind survey, perhaps with another device's token."""
    device, other = (chance.randrange(BLIND_DEVICES) for _ in range(2))
    by = device if chance.random() < 0.7 else other
    response, epoch = chance.choice((0, 0, 1, 4, 5)), chance.choice((0, 0, 0, 1))
    return envelope(device, response, epoch=epoch, survey=BLIND, credential=token(by))


def _element(chance: Random) -> bytes:
    response = chance.choice((*[0] * 6, 1, 4, 5, 256))
    epoch = chance.choice((*[0] * 12, 1, 7, 8, 2**63 - 1))
    genuine = envelope(chance.randrange(DEVICES), response, epoch=epoch)
    if chance.random() < 0.2:
        genuine = _vouched(chance)
    match chance.randrange(8):
        case 0 | 1 | 2:
            return genuine
        case 3 | 4 | 5:
            return _mutated_envelope(chance, genuine)
        case 6:
            return mutated_bytes(chance, genuine)
        case _:
            packed: bytes = msgpack.packb(_odd_value(chance))
            return packed


def uploads(chance: Random) -> bytes:
    """Return an upload's body, some of whose elements may be genuine."""
    body = pack_upload([_element(chance) for _ in range(chance.choice((1, 1, 1, 2, 5, 20)))])
    return mutated_bytes(chance, body) if chance.random() < 0.3 else body


_PATHS: Final = (
    b"/v1/reports",
    b"/v1/surveys",
    b"/v1/surveys/rating-of-marriage",
    b"/v1/surveys/rating-of-marriage/manifest",
    b"/v1/surveys/rating-of-marriage/histogram?level=0.9",
    b"/v1/surveys/rating-of-marriage/histogram?epoch=0&survey=" + b"0" * 64,
    b"/v1/authority",
    b"/healthz",
    b"/readyz",
    b"/metrics",
    b"/xyzzy/%2e%2e//?a=b#c",
    b"http://xyzzy/healthz",
    b"*",
)
_METHODS: Final = (b"GET", b"GET", b"HEAD", b"PUT", b"OPTIONS", b"TRACE", b"CONNECT", b"xyzzy")
_HEADERS: Final = (
    b"Connection: close",
    b"Connection: keep-alive, Upgrade",
    b"Upgrade: websocket",
    b"Upgrade: h2c",
    b"Expect: 100-continue",
    b"Expect: xyzzy",
    b"Content-Encoding: gzip",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Content-Length: 0",
    b"Content-Length: 3",
    b"Content-Length: 99999999999999999999",
    b"Content-Type: multipart/form-data; boundary=xyzzy",
    b"Authorization: Bearer xyzzy",
    b'If-None-Match: W/"xyzzy", *, "',
    b"If-Modified-Since: xyzzy",
    b"Range: bytes=0-1",
    b"X-Forwarded-For: 127.0.0.1, xyzzy",
    b'Cookie: xyzzy="',
    b"Accept: xyzzy/*;q=\xff",
    b"X-Xyzzy: " + b"a" * 9_000,
    b" folded: xyzzy",
    b"xyzzy",
)


def _chunked(chance: Random, body: bytes) -> bytes:
    """Return a body in chunks of any sizes."""
    parts, at = [], 0
    while at < len(body):
        size = chance.choice((1, 7, 100, 10_000))
        part = body[at : at + size]
        extension = b";xyzzy=1" if chance.random() < 0.1 else b""
        parts.append(b"%x%b\r\n%b\r\n" % (len(part), extension, part))
        at += size
    trailer = b"Content-Encoding: gzip\r\n" if chance.random() < 0.2 else b""
    return b"".join(parts) + b"0\r\n" + trailer + b"\r\n"


def _request(chance: Random) -> bytes:
    lines = [b"Host: x"]
    body = b""
    if chance.random() < 0.6:
        first = b"POST /v1/reports HTTP/1.1"
        lines.append(b"Content-Type: application/msgpack")
        body = uploads(chance)
        if chance.random() < 0.3:
            lines.append(b"Transfer-Encoding: chunked")
            body = _chunked(chance, body)
        else:
            lines.append(b"Content-Length: %d" % len(body))
    else:
        version = chance.choice((b"1.1", b"1.1", b"1.1", b"1.0", b"2.0", b"0.9"))
        first = b"%b %b HTTP/%b" % (chance.choice(_METHODS), chance.choice(_PATHS), version)
    for _ in range(chance.choice((0, 0, 1, 1, 3))):
        lines.insert(chance.randint(0, len(lines)), chance.choice(_HEADERS))
    if chance.random() < 0.1:
        lines *= chance.choice((2, 30))
    return b"\r\n".join([first, *lines, b"", body])


def requests(chance: Random) -> list[bytes]:
    """Return the segments in which one or several requests come on a connection."""
    sent = b"".join(_request(chance) for _ in range(chance.choice((1, 1, 1, 2, 5))))
    if chance.random() < 0.3:
        sent = mutated_bytes(chance, sent)
    cuts = sorted(chance.randint(0, len(sent)) for _ in range(chance.choice((0, 0, 1, 3))))
    return [sent[a:b] for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
