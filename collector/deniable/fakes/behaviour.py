"""The behaviour of the fake collector: its receipts, and faults on request.

Faults are the codes of the protocol's table, for one report (``Refused``) or a whole request
(``Problem``), and anything else according to D8 (``Misbehaviour``): one of each kind that an app
can distinguish. ``deniable conformance`` tests everything that a device must survive.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Final, Literal

from deniable.counterparts.bodies import (
    pack_answer_to_upload,
    pack_problem,
    split_upload,
)
from deniable.counterparts.loopback import Answer
from deniable.intake import judge_report
from deniable.messages import (
    PROBLEM_JSON,
    Manifest,
    Refusal,
    RefusalCode,
    UploadAnswer,
)
from deniable.stores.values import Receipt


@dataclass(frozen=True, slots=True)
class ReceivedReport:
    """A report that the collector accepted."""

    survey: str  # the survey's name
    epoch: int
    response: str = field(repr=False)  # the named response, which only chance relates to the answer


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A received request."""

    method: str
    path: str  # from the root of the origin
    headers: Mapping[str, str]  # by lower-case name
    body: bytes = field(repr=False)


class Receipts:
    """The accepted reports, in order of arrival: the first of each identity wins.

    The checks are the collector's own, in the protocol's order.
    """

    def __init__(self, known_survey: Callable[[bytes], Manifest | None]) -> None:
        self._known_survey = known_survey
        self._receipts: dict[tuple[bytes, int, bytes], Receipt] = {}
        self.taken: list[ReceivedReport] = []

    def upload(self, body: bytes, now: float) -> UploadAnswer:
        """Judge and accept the reports of an upload.

        Raises:
            Refusal: too-large or malformed, for the body as a whole.
        """
        accepted = duplicates = 0
        refused: list[tuple[int, RefusalCode]] = []
        for index, envelope in enumerate(split_upload(body)):
            try:
                new = self.add(envelope, now)
            except Refusal as refusal:
                refused.append((index, refusal.code))
            else:
                accepted += new
                duplicates += not new
        return UploadAnswer(accepted, duplicates, tuple(refused))

    def add(self, envelope: bytes, now: float) -> bool:
        """Judge and accept one report; return whether it is new.

        Raises:
            Refusal: with the code of the first check that it fails.
        """
        receipt = judge_report(envelope, now, self._known_survey)
        first = self._receipts.setdefault(receipt[:3], receipt)
        if first.response != receipt.response:
            raise Refusal(RefusalCode.REPORT_CONFLICT, "this key was used for a different report")
        if first is not receipt:
            return False
        manifest = self._known_survey(receipt.survey_id)
        assert manifest is not None
        response = manifest.responses[receipt.response]
        self.taken.append(ReceivedReport(manifest.name, receipt.epoch, response))
        return True


Route = Literal["uploads", "manifests"]
"""The requests at which a misbehaviour happens: uploads of reports, or fetches of surveys."""

_UPLOADS: Final[frozenset[Route]] = frozenset({"uploads"})
_MANIFESTS: Final[frozenset[Route]] = frozenset({"manifests"})
_ANY: Final = _UPLOADS | _MANIFESTS


class Misbehaviour(StrEnum):
    """A fault that a device must survive, other than the codes of the protocol."""

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
        ValueError: for a code that applies only to one report.
    """

    routes: ClassVar = _ANY

    code: RefusalCode  # or its text
    retry_after: int | None = None  # seconds to wait according to the answer, if any

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", RefusalCode(self.code))
        if self.code.http_status is None:
            raise ValueError(f"{self.code} never refuses a whole request; use Refused")


AnyMisbehaviour = Misbehaviour | Refused | Problem
"""A misbehaviour that ``FakeCollector.misbehave`` accepts."""


JSON: Final = (("content-type", "application/json"),)


def misleading_answer(misbehaviour: AnyMisbehaviour, sent: int) -> Answer | None:
    """Return the answer of a misbehaviour to this many reports; None if it gives none."""
    if isinstance(misbehaviour, Misbehaviour):
        return _FIXED.get(misbehaviour)
    if isinstance(misbehaviour, Refused):
        refused = tuple((index, misbehaviour.code) for index in range(sent))
        body = pack_answer_to_upload(UploadAnswer(0, 0, refused))
        return Answer(200, body, JSON)
    answer = problem_answer(misbehaviour.code, "try again later")
    if misbehaviour.retry_after is None:
        return answer
    wait = "retry-after", str(misbehaviour.retry_after)
    return replace(answer, headers=(*answer.headers, wait))


def problem_answer(code: RefusalCode, detail: str) -> Answer:
    """Return the answer that refuses a whole request."""
    assert code.http_status is not None
    body = pack_problem(code, detail)
    return Answer(code.http_status, body, (("content-type", PROBLEM_JSON),))


_HTML: Final = (("content-type", "text/html"),)
_FIXED: Final[Mapping[Misbehaviour, Answer]] = {
    Misbehaviour.PORTAL: Answer(200, b"<html>Welcome to the hotel</html>", _HTML),
    Misbehaviour.PROXY_ERROR: Answer(502, b"<h1>Bad Gateway</h1>", _HTML),
    Misbehaviour.MISSING: problem_answer(RefusalCode.NOT_FOUND, "no survey has this name"),
}
