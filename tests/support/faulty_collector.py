"""A ``FakeCollector`` with all faults that D8 lists, over a real socket, not only those for apps.

Two tables list them: ``UPLOAD_FAULTS`` and ``MANIFEST_FAULTS``. They hold every code of the
protocol's table, about one report (``Refused``) and about a whole request (``Problem``), and what
D8 calls anything else (``Fault`` and ``Misbehaviour``).
"""

import gzip
import json
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from threading import Event
from typing import Final, cast

from deniable.client import HttpAnswer
from deniable.fakes import (
    AnyMisbehaviour,
    FakeCollector,
    Misbehaviour,
    Problem,
    ReceivedRequest,
    Refused,
    Route,
)
from deniable.messages import (
    ERROR_TYPE_PREFIX,
    MAX_ANSWER_BYTES,
    MAX_MANIFESTS_BYTES,
    PROBLEM_JSON,
    Manifest,
    RefusalCode,
    SigningKey,
    pack_manifests,
    sign_manifest,
    split_upload,
)

FOLLOWED_PATH: Final = "/somebody-followed-the-redirect"
"""Where redirects lead; no device ever asks for it."""
_PATH: Final = re.compile("/v1/surveys/([^/]+)/manifests")
_JSON: Final = {"content-type": "application/json"}
_DRIP_SECONDS: Final = 0.01
_UPLOADS: Final[frozenset[Route]] = frozenset({"uploads"})
_MANIFESTS: Final[frozenset[Route]] = frozenset({"manifests"})


class Fault(StrEnum):
    """A fault that a device must live through besides ``Misbehaviour``."""

    routes: frozenset[Route]  # where it can happen

    def __new__(cls, value: str, routes: frozenset[Route] = _UPLOADS | _MANIFESTS) -> "Fault":
        member = str.__new__(cls, value)
        member._value_, member.routes = value, routes
        return member

    CUT_SHORT = "cut-short"  # less of the answer comes than it announces
    DRIP = "drip"  # an endless answer comes byte by byte
    PORTAL_NOT_FOUND = "portal-not-found"  # a captive portal's or proxy's page, with status 404
    REDIRECT = "redirect"  # a 307 to another path of the collector
    GZIP = "gzip"  # the right answer, under a Content-Encoding that nobody asked for
    OVERSIZE = "oversize"  # the right answer, and more bytes than a device takes
    HTTP_NONSENSE = "http-nonsense"  # bytes that are no HTTP
    UNKNOWN_PROBLEM = "unknown-problem"  # a problem document with a code that is none
    MISPLACED_PROBLEM = "misplaced-problem"  # one under a status that is not its code's
    WRONG_NUMBERS = "wrong-numbers", _UPLOADS  # a 200 whose numbers do not add up to what was sent
    MALFORMED_JSON = "malformed-json", _UPLOADS  # a 200 whose JSON breaks off
    UNKNOWN_REFUSAL = "unknown-refusal", _UPLOADS  # a 200 that refuses with a code that is none
    GARBAGE = "garbage", _MANIFESTS  # bytes that are no manifest
    NOT_MODIFIED = "not-modified", _MANIFESTS  # a 304, whatever the device holds
    WRONG_SIGNATURE = "wrong-signature", _MANIFESTS  # a manifest that another authority signed
    WRONG_ORIGIN = "wrong-origin", _MANIFESTS  # a manifest for another collector
    ROLLED_BACK = "rolled-back", _MANIFESTS  # one with a lower sequence than was published
    EQUIVOCATION = "equivocation", _MANIFESTS  # another one with the sequence of the published one


AnyFault = Fault | AnyMisbehaviour
STORING: Final = frozenset({Fault.CUT_SHORT, Fault.GZIP, Fault.OVERSIZE})
"""Those under which what was sent is stored all the same."""
FORGERIES: Final = frozenset(
    {Fault.WRONG_SIGNATURE, Fault.WRONG_ORIGIN, Fault.ROLLED_BACK, Fault.EQUIVOCATION}
)
"""Manifests that no honest operator signs."""
_ALL: Final[tuple[AnyFault, ...]] = (
    *Misbehaviour,
    *Fault,
    *(Refused(code) for code in RefusalCode),
    *(Problem(code, wait) for code in RefusalCode if code.http_status for wait in (None, 7)),
)
UPLOAD_FAULTS: Final = tuple(fault for fault in _ALL if "uploads" in fault.routes)
"""Everything that may become of ``POST /v1/reports``."""
MANIFEST_FAULTS: Final = tuple(fault for fault in _ALL if "manifests" in fault.routes)
"""Everything that may become of ``GET /v1/surveys/{name}/manifests``."""


class FaultyCollector(FakeCollector):
    """A fake collector that does whatever D8 lists, when told to."""

    def misbehave(self, misbehaviour: AnyFault, *, times: int = 1, on: Route | None = None) -> None:
        super().misbehave(cast(AnyMisbehaviour, misbehaviour), times=times, on=on)

    def _answer(self, request: ReceivedRequest, misbehaviour: AnyFault | None) -> HttpAnswer | None:
        if not isinstance(misbehaviour, Fault):
            return super()._answer(request, misbehaviour)
        if misbehaviour in FORGERIES:
            return self._forged(misbehaviour, request)
        if misbehaviour is Fault.WRONG_NUMBERS:
            sent = len(list(split_upload(request.body)))
            return _json({"accepted": sent + 1, "duplicates": 0, "refused": []})
        if misbehaviour not in STORING:
            return _FIXED.get(misbehaviour)
        honest = self._honest_answer(request)
        if misbehaviour is Fault.GZIP:
            headers = {**honest.headers, "content-encoding": "gzip"}
            return HttpAnswer(honest.status, headers, gzip.compress(honest.body))
        if misbehaviour is Fault.OVERSIZE:
            padding = b" " * (2 * max(MAX_ANSWER_BYTES, MAX_MANIFESTS_BYTES))
            return HttpAnswer(honest.status, honest.headers, honest.body + padding)
        return honest

    def _send(
        self, packed: bytes | None, misbehaviour: AnyFault | None, connection: socket.socket
    ) -> None:
        if not isinstance(misbehaviour, Fault):
            super()._send(packed, misbehaviour, connection)
        elif packed is not None:
            connection.sendall(packed[:-1] if misbehaviour is Fault.CUT_SHORT else packed)
        elif misbehaviour is Fault.DRIP:
            _drip(connection, self._server.stopped)
        elif misbehaviour is Fault.HTTP_NONSENSE:
            connection.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")

    def _forged(self, fault: Fault, request: ReceivedRequest) -> HttpAnswer:
        """Return a forgery of the newest manifest."""
        matched = _PATH.fullmatch(request.path)
        assert matched is not None
        published: Manifest = self._authority.published[matched[1]][0]
        other = replace(published, nonce=os.urandom(16))
        if fault is Fault.WRONG_SIGNATURE:
            envelope = sign_manifest(other, SigningKey(os.urandom(32)))
        elif fault is Fault.WRONG_ORIGIN:
            envelope = self._authority.sign(replace(other, origin="https://elsewhere.example"))
        elif fault is Fault.ROLLED_BACK:
            envelope = self._authority.sign(replace(other, sequence=published.sequence - 1))
        else:  # with the same sequence: an equivocation
            envelope = self._authority.sign(other)
        body = pack_manifests([envelope], [self.log.proof(envelope)])
        return HttpAnswer(200, {"content-type": "application/msgpack"}, body)


def _drip(connection: socket.socket, stopped: Event) -> None:
    """Send an answer that never ends, a byte at a time, until somebody has enough of it."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nx-slow: ")
    while not stopped.wait(_DRIP_SECONDS):
        connection.sendall(b"x")


def _json(value: object, status: int = 200, kind: str = "application/json") -> HttpAnswer:
    return HttpAnswer(status, {"content-type": kind}, json.dumps(value).encode())


_FIXED: Final[Mapping[Fault, HttpAnswer]] = {
    Fault.PORTAL_NOT_FOUND: HttpAnswer(404, {"content-type": "text/html"}, b"<h1>Not Found</h1>"),
    Fault.REDIRECT: HttpAnswer(307, {"location": FOLLOWED_PATH}, b""),
    Fault.MALFORMED_JSON: HttpAnswer(200, _JSON, b'{"accepted": 1, "duplicates": 0, "ref'),
    Fault.UNKNOWN_REFUSAL: _json(
        {"accepted": 0, "duplicates": 0, "refused": [{"index": 0, "code": "gone-fishing"}]}
    ),
    Fault.UNKNOWN_PROBLEM: _json(
        {"type": f"{ERROR_TYPE_PREFIX}gone-fishing", "status": 400}, 400, PROBLEM_JSON
    ),
    Fault.MISPLACED_PROBLEM: _json(
        {"type": ERROR_TYPE_PREFIX + RefusalCode.MALFORMED, "status": 500}, 500, PROBLEM_JSON
    ),
    Fault.GARBAGE: HttpAnswer(200, {"content-type": "application/msgpack"}, b"\x92garbage"),
    Fault.NOT_MODIFIED: HttpAnswer(304, {}, b""),
}
