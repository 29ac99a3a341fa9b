"""A collector's surveys, for an analyst: read, with estimates."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Final, SupportsIndex

import deniable.presenting.histogram  # noqa: F401 - it has the words of histograms
from deniable.documents import Document
from deniable.estimates.answers import Answers
from deniable.estimates.found_texts import FoundTexts
from deniable.estimates.histogram import Histogram, estimate_histogram
from deniable.estimates.revealed import Group, smallest_group
from deniable.messages import Manifest
from deniable.reading import (
    ACROSS,
    LINE_EPOCHS,
    OLDER,
    PREVIOUS,
    EpochCounts,
    EpochStanding,
    EpochState,
    ListedEpoch,
    Pace,
    Source,
    TooFewReports,
    added_up,
    alone,
    asked_alike,
    by_reports,
    epoch_range,
    epochs_before,
    epochs_beside,
    find_against,
    find_note,
    find_version,
    named_epochs,
    newest_over,
    nothing_before,
    sides_across,
    without_figures,
)
from deniable.reading.epochs import asked_text, version_text
from deniable.reading.source import Answered
from deniable.stores import Note

if TYPE_CHECKING:
    from deniable.estimates.comparison import Comparison
    from deniable.estimates.series import Series

_LEAST_FINAL_FIRST: Final = tuple(EpochState)


class SurveyFigures:
    """The figures of one survey of a collector, read whenever they are requested.

    Attributes:
        manifest: the survey's question and terms.
    """

    def __init__(self, source: Source, manifest: Manifest, named: tuple[Manifest, ...]) -> None:
        self._source = source
        self._named = named  # all surveys of the name, the newest first
        self.manifest = manifest

    def __repr__(self) -> str:
        """Return the survey's name and the beginning of its id."""
        return f"<SurveyFigures {self.manifest.name} {self.manifest.survey_id.hex()[:12]}>"

    @property
    def older(self) -> "tuple[SurveyFigures, ...]":
        """Return the earlier surveys of the same name, the newest first. They are never pooled."""
        place = self._named.index(self.manifest)
        return tuple(
            SurveyFigures(self._source, manifest, self._named)
            for manifest in self._named[place + 1 :]
        )

    def versions(self, text: str | None = None) -> list[Answered]:
        """Return the versions with reports of the epochs that a text names, and how many.

        The first version is shown by default: see :func:`deniable.reading.by_reports`.
        Without a text, the epoch is the one shown by default. A single version needs no choice.
        """
        if len(self._named) < 2:
            return []
        ended, now, counted = self._source.ended(self.manifest.name), time.time(), []
        for survey in self._named:
            listed = [epoch for epoch in self._source.epochs(survey) if epoch.n]
            epochs = alone(newest_over(listed)) or range(0)
            if text is not None:
                try:
                    epochs = epoch_range(text, survey.schedule, now)
                except ValueError:  # the survey has no such epochs
                    epochs = range(0)
            counted.append((survey, {one.number: one.n for one in listed if one.number in epochs}))
        live = [one for one in self._named if one.survey_id not in ended and now < one.schedule.end]
        return by_reports(counted, live, now if text is None else None)

    def version_of(self, manifest: Manifest) -> "SurveyFigures":
        """Return the figures of another survey of the name."""
        return SurveyFigures(self._source, manifest, self._named)

    @property
    def published_at(self) -> int | None:
        """Return the Unix time of the survey's publication, if known."""
        return self._source.published(self.manifest.name).get(self.manifest.survey_id)

    @property
    def version(self) -> str:
        """Return the survey's version name, which contains the day of its publication."""
        return version_text(self.manifest.sequence, self.published_at)

    def epochs(self) -> tuple[ListedEpoch, ...]:
        """Return the epochs that have figures: number, reports, state and seal."""
        return tuple(epoch for epoch in self._source.epochs(self.manifest) if epoch.n)

    def closed(self) -> tuple[ListedEpoch, ...]:
        """Return the epochs whose figures are final: they accept no more reports."""
        return tuple(epoch for epoch in self.epochs() if epoch.state.closed)

    def pace(self) -> Pace:
        """Return the rate of the survey's reports, from its closed epochs and the clock."""
        reports = {epoch.number: epoch.n for epoch in self.closed()}
        return Pace.of(self.manifest, reports, time.time(), self._ended_at)

    def newest_closed(self) -> int:
        """Return the newest epoch with final figures; TooFewReports if no epoch has any."""
        if closed := self.closed():
            return closed[-1].number
        raise TooFewReports(f"no final epoch of {self.manifest.name} has figures yet")

    def distrusted(self) -> frozenset[bytes]:
        """Return the issuers of the survey that are no longer trusted."""
        return self._source.distrusted(self.manifest)

    def counts(self, epochs: range | None = None) -> tuple[EpochCounts, ...]:
        """Return the counts of randomised responses, by default of the newest epoch that is over.

        Raises:
            TooFewReports: if none of the epochs has figures.
        """
        counted = self._source.counts(self.manifest, epochs)
        if not counted:
            raise TooFewReports(self.without_figures(epochs))
        return counted

    def without_figures(self, epochs: range | None = None) -> str:
        """Return why the survey, or some of its epochs, has no figures, and what comes next."""
        text = without_figures(self._source, self.manifest, epochs)
        if epochs and (older := self.older[:1]):
            schedule = self.manifest.schedule
            begin, end = schedule.epoch_start(epochs[0]), schedule.epoch_start(epochs[-1] + 1)
            other = older[0].manifest.schedule
            numbers = (epoch.number for epoch in older[0].epochs())
            if same := [one for one in numbers if begin <= other.epoch_start(one) < end]:
                dates = asked_text(other, range(same[0], same[-1] + 1))
                text += f"; {older[0].version} has figures then, as {OLDER}:{dates}"
        return text

    @property
    def _ended_at(self) -> int | None:
        return self._source.ended(self.manifest.name).get(self.manifest.survey_id)

    def histogram(
        self,
        epoch: SupportsIndex | range | None = None,
        *,
        level: float = 0.95,
        candidates: Iterable[str] | None = None,
    ) -> Histogram:
        """Return the debiased histogram of an epoch, by default of the newest that is over.

        If none with figures is over, the default is the newest with figures. For several epochs it
        covers all their reports; those without figures are omitted. Of a survey of texts it has
        those that are found; with ``candidates``, those among these.

        Raises:
            TooFewReports: if no epoch has figures.
            ValueError: for epochs in which devices may keep their responses.
        """
        if candidates is not None and not self.manifest.kind.texts:
            raise ValueError(
                "candidates apply only to surveys whose answers are texts; this survey has fixed "
                "answers"
            )
        counts = self.counts(_range(epoch))
        return histogram_of(self.manifest, counts, level, candidates)

    def compare(
        self,
        epoch: SupportsIndex | range | None = None,
        against: "SupportsIndex | range | str | SurveyFigures" = PREVIOUS,
        answers: Answers | None = None,
        *,
        given: Answers | None = None,
        quantile: float | None = None,
        level: float = 0.95,
    ) -> "Comparison":
        """Return the changes in the newest epoch that is over, from the previous one with figures.

        Args:
            epoch: a different epoch, or several together.
            against: the other side: other epochs; another survey with the same answers; or one of
                these as text: "0-3", "older", the previous survey of its name, or a name or the
                beginning of an id of its name, optionally with epochs, "older:0-3". For another
                survey the default is up to a week with figures of both. "across 2.0 released"
                compares epochs after a note with as many before it, from this survey or otherwise
                the previous one.
            answers: only the share of these answers; by default that of each answer, or the mean.
            given: only among those who gave these answers.
            quantile: for numbers, the quantile to compare instead: 0.5 for the median.
            level: the level of intervals.

        Raises:
            TooFewReports: if there are no figures to compare.
            ValueError: if they cannot be compared.
        """
        from deniable.estimates.comparison import compare

        if isinstance(against, str) and against.startswith(ACROSS):
            notes = self._source.notes(self.manifest.name)
            note = find_note(against.removeprefix(ACROSS), notes, _range(epoch))
            known = ((one.manifest, one.epochs()) for one in (self, *self.older))
            since, manifest, earlier = sides_across(note, known)
            sides = [
                histogram_of(survey, self._source.counts(survey, epochs), level)
                for survey, epochs in ((self.manifest, since), (manifest, earlier))
            ]
            made = compare(sides[0], answers, sides[1], given=given, quantile=quantile)
            return replace(made, across=note.text)
        epochs, previous = _range(epoch), against == PREVIOUS
        listed = self.epochs() if epochs is None or previous else ()
        other, others = (self, None) if previous else self._against(against)
        if others is None and not previous:
            beside = (other.manifest, other.epochs())
            epochs, others = epochs_beside(epochs, (self.manifest, self.epochs()), beside)
        elif epochs is None:
            own = others if other.manifest == self.manifest else None
            epochs = _range(newest_over(listed, with_before=previous, but=own))
        now = histogram_of(self.manifest, self.counts(epochs), level)
        if previous:
            others = epochs_before(listed, epochs or now.epochs, self.manifest)
            if others is None:
                figured = [one.manifest for one in self.older if one.epochs()]
                raise nothing_before(self.manifest, figured)
        before = histogram_of(other.manifest, other.counts(others), level)
        return compare(now, answers, before, given=given, quantile=quantile)

    def _against(
        self, against: "SupportsIndex | range | str | SurveyFigures"
    ) -> "tuple[SurveyFigures, range | None]":
        if isinstance(against, SurveyFigures):
            return against, None
        if not isinstance(against, str):
            return self, _range(against)
        manifest, text = find_against(against, self.manifest, self._source.manifests)
        named = self._named if manifest in self._named else self._source.manifests(manifest.name)
        other = SurveyFigures(self._source, manifest, named)
        return other, None if text is None else named_epochs(text, manifest, time.time())

    def series(self, *, successors: bool = True, level: float = 0.95) -> "Series":
        """Return the figures of all the survey's epochs, and of other surveys of its name.

        Surveys with a different question are omitted; without ``successors``, all other surveys.
        """
        others = [manifest for manifest in self._named if manifest != self.manifest]
        surveys = [self.manifest, *others] if successors else [self.manifest]
        counts = [
            counts
            for manifest in asked_alike(self.manifest, surveys)
            for counts in self._source.counts(manifest, _with_figures(self._source, manifest))
        ]
        name = self.manifest.name
        return series_of(name, surveys, counts, level, self._source.notes(name))

    def headline(self, *, level: float = 0.95) -> Document:
        """Return in a sentence the mean, or the largest share, of the newest epoch that is over.

        The chart is small. TooFewReports if there are no figures.
        """
        newest = _with_figures(self._source, self.manifest)[-LINE_EPOCHS:]
        counts = self.counts(newest or None)
        notes = self._source.notes(self.manifest.name)
        return headline_of(self.manifest.name, [self.manifest], counts, level, notes)


def _range(epoch: SupportsIndex | range | None) -> range | None:
    if epoch is not None and not isinstance(epoch, range):
        epoch = range(index(epoch), index(epoch) + 1)
    if epoch is not None and not epoch:
        raise ValueError("name at least one epoch")
    return epoch


def _with_figures(source: Source, manifest: Manifest) -> range:
    numbers = [epoch.number for epoch in source.epochs(manifest) if epoch.n]
    return range(numbers[0], numbers[-1] + 1) if numbers else range(0)


def histogram_of(
    manifest: Manifest,
    read: Sequence[EpochCounts],
    level: float = 0.95,
    texts: FoundTexts | Iterable[str] | None = None,
) -> Histogram:
    """Return the histogram of one or more epochs as read."""
    return estimate_histogram(
        manifest,
        [counted.epoch for counted in read],
        added_up([counted.counts for counted in read]),
        level,
        distrusted=sum(counted.distrusted for counted in read),
        standing=_standing([counted.standing for counted in read]),
        groups=[_group(manifest, counted) for counted in read],
        relayed=all(counted.relayed for counted in read),
        hidden=read[0].hidden,
        texts=texts,
    )


def _group(manifest: Manifest, read: EpochCounts) -> Group:
    """Return the reports of an epoch, and the least number that any display distinguishes."""
    if read.standing.state is not EpochState.SEALED:
        return smallest_group(manifest, read.reports)
    return smallest_group(manifest, read.reports, len(read.by_issuer or ()))


def _standing(standings: Sequence[EpochStanding]) -> EpochStanding:
    """Return the standing of several epochs together: that of the least final epoch."""
    if len(standings) == 1:
        return standings[0]
    return EpochStanding(
        min((standing.state for standing in standings), key=_LEAST_FINAL_FIRST.index)
    )


def series_of(
    name: str,
    surveys: Sequence[Manifest],
    counts: Iterable[EpochCounts],
    level: float = 0.95,
    notes: Iterable[Note] = (),
) -> "Series":
    """Return the figures of surveys of one name, each epoch by epoch, with notes.

    The first survey is the one in question; surveys with a different question are kept apart.
    An epoch without figures between others of its survey is a gap.
    """
    from deniable.estimates.series import Point, Series

    points = []
    alike = asked_alike(surveys[0], surveys)
    of_survey: dict[bytes, dict[int, EpochCounts]] = {}
    for counted in counts:
        of_survey.setdefault(counted.survey_id, {})[counted.epoch] = counted
    for manifest in sorted(alike, key=lambda survey: (survey == surveys[0], survey.sequence)):
        by_epoch = of_survey.get(manifest.survey_id, {})
        schedule, texts = manifest.schedule, None
        if manifest.kind.texts and by_epoch:  # found in all epochs together, for each
            texts = histogram_of(manifest, list(by_epoch.values())).texts
        for epoch in range(min(by_epoch, default=0), max(by_epoch, default=-1) + 1):
            begins, ends = schedule.epoch_start(epoch), schedule.epoch_start(epoch + 1)
            histogram = None
            if epoch in by_epoch:
                histogram = histogram_of(manifest, [by_epoch[epoch]], level, texts)
            points.append(Point(manifest.survey_id.hex(), epoch, begins, ends, histogram))
    apart = tuple(survey.survey_id.hex() for survey in surveys if survey not in alike)
    return Series(name, tuple(points), tuple(notes), apart)


def headline_of(
    name: str,
    surveys: Sequence[Manifest],
    counts: Sequence[EpochCounts],
    level: float = 0.95,
    notes: Iterable[Note] = (),
) -> Document:
    """Return the figure of the first of some surveys; a text has its share in Figures.

    The figure is of the newest epoch that is over, or otherwise of the newest.
    """
    from deniable.presenting.series import headline

    over = [one for one in counts if one.standing.state.over] or counts
    own = histogram_of(surveys[0], over[-1:], level) if surveys[0].kind.texts else None
    return headline(series_of(name, surveys, counts, level, notes), own)


class Surveys:
    """The surveys of a collector, by name: ``surveys["theme"]`` is the newest of that name."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __repr__(self) -> str:
        """Return the source from which surveys are read."""
        return f"<Surveys of {self._source!r}>"

    def __iter__(self) -> Iterator[str]:
        """Yield the names of surveys."""
        return iter(self._source.names())

    def __getitem__(self, name: str) -> SurveyFigures:
        """Return the newest survey of a name, or raise NoSuchSurvey."""
        return self.find(name)

    def find(self, name: str, id_prefix: str | None = None) -> SurveyFigures:
        """Return the survey of a name whose id has this beginning; by default, the newest survey.

        Raises:
            NoSuchSurvey: if there is no such survey.
            AmbiguousSurvey: if several ids have this beginning.
        """
        named = self._source.manifests(name)
        return SurveyFigures(self._source, find_version(name, named, id_prefix), named)


def connect(url: str, token: str | None = None, *, authority: str | Path) -> Surveys:
    """Return the surveys of a collector at a URL, verified with the pinned authority.

    No request is made before a survey is accessed.

    Args:
        url: ``https://host[:port]``; ``http`` for this machine only.
        token: an analyst's token; public surveys need none.
        authority: the public key that signs the surveys, 64 hex digits, which ``deniable authority
            show`` shows to the operator; or a file from ``deniable survey export``. Rotations of
            the key are followed.

    Raises:
        ValueError: if the URL, the token or the key is invalid.
    """
    from deniable.reading import HttpSource, pinned  # reading a store needs no HTTP client

    return Surveys(HttpSource(url, pinned(authority), token))
