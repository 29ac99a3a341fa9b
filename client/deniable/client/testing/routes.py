"""A collector's routes for devices, answered honestly."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from deniable.client import HttpAnswer
from deniable.client.clock import Clock
from deniable.client.testing.authority import FakeAuthority
from deniable.client.testing.loopback import ReceivedRequest
from deniable.client.testing.misbehaviour import problem_answer
from deniable.client.testing.receipts import Receipts
from deniable.messages import (
    MAX_UPLOAD_BYTES,
    Refusal,
    RefusalCode,
    pack_manifests,
    pack_rotations,
)

__all__ = ["AUTHORITY_PATH", "AskedManifests", "Routes"]

AUTHORITY_PATH: Final = "/v1/authority"
_MEDIA_TYPE: Final = "application/msgpack"
_MANIFESTS: Final = re.compile("/v1/surveys/([^/]+)/manifest(s?)")


@dataclass(frozen=True, slots=True)
class AskedManifests:
    """What a path asks for.

    Attributes:
        name: the survey's.
        all: whether for every manifest that has not ended, as devices ask, or for the newest.
    """

    name: str
    all: bool

    @classmethod
    def read(cls, path: str) -> "AskedManifests | None":
        """Read a path; None if it asks for no manifest."""
        found = _MANIFESTS.fullmatch(path)
        return cls(found[1], bool(found[2])) if found else None

    def answer(self, envelopes: list[bytes], tag: str = "") -> HttpAnswer:
        """Return the answer that carries these envelopes, or the first of them."""
        return _signed(pack_manifests(envelopes) if self.all else envelopes[0], tag)


class Routes:
    """``GET`` of manifests and of the authority, and ``POST /v1/reports``.

    Args:
        authority: whose manifests are served.
        receipts: where reports are taken.
        clock: the collector's time.
    """

    def __init__(self, authority: FakeAuthority, receipts: Receipts, clock: Clock) -> None:
        self._authority = authority
        self._receipts = receipts
        self._clock = clock

    def answer(self, request: ReceivedRequest) -> HttpAnswer:
        """Answer any request; one of no route is not-found."""
        try:
            if (request.method, request.path) == ("POST", "/v1/reports"):
                return self._take(request)
            if (request.method, request.path) == ("GET", AUTHORITY_PATH):
                return _signed(pack_rotations(self._authority.rotations))
            if request.method == "GET" and (asked := AskedManifests.read(request.path)):
                return self._serve(asked, request.headers)
        except Refusal as refusal:
            return problem_answer(refusal.code, refusal.reason)
        return problem_answer(RefusalCode.NOT_FOUND, "there is nothing at this path")

    def _take(self, request: ReceivedRequest) -> HttpAnswer:
        headers = request.headers
        if headers.get("content-type") != _MEDIA_TYPE or "content-encoding" in headers:
            raise Refusal(RefusalCode.UNSUPPORTED_MEDIA_TYPE, f"send {_MEDIA_TYPE}, as it is")
        if len(request.body) > MAX_UPLOAD_BYTES:
            raise Refusal(RefusalCode.TOO_LARGE, f"at most {MAX_UPLOAD_BYTES} bytes a request")
        taken = self._receipts.upload(request.body, self._clock.now())
        return HttpAnswer(200, {"content-type": "application/json"}, taken.to_json())

    def _serve(self, asked: AskedManifests, headers: Mapping[str, str]) -> HttpAnswer:
        published = self._authority.published(asked.name)
        if asked.all:
            published = [each for each in published if self._clock.now() < each.schedule.end]
        if not published:
            raise Refusal(RefusalCode.NOT_FOUND, "no survey has this name")
        tag = "" if asked.all else f'"{published[0].survey_id.hex()}"'
        if tag and headers.get("if-none-match") == tag:
            return HttpAnswer(304, {"etag": tag}, b"")
        return asked.answer([self._authority.sign(each) for each in published], tag)


def _signed(body: bytes, tag: str = "") -> HttpAnswer:
    return HttpAnswer(200, {"content-type": _MEDIA_TYPE, **({"etag": tag} if tag else {})}, body)
