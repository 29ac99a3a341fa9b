"""What may go wrong between a device and a collector, each thing with a name of its own.

Two tables list all of it: ``UPLOAD_MISBEHAVIOURS`` and ``MANIFEST_MISBEHAVIOURS``. They hold the
codes of the protocol's table, about one report (``Refused``) and about a whole request
(``Problem``), and what D8 calls anything else (``Misbehaviour``).
"""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

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

__all__ = [
    "FOLLOWED_PATH",
    "FORGERIES",
    "MANIFEST_MISBEHAVIOURS",
    "UPLOAD_MISBEHAVIOURS",
    "AnyMisbehaviour",
    "Misbehaviour",
    "Problem",
    "Refused",
    "Route",
    "misleading_answer",
    "problem_answer",
    "routes_of",
]

FOLLOWED_PATH: Final = "/somebody-followed-the-redirect"
"""Where redirects lead; no device ever asks for it."""


class Misbehaviour(StrEnum):
    """What a device must live through besides the codes of the protocol."""

    CUT_BEFORE_STORING = "cut-before-storing"
    """The connection ends without an answer; nothing was stored."""
    CUT_AFTER_STORING = "cut-after-storing"
    """The connection ends without an answer; what was sent is stored."""
    CUT_SHORT = "cut-short"
    """Stored, but less of the answer comes than it announces."""
    STALL = "stall"
    """Nothing was stored, and no answer ever comes."""
    DRIP = "drip"
    """Nothing was stored, and an endless answer comes byte by byte."""
    PORTAL = "portal"
    """A captive portal's page, with status 200."""
    PORTAL_NOT_FOUND = "portal-not-found"
    """A captive portal's or proxy's page, with status 404."""
    PROXY_ERROR = "proxy-error"
    """A proxy's bare 502."""
    REDIRECT = "redirect"
    """A 307 to another path of the collector."""
    GZIP = "gzip"
    """Stored, and the right answer, under a Content-Encoding that nobody asked for."""
    OVERSIZE = "oversize"
    """Stored, and the right answer, followed by more bytes than a device takes."""
    HTTP_NONSENSE = "http-nonsense"
    """Bytes that are no HTTP."""
    WRONG_NUMBERS = "wrong-numbers"
    """A 200 whose numbers do not add up to what was sent."""
    MALFORMED_JSON = "malformed-json"
    """A 200 whose JSON breaks off."""
    UNKNOWN_REFUSAL = "unknown-refusal"
    """A 200 that refuses the report with a code that the protocol does not know."""
    UNKNOWN_PROBLEM = "unknown-problem"
    """A problem document with such a code."""
    MISPLACED_PROBLEM = "misplaced-problem"
    """A problem document with a known code, under a status that is not its own."""
    MISSING = "missing"
    """No manifest of this name is published."""
    GARBAGE = "garbage"
    """Bytes that are no manifest."""
    WRONG_SIGNATURE = "wrong-signature"
    """A manifest that another authority signed."""
    WRONG_ORIGIN = "wrong-origin"
    """A manifest for another collector."""
    ROLLED_BACK = "rolled-back"
    """A manifest with a lower sequence than the one published."""
    EQUIVOCATION = "equivocation"
    """Another manifest with the sequence of the one published."""
    NOT_MODIFIED = "not-modified"
    """A 304, whatever the device holds."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A 200 that refuses each report of the request with a code; nothing was stored.

    Attributes:
        code: why; or its text.
        retry_after: seconds that the answer asks to wait, if it does.

    Raises:
        ValueError: for a code that the protocol does not know.
    """

    code: RefusalCode
    retry_after: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", RefusalCode(self.code))

    def __str__(self) -> str:
        return f"refused:{self.code}" + _asking(self.retry_after)


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem document about the whole request; nothing was stored.

    Attributes:
        code: one that has an HTTP status.
        retry_after: seconds that the answer asks to wait, if it does.

    Raises:
        ValueError: for a code that the protocol does not know, or that speaks of one report only.
    """

    code: RefusalCode
    retry_after: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", RefusalCode(self.code))
        if self.code.http_status is None:
            raise ValueError(f"{self.code} never speaks of a whole request; use Refused")

    def __str__(self) -> str:
        return f"problem:{self.code}" + _asking(self.retry_after)


AnyMisbehaviour = Misbehaviour | Refused | Problem
Route = Literal["uploads", "manifests"]

_PROBLEMS: Final = tuple(
    Problem(code, retry_after)
    for code in RefusalCode
    if code.http_status
    for retry_after in (None, 7)
)

_ON_ANY_ROUTE: Final = (
    Misbehaviour.CUT_BEFORE_STORING,
    Misbehaviour.CUT_AFTER_STORING,
    Misbehaviour.CUT_SHORT,
    Misbehaviour.STALL,
    Misbehaviour.DRIP,
    Misbehaviour.PORTAL,
    Misbehaviour.PORTAL_NOT_FOUND,
    Misbehaviour.PROXY_ERROR,
    Misbehaviour.REDIRECT,
    Misbehaviour.GZIP,
    Misbehaviour.OVERSIZE,
    Misbehaviour.HTTP_NONSENSE,
    Misbehaviour.UNKNOWN_PROBLEM,
    Misbehaviour.MISPLACED_PROBLEM,
)

FORGERIES: Final = (
    Misbehaviour.WRONG_SIGNATURE,
    Misbehaviour.WRONG_ORIGIN,
    Misbehaviour.ROLLED_BACK,
    Misbehaviour.EQUIVOCATION,
)
"""Manifests that no honest operator signs."""

UPLOAD_MISBEHAVIOURS: Final[tuple[AnyMisbehaviour, ...]] = (
    *_ON_ANY_ROUTE,
    Misbehaviour.WRONG_NUMBERS,
    Misbehaviour.MALFORMED_JSON,
    Misbehaviour.UNKNOWN_REFUSAL,
    *(Refused(code) for code in RefusalCode),
    *_PROBLEMS,
)
"""Everything that may become of ``POST /v1/reports``."""

MANIFEST_MISBEHAVIOURS: Final[tuple[AnyMisbehaviour, ...]] = (
    *_ON_ANY_ROUTE,
    Misbehaviour.MISSING,
    Misbehaviour.GARBAGE,
    Misbehaviour.NOT_MODIFIED,
    *FORGERIES,
    *_PROBLEMS,
)
"""Everything that may become of ``GET /v1/surveys/{name}/manifests``, or of ``…/manifest``."""


def routes_of(misbehaviour: AnyMisbehaviour) -> frozenset[Route]:
    """Return where a misbehaviour can happen."""
    if isinstance(misbehaviour, Refused):
        return frozenset[Route]({"uploads"})
    found: set[Route] = set()
    if isinstance(misbehaviour, Problem) or misbehaviour in UPLOAD_MISBEHAVIOURS:
        found.add("uploads")
    if isinstance(misbehaviour, Problem) or misbehaviour in MANIFEST_MISBEHAVIOURS:
        found.add("manifests")
    return frozenset(found)


def misleading_answer(
    misbehaviour: AnyMisbehaviour, honest: HttpAnswer | None, sent: int
) -> HttpAnswer | None:
    """Return the whole answer that a misbehaviour gives; None if it is not made of one.

    Args:
        misbehaviour: which one.
        honest: what would be answered; None if the request is not to be looked at.
        sent: how many reports the request has.
    """
    if isinstance(misbehaviour, Refused):
        refused = tuple((index, misbehaviour.code) for index in range(sent))
        headers = {"content-type": "application/json", **_asking_header(misbehaviour.retry_after)}
        return HttpAnswer(200, headers, UploadAnswer(0, 0, refused).to_json())
    if isinstance(misbehaviour, Problem):
        answer = problem_answer(misbehaviour.code, "try again later")
        headers = {**answer.headers, **_asking_header(misbehaviour.retry_after)}
        return HttpAnswer(answer.status, headers, answer.body)
    if honest is not None:
        return _distorted(misbehaviour, honest)
    if misbehaviour is Misbehaviour.WRONG_NUMBERS:
        return _json({"accepted": sent + 1, "duplicates": 0, "refused": []})
    return _FIXED.get(misbehaviour)


def problem_answer(code: RefusalCode, detail: str) -> HttpAnswer:
    """Return the answer that refuses a whole request."""
    assert code.http_status is not None
    return HttpAnswer(code.http_status, {"content-type": PROBLEM_JSON}, pack_problem(code, detail))


def _distorted(misbehaviour: Misbehaviour, honest: HttpAnswer) -> HttpAnswer | None:
    if misbehaviour is Misbehaviour.GZIP:
        headers = {**honest.headers, "content-encoding": "gzip"}
        return HttpAnswer(honest.status, headers, gzip.compress(honest.body))
    if misbehaviour is Misbehaviour.OVERSIZE:
        padding = b" " * (2 * max(MAX_ANSWER_BYTES, MAX_MANIFESTS_BYTES))
        return HttpAnswer(honest.status, honest.headers, honest.body + padding)
    return None


def _json(value: object, status: int = 200, kind: str = "application/json") -> HttpAnswer:
    return HttpAnswer(status, {"content-type": kind}, json.dumps(value).encode())


def _asking(retry_after: int | None) -> str:
    return "" if retry_after is None else f"+retry-after-{retry_after}"


def _asking_header(retry_after: int | None) -> Mapping[str, str]:
    return {} if retry_after is None else {"retry-after": str(retry_after)}


_HTML: Final = {"content-type": "text/html"}
_FIXED: Final[Mapping[Misbehaviour, HttpAnswer]] = {
    Misbehaviour.PORTAL: HttpAnswer(200, _HTML, b"<html>Welcome to the hotel</html>"),
    Misbehaviour.PORTAL_NOT_FOUND: HttpAnswer(404, _HTML, b"<h1>Not Found</h1>"),
    Misbehaviour.PROXY_ERROR: HttpAnswer(502, _HTML, b"<h1>Bad Gateway</h1>"),
    Misbehaviour.REDIRECT: HttpAnswer(307, {"location": FOLLOWED_PATH}, b""),
    Misbehaviour.MALFORMED_JSON: HttpAnswer(
        200, {"content-type": "application/json"}, b'{"accepted": 1, "duplicates": 0, "ref'
    ),
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
