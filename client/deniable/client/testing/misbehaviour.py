"""The faults between a device and a collector, each with a name of its own.

Two tables list all of it: ``UPLOAD_MISBEHAVIOURS`` and ``MANIFEST_MISBEHAVIOURS``. They hold the
codes of the protocol's table, about one report (``Refused``) and about a whole request
(``Problem``), and what D8 calls anything else (``Misbehaviour``).
"""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, Literal

from deniable.client import HttpAnswer
from deniable.messages import (
    ERROR_TYPE_PREFIX,
    MAX_ANSWER_BYTES,
    MAX_MANIFESTS_BYTES,
    PROBLEM_JSON,
    RefusalCode,
    UploadAnswer,
    pack_problem,
)

Route = Literal["uploads", "manifests"]

FOLLOWED_PATH: Final = "/somebody-followed-the-redirect"
"""Where redirects lead; no device ever asks for it."""
_UPLOADS: Final[frozenset[Route]] = frozenset({"uploads"})
_MANIFESTS: Final[frozenset[Route]] = frozenset({"manifests"})
_ANY: Final = _UPLOADS | _MANIFESTS


class Misbehaviour(StrEnum):
    """A fault that a device must live through besides the codes of the protocol."""

    routes: frozenset[Route]  # where it can happen
    stores: bool  # whether what was sent is stored all the same

    def __new__(
        cls, value: str, routes: frozenset[Route] = _ANY, stores: bool = False
    ) -> "Misbehaviour":
        """Make a member of its text, where it can happen, and whether it stores."""
        member = str.__new__(cls, value)
        member._value_, member.routes, member.stores = value, routes, stores
        return member

    CUT_BEFORE_STORING = "cut-before-storing"  # the connection ends without an answer
    CUT_AFTER_STORING = "cut-after-storing", _ANY, True  # the connection ends without an answer
    CUT_SHORT = "cut-short", _ANY, True  # less of the answer comes than it announces
    STALL = "stall"  # no answer ever comes
    DRIP = "drip"  # an endless answer comes byte by byte
    PORTAL = "portal"  # a captive portal's page, with status 200
    PORTAL_NOT_FOUND = "portal-not-found"  # a captive portal's or proxy's page, with status 404
    PROXY_ERROR = "proxy-error"  # a proxy's bare 502
    REDIRECT = "redirect"  # a 307 to another path of the collector
    GZIP = "gzip", _ANY, True  # the right answer, under a Content-Encoding that nobody asked for
    OVERSIZE = "oversize", _ANY, True  # the right answer, and more bytes than a device takes
    HTTP_NONSENSE = "http-nonsense"  # bytes that are no HTTP
    UNKNOWN_PROBLEM = "unknown-problem"  # a problem document with a code that is none
    MISPLACED_PROBLEM = "misplaced-problem"  # one under a status that is not its code's
    WRONG_NUMBERS = "wrong-numbers", _UPLOADS  # a 200 whose numbers do not add up to what was sent
    MALFORMED_JSON = "malformed-json", _UPLOADS  # a 200 whose JSON breaks off
    UNKNOWN_REFUSAL = "unknown-refusal", _UPLOADS  # a 200 that refuses with a code that is none
    MISSING = "missing", _MANIFESTS  # no manifest of this name is published
    GARBAGE = "garbage", _MANIFESTS  # bytes that are no manifest
    NOT_MODIFIED = "not-modified", _MANIFESTS  # a 304, whatever the device holds
    WRONG_SIGNATURE = "wrong-signature", _MANIFESTS  # a manifest that another authority signed
    WRONG_ORIGIN = "wrong-origin", _MANIFESTS  # a manifest for another collector
    ROLLED_BACK = "rolled-back", _MANIFESTS  # one with a lower sequence than was published
    EQUIVOCATION = "equivocation", _MANIFESTS  # another one with the sequence of the published one


@dataclass(frozen=True, slots=True)
class _Coded:
    routes: ClassVar[frozenset[Route]]
    stores: ClassVar = False
    _name: ClassVar[str]

    code: RefusalCode  # or its text
    retry_after: int | None = None  # seconds that the answer asks to wait, if it does

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", RefusalCode(self.code))

    def __str__(self) -> str:
        asking = "" if self.retry_after is None else f"+retry-after-{self.retry_after}"
        return f"{self._name}:{self.code}{asking}"


class Refused(_Coded):
    """A 200 that refuses each report of the request with a code; nothing was stored."""

    routes, _name = _UPLOADS, "refused"


class Problem(_Coded):
    """A problem document about the whole request; nothing was stored.

    Raises:
        ValueError: for a code that speaks of one report only.
    """

    routes, _name = _ANY, "problem"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.code.http_status is None:
            raise ValueError(f"{self.code} never speaks of a whole request; use Refused")


AnyMisbehaviour = Misbehaviour | Refused | Problem

_ALL: Final[tuple[AnyMisbehaviour, ...]] = (
    *Misbehaviour,
    *(Refused(code) for code in RefusalCode),
    *(Problem(code, wait) for code in RefusalCode if code.http_status for wait in (None, 7)),
)
UPLOAD_MISBEHAVIOURS: Final = tuple(
    misbehaviour for misbehaviour in _ALL if "uploads" in misbehaviour.routes
)
"""Everything that may become of ``POST /v1/reports``."""
MANIFEST_MISBEHAVIOURS: Final = tuple(
    misbehaviour for misbehaviour in _ALL if "manifests" in misbehaviour.routes
)
"""Everything that may become of ``GET /v1/surveys/{name}/manifests``, or of ``…/manifest``."""
FORGERIES: Final = (
    Misbehaviour.WRONG_SIGNATURE,
    Misbehaviour.WRONG_ORIGIN,
    Misbehaviour.ROLLED_BACK,
    Misbehaviour.EQUIVOCATION,
)
"""Manifests that no honest operator signs."""


def misleading_answer(
    misbehaviour: AnyMisbehaviour, honest: HttpAnswer | None, sent: int
) -> HttpAnswer | None:
    """Return the whole answer that a misbehaviour gives; None if it is not made of one.

    ``honest`` is what would be answered, None if the request is not to be looked at; ``sent`` is
    how many reports the request has.
    """
    if isinstance(misbehaviour, Misbehaviour):
        if honest is not None and misbehaviour is Misbehaviour.GZIP:
            headers = {**honest.headers, "content-encoding": "gzip"}
            return HttpAnswer(honest.status, headers, gzip.compress(honest.body))
        if honest is not None and misbehaviour is Misbehaviour.OVERSIZE:
            padding = b" " * (2 * max(MAX_ANSWER_BYTES, MAX_MANIFESTS_BYTES))
            return HttpAnswer(honest.status, honest.headers, honest.body + padding)
        if misbehaviour is Misbehaviour.WRONG_NUMBERS:
            return _json({"accepted": sent + 1, "duplicates": 0, "refused": []})
        return _FIXED.get(misbehaviour)
    if isinstance(misbehaviour, Refused):
        refused = tuple((index, misbehaviour.code) for index in range(sent))
        answer = HttpAnswer(200, _JSON, UploadAnswer(0, 0, refused).to_json())
    else:
        answer = problem_answer(misbehaviour.code, "try again later")
    if misbehaviour.retry_after is None:
        return answer
    asking = {**answer.headers, "retry-after": str(misbehaviour.retry_after)}
    return HttpAnswer(answer.status, asking, answer.body)


def problem_answer(code: RefusalCode, detail: str) -> HttpAnswer:
    """Return the answer that refuses a whole request."""
    assert code.http_status is not None
    return HttpAnswer(code.http_status, {"content-type": PROBLEM_JSON}, pack_problem(code, detail))


def _json(value: object, status: int = 200, kind: str = "application/json") -> HttpAnswer:
    return HttpAnswer(status, {"content-type": kind}, json.dumps(value).encode())


_JSON: Final = {"content-type": "application/json"}
_HTML: Final = {"content-type": "text/html"}
_FIXED: Final[Mapping[Misbehaviour, HttpAnswer]] = {
    Misbehaviour.PORTAL: HttpAnswer(200, _HTML, b"<html>Welcome to the hotel</html>"),
    Misbehaviour.PORTAL_NOT_FOUND: HttpAnswer(404, _HTML, b"<h1>Not Found</h1>"),
    Misbehaviour.PROXY_ERROR: HttpAnswer(502, _HTML, b"<h1>Bad Gateway</h1>"),
    Misbehaviour.REDIRECT: HttpAnswer(307, {"location": FOLLOWED_PATH}, b""),
    Misbehaviour.MALFORMED_JSON: HttpAnswer(200, _JSON, b'{"accepted": 1, "duplicates": 0, "ref'),
    Misbehaviour.UNKNOWN_REFUSAL: _json(
        {"accepted": 0, "duplicates": 0, "refused": [{"index": 0, "code": "gone-fishing"}]}
    ),
    Misbehaviour.UNKNOWN_PROBLEM: _json(
        {"type": f"{ERROR_TYPE_PREFIX}gone-fishing", "status": 400}, 400, PROBLEM_JSON
    ),
    Misbehaviour.MISPLACED_PROBLEM: _json(
        {"type": ERROR_TYPE_PREFIX + RefusalCode.MALFORMED, "status": 500}, 500, PROBLEM_JSON
    ),
    Misbehaviour.MISSING: problem_answer(RefusalCode.NOT_FOUND, "no survey has this name"),
    Misbehaviour.GARBAGE: HttpAnswer(200, {"content-type": "application/msgpack"}, b"\x92garbage"),
    Misbehaviour.NOT_MODIFIED: HttpAnswer(304, {}, b""),
}
