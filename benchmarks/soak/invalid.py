"""Half of the load: what no honest device sends, or sends again although it was acknowledged."""

import os
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.load import http_request
from benchmarks.soak.signing import RESPONSES, Slot, sign
from deniable.messages import MAX_UPLOAD_REPORTS, SignedReport, pack_upload

_MADE: Final = 256
"""Requests of each kind; they are sent again and again."""
_TOGETHER: Final = 64
_KEPT: Final = 4_000
"""Uploads that were acknowledged, to be sent again."""


@dataclass(frozen=True, slots=True)
class InvalidRequest:
    """A request of which nothing may be counted anew; it may pretend to have so many reports."""

    kind: str
    request: bytes
    reports: int
    duplicates: bool = False


class Invalid:
    """Requests to choose from, for surveys and epochs that are open."""

    def __init__(self, slots: Sequence[Slot], chance: random.Random) -> None:
        self._chance = chance
        self._made = [
            *_made("forged", [_forged(slots[n % len(slots)]) for n in range(_MADE)]),
            *_made("unknown survey", [_valid((os.urandom(32), 0)) for _ in range(_MADE)]),
            *_malformed(slots[0]),
        ]
        self._replays: deque[InvalidRequest] = deque(maxlen=_KEPT)
        self._conflicts: deque[InvalidRequest] = deque(maxlen=_KEPT)

    def acknowledged(self, request: bytes, reports: int, conflict: bytes | None) -> None:
        """Take note of an upload that was acknowledged, and what contradicts it."""
        self._replays.append(InvalidRequest("replay", request, reports, duplicates=True))
        if conflict is not None:
            request = http_request(pack_upload([conflict]))
            self._conflicts.append(InvalidRequest("conflict", request, 1))

    def next(self) -> InvalidRequest:
        """Return a request: as many reports are replays or conflicts as all others."""
        kept = self._chance.choice([self._replays, self._conflicts])
        if kept and self._chance.random() < 0.5:
            return self._chance.choice(kept)
        return self._chance.choice(self._made)


def _valid(slot: Slot) -> bytes:
    return sign(os.urandom(32), slot, os.urandom(1)[0] % RESPONSES)[1]


def _forged(slot: Slot) -> bytes:
    envelope = _valid(slot)
    signature = SignedReport.from_envelope(envelope).signature
    wrong = bytes([signature[40] ^ 1])
    return envelope.replace(signature, signature[:40] + wrong + signature[41:])


def _made(kind: str, envelopes: Sequence[bytes]) -> list[InvalidRequest]:
    """Return requests of one each, and as many reports again in requests of many."""
    batch = [*envelopes[:_TOGETHER]]
    return [
        *(InvalidRequest(kind, http_request(pack_upload([one])), 1) for one in envelopes),
        *[InvalidRequest(kind, http_request(pack_upload(batch)), len(batch))]
        * (len(envelopes) // len(batch)),
    ]


def _malformed(slot: Slot) -> list[InvalidRequest]:
    whole = pack_upload([_valid(slot)])
    bodies = [
        b"",
        os.urandom(200),
        whole[:-20],
        whole + b"\xc0",
        b"\x91\xc0",
        b"\x91" * 2_000,
        b"\xdc\xff\xff" + whole,
        b'[{"survey": 1}]',
        bytes(whole[:1]) + whole[1:].replace(b"\xc4", b"\xd9"),
        pack_upload([b"\x05"] * MAX_UPLOAD_REPORTS),
    ]
    requests = [http_request(body) for body in bodies]
    requests += [
        b"GET /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PUT /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        http_request(whole).replace(b"application/msgpack", b"application/json"),
        http_request(whole).replace(b"Host:", b"Content-Encoding: gzip\r\nHost:"),
    ]
    return [InvalidRequest("malformed", request, 1) for request in requests] * (
        _MADE // len(requests)
    )
