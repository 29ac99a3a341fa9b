"""The faults between a device and a collector that an app's tests can ask for.

They are the codes of the protocol's table, about one report (``Refused``) or a whole request
(``Problem``), and what D8 calls anything else (``Misbehaviour``): one of each kind that an app can
tell apart. All that a device must live through is what ``deniable conformance`` tries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, Literal

from deniable.client import HttpAnswer
from deniable.messages import PROBLEM_JSON, RefusalCode, UploadAnswer, pack_problem

Route = Literal["uploads", "manifests"]
"""The requests at which a misbehaviour happens: for reports, or for surveys."""

_UPLOADS: Final[frozenset[Route]] = frozenset({"uploads"})
_MANIFESTS: Final[frozenset[Route]] = frozenset({"manifests"})
_ANY: Final = _UPLOADS | _MANIFESTS


class Misbehaviour(StrEnum):
    """A fault that a device must live through besides the codes of the protocol."""

    CUT_BEFORE_STORING = "cut-before-storing"  # the connection ends without an answer
    CUT_AFTER_STORING = "cut-after-storing"  # the connection ends without an answer
    STALL = "stall"  # no answer ever comes
    PORTAL = "portal"  # a captive portal's page, with status 200
    PROXY_ERROR = "proxy-error"  # a proxy's bare 502
    MISSING = "missing"  # no manifest of this name is published

    @property
    def routes(self) -> frozenset[Route]:
        """Return the routes on which it can happen."""
        return _MANIFESTS if self is Misbehaviour.MISSING else _ANY


@dataclass(frozen=True, slots=True)
class Refused:
    """A 200 that refuses each report of the request with a code; nothing was stored."""

    routes: ClassVar = _UPLOADS

    code: RefusalCode  # or its text

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", RefusalCode(self.code))


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem document about the whole request; nothing was stored.

    Raises:
        ValueError: for a code that speaks of one report only.
    """

    routes: ClassVar = _ANY

    code: RefusalCode  # or its text
    retry_after: int | None = None  # seconds that the answer asks to wait, if it does

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", RefusalCode(self.code))
        if self.code.http_status is None:
            raise ValueError(f"{self.code} never speaks of a whole request; use Refused")


AnyMisbehaviour = Misbehaviour | Refused | Problem
"""A misbehaviour that ``FakeCollector.misbehave`` takes."""


def misleading_answer(misbehaviour: AnyMisbehaviour, sent: int) -> HttpAnswer | None:
    """Return the answer that a misbehaviour gives to so many reports; None if it gives none."""
    if isinstance(misbehaviour, Misbehaviour):
        return _FIXED.get(misbehaviour)
    if isinstance(misbehaviour, Refused):
        refused = tuple((index, misbehaviour.code) for index in range(sent))
        body = UploadAnswer(0, 0, refused).to_json()
        return HttpAnswer(200, {"content-type": "application/json"}, body)
    answer = problem_answer(misbehaviour.code, "try again later")
    if misbehaviour.retry_after is None:
        return answer
    asking = {**answer.headers, "retry-after": str(misbehaviour.retry_after)}
    return HttpAnswer(answer.status, asking, answer.body)


def problem_answer(code: RefusalCode, detail: str) -> HttpAnswer:
    """Return the answer that refuses a whole request."""
    assert code.http_status is not None
    return HttpAnswer(code.http_status, {"content-type": PROBLEM_JSON}, pack_problem(code, detail))


_HTML: Final = {"content-type": "text/html"}
_FIXED: Final[Mapping[Misbehaviour, HttpAnswer]] = {
    Misbehaviour.PORTAL: HttpAnswer(200, _HTML, b"<html>Welcome to the hotel</html>"),
    Misbehaviour.PROXY_ERROR: HttpAnswer(502, _HTML, b"<h1>Bad Gateway</h1>"),
    Misbehaviour.MISSING: problem_answer(RefusalCode.NOT_FOUND, "no survey has this name"),
}
