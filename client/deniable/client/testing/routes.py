"""A collector's routes for devices, answered honestly."""

from collections.abc import Mapping
from typing import Final

from deniable.client import HttpAnswer
from deniable.client.clock import Clock
from deniable.client.testing.authority import FakeAuthority
from deniable.client.testing.loopback import ReceivedRequest
from deniable.client.testing.misbehaviour import problem_answer
from deniable.client.testing.receipts import Receipts
from deniable.messages import MAX_UPLOAD_BYTES, Refusal, RefusalCode, pack_rotations

__all__ = ["AUTHORITY_PATH", "Routes", "manifest_answer", "manifest_name"]

AUTHORITY_PATH: Final = "/v1/authority"
_MEDIA_TYPE: Final = "application/msgpack"


class Routes:
    """``GET /v1/surveys/{name}/manifest``, ``GET /v1/authority`` and ``POST /v1/reports``.

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
                return manifest_answer(pack_rotations(self._authority.rotations))
            if request.method == "GET" and (name := manifest_name(request.path)):
                return self._serve(name, request.headers)
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

    def _serve(self, name: str, headers: Mapping[str, str]) -> HttpAnswer:
        manifest = self._authority.newest(name)
        if manifest is None:
            raise Refusal(RefusalCode.NOT_FOUND, "no survey has this name")
        tag = f'"{manifest.survey_id.hex()}"'
        if headers.get("if-none-match") == tag:
            return HttpAnswer(304, {"etag": tag}, b"")
        return manifest_answer(self._authority.sign(manifest), tag)


def manifest_name(path: str) -> str:
    """Return the name in a manifest's path; nothing for another path."""
    name = path.removeprefix("/v1/surveys/").removesuffix("/manifest")
    return "" if path != f"/v1/surveys/{name}/manifest" or "/" in name else name


def manifest_answer(envelope: bytes, tag: str = "") -> HttpAnswer:
    """Return the answer that carries a manifest, or other signed bytes."""
    return HttpAnswer(
        200, {"content-type": _MEDIA_TYPE, **({"etag": tag} if tag else {})}, envelope
    )
