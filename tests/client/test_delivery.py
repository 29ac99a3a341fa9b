"""What follows from an answer (D8): the protocol's table, code by code, and everything else."""

import json
from collections.abc import Mapping

import pytest

from deniable.client import Backoff, HttpAnswer
from deniable.client.delivery import Delivered, Drop, PendingReport, Resend, Split, Step, next_steps
from deniable.messages import ERROR_TYPE_PREFIX, PROBLEM_JSON, RefusalCode, UploadAnswer
from tests.support.devices import ACCEPTED, DUPLICATE, PORTAL, problem, refused
from tests.support.surveys import DAY, START

NOW = START + 100.0

# PROTOCOL.md, "Upload": what the device does at each code, whether it is about one report or all.
DROPPED = {
    RefusalCode.MALFORMED,
    RefusalCode.BAD_KEY,
    RefusalCode.BAD_SIGNATURE,
    RefusalCode.NOT_ENROLLED,
    RefusalCode.OUT_OF_DOMAIN,
    RefusalCode.REPORT_CONFLICT,
    RefusalCode.TOO_LARGE,
    RefusalCode.UNSUPPORTED_MEDIA_TYPE,
    RefusalCode.EPOCH_CLOSED,
    RefusalCode.SURVEY_ENDED,
}
RESENT = {
    RefusalCode.UNKNOWN_SURVEY,
    RefusalCode.TOO_EARLY,
    RefusalCode.TIMEOUT,
    RefusalCode.RATE_LIMITED,
    RefusalCode.OVERLOADED,
    RefusalCode.STORAGE_FULL,
    # Codes of the reading routes: known, and no reason to give up a report.
    RefusalCode.UNAUTHORISED,
    RefusalCode.FORBIDDEN,
    RefusalCode.NOT_FOUND,
    RefusalCode.BAD_QUERY,
    RefusalCode.TOO_FEW_REPORTS,
}
TOO_LATE = {RefusalCode.EPOCH_CLOSED, RefusalCode.SURVEY_ENDED}


def pending(attempts: int = 0, unanswered: int = 0, starts: int = START) -> PendingReport:
    closes = starts + 2 * DAY
    return PendingReport("name", 0, b"bytes", starts, closes, attempts, unanswered, NOW, 0.0)


def step(answer: HttpAnswer | None, report: PendingReport | None = None) -> Step:
    steps = next_steps([report or pending()], answer, NOW, Backoff(), lambda: 0.0)
    assert not isinstance(steps, Split)
    (found,) = steps
    return found


def of_json(value: object, status: int = 200, kind: str = "application/json") -> HttpAnswer:
    return HttpAnswer(status, {"content-type": kind}, json.dumps(value).encode())


def of_upload(accepted: object, duplicates: object, listed: object) -> HttpAnswer:
    return of_json({"accepted": accepted, "duplicates": duplicates, "refused": listed})


def test_every_code_has_one_place_in_the_table() -> None:
    assert set(RefusalCode) == DROPPED | RESENT
    assert not DROPPED & RESENT


def test_d8_a_counted_report_is_delivered() -> None:
    assert step(ACCEPTED) == Delivered("accepted")
    assert step(DUPLICATE) == Delivered("duplicate")
    assert step(DUPLICATE, pending(attempts=9, unanswered=9)) == Delivered("duplicate")


@pytest.mark.parametrize("code", sorted(RefusalCode))
def test_d8_what_each_code_about_the_report_brings_about(code: RefusalCode) -> None:
    expected = Drop(code.value) if code in DROPPED else Resend(NOW + 30, answered=True)
    assert step(refused(code)) == expected


@pytest.mark.parametrize("code", sorted(code for code in RefusalCode if code.http_status))
def test_d8_what_each_code_about_the_whole_request_brings_about(code: RefusalCode) -> None:
    expected = Drop(code.value) if code in DROPPED else Resend(NOW + 30, answered=True)
    assert step(problem(code)) == expected


@pytest.mark.parametrize("code", sorted(code for code in RefusalCode if not code.http_status))
@pytest.mark.parametrize("status", [400, 403, 404, 409, 410, 500])
def test_d8_a_code_that_never_speaks_of_a_request_is_not_acted_on_there(
    code: RefusalCode, status: int
) -> None:
    assert step(problem(code, status)) == Resend(NOW + 30, answered=False)


@pytest.mark.parametrize("code", sorted(code for code in RefusalCode if code.http_status))
@pytest.mark.parametrize("status", [201, 204, 302, 402, 410, 418, 500, 502])
def test_d8_a_code_under_a_status_that_is_not_its_own_is_not_acted_on(
    code: RefusalCode, status: int
) -> None:
    assert step(problem(code, status)) == Resend(NOW + 30, answered=False)


@pytest.mark.parametrize("code", sorted(DROPPED))
def test_d8_a_problem_document_as_html_or_plain_json_drops_nothing(code: RefusalCode) -> None:
    for kind in ("text/html", "application/json", "", "application/problem+json-seq"):
        body = json.dumps({"type": ERROR_TYPE_PREFIX + code.value}).encode()
        answer = HttpAnswer(code.http_status or 400, {"content-type": kind}, body)
        assert step(answer) == Resend(NOW + 30, answered=False)


UNKNOWN: Mapping[str, HttpAnswer | None] = {
    "nothing": None,
    "a captive portal": PORTAL,
    "a portal that says it is JSON": HttpAnswer(
        200, {"content-type": "application/json"}, b"<html>"
    ),
    "an empty 200": HttpAnswer(200, {}, b""),
    "a proxy's 404": HttpAnswer(404, {"content-type": "text/html"}, b"<h1>Not Found</h1>"),
    "a redirect": HttpAnswer(302, {"location": "https://login.example/"}, b""),
    "no content": HttpAnswer(204, {}, b""),
    "a 201 with the right body": HttpAnswer(201, {}, UploadAnswer(1, 0).to_json()),
    "a bare 400": HttpAnswer(400, {}, b""),
    "a bare 500": HttpAnswer(500, {}, b"oops"),
    "a bare 503 with a time": HttpAnswer(503, {"retry-after": "7"}, b"busy"),
    "an unknown code": of_json({"type": ERROR_TYPE_PREFIX + "gone-fishing"}, 400, PROBLEM_JSON),
    "another problem": of_json({"type": "about:blank", "status": 400}, 400, PROBLEM_JSON),
    "a problem without type": of_json({}, 400, PROBLEM_JSON),
    "a problem that is a list": of_json([], 400, PROBLEM_JSON),
    "a type that is no text": of_json({"type": 7}, 400, PROBLEM_JSON),
    "none accepted": of_upload(0, 0, []),
    "two accepted": of_upload(2, 0, []),
    "accepted and duplicate": of_upload(1, 1, []),
    "accepted and refused": of_upload(1, 0, [{"index": 0, "code": "malformed"}]),
    "a difference that adds up": of_upload(2, -1, []),
    "refused twice": of_upload(0, 0, [{"index": 0, "code": "malformed"}] * 2),
    "refused elsewhere": of_upload(0, 0, [{"index": 1, "code": "malformed"}]),
    "refused before": of_upload(0, 0, [{"index": -1, "code": "malformed"}]),
    "refused with an unknown code": of_upload(0, 0, [{"index": 0, "code": "gone"}]),
    "refused with one more field": of_upload(0, 0, [{"index": 0, "code": "malformed", "x": 1}]),
    "a truth for a number": of_upload(True, False, []),
    "a fraction": of_upload(1.0, 0, []),
    "a text": of_upload("1", 0, []),
    "a null": of_upload(1, 0, None),
    "one more field": of_json({"accepted": 1, "duplicates": 0, "refused": [], "x": 1}),
    "one field less": of_json({"accepted": 1, "duplicates": 0}),
    "a number": of_json(1),
    "no text": HttpAnswer(200, {"content-type": "application/json"}, b"\xff\xfe"),
    "a tower of lists": HttpAnswer(200, {}, b"[" * 60_000),
}


@pytest.mark.parametrize("attempts", [0, 1, 5])
@pytest.mark.parametrize("what", UNKNOWN)
def test_d8_anything_else_is_no_answer_and_the_same_bytes_are_sent_again(
    what: str, attempts: int
) -> None:
    wait = min(30 * 2.0**attempts, 3600)
    assert step(UNKNOWN[what], pending(attempts)) == Resend(NOW + wait, answered=False)


@pytest.mark.parametrize("code", sorted(TOO_LATE))
def test_d8_too_late_after_a_send_without_answer_may_have_been_counted(code: RefusalCode) -> None:
    assert step(refused(code), pending(attempts=4)) == Drop(code.value)
    assert step(refused(code), pending(attempts=4, unanswered=1)) == Drop("may-have-been-counted")


def test_d8_too_early_is_sent_three_times_more_and_then_at_the_epochs_start() -> None:
    starts = START + 5 * DAY  # the device's clock was put back meanwhile
    too_early = refused(RefusalCode.TOO_EARLY)
    dues: list[float] = []
    for attempts in range(6):
        found = step(too_early, pending(attempts, starts=starts))
        assert isinstance(found, Resend)
        assert found.answered
        dues.append(found.due)
    assert dues[:3] == [NOW + 30, NOW + 60, NOW + 120]
    assert dues[3:] == 3 * [float(starts)]


def test_d8_too_early_for_an_epoch_that_has_begun_here_backs_off() -> None:
    found = step(refused(RefusalCode.TOO_EARLY), pending(attempts=5))
    assert found == Resend(NOW + 960, answered=True)


def test_d3_what_is_too_late_by_this_clock_is_still_sent_once_a_day() -> None:
    late = pending(starts=int(NOW) - 3 * DAY)
    assert step(None, late) == Resend(NOW + DAY, answered=False)
    assert step(None, pending(starts=int(NOW) - 3 * DAY + 1)) == Resend(NOW + 30, answered=False)
