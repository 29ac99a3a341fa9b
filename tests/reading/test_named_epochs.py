"""Which epochs a text names: by numbers, by days in UTC, or as last week's."""

from dataclasses import replace

import pytest

from deniable.messages import FRESH, Repeat, Schedule
from deniable.reading import (
    EpochState,
    ListedEpoch,
    alone,
    appear_text,
    duration_text,
    epoch_range,
    epochs_before,
    epochs_beside,
)
from deniable.reading.epochs import (
    asked_text,
    epoch_end_text,
    period_text,
    standing_text,
    when_text,
)
from tests.support.surveys import manifest

DAY, HOUR = 86_400, 3_600
MONDAY = 1_793_577_600  # 2 November 2026, 00:00 UTC
NOW = MONDAY + 25 * DAY + 12 * HOUR  # Friday 27 November, noon
DAYS, WEEKS = Schedule(MONDAY, DAY, 30, 0), Schedule(MONDAY + 2 * DAY + HOUR, 7 * DAY, 8, 0)
HOURS = Schedule(MONDAY + 24 * DAY, HOUR, 48, 0)


@pytest.mark.parametrize(
    ("text", "days", "weeks"),
    [
        ("3", range(3, 4), range(3, 4)),
        ("0-5", range(6), range(6)),
        ("last", range(24, 25), range(2, 3)),
        ("yesterday", range(24, 25), range(3, 4)),  # in the week that is open
        ("last-week", range(14, 21), range(2, 3)),
        ("2026-11-16..2026-11-29", range(14, 28), range(2, 4)),
        ("2026-11-05", range(3, 4), range(1)),
        ("2026-10-30..2026-11-03", range(2), None),
        *((text, None, None) for text in ("2026-02-30", "30", "2026-12-31", "today")),
        *(
            (text, "be a range with", "be a range with")
            for text in ("5-3", "2026-11-08..2026-11-05")
        ),
    ],
)
def test_a_text_names_epochs(text: str, days: range | str | None, weeks: range | None) -> None:
    for schedule, expected in ((DAYS, days), (WEEKS, weeks)):
        if not isinstance(expected, range):
            with pytest.raises(ValueError, match=f"must {expected or 'be'}"):
                epoch_range(text, schedule, NOW)
        else:
            assert epoch_range(text, schedule, NOW) == expected


@pytest.mark.parametrize(
    ("schedule", "epochs", "text"),
    [
        (DAYS, range(14, 28), "2026-11-16..2026-11-29"),
        (WEEKS, range(1, 2), "2026-11-11..2026-11-17"),
        (HOURS, range(2, 3), "2026-11-26 02:00"),
        (HOURS, range(2, 5), "2026-11-26 02:00..2026-11-26 04:00"),
        (Schedule(MONDAY, 7, 30, 0), range(2, 5), "2-4"),
    ],
)
def test_epochs_are_asked_for_by_a_text_that_names_them(
    schedule: Schedule, epochs: range, text: str
) -> None:
    assert asked_text(schedule, epochs) == text
    assert epoch_range(text, schedule, NOW) == epochs


@pytest.mark.parametrize(
    ("schedule", "epochs", "period", "progress"),
    [
        (
            *(DAYS, [3], "5 November 2026"),
            "Day 26 of 30, collecting until 1 December 2026, final on 2 December 2026",
        ),
        (DAYS, [3, 9], "5 November 2026 and 11 November 2026", None),
        (WEEKS, [1], "11–17 November 2026", "Week 4 of 8, collecting until 30 December 2026"),
        (WEEKS, [2, 3], "18 November – 1 December 2026", None),
        (HOURS, [0, 1], "26 November 2026, 00:00–02:00 UTC", None),
        (HOURS, [22, 23, 24], "26 November 2026 22:00 – 27 November 2026 01:00 UTC", None),
    ],
)
def test_epochs_have_days_or_hours(
    schedule: Schedule, epochs: list[int], period: str, progress: str | None
) -> None:
    assert period_text(schedule.start, schedule.epoch_seconds, epochs) == period
    assert when_text(period).startswith("from " if "–" in period else "on ")
    if progress:
        assert standing_text(schedule, NOW) == progress
    assert duration_text(schedule.epoch_seconds).startswith("1 ")


ENDED = "Collected until the survey was ended on 26 November 2026; later answers do not count"
FIRST, OVER, LATE = WEEKS.start, WEEKS.end, Schedule(WEEKS.start, 7 * DAY, 8, DAY)
BEGIN = "4 November 2026 at 01:00 UTC"
APPEAR = "appear once 100 devices have answered in one week"


@pytest.mark.parametrize(
    ("now", "ended_at", "epochs", "standing", "reason"),
    [
        (
            *(FIRST - 1, None, None, f"Begins on {BEGIN}"),
            f"no figures yet: the survey begins on {BEGIN}, and they {APPEAR}",
        ),
        (
            *(NOW, None, None, "Week 4 of 8, collecting until 30 December 2026"),
            f"no figures yet: they {APPEAR}; this week ends on 2 December 2026 at 01:00 UTC",
        ),
        (
            *(NOW, None, range(1, 2), "Week 4 of 8, collecting until 30 December 2026"),
            "no figures from 11 to 17 November 2026: fewer than 100 devices answered",
        ),
        (
            *(NOW, NOW - DAY, range(1, 3), ENDED),
            "no figures from 11 to 24 November 2026: fewer than 100 devices answered in any week",
        ),
        (
            *(NOW, NOW - DAY, range(3, 4), ENDED),
            "no figures from 25 November to 1 December 2026: fewer than 100 devices answered",
        ),
        (
            *(NOW, NOW - DAY, range(4, 5), ENDED),
            "no figures from 2 to 8 December 2026: the survey ended earlier, on 26 November 2026",
        ),
        (
            *(NOW - 2 * DAY, None, range(2, 3), "Week 4 of 8"),
            "no figures yet from 18 to 24 November 2026: they appear once 100 devices have "
            "answered; answers count until 26 November 2026 at 01:00 UTC",
        ),
        (
            *(NOW, None, range(4, 6), "Week 4 of 8"),
            "no figures yet from 2 to 15 December 2026: that time has not begun, and they "
            "appear once 100 devices have answered in one week",
        ),
        (
            OVER,
            *(None, None, "Collected until 30 December 2026; late answers count until"),
            "no figures yet: the last week is over, and late answers count until 31 December 2026",
        ),
        (
            *(
                OVER + DAY,
                None,
                None,
                "Collected until 30 December 2026; final on 31 December 2026",
            ),
            "no figures: the survey ended on 30 December 2026, and no week had 100 answers",
        ),
        (
            *(
                OVER + DAY,
                OVER,
                None,
                "Collected until 30 December 2026; ended on 30 December 2026",
            ),
            "no figures: the survey ended on 30 December 2026, and no week had 100 answers",
        ),
    ],
)
def test_each_state_says_what_happens_next(
    now: int, ended_at: int | None, epochs: range | None, standing: str, reason: str
) -> None:
    survey = manifest(schedule=LATE, minimum_reports=100)
    assert standing_text(LATE, now, ended_at).startswith(standing)
    assert appear_text(survey, now, ended_at, epochs).startswith(reason)


@pytest.mark.parametrize(
    ("now", "ended_at", "text"),
    [
        (FIRST - 1, None, ""),
        (NOW, NOW, ""),
        (OVER, None, ""),
        (
            *(NOW, None),
            "Today is day 3 of 7, 27 November 2026. "
            "This week ends on 2 December 2026 at 01:00 UTC; "
            "late answers count until 3 December 2026 at 01:00 UTC; then its counts are final.",
        ),
    ],
)
def test_the_open_epoch_has_its_end(now: int, ended_at: int | None, text: str) -> None:
    assert epoch_end_text(LATE, now, ended_at) == text


def listed_of(states: str) -> list[ListedEpoch]:
    """Return the epochs with figures, closed or open."""
    of = {"c": EpochState.CLOSED, "o": EpochState.OPEN}
    return [ListedEpoch(n, 5, of[one]) for n, one in enumerate(states) if one in of]


@pytest.mark.parametrize(
    ("apart", "listed", "others", "epochs", "sides"),
    [
        (0, "cco", "cco", None, (1, 1)),  # the newest that is over
        (0, "..o", "cco", None, (2, 2)),  # one open week of both, not two weeks
        (1, "..co", "cc", None, (2, 1)),  # numbered otherwise
        (0, "..c", "cc.", None, (2, 1)),  # no dates in common
        (0, "cco", "cco", 0, (0, 0)),
        (0, "ccc", "c..", 2, (2, 0)),
        (0, "ccc", "...", None, (2, None)),
    ],
)
def test_versions_are_compared_in_the_same_dates_where_both_have_figures(
    apart: int, listed: str, others: str, epochs: int | None, sides: tuple[int, int | None]
) -> None:
    own = manifest(schedule=WEEKS)
    other = manifest(schedule=replace(WEEKS, start=WEEKS.start + apart * WEEKS.epoch_seconds))
    beside = (own, listed_of(listed)), (other, listed_of(others))
    assert epochs_beside(alone(epochs), *beside) == tuple(map(alone, sides))


@pytest.mark.parametrize(
    ("listed", "others", "repeat", "span"),
    [
        ("cccccccccco", "ccccccccccc", FRESH, range(3, 10)),
        ("ccc.ccc", "ccccccc", FRESH, range(4, 7)),  # all that are compared have the same dates
        ("ooo", "ooo", FRESH, range(2, 3)),
        ("ccccccc", "ccccccc", Repeat("memoised", 7), range(6, 7)),
    ],
)
def test_days_of_two_surveys_are_compared_a_week_at_a_time(
    listed: str, others: str, repeat: Repeat, span: range
) -> None:
    own, other = manifest(schedule=DAYS, repeat=repeat), manifest(name="other", schedule=DAYS)
    assert epochs_beside(None, (own, listed_of(listed)), (other, listed_of(others))) == (span, span)


@pytest.mark.parametrize(
    ("listed", "now", "repeat", "before"),
    [
        ("cccccccccccccc", range(7, 14), FRESH, range(7)),  # a week with the week before
        ("cccc.cccccc", range(7, 11), FRESH, range(5, 7)),
        ("cccc", range(3, 4), FRESH, range(2, 3)),
        ("cccc", range(2, 4), Repeat("memoised", 2), range(1, 2)),
        ("..cc", range(2, 4), FRESH, None),
    ],
)
def test_days_are_compared_with_as_many_before(
    listed: str, now: range, repeat: Repeat, before: range | None
) -> None:
    assert epochs_before(listed_of(listed), now, manifest(schedule=DAYS, repeat=repeat)) == before


def test_no_more_days_are_compared_than_a_collector_adds_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deniable.reading.source.most_epochs", lambda _: 3)
    known = listed_of("cccccccccc")
    days = epochs_beside(None, *(((manifest(schedule=DAYS), known),) * 2))
    assert days == (range(7, 10), range(7, 10))
