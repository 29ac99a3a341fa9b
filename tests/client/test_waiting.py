"""How long the device waits before it sends again: backed off, coarse, capped and jittered (D8)."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.client import Backoff, HttpAnswer
from deniable.client.sending.delivery import PendingReport, Resend, Step, next_steps
from deniable.messages import RefusalCode
from tests.support.devices import problem, refused
from tests.support.surveys import DAY, START

NOW = START + 100.0
COARSE = (60, 600, 3600)


def after(
    report: PendingReport, answer: HttpAnswer, backoff: Backoff, jitter: Callable[[], float]
) -> Step:
    """Return what follows for a report that was alone in its request."""
    (step,) = next_steps([report], answer, NOW, backoff, jitter)
    return step


def wait(retry_after: str, *, attempts: int = 0, jitter: float = 0.0) -> float:
    """Return how long a refusal with this Retry-After is waited for."""
    report = PendingReport("name", 0, b"bytes", START, START + DAY, attempts, 0, NOW, 0.0)
    answer = problem(RefusalCode.OVERLOADED, retry_after=retry_after)
    step = after(report, answer, Backoff(first=0.0), lambda: jitter)
    assert isinstance(step, Resend)
    assert step.held == step.due
    return step.due - NOW


@pytest.mark.parametrize(
    ("asked", "waited"),
    [
        ("0", 60),
        ("1", 60),
        ("59", 60),
        ("60", 60),
        ("61", 600),
        ("600", 600),
        ("601", 3600),
        ("3600", 3600),
        ("3601", 3600),
        ("86400", 3600),
        ("999999999", 3600),
        ("9999999999", 3600),
        ("9" * 5000, 3600),
        ("007", 60),
    ],
)
def test_d8_retry_after_is_rounded_up_to_three_values_and_capped(asked: str, waited: int) -> None:
    assert wait(asked) == waited


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "-1",
        "+1",
        "1.5",
        "1e3",
        "soon",
        " 60",
        "６０",
        "²",
        "Wed, 21 Oct 2026 07:28:00 GMT",
        "0x10",
    ],
)
def test_d8_a_retry_after_that_is_no_number_is_not_heard(asked: str) -> None:
    assert wait(asked) == 0


@settings(derandomize=True)
@given(st.integers(0, 10**12), st.floats(0, 1, exclude_max=True))
def test_d8_no_retry_after_marks_a_device_by_its_delay(asked: int, jitter: float) -> None:
    # Whatever is asked, the delay is one of three values and up to a quarter more.
    waited = wait(str(asked), jitter=jitter)
    assert min(abs(waited / (1 + jitter / 4) - coarse) for coarse in COARSE) < 1e-3


def test_d8_retry_after_only_lengthens_the_backoff() -> None:
    report = PendingReport("name", 0, b"bytes", START, START + DAY, 0, 0, NOW, 0.0)
    answer = refused(RefusalCode.RATE_LIMITED, retry_after="1")
    step = after(report, answer, Backoff(first=90.0), lambda: 0.0)
    assert step == Resend(NOW + 90, NOW + 90, RefusalCode.RATE_LIMITED)


def test_the_backoff_doubles_to_an_hour() -> None:
    waits = [Backoff().seconds(attempts, 0.0) for attempts in range(9)]
    assert waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert Backoff().seconds(10**9, 0.0) == 3600


@settings(derandomize=True)
@given(st.integers(0, 10**6), st.floats(0, 1, exclude_max=True))
def test_jitter_shortens_a_wait_by_half_at_most(attempts: int, jitter: float) -> None:
    whole = Backoff().seconds(attempts, 0.0)
    assert whole / 2 <= Backoff().seconds(attempts, jitter) <= whole


def test_backoff_and_retry_after_are_jittered_independently() -> None:
    draws: Iterator[float] = iter([0.5, 0.2])
    report = PendingReport("name", 0, b"bytes", START, START + DAY, 0, 0, NOW, 0.0)
    answer = problem(RefusalCode.OVERLOADED, retry_after="60")
    step = after(report, answer, Backoff(), lambda: next(draws))
    assert step == Resend(NOW + 60 * 1.05, NOW + 60 * 1.05, RefusalCode.OVERLOADED)
