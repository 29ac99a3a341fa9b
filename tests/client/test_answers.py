"""What follows from an answer, and when (D8): the protocol's table, code by code, and all else."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.client import HttpAnswer
from deniable.client.sending.reply import (
    Backoff,
    Delivered,
    Drop,
    Enrol,
    PendingReport,
    Resend,
    Step,
    next_step,
)
from deniable.counterparts.bodies import pack_answer_to_upload
from deniable.messages import PROBLEM_JSON, RefusalCode, UploadAnswer
from deniable.messages.refusals import ERROR_TYPE_PREFIX
from tests.support.devices import ACCEPTED, DUPLICATE, PORTAL, judged, problem, refused
from tests.support.refusal_table import DROPPED, RESENT, TOO_LATE
from tests.support.surveys import DAY, START

NOW = START + 100.0
LOST = Resend(NOW + 30, 0.0, None)
COARSE = (60, 600, 3600)
_jitters = st.floats(0, 1, exclude_max=True)
JSON = {"content-type": "application/json"}


def pending(attempts: int = 0, unanswered: int = 0, starts: int = START) -> PendingReport:
    closes = starts + 2 * DAY
    return PendingReport("name", 0, b"bytes", starts, closes, attempts, unanswered, NOW, 0.0)


def step(
    answer: HttpAnswer | None,
    report: PendingReport | None = None,
    backoff: Backoff = Backoff(),  # noqa: B008 - it is frozen
    jitter: Callable[[], float] = lambda: 0.0,
) -> Step:
    return next_step(report or pending(), answer, NOW, backoff, jitter)


def later(code: RefusalCode, seconds: float = 30) -> Resend:
    """Return what follows a refusal: the same again, and not before."""
    return Resend(NOW + seconds, NOW + seconds, code)


def of_json(value: object, status: int, kind: str = "application/json") -> HttpAnswer:
    return HttpAnswer(status, {"content-type": kind}, json.dumps(value).encode())


def test_d8_a_counted_report_is_delivered() -> None:
    assert step(ACCEPTED) == Delivered("accepted")
    assert step(DUPLICATE, pending(attempts=9, unanswered=9)) == Delivered("duplicate")


@pytest.mark.parametrize("code", sorted(RefusalCode))
def test_d8_what_each_code_brings_about(code: RefusalCode) -> None:
    own = Drop(code.value) if code in DROPPED else later(code)
    assert step(refused(code)) == own
    if code.http_status is None:  # it never speaks of a whole request, and is not acted on there
        assert {step(problem(code, status)) for status in (400, 403, 404, 409, 410, 500)} == {LOST}
        return
    assert step(problem(code)) == own
    for status in {201, 204, 302, 402, 410, 418, 500, 502} - {code.http_status}:
        assert step(problem(code, status)) == LOST


def test_d8_a_certificate_that_is_refused_is_asked_for_once_more() -> None:
    for code in RefusalCode:
        own = Enrol(NOW + 30, 0.0) if code is RefusalCode.NOT_ENROLLED else step(refused(code))
        assert step(refused(code), replace(pending(), renewing=False)) == own
    # That brings no send before its time, and none after the last.
    answer = refused(RefusalCode.NOT_ENROLLED)
    assert step(answer, replace(pending(1), renewing=False)) == Enrol(NOW + 60, NOW + DAY)
    assert step(answer, replace(pending(5), renewing=False)) == Drop("not-enrolled")


NO_ANSWER: Mapping[str, HttpAnswer | None] = {
    "nothing": None,
    "a captive portal": PORTAL,
    "a portal that says it is JSON": HttpAnswer(200, JSON, b"<html>"),
    "an empty 200": HttpAnswer(200, {}, b""),
    "a proxy's 404": HttpAnswer(404, {"content-type": "text/html"}, b"<h1>Not Found</h1>"),
    "a redirect": HttpAnswer(302, {"location": "https://login.example/"}, b""),
    "no content": HttpAnswer(204, {}, b""),
    "a 201 with the right body": HttpAnswer(201, {}, pack_answer_to_upload(UploadAnswer(1, 0))),
    "a bare 400": HttpAnswer(400, {}, b""),
    "a bare 500": HttpAnswer(500, {}, b"oops"),
    "a bare 503 with a time": HttpAnswer(503, {"retry-after": "7"}, b"busy"),
    "an unknown code": of_json({"type": ERROR_TYPE_PREFIX + "gone"}, 400, PROBLEM_JSON),
    "none accepted": judged(0, 0),
    "refused elsewhere": judged(0, 0, (1, RefusalCode.BAD_SIGNATURE)),
    "too large as plain JSON": of_json({"type": ERROR_TYPE_PREFIX + "too-large"}, 413),
    "too large under another status": problem(RefusalCode.TOO_LARGE, 400),
}
"""Answers that say nothing of the report that was sent."""


@pytest.mark.parametrize("what", NO_ANSWER)
def test_d8_anything_else_is_no_answer_and_the_same_bytes_are_sent_again(what: str) -> None:
    assert step(NO_ANSWER[what]) == LOST


@pytest.mark.parametrize("answer", [None, PORTAL, *map(refused, sorted(RESENT))])
def test_d8_from_the_third_on_a_day_passes_between_six_sends(answer: HttpAnswer | None) -> None:
    first, *others = [step(answer, pending(attempts)) for attempts in range(6)]
    assert isinstance(first, Resend)
    for other in others[:4]:
        assert other == Resend(NOW + DAY, NOW + DAY, first.code)
    assert others[4:] == [Drop("unanswered", answered=first.code is not None)]


@pytest.mark.parametrize("jitter", [0.0, 0.5, 0.999])
def test_d8_the_day_between_sends_is_jittered_and_never_shorter(jitter: float) -> None:
    again = step(None, pending(1), Backoff(most=9 * DAY), lambda: jitter)
    assert again == Resend(NOW + DAY * (1 + jitter / 4), NOW + DAY * (1 + jitter / 4), None)


@pytest.mark.parametrize("code", sorted({*TOO_LATE, RefusalCode.NOT_ENROLLED}))
def test_d8_too_late_after_a_send_without_answer_may_have_been_counted(code: RefusalCode) -> None:
    assert step(refused(code), pending(attempts=4)) == Drop(code.value)
    assert step(refused(code), pending(attempts=4, unanswered=1)) == Drop("may-have-been-counted")


def test_d8_too_early_is_sent_three_times_more_and_then_at_the_epochs_start() -> None:
    starts = START + 5 * DAY  # the device's clock was put back meanwhile
    resends = [step(refused(RefusalCode.TOO_EARLY), pending(n, starts=starts)) for n in range(5)]
    dues = [resend.due for resend in resends if isinstance(resend, Resend)]
    assert dues == [NOW + 30, NOW + DAY, NOW + DAY, float(starts), float(starts)]


def test_backoff_and_retry_after_are_jittered_independently_and_the_longer_counts() -> None:
    draws = iter([0.5, 0.25])
    answer = problem(RefusalCode.OVERLOADED, retry_after="60")
    again = step(answer, jitter=lambda: next(draws))
    assert again == later(RefusalCode.OVERLOADED, 60 * (1 + 0.25 / 4))
    answer = refused(RefusalCode.RATE_LIMITED, retry_after="1")
    assert step(answer, None, Backoff(first=90.0)) == later(RefusalCode.RATE_LIMITED, 90)


def wait(retry_after: str, jitter: float = 0.0) -> float:
    """Return how long a refusal with this Retry-After is waited for."""
    answer = problem(RefusalCode.OVERLOADED, retry_after=retry_after)
    again = step(answer, None, Backoff(first=0.0), lambda: jitter)
    assert isinstance(again, Resend)
    assert again.held == again.due
    return again.due - NOW


ROUNDED = {
    60: "0 1 59 60 007",
    600: "61 600",
    3600: f"601 3600 3601 86400 999999999 9999999999 {'9' * 5000}",
}


@pytest.mark.parametrize("waited", ROUNDED)
def test_d8_retry_after_is_rounded_up_to_three_values_and_capped(waited: int) -> None:
    assert {wait(asked) for asked in ROUNDED[waited].split()} == {waited}


@pytest.mark.parametrize(
    "asked",
    [
        *("", "-1", "+1", "1.5", "1e3", "soon", " 60", "６０", "²", "0x10"),
        "Wed, 21 Oct 2026 07:28:00 GMT",
    ],
)
def test_d8_a_retry_after_that_is_no_number_is_not_heard(asked: str) -> None:
    assert wait(asked) == 0


@given(st.integers(0, 10**12), _jitters)
def test_d8_no_retry_after_marks_a_device_by_its_delay(asked: int, jitter: float) -> None:
    # Whatever is asked, the delay is one of three values and up to a quarter more.
    waited = wait(str(asked), jitter=jitter)
    assert min(abs(waited / (1 + jitter / 4) - coarse) for coarse in COARSE) < 1e-3


@given(st.integers(0, 10**6), _jitters)
def test_the_backoff_doubles_to_an_hour_less_half_at_most(attempts: int, jitter: float) -> None:
    whole = Backoff().seconds(attempts, 0.0)
    assert whole == min(30 * 2 ** min(attempts, 9), 3600)
    assert whole / 2 <= Backoff().seconds(attempts, jitter) <= whole
