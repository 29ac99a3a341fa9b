"""Epochs: their times, and whether their figures are final."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from deniable.messages import Manifest, Schedule, calendar
from deniable.messages import instant_text as instant_text

CANNOT_BE_ASKED: Final = (
    (
        "Who came back (retention)?",
        "Reports do not show which device sent them, so devices cannot be followed from week to "
        "week, and those who left no longer answer. Count downloads of updates on your server. Ask "
        "those who stayed, in one survey, what happened last week and how often they use the app.",
    ),
    (
        "How many devices went from step 1 to step 2 (a funnel)?",
        "Reports do not show which device sent them, so steps cannot be joined. Ask one question "
        "whose answers are the last step reached.",
    ),
    (
        "How are answers to two surveys related?",
        "Questions of two surveys cannot be crossed. Publish a survey that asks each device both "
        "questions.",
    ),
    (
        "What is the median if a survey asks only for the mean?",
        'Reports reveal only the mean. Publish a survey with the line: tells = "distribution". '
        "`ask` then shows the median and other percentiles.",
    ),
    (
        "How many users are there?",
        "Only devices that answered are counted. Count accounts or installations elsewhere.",
    ),
)
"""Questions that local reports cannot answer, with reasons and alternatives."""
UNITS: Final = {"week": 604_800, "day": 86_400, "hour": 3600, "minute": 60, "second": 1}
"""Units of time, in seconds."""
_DAY: Final = UNITS["day"]
_NUMBERS: Final = "[0-9]{1,6}(-[0-9]{1,6})?"
_DATE: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2})?"
EPOCHS: Final = rf"({_NUMBERS}|last|last-week|yesterday|{_DATE}(\.\.{_DATE})?)"
"""The pattern of a text that selects one epoch, or several together."""


class EpochState(StrEnum):
    """States of an epoch: whether more of its reports may be counted."""

    OPEN = "open"
    """It is not over, or has not even begun: devices' clocks may be ahead."""

    GRACE = "grace"
    """It is over, and late reports are accepted."""

    CLOSED = "closed"
    """No more reports are accepted, but it is not sealed yet."""

    SEALED = "sealed"
    """Its counts never change again."""

    @property
    def words(self) -> str:
        """Return the state in plain words, for people."""
        return _WORDS[self]

    @property
    def closed(self) -> bool:
        """Return whether no more reports are accepted."""
        return self in {EpochState.CLOSED, EpochState.SEALED}

    @property
    def over(self) -> bool:
        """Return whether the epoch has ended, even if late reports are still accepted."""
        return self is not EpochState.OPEN


_WORDS: Final = {
    EpochState.OPEN: "open",
    EpochState.GRACE: "over, late reports accepted",
    EpochState.CLOSED: "over",
    EpochState.SEALED: "final",
}


@dataclass(frozen=True, slots=True)
class EpochStanding:
    """The standing of an epoch when its figures were read.

    The seal's digest is 64 hex digits; None also if sealed data are withheld.
    """

    state: EpochState
    seal: str | None = None


def epoch_standing(schedule: Schedule, epoch: int, now: float, seal: bytes | None) -> EpochStanding:
    """Return an epoch's standing with its seal's digest, which is empty if the seal is hidden."""
    if seal is not None:
        return EpochStanding(EpochState.SEALED, seal.hex() or None)
    if now >= schedule.closes(epoch):
        return EpochStanding(EpochState.CLOSED)
    over = now >= schedule.epoch_start(epoch + 1)
    return EpochStanding(EpochState.GRACE if over else EpochState.OPEN)


def iso_time(instant: int | None) -> str | None:
    """Return Unix seconds in UTC in ISO 8601; None for None and beyond the year 9999."""
    moment = None if instant is None else calendar(instant)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def ranges_text(epochs: Iterable[int]) -> str:
    """Return sorted numbers as ranges, such as "0 to 3, 5"."""
    return ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in ranges(epochs))


def ranges(epochs: Iterable[int]) -> list[list[int]]:
    """Return the first and the last of each range of sorted numbers."""
    ranges: list[list[int]] = []
    for epoch in epochs:
        if ranges and ranges[-1][1] == epoch - 1:
            ranges[-1][1] = epoch
        else:
            ranges.append([epoch, epoch])
    return ranges


def period_text(start: int, seconds: int, epochs: Iterable[int]) -> str:
    """Return the days of epochs of a schedule, such as "23–29 November 2026"; hours of short ones.

    Days are in UTC. An epoch of whole days is named by the day on which it begins.
    """
    daily, clock = seconds % _DAY == 0, "%H:%M" if start % 60 == seconds % 60 == 0 else "%H:%M:%S"
    periods = []
    for first, last in ranges(epochs):
        begin, end = start + first * seconds, start + (last + 1) * seconds - daily * _DAY
        ends = calendar(begin), calendar(end)
        if ends[0] is None or ends[1] is None:
            return instant_text(begin)
        day, until = (f"{one.day} {one:%B %Y}" for one in ends if one)
        if daily:
            same = next((n for n in (3, 2, 1) if day.split()[-n:] == until.split()[-n:]), 0)
            dash = "–" if same == 2 else " – "
            day = until if same == 3 else " ".join(day.split()[: 3 - same]) + dash + until
        elif day == until:
            day = f"{day}, {ends[0]:{clock}}–{ends[1]:{clock}} UTC"
        else:
            day = f"{day} {ends[0]:{clock}} – {until} {ends[1]:{clock}} UTC"
        periods.append(day)
    return " and ".join(periods)


def dates_text(schedule: Schedule, epochs: Iterable[int]) -> str:
    """Return the days of epochs of a schedule, or the hours of short ones."""
    return period_text(schedule.start, schedule.epoch_seconds, epochs)


def asked_text(schedule: Schedule, epochs: range) -> str:
    """Return the text that selects epochs: their days, or when the first and the last begin."""
    begin, last = (schedule.epoch_start(epoch) for epoch in (epochs[0], epochs[-1]))
    daily = schedule.epoch_seconds % _DAY == 0
    ends = [iso_time(begin), iso_time(last + daily * (schedule.epoch_seconds - _DAY))]
    if None in ends or schedule.epoch_seconds < UNITS["minute"]:
        return "-".join(dict.fromkeys((str(epochs[0]), str(epochs[-1]))))
    texts = [str(end)[: 10 if daily else 16].replace("T", " ") for end in ends]
    return "..".join(dict.fromkeys(texts))


def version_text(sequence: int, published_at: int | None = None) -> str:
    """Return a survey's name among those of its name, with the day of its publication."""
    return f"version {sequence + 1}" + (f" of {date_text(published_at)}" if published_at else "")


def answered_texts(versions: Sequence[tuple[str, int, str]], *, several: bool = False) -> list[str]:
    """Return how many devices answered the first version, and how many more answered the others.

    Each version has its reports and their period. Of ``several`` epochs these are reports, since a
    device may have answered in each.
    """
    (first, count, own), *others = versions
    periods = [period for _, reports, period in versions if reports]
    apart = len({*periods}) > 1
    noun, did = ("report", "came for") if several else ("device", "answered")
    total = sum(reports for _, reports, _ in versions)
    among = f" of {total:,}" * (not apart and total > count)
    plural = "s" * (count != 1 or bool(among))
    who = f"{count:,}{among} {noun}{plural}" if count else f"too few {noun}s"
    more = "more" if count else f"{noun}s"
    text = f"{when_text(own if count else periods[0])}, {who} {did} {first}"
    rest = (
        f"{reports:,} {more} {did} {version}" + f" {when_text(period)}" * apart
        for version, reports, period in others
    )
    return [f"{text[0].upper()}{text[1:]}", *rest]


def when_text(period: str) -> str:
    """Return a period after a preposition, such as "from 23 to 29 November 2026"."""
    word = "from" if "–" in period else "on"
    return f"{word} {period.replace(' – ', ' to ').replace('–', ' to ')}"


def standing_text(schedule: Schedule, now: float, ended_at: int | None = None) -> str:
    """Return the phase of a survey, such as "Week 4 of 8, collecting until 5 December, …".

    It accepted reports until ``ended_at``, if it was ended before its time.
    """
    closes, last = schedule.closes(schedule.epochs - 1), date_text(schedule.end - 1)
    if ended_at is not None and ended_at < schedule.end:
        ended = date_text(ended_at)
        return f"Collected until the survey was ended on {ended}; later answers do not count"
    if ended_at is not None or now >= closes:
        final = f"ended on {date_text(ended_at)}" if ended_at else f"final on {date_text(closes)}"
        return f"Collected until {last}; {final}"
    if now < schedule.start:
        return f"Begins on {date_text(schedule.start, time=True)}"
    if now >= schedule.end:
        until = date_text(closes, time=True)
        return f"Collected until {last}; late answers count until {until}"
    epoch, unit = schedule.epoch_at(now) or 0, unit_text(schedule).capitalize()
    until, final = date_text(schedule.end - 1), date_text(closes)
    ends = f"collecting until {until}" + f", final on {final}" * (final != until)
    return f"{unit} {epoch + 1} of {schedule.epochs}, {ends}"


def epoch_end_text(schedule: Schedule, now: float, ended_at: int | None = None) -> str:
    """Return when the open epoch ends, and when its counts are final; "" if no epoch is open."""
    epoch = schedule.epoch_at(now)
    if epoch is None or ended_at is not None:
        return ""
    end, closes = schedule.epoch_start(epoch + 1), schedule.closes(epoch)
    late = f"late answers count until {date_text(closes, time=True)}; " * (closes > end)
    ends = f"This {unit_text(schedule)} ends on {date_text(end, time=True)}; {late}"
    days, part = divmod(schedule.epoch_seconds, _DAY)
    day = int(now - schedule.epoch_start(epoch)) // _DAY + 1
    today = f"Today is day {day} of {days}, {date_text(int(now))}. " * (days > 1 and not part)
    return f"{today}{ends}then its counts are final."


def date_text(instant: int, *, time: bool = False) -> str:
    """Return a day in UTC, such as "5 December 2026", followed by the ``time`` if requested."""
    moment = calendar(instant)
    if moment is None:
        return instant_text(instant)
    return f"{moment.day} {moment:%B %Y}" + f" at {moment:%H:%M} UTC" * time


def unit_text(schedule: Schedule) -> str:
    """Return the name of an epoch for people: "week", "day", or for example "period of 3 hours"."""
    length = duration_text(schedule.epoch_seconds)
    return length[2:] if length.startswith("1 ") else f"period of {length}"


def duration_text(seconds: int) -> str:
    """Return a length of time in the largest unit that divides it."""
    for unit, length in UNITS.items():
        if seconds and seconds % length == 0:
            count = seconds // length
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return f"{seconds} seconds"


def reporters(place: str = "", group: str = "", *, several: bool = False) -> str:
    """Return the devices that a figure describes: those that reported, in a place if known.

    For a group, the devices are those that reported the group's answers. Of ``several`` epochs, in
    each of which a device may answer, figures describe the answers.
    """
    if several:
        return f"the answers{f' with {group}' if group else ''}{f' to {place}' if place else ''}"
    did = f"answered {group}" if group else "reported"
    word = "in" if group else "to"
    return f"the devices that {did}{f' {word} {place}' if place else ''}"


def every_text(seconds: int) -> str:
    """Return the length of time after a rate: "a week", "an hour", "every 4 hours"."""
    length = duration_text(seconds)
    if not length.startswith("1 "):
        return f"every {length}"
    return f"{'an' if length == '1 hour' else 'a'} {length[2:]}"


class Step(NamedTuple):
    """All epochs up to a certain one: its closing time, their number, and their reports."""

    at: int
    epochs: int
    reports: float


@dataclass(frozen=True, slots=True)
class Pace:
    """The reports of a survey's closed epochs, and of future epochs at the same rate.

    Attributes:
        rate: reports per epoch, on average over the last seven closed days.
        period: an epoch's length in words, such as "a day".
        steps: the newest closed epoch with figures, and each future epoch if reports continue; none
            if no closed epoch has figures.
        over: whether the survey accepts no more reports.
        final: when the next epoch closes, if no closed epoch has figures.
    """

    rate: float
    period: str
    steps: tuple[Step, ...] = ()
    over: bool = False
    final: int = 0

    @classmethod
    def of(
        cls, manifest: Manifest, closed: Mapping[int, int], now: float, ended_at: int | None
    ) -> "Pace":
        """Return the pace of a survey, from the number of reports that each closed epoch shows.

        It accepted reports until ``ended_at``, if it was ended before its time.
        """
        schedule, kept = manifest.schedule, manifest.repeat.epochs or 1
        period = every_text(schedule.epoch_seconds)
        over = ended_at is not None or now >= schedule.closes(schedule.epochs - 1)
        if not closed:
            past = max(0, int((now - schedule.closes(0)) // schedule.epoch_seconds) + 1)
            final = schedule.closes(min(past, schedule.epochs - 1))
            return cls(0.0, period, over=over, final=final)
        # Closed epochs without figures also count, since reports may have stopped.
        last, week = max(closed), max(1, UNITS["week"] // schedule.epoch_seconds)
        past = int((now - schedule.closes(0)) // schedule.epoch_seconds)
        past = min(max(last, past), schedule.epochs - 1)
        first = max(min(closed), past + 1 - week)
        rate = sum(n for epoch, n in closed.items() if epoch >= first) / (past + 1 - first)
        # In a range of epochs in which devices keep their responses, figures are from one epoch.
        most: dict[int, int] = {}
        for epoch, n in closed.items():
            most[epoch // kept] = max(most.get(epoch // kept, 0), n)
        epochs, reports, newest = len(most), float(sum(most.values())), last // kept
        steps = [Step(schedule.closes(last), epochs, reports)]
        for number in range(past + 1, schedule.epochs if rate and not over else 0):
            if number // kept > newest:
                epochs, reports, newest = epochs + 1, reports + rate, number // kept
            steps.append(Step(schedule.closes(number), epochs, reports))
        return cls(rate, period, tuple(steps), over)


def epoch_range(text: str, schedule: Schedule, now: float) -> range:
    """Return the epochs of a text: "3", "0-5", "last" (the last one that is over) or "last-week".

    Of epochs of a week or more, "last-week" is the last one, too.

    Days, such as "2026-11-16..2026-11-29" in UTC, mean the epochs that begin on them, or the one in
    which the first of them begins.

    Raises:
        ValueError: stating the valid forms.
    """
    every, span = range(schedule.epochs), range(0)
    backwards = "must be a range with the earlier epoch first"
    if re.fullmatch(_NUMBERS, text, re.ASCII) is not None:
        first, _, last = text.partition("-")
        span = range(int(first), int(last or first) + 1)
        if not span:
            raise ValueError(backwards)
    elif text == "last" or (text == "last-week" and schedule.epoch_seconds >= UNITS["week"]):
        over = min(schedule.epochs, int((now - schedule.start) // schedule.epoch_seconds))
        span = range(over - 1, over)
    elif re.fullmatch(EPOCHS, text, re.ASCII) is not None:
        try:
            begin, end = (day - schedule.start for day in _days(text, now))
        except ValueError:
            raise ValueError("must be valid calendar days") from None
        if begin >= end:
            raise ValueError(backwards)
        since, until = (-(-instant // schedule.epoch_seconds) for instant in (begin, end))
        span = range(max(0, since), min(until, schedule.epochs))
        if not span and (covering := schedule.epoch_at(begin + schedule.start)) is not None:
            span = range(covering, covering + 1)
    if span and span[0] in every and span[-1] in every:
        return span
    days = f"days such as {asked_text(schedule, every[:2])}"
    raise ValueError(
        f"must be one of the epochs 0 to {schedule.epochs - 1}, a range such as 0-5, or {days}; "
        f"the survey collects {when_text(dates_text(schedule, every))}"
    )


def _days(text: str, now: float) -> tuple[int, int]:
    """Return when the days of a text begin and end; ValueError for days not in the calendar."""
    today = int(now) // _DAY * _DAY
    if text == "yesterday":
        return today - _DAY, today
    if text == "last-week":
        monday = today - (today // _DAY + 3) % 7 * _DAY  # 1 January 1970 was a Thursday
        return monday - 7 * _DAY, monday
    first, _, last = text.partition("..")
    begin, end = (
        datetime.fromisoformat(f"{moment}{'' if ' ' in moment else ' 00:00'}Z")
        for moment in (first, last or first)
    )
    return int(begin.timestamp()), int(end.timestamp()) + (60 if text[-3] == ":" else _DAY)
