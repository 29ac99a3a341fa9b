"""Sources of figures, a store or a URL, with one interface; selections; missing figures."""

import re
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from deniable.messages import Manifest
from deniable.reading.epochs import (
    EPOCHS,
    UNITS,
    EpochStanding,
    EpochState,
    date_text,
    dates_text,
    epoch_range,
    instant_text,
    unit_text,
    version_text,
    when_text,
)
from deniable.stores.values import Counts, Note, Seal, counts_digest


class ReadingError(Exception):
    """Figures could not be read."""


class NoSuchSurvey(ReadingError, LookupError):
    """No survey has this name, or none has an id with this beginning."""


class AmbiguousSurvey(ReadingError, LookupError):
    """Several surveys of the name have ids with this beginning."""


class NotReached(ReadingError):
    """The collector did not answer in time, or did not answer like a collector."""


class NotThere(NotReached):
    """The address does not exist: the server is not a collector, or lacks such a file."""


class NotAllowed(ReadingError):
    """The collector requires a token, or a token with a different role."""


class Refused(ReadingError):
    """The collector refuses the request, with the code of a problem, which may be None."""

    def __init__(self, message: str, code: str | None) -> None:
        super().__init__(message)
        self.code = code


class Untrusted(ReadingError):
    """An answer does not match the authority's signature, or a seal."""


class TooFewReports(ReadingError):
    """None of the requested figures is shown yet."""


@dataclass(frozen=True, slots=True)
class ListedEpoch:
    """An epoch that has figures, or a seal."""

    number: int
    n: int  # the number of reports in its figures; 0 if none are shown
    state: EpochState
    seal: Seal | None = None

    @property
    def standing(self) -> EpochStanding:
        """Return the state, with the seal's digest in hex if the digest is shown."""
        digest = b"" if self.seal is None else self.seal.digest
        return EpochStanding(self.state, digest.hex() or None)


@dataclass(frozen=True, slots=True)
class EpochCounts:
    """The counts of one epoch, as they may be shown: of randomised responses, not of answers."""

    survey_id: bytes
    epoch: int
    counts: Mapping[int, int]  # the count of each observed response
    distrusted: int  # the number of these reports from issuers that are now distrusted
    standing: EpochStanding
    by_issuer: Counts | None = None
    """The same by issuer if they are all that the seal covers."""
    relayed: bool = False
    """Whether the collector accepted them only through its relays."""
    hidden: Collection[str] = ()
    """Texts that the operator hides, where answers are texts."""

    @property
    def reports(self) -> int:
        """Return the number of reports in these counts, at least one."""
        return sum(self.counts.values())

    def check(self) -> None:
        """Check the counts against the seal, if they are complete.

        Raises:
            Untrusted: if they do not match the seal.
        """
        if self.by_issuer is None:
            return
        if counts_digest(self.survey_id, self.epoch, self.by_issuer).hex() != self.standing.seal:
            raise Untrusted(
                f"the counts of epoch {self.epoch} do not match its seal; do not use them. Ask "
                "the operator to run `deniable store check`, which shows what changed"
            )


def added_up(parts: Sequence[Mapping[int, int]]) -> Mapping[int, int]:
    """Return the count of each response in all these epochs together."""
    if len(parts) == 1:
        return parts[0]
    total = Counter[int]()
    for part in parts:
        total.update(part)
    return total


class Source(ABC):
    """A collector to be read. Methods may raise ReadingError; those of a store, StoreError.

    Only a survey's published data are available: figures of at least ``minimum_reports`` reports,
    renewed in steps of as many.
    """

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Return the names of the published surveys, sorted."""

    @abstractmethod
    def manifests(self, name: str) -> tuple[Manifest, ...]:
        """Return all surveys of a name, newest first, including surveys that are over or ended."""

    @abstractmethod
    def ended(self, name: str) -> Mapping[bytes, int]:
        """Return the ids of a name's ended surveys, and the Unix seconds when they ended."""

    @abstractmethod
    def published(self, name: str) -> Mapping[bytes, int]:
        """Return the ids of a name's surveys, and when they were published, if known."""

    @abstractmethod
    def distrusted(self, manifest: Manifest) -> frozenset[bytes]:
        """Return the survey's issuers that are no longer trusted."""

    @abstractmethod
    def epochs(self, manifest: Manifest) -> tuple[ListedEpoch, ...]:
        """Return the epochs with figures, in order; a store also returns other sealed epochs."""

    @abstractmethod
    def counts(self, manifest: Manifest, epochs: range | None = None) -> tuple[EpochCounts, ...]:
        """Return the counts of the given epochs with figures, in order.

        The default is the newest epoch with figures that is over; if none is over, the newest.
        """

    def counted(self, manifest: Manifest, epoch: int) -> int | None:  # noqa: ARG002
        """Return an epoch's number of reports, shown or not; None if readers see only figures."""
        return None

    @abstractmethod
    def notes(self, name: str) -> tuple[Note, ...]:
        """Return an operator's notes about the surveys of a name, by time."""

    def close(self) -> None:  # noqa: B027 - nothing is open by default
        """Close open connections and files."""

    def __enter__(self) -> Self:
        """Return the source, to be closed at the end of a ``with``."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the source."""
        self.close()


ID_PREFIX: Final = "[0-9a-f]{4,64}"
"""The pattern of the beginning of a survey's id."""
VIEWS: Final = ("unbiased", "projected")
"""Views of a histogram, by the names of ``deniable.estimates.View``."""
LINE_EPOCHS: Final = 12
"""The number of newest epochs behind a survey's figure in a list of all."""
MOST_ROWS: Final = 50
"""With more answers, people see the largest; the default number."""

PREVIOUS: Final = "previous"
"""In a comparison, instead of epochs: as many with figures before those compared."""
MOST_LISTED: Final = 366
"""The number of newest epochs that a page offers, and the most that it adds up."""
_MOST_NAMED: Final = 5
_SECOND: Final = "%Y-%m-%d %H:%M:%S UTC"
_MOST_COUNTS: Final = 1 << 20

OLDER: Final = "older"
"""In a comparison, instead of a survey: the previous one of its name."""
ACROSS: Final = "across "
"""In a comparison, the prefix of a note whose two sides are compared: no name or epochs have it."""


def most_epochs(manifest: Manifest) -> int:
    """Return the number of epochs in one answer of a collector, given the size of each."""
    least = LINE_EPOCHS if manifest.kind.texts else 1  # rare texts take the reports of several
    return max(least, min(MOST_LISTED, _MOST_COUNTS // manifest.mechanism.responses))


def find_version(name: str, named: Sequence[Manifest], prefix: str | None = None) -> Manifest:
    """Return the newest survey of a name, or the one whose id has the given beginning.

    Args:
        name: the requested name.
        named: all surveys of that name, the newest first.
        prefix: 4 to 64 hex digits.

    Raises:
        NoSuchSurvey: if there is no such survey.
        AmbiguousSurvey: if several ids have this beginning, or the prefix is too short.
    """
    if prefix is None:
        matches = list(named[:1])
    elif re.fullmatch(ID_PREFIX, prefix) is None:
        raise AmbiguousSurvey("give at least 4 hex digits of the survey's id, in lower case")
    else:
        matches = [manifest for manifest in named if manifest.survey_id.hex().startswith(prefix)]
    if not matches:
        raise NoSuchSurvey(
            f"no survey {name!r} is published; see: deniable survey list"
            if not named
            else f"no survey {name!r} has an id beginning with these digits; see: deniable survey "
            "list"
        )
    if len(matches) > 1:
        raise AmbiguousSurvey(
            f"{len(matches)} ids of this name begin with these digits; give more digits"
        )
    return matches[0]


class Answered(NamedTuple):
    """A version of a survey, some of its epochs, and the number of their reports."""

    manifest: Manifest
    epochs: range
    reports: int

    @property
    def period(self) -> str:
        """Return the dates of the epochs; the empty text if there are none."""
        return dates_text(self.manifest.schedule, self.epochs) if self.epochs else ""


def by_reports(
    counted: Sequence[tuple[Manifest, Mapping[int, int]]],
    live: Collection[Manifest],
    now: float | None = None,
) -> list[Answered]:
    """Return the versions of a survey with reports at one time; the first is shown by default.

    Versions that are ``live``, neither over nor ended, come first; among these, the version with
    the most reports, or the newest of several with as many.

    Args:
        counted: the versions, the newest first, and their reports by epoch.
        live: versions from which reports may still come.
        now: the time, or None if these epochs were requested. Otherwise they are those shown by
            default of each version, and count if they are of the same time.
    """

    def ends(one: Answered) -> int:
        return one.manifest.schedule.epoch_start(one.epochs[-1] + 1)

    known = [
        Answered(one, range(min(epochs), max(epochs) + 1), sum(epochs.values()))
        for one, epochs in counted
        if any(epochs.values())
    ]
    if now is not None:
        over = [one for one in known if ends(one) <= now]
        if any(one.manifest in live for one in over):
            known = over
        begins = max(
            (one.manifest.schedule.epoch_start(one.epochs[-1]) for one in known), default=0
        )
        known = [one for one in known if ends(one) > begins]
    return sorted(known, key=lambda one: (one.manifest not in live, -one.reports))


def asked_alike(manifest: Manifest, named: Sequence[Manifest]) -> tuple[Manifest, ...]:
    """Return the surveys whose figures are comparable with a survey's, including itself.

    Questions, answers, their numeric values, and their order are the same. Epsilons,
    mechanisms and epochs may differ; for a single question also some answers, but not all.
    """

    def meaning(survey: Manifest) -> tuple[object, ...]:
        return survey.question, survey.dimensions, survey.values, survey.ordered

    def alike(survey: Manifest) -> bool:
        own, others = manifest.categories, survey.categories
        if own != others and manifest.values is None and not manifest.dimensions:
            common = {*own} & {*others}
            own, others = (tuple(filter(common.__contains__, x)) for x in (own, others))
        return bool(own) and own == others and meaning(survey) == meaning(manifest)

    return tuple(survey for survey in named if alike(survey))


def named_epochs(text: str, manifest: Manifest, now: float) -> range:
    """Return the epochs that a text names; ValueError for epochs that the survey does not have."""
    try:
        return epoch_range(text, manifest.schedule, now)
    except ValueError as error:
        raise ValueError(f"an epoch of {manifest.name} {error}") from error


def appear_text(
    manifest: Manifest, now: float, ended_at: int | None, epochs: range | None = None
) -> str:
    """Return in words why a survey, or some of its epochs, has no figures, and what happens next.

    The survey accepted reports until ``ended_at``, if it was ended early.
    """
    schedule, least = manifest.schedule, max(1, manifest.minimum_reports)
    unit, last = unit_text(schedule), schedule.closes(schedule.epochs - 1)
    devices = "the first device has" if least == 1 else f"{least:,} devices have"
    several, ended_on = len(epochs or ()) > 1, date_text(ended_at or schedule.end - 1)
    if epochs:
        opens, closes = schedule.epoch_start(epochs[0]), schedule.closes(epochs[-1])
        when = when_text(dates_text(schedule, epochs))
        if ended_at is not None and ended_at <= opens:
            return f"no figures {when}: the survey ended earlier, on {ended_on}"
        if ended_at is not None or now >= closes:
            fewer = "no device" if least == 1 else f"fewer than {least:,} devices"
            which = f" {version_text(manifest.sequence)}" * bool(manifest.sequence)
            return f"no figures {when}: {fewer} answered{which}{f' in any {unit}' * several}"
        condition = f"they appear once {devices} answered{f' in one {unit}' * several}"
        if now < opens:
            return f"no figures yet {when}: that time has not begun, and {condition}"
        until = date_text(closes, time=True)
        return f"no figures yet {when}: {condition}; answers count until {until}"
    if ended_at is not None or now >= last:
        reached = "no device answered" if least == 1 else f"no {unit} had {least:,} answers"
        ended = f"no figures: the survey ended on {ended_on}, and {reached}"
        return f"{ended}; publish it again to ask once more"
    condition = f"appear once {devices} answered{f' in one {unit}' * (least > 1)}"
    if now < schedule.start:
        begins = date_text(schedule.start, time=True)
        return f"no figures yet: the survey begins on {begins}, and they {condition}"
    epoch = schedule.epoch_at(now)
    if epoch is None:
        until = date_text(last, time=True)
        return f"no figures yet: the last {unit} is over, and late answers count until {until}"
    ends = date_text(schedule.epoch_start(epoch + 1), time=True)
    return f"no figures yet: they {condition}; this {unit} ends on {ends}"


def without_figures(source: Source, manifest: Manifest, epochs: range | None = None) -> str:
    """Return why a survey has no figures, and for authorised readers its number of reports."""
    now, least = time.time(), manifest.minimum_reports
    text = appear_text(manifest, now, source.ended(manifest.name).get(manifest.survey_id), epochs)
    epoch = manifest.schedule.epoch_at(now)
    if epochs or epoch is None or least < 2:
        return text
    reports = source.counted(manifest, epoch)
    return text if reports is None else f"{text}; {reports:,} of {least:,} reports so far"


def find_against(
    text: str, manifest: Manifest, named: Callable[[str], Sequence[Manifest]]
) -> tuple[Manifest, str | None]:
    """Return the other survey and epochs of a comparison; None means the newest that is over.

    Args:
        text: "previous", epochs such as "0-3", or another survey, optionally with epochs:
            "older:0-3", a name, or the beginning of an id of its name.
        manifest: the survey.
        named: all surveys of a name, the newest first.

    Raises:
        NoSuchSurvey: if there is none.
        AmbiguousSurvey: if several ids have this beginning.
    """
    if text == PREVIOUS or re.fullmatch(EPOCHS, text, re.ASCII) is not None:
        return manifest, text
    survey, _, epochs = text.partition(":")
    own = named(manifest.name)
    if survey == OLDER:
        older = own[own.index(manifest) + 1 :]
        if not older:
            raise NoSuchSurvey(f"survey {manifest.name!r} has no older version")
        return older[0], epochs or None
    others = named(survey)
    if not others and re.fullmatch(ID_PREFIX, survey, re.ASCII) is not None:
        return find_version(manifest.name, own, survey), epochs or None
    return find_version(survey, others), epochs or None


def newest_over(
    epochs: Sequence[ListedEpoch], *, with_before: bool = False, but: range | None = None
) -> int | None:
    """Return the newest epoch with figures that is over; if none is over, the newest with figures.

    The result is None if there are no figures. The epochs are in order. ``with_before`` omits the
    first of several, since no epoch is before it. Epochs in ``but`` are skipped if others exist.
    """
    known = [epoch for epoch in epochs if epoch.n]
    known = [epoch for epoch in known if epoch.number not in (but or ())] or known
    if with_before:
        known = known[1:] or known
    over = [epoch for epoch in known if epoch.state.over]
    return max((epoch.number for epoch in over or known), default=None)


def epochs_beside(
    epochs: range | None,
    ours: tuple[Manifest, Sequence[ListedEpoch]],
    other: tuple[Manifest, Sequence[ListedEpoch]],
) -> tuple[range | None, range | None]:
    """Return epochs of two surveys to compare: with the same dates, if both have figures.

    These are the newest that are over, up to a week of shorter ones without a gap, unless devices
    keep their responses. Otherwise each side has its newest such epoch. The first survey's
    ``epochs`` may be given.
    """
    (own, listed), (survey, others) = ours, other
    length, apart = own.schedule.epoch_seconds, own.schedule.start - survey.schedule.start
    if survey.schedule.epoch_seconds == length and apart % length == 0:
        shift = apart // length
        known = {epoch.number - shift for epoch in others if epoch.n}
        if epochs and not known.isdisjoint(epochs):
            return epochs, range(epochs.start + shift, epochs.stop + shift)
        both = {one.number: one.state.over for one in listed if one.n and one.number in known}
        if both and not epochs:
            last = max(both, key=lambda number: (both[number], number))
            kept = own.repeat.epochs or survey.repeat.epochs
            most = min(UNITS["week"] // length, most_epochs(own), most_epochs(survey))
            over = {number for number, is_over in both.items() if is_over}
            span = _epochs_up_to(last, over, 1 if kept else most)
            return span, range(span.start + shift, span.stop + shift)
    return epochs or alone(newest_over(listed)), alone(newest_over(others))


def alone(epoch: int | None) -> range | None:
    """Return one epoch as a range, or None for None."""
    return None if epoch is None else range(epoch, epoch + 1)


def epochs_before(
    epochs: Sequence[ListedEpoch], now: Sequence[int], manifest: Manifest
) -> range | None:
    """Return as many epochs before some, from the newest with figures on without a gap, or None.

    They are before the responses that devices keep, which are those of one epoch.
    """
    begin = (manifest.repeat.memo_range(now[0]) or range(now[0], now[0] + 1)).start
    known = {epoch.number for epoch in epochs if epoch.n and epoch.number < begin}
    if not known:
        return None
    return _epochs_up_to(max(known), known, 1 if manifest.repeat.epochs else len(now))


def _epochs_up_to(last: int, known: Collection[int], most: int) -> range:
    """Return an epoch and known ones before it without a gap, at most this many together."""
    first = last
    while first > last + 1 - most and first - 1 in known:
        first -= 1
    return range(first, last + 1)


def nothing_before(manifest: Manifest, older: Sequence[Manifest]) -> TooFewReports:
    """Return the error that no figures are before; ``older`` surveys of the name have figures."""
    noun, *length = unit_text(manifest.schedule).split()
    text = (
        f"no earlier figures: a comparison needs two {' '.join((noun + 's', *length))} with figures"
    )
    for survey in asked_alike(manifest, older)[:1]:
        how = OLDER if survey.sequence == manifest.sequence - 1 else survey.survey_id.hex()[:12]
        version = f"{version_text(survey.sequence)} ('{how}')"
        text = (
            f"this version has no earlier figures, but {version} has some; compare with that "
            "version"
        )
    return TooFewReports(text)


def note_names(notes: Sequence[Note]) -> list[str]:
    """Return the names by which notes are selected: their texts, with times if texts recur."""
    texts = [note.text.casefold() for note in notes]
    return [
        note.text if texts.count(text) == 1 else f"{note.text} ({instant_text(note.at, _SECOND)})"
        for note, text in zip(notes, texts, strict=True)
    ]


def find_note(text: str, notes: Sequence[Note], epochs: range | None = None) -> Note:
    """Return the note with a name, for a comparison without epochs.

    Raises:
        ReadingError: if there is no such note, or several have this text.
        ValueError: if epochs are given.
    """
    if epochs is not None:
        raise ValueError("the note determines which epochs are compared; omit epochs")
    names = note_names(notes)
    for note, name in zip(notes, names, strict=True):
        if name.casefold() == text.casefold():
            return note
    pairs = zip(notes, names, strict=True)
    alike = [name for note, name in pairs if note.text.casefold() == text.casefold()]
    known = ", ".join(map(repr, (alike or names)[-_MOST_NAMED:])) or "there are none"
    if alike:
        raise ReadingError(f"{len(alike)} notes have this text; select one by its time: {known}")
    raise ReadingError(f"no note has the text {text!r}; newest notes: {known}")


def sides_across(
    note: Note, surveys: Iterable[tuple[Manifest, Sequence[ListedEpoch]]]
) -> tuple[range, Manifest, range]:
    """Return epochs since a note, and the survey and as many epochs before it, all over.

    If devices keep responses, each side is one epoch, and the two share no noise.

    Args:
        note: an event, such as an update; the epoch that contains the event is on neither side.
        surveys: the survey, followed by the earlier ones of its name, with their epochs. The first
            survey's epochs before the note are compared, or otherwise the next one's.

    Raises:
        TooFewReports: if one of the sides has no epoch with figures that is over.
    """
    (ours, listed), *_ = surveys = [*surveys]

    def over(survey: Manifest, epochs: Sequence[ListedEpoch]) -> list[tuple[int, int, int]]:
        start = survey.schedule.epoch_start
        known = (epoch.number for epoch in epochs if epoch.n and epoch.state.over)
        return [(number, start(number), start(number + 1)) for number in known]

    since = [number for number, begins, _ in over(ours, listed) if begins >= note.at]
    for survey, epochs in surveys:
        before = [number for number, _, ends in over(survey, epochs) if ends <= note.at]
        if before:
            break
    if survey == ours and before and (kept := ours.repeat.memo_range(before[-1])) is not None:
        since = [number for number in since if number not in kept]
    if not before or not since:
        side = "before" if not before else "after"
        raise TooFewReports(f"no completed epoch {side} {note.text!r} has figures")
    keeps = ours.repeat.epochs is not None or survey.repeat.epochs is not None
    most = 1 if keeps else min(len(before), len(since))
    before, since = before[-most:], since[:most]
    return range(since[0], since[-1] + 1), survey, range(before[0], before[-1] + 1)
