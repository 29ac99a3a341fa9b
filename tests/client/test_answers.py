"""What follows from an answer, and when (D8): the protocol's table, code by code, and all else."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.client import Backoff, HttpAnswer
from deniable.client.sending.delivery import (
    Delivered,
    Drop,
    Enrol,
    PendingReport,
    Resend,
    Step,
    batch_of,
    next_steps,
)
from deniable.messages import (
    ERROR_TYPE_PREFIX,
    MAX_UPLOAD_BYTES,
    MAX_UPLOAD_REPORTS,
    PROBLEM_JSON,
    RefusalCode,
    Report,
    UploadAnswer,
    pack_upload,
    sign_report,
)
from tests.support.devices import ACCEPTED, DUPLICATE, PORTAL, judged, problem, refused
from tests.support.refusal_table import DROPPED, RESENT, SPLIT, TOO_LATE
from tests.support.surveys import DAY, START

NOW = START + 100.0
LOST = Resend(NOW + 30, 0.0, None)
COARSE = (60, 600, 3600)
_jitters = st.floats(0, 1, exclude_max=True)


def pending(attempts: int = 0, unanswered: int = 0, starts: int = START) -> PendingReport:
    closes = starts + 2 * DAY
    return PendingReport("name", 0, b"bytes", starts, closes, attempts, unanswered, NOW, 0.0)


def several(count: int, size: int = 141) -> list[PendingReport]:
    return [replace(pending(), epoch=epoch, envelope=bytes(size)) for epoch in range(count)]


def steps(answer: HttpAnswer | None, count: int) -> list[Step]:
    return next_steps(several(count), answer, NOW, Backoff(), lambda: 0.0)


def step(
    answer: HttpAnswer | None,
    report: PendingReport | None = None,
    backoff: Backoff = Backoff(),  # noqa: B008 - it is frozen
    jitter: Callable[[], float] = lambda: 0.0,
) -> Step:
    """Return what follows for a report that was alone in its request."""
    (step,) = next_steps([report or pending()], answer, NOW, backoff, jitter)
    return step


def later(code: RefusalCode, seconds: float = 30) -> Resend:
    """Return what follows a refusal: the same again, and not before."""
    return Resend(NOW + seconds, NOW + seconds, code)


def of_json(value: object, status: int = 200, kind: str = "application/json") -> HttpAnswer:
    return HttpAnswer(status, {"content-type": kind}, json.dumps(value).encode())


def of_upload(accepted: object, duplicates: object, listed: object) -> HttpAnswer:
    return of_json({"accepted": accepted, "duplicates": duplicates, "refused": listed})


def listed(*refusals: tuple[int, RefusalCode]) -> list[dict[str, object]]:
    return [{"index": index, "code": code.value} for index, code in refusals]


def test_d8_a_counted_report_is_delivered() -> None:
    assert step(ACCEPTED) == Delivered("accepted")
    assert step(DUPLICATE, pending(attempts=9, unanswered=9)) == Delivered("duplicate")


@pytest.mark.parametrize("code", sorted(RefusalCode))
def test_d8_what_each_code_brings_about(code: RefusalCode) -> None:
    own = Drop(code.value) if code in DROPPED else later(code)
    assert step(refused(code)) == own
    taken = Delivered("accepted")
    assert steps(judged(2, 0, (1, code)), 3) == [taken, own, taken]
    if code.http_status is None:  # it never speaks of a whole request, and is not acted on there
        assert {step(problem(code, status)) for status in (400, 403, 404, 409, 410, 500)} == {LOST}
        return
    assert step(problem(code)) == own
    for status in {201, 204, 302, 402, 410, 418, 500, 502} - {code.http_status}:
        assert step(problem(code, status)) == LOST
    if code in SPLIT:
        # The malformed one may be one report that rotted: the others must not go with it.
        assert steps(problem(code), 2) == 2 * [Resend(NOW, 0.0, code, alone=True)]
    else:
        assert steps(problem(code), 2) == [own, own]


def test_d8_a_certificate_that_is_refused_is_asked_for_once_more() -> None:
    answer = refused(RefusalCode.NOT_ENROLLED)
    assert step(answer, replace(pending(), renewable=True)) == Enrol(NOW + 30, 0.0)
    for code in set(RefusalCode) - {RefusalCode.NOT_ENROLLED}:
        assert step(refused(code), replace(pending(), renewable=True)) == step(refused(code))


def test_d8_another_certificate_brings_no_send_before_its_time_and_none_after_the_last() -> None:
    answer = refused(RefusalCode.NOT_ENROLLED)
    assert step(answer, replace(pending(1), renewable=True)) == Enrol(NOW + 60, NOW + DAY)
    assert step(answer, replace(pending(5), renewable=True)) == Drop("not-enrolled")


def test_d8_a_problem_document_as_html_or_plain_json_drops_nothing() -> None:
    kinds = ("text/html", "application/json", "", "application/problem+json-seq")
    for code, kind in product(DROPPED, kinds):
        body = json.dumps({"type": ERROR_TYPE_PREFIX + code.value}).encode()
        answer = HttpAnswer(code.http_status or 400, {"content-type": kind}, body)
        assert step(answer) == LOST


BAD = RefusalCode.BAD_SIGNATURE
NO_ANSWER: Mapping[str, tuple[int, HttpAnswer | None]] = {
    "nothing": (1, None),
    "a captive portal": (1, PORTAL),
    "a portal that says it is JSON": (
        1,
        HttpAnswer(200, {"content-type": "application/json"}, b"<html>"),
    ),
    "an empty 200": (1, HttpAnswer(200, {}, b"")),
    "a proxy's 404": (1, HttpAnswer(404, {"content-type": "text/html"}, b"<h1>Not Found</h1>")),
    "a redirect": (1, HttpAnswer(302, {"location": "https://login.example/"}, b"")),
    "no content": (1, HttpAnswer(204, {}, b"")),
    "a 201 with the right body": (1, HttpAnswer(201, {}, UploadAnswer(1, 0).to_json())),
    "a bare 400": (1, HttpAnswer(400, {}, b"")),
    "a bare 500": (1, HttpAnswer(500, {}, b"oops")),
    "a bare 503 with a time": (1, HttpAnswer(503, {"retry-after": "7"}, b"busy")),
    "an unknown code": (1, of_json({"type": ERROR_TYPE_PREFIX + "gone"}, 400, PROBLEM_JSON)),
    "another problem": (1, of_json({"type": "about:blank", "status": 400}, 400, PROBLEM_JSON)),
    "a problem without type": (1, of_json({}, 400, PROBLEM_JSON)),
    "a problem that is a list": (1, of_json([], 400, PROBLEM_JSON)),
    "a type that is no text": (1, of_json({"type": 7}, 400, PROBLEM_JSON)),
    "none accepted": (1, of_upload(0, 0, [])),
    "two accepted": (1, of_upload(2, 0, [])),
    "accepted and duplicate": (1, of_upload(1, 1, [])),
    "accepted and refused": (1, of_upload(1, 0, listed((0, BAD)))),
    "a difference that adds up": (1, of_upload(2, -1, [])),
    "refused twice": (1, of_upload(0, 0, listed((0, BAD), (0, BAD)))),
    "refused elsewhere": (1, of_upload(0, 0, listed((1, BAD)))),
    "refused before": (1, of_upload(0, 0, listed((-1, BAD)))),
    "refused with an unknown code": (1, of_upload(0, 0, [{"index": 0, "code": "gone"}])),
    "refused with a field more": (1, of_upload(0, 0, [{**listed((0, BAD))[0], "x": 1}])),
    "a truth for a number": (1, of_upload(True, False, [])),
    "a fraction": (1, of_upload(1.0, 0, [])),
    "a text": (1, of_upload("1", 0, [])),
    "a null": (1, of_upload(1, 0, None)),
    "one more field": (1, of_json({"accepted": 1, "duplicates": 0, "refused": [], "x": 1})),
    "one field less": (1, of_json({"accepted": 1, "duplicates": 0})),
    "a number": (1, of_json(1)),
    "no text": (1, HttpAnswer(200, {"content-type": "application/json"}, b"\xff\xfe")),
    "a tower of lists": (1, HttpAnswer(200, {}, b"[" * 60_000)),
    "nothing about three": (3, None),
    "a portal about three": (3, PORTAL),
    "an answer to one": (3, ACCEPTED),
    "one too few": (3, of_upload(2, 0, [])),
    "one too many": (3, of_upload(3, 1, [])),
    "refused beyond": (3, of_upload(2, 0, listed((3, BAD)))),
    "refused out of order": (3, of_upload(1, 0, listed((2, BAD), (0, BAD)))),
    "one of three refused twice": (3, of_upload(1, 0, listed((1, BAD), (1, BAD)))),
    "a refusal too many": (3, of_upload(3, 0, listed((1, BAD)))),
    "numbers that cancel out": (3, of_upload(4, -1, [])),
    "one unknown code of three": (3, of_upload(2, 0, [{"index": 0, "code": "gone"}])),
    "too large as plain JSON": (3, of_json({"type": ERROR_TYPE_PREFIX + "too-large"}, 413)),
    "too large under another status": (3, problem(RefusalCode.TOO_LARGE, 400)),
}
"""Of how many reports a request was, and what came that is no answer about them."""


@pytest.mark.parametrize("what", NO_ANSWER)
def test_d8_anything_else_is_no_answer_and_the_same_bytes_are_sent_again(what: str) -> None:
    count, answer = NO_ANSWER[what]
    assert steps(answer, count) == count * [LOST]


@pytest.mark.parametrize("answer", [None, PORTAL, *map(refused, sorted(RESENT))])
def test_d8_the_third_send_and_later_ones_are_a_day_apart_and_the_sixth_is_the_last(
    answer: HttpAnswer | None,
) -> None:
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


@pytest.mark.parametrize(
    ("accepted", "duplicates", "verdict"),
    [(3, 0, "accepted"), (0, 3, "duplicate"), (1, 2, "accepted-or-duplicate")],
)
def test_d8_a_batch_that_was_taken_whole(accepted: int, duplicates: int, verdict: str) -> None:
    assert steps(judged(accepted, duplicates), 3) == 3 * [Delivered(verdict)]


def test_d8_every_report_of_a_batch_may_fare_differently() -> None:
    codes = {0: RefusalCode.BAD_KEY, 2: RefusalCode.OVERLOADED, 3: RefusalCode.TOO_LARGE}
    taken = Delivered("accepted-or-duplicate")
    assert steps(judged(1, 1, *codes.items()), 5) == [
        Drop("bad-key"),
        taken,
        later(RefusalCode.OVERLOADED),
        Drop("too-large"),
        taken,
    ]


def test_what_was_sent_together_waits_together() -> None:
    draws = iter([0.5, 0.25])
    answer = problem(RefusalCode.OVERLOADED, retry_after="60")
    resends = next_steps(several(4), answer, NOW, Backoff(), lambda: next(draws))
    # Backoff and Retry-After are jittered independently.
    assert resends == 4 * [later(RefusalCode.OVERLOADED, 60 * (1 + 0.25 / 4))]


@pytest.mark.parametrize(
    ("count", "size", "most", "expected"),
    [
        (1, 141, 256, 1),
        (7, 141, 256, 7),
        (7, 141, 3, 3),
        (7, 141, 1, 1),
        (300, 141, 256, 256),
        (300, 141, 1000, 256),
        # 3 + 5 * 13,106 = 65,533 bytes; with one byte more each, 65,538.
        (9, 13_106, 256, 5),
        (9, 13_107, 256, 4),
        (2, 65_533, 256, 1),
        (2, 99_999, 256, 1),  # sent alone, so that the collector's answer ends it
    ],
)
def test_a_batch_holds_what_a_request_may(count: int, size: int, most: int, expected: int) -> None:
    due = several(count, size)
    assert batch_of(due, most) == due[:expected]


@pytest.mark.parametrize("credential", [None, bytes(64)])
def test_a_batch_is_bounded_by_number_and_never_by_a_responses_size(
    credential: bytes | None,
) -> None:
    longest = sign_report(bytes(32), Report(bytes(32), 9_999, 2**32), credential)
    batch = batch_of([replace(pending(), envelope=longest)] * 300, MAX_UPLOAD_REPORTS)
    assert len(batch) == MAX_UPLOAD_REPORTS
    assert len(pack_upload([report.envelope for report in batch])) <= MAX_UPLOAD_BYTES


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


DATE = "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.mark.parametrize(
    "asked", ["", "-1", "+1", "1.5", "1e3", "soon", " 60", "６０", "²", "0x10", DATE]
)
def test_d8_a_retry_after_that_is_no_number_is_not_heard(asked: str) -> None:
    assert wait(asked) == 0


@given(st.integers(0, 10**12), _jitters)
def test_d8_no_retry_after_marks_a_device_by_its_delay(asked: int, jitter: float) -> None:
    # Whatever is asked, the delay is one of three values and up to a quarter more.
    waited = wait(str(asked), jitter=jitter)
    assert min(abs(waited / (1 + jitter / 4) - coarse) for coarse in COARSE) < 1e-3


def test_d8_retry_after_only_lengthens_the_backoff() -> None:
    answer = refused(RefusalCode.RATE_LIMITED, retry_after="1")
    assert step(answer, None, Backoff(first=90.0)) == later(RefusalCode.RATE_LIMITED, 90)


def test_the_backoff_doubles_to_an_hour() -> None:
    waits = [Backoff().seconds(attempts, 0.0) for attempts in (*range(9), 10**9)]
    assert waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


@given(st.integers(0, 10**6), _jitters)
def test_jitter_shortens_a_wait_by_half_at_most(attempts: int, jitter: float) -> None:
    whole = Backoff().seconds(attempts, 0.0)
    assert whole / 2 <= Backoff().seconds(attempts, jitter) <= whole
