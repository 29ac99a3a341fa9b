"""Figures of a survey for analysts: its epochs, counts, histograms and comparisons."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from aiohttp import web

from deniable.directory import Config
from deniable.directory.store_source import default_epoch, shown_counts, shown_epochs
from deniable.messages import Manifest, Refusal, RefusalCode
from deniable.reading import (
    ACROSS,
    LINE_EPOCHS,
    PREVIOUS,
    VIEWS,
    EpochCounts,
    ListedEpoch,
    ReadingError,
    TooFewReports,
    alone,
    appear_text,
    asked_alike,
    by_reports,
    epoch_range,
    epochs_before,
    epochs_beside,
    find_against,
    find_note,
    newest_over,
    nothing_before,
    sides_across,
)
from deniable.reading.source import MOST_LISTED, Answered, most_epochs
from deniable.reading.wire import counts_map, epochs_map, note_maps
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.estimating import Estimating, packed_json
from deniable.server.routes.published import csv_answer, json_answer
from deniable.server.routes.requests import (
    asked_choice,
    asked_groups,
    asked_level,
    asked_quantile,
    asked_survey,
    check_view,
    epochs_of,
    held_tokens,
    require_role,
)
from deniable.server.routes.routing import FORMATS
from deniable.stores import Note, Role, Store

if TYPE_CHECKING:
    from deniable.estimates import Histogram


_PUBLIC_REST: Final = 3.0
_PUBLIC_FRESH: Final = 2.0
_MOST_LISTED: Final = 128
_MOST_ROWS: Final = 50_000


@dataclass(frozen=True, slots=True)
class Subject:
    """The surveys and epochs of a request, and its queue."""

    estimating: Estimating
    surveys: tuple[Manifest, ...]  # the survey in question first
    epochs: range | None
    awaited: Manifest | None = None  # a newer survey that has no figures yet
    answered: tuple[Answered, ...] = ()  # this version and others, with their reports

    @property
    def newest(self) -> Manifest:
        """Return the survey that is in question."""
        return self.surveys[0]


class FigureService:
    """A source of figures from surveys' counts, for authorised readers."""

    def __init__(
        self, store: Store, catalogue: Catalogue, clock: Callable[[], float], config: Config
    ) -> None:
        self.store = store
        self._relayed_from, self._hidden = config.relayed_from, config.hidden_texts
        self.catalogue = catalogue
        self.clock = clock
        # Separate, so that the public does not keep analysts waiting. The public gets at most a
        # quarter of the processor, since every epoch and level is separate work.
        self._public = Estimating(_PUBLIC_REST, _PUBLIC_FRESH, _MOST_LISTED)
        self._analysts = Estimating()
        # Also separate: a long list keeps no page waiting.
        self._for_lists = Estimating(most=_MOST_LISTED)

    async def epochs(self, request: web.BaseRequest, name: str) -> web.Response:
        """Answer with the epochs that have figures, and their seals."""
        subject = await self.subject(request, name)
        manifest = subject.newest

        async def work() -> bytes:
            listed = await shown_epochs(self.store, manifest, self.clock())
            distrusted = await self.store.distrusted()
            issuers = distrusted.intersection(manifest.enrolment.issuer_ids)
            return await asyncio.to_thread(packed_json, epochs_map(manifest, listed, issuers))

        return json_answer(await subject.estimating.in_turn(request, work))

    async def counts(self, request: web.BaseRequest, name: str) -> web.Response:
        """Answer with counts of responses."""
        subject = await self.subject(request, name)

        def packed(counts: Sequence[EpochCounts]) -> bytes:
            return packed_json(counts_map(subject.newest, counts))

        return json_answer(await self.made(request, subject, "counts", packed))

    async def histogram(self, request: web.BaseRequest, name: str) -> web.Response:
        """Answer with a histogram."""
        subject = await self.subject(request, name)
        level, view = asked_level(request), asked_choice(request, "view", VIEWS)
        form, groups = asked_choice(request, "format", FORMATS), asked_groups(request)
        check_view(subject.newest, view)

        def packed(counts: Sequence[EpochCounts]) -> bytes:
            from deniable.estimates import View, compare
            from deniable.presenting import histogram_of
            from deniable.presenting.fields import histogram_csv

            histogram = histogram_of(subject.newest, counts, level)
            if groups:
                share = compare(histogram, groups, None)
                return share.to_csv().encode() if form == "csv" else packed_json(share.to_dict())
            if form == "csv":
                return histogram_csv(histogram, View(view)).encode()
            return packed_json(histogram.to_dict(view))

        made = await self.made(request, subject, ("histogram", level, view, form, groups), packed)
        return _formed(made, form)

    async def series(self, request: web.BaseRequest, name: str) -> web.Response:
        """Answer with a series."""
        subject = await self.subject(request, name, across=True)
        level, form = asked_level(request), asked_choice(request, "format", FORMATS)
        groups = [group for group in [asked_groups(request)] if group]
        notes = tuple(await self.store.notes(name))

        def packed(counts: Sequence[EpochCounts]) -> bytes:
            from deniable.presenting import series_of

            series = series_of(name, subject.surveys, counts, level, notes=notes)
            if form == "csv":
                return series.to_csv(*groups).encode()
            return packed_json(series.to_dict(*groups))

        what = ("series", level, form, notes, *groups)
        made = await self.made(request, subject, what, packed, self.across)
        return _formed(made, form)

    async def notes(self, request: web.BaseRequest, name: str) -> web.Response:
        """Answer with the notes about the surveys of a name."""
        await self.queue(request, name)
        await asked_survey(request, self.catalogue, name)
        notes = await self.store.notes(name)
        return json_answer(packed_json({"survey": name, "notes": note_maps(notes)}))

    async def comparison(self, request: web.BaseRequest, name: str) -> web.Response:
        """Answer with a comparison."""
        subject = await self.subject(request, name)
        sides = await asked_sides(self, request, subject)
        level, form = asked_level(request), asked_choice(request, "format", FORMATS)
        quantile, groups = asked_quantile(request.query), asked_groups(request)

        def packed(counts: Sequence[EpochCounts]) -> bytes:
            from deniable.estimates import compare

            now, before = sides.histograms(counts, level)
            result = compare(now, groups or None, before, quantile=quantile)
            result = replace(result, across=sides.across)
            return result.to_csv().encode() if form == "csv" else packed_json(result.to_dict())

        what = ("comparison", request.query.get("against"), level, quantile, form, groups)
        made = self.made(request, sides.subject, what, packed, lambda _: sides.read(self))
        return _formed(await made, form)

    async def subject(
        self, request: web.BaseRequest, name: str, *, across: bool = False
    ) -> Subject:
        """Return the subject of a request; Refusal if it may not be seen, or does not exist.

        The subject is ``across`` all surveys of the name, unless one or its epochs are selected.
        Unless one is, it is the live version with the most reports of these epochs, by default of
        those shown of each version: see :func:`by_reports`.
        """
        estimating, text = await self.queue(request, name), request.query.get("epoch")
        manifest, awaited = await asked_survey(request, self.catalogue, name), None
        named, chosen = self.catalogue.named(name), "survey" in request.query
        answered = await self._answered(named, text)
        if not chosen and (known := answered or await self._answered(named)):
            newest, manifest = manifest, known[0].manifest
            if newest != manifest and await self.store.newest_epoch(newest.survey_id) is None:
                awaited = newest
        epochs = None if text is None else epochs_of("epoch", text, manifest, self.clock())
        others = [one for one in answered if one.manifest != manifest]
        own = next((one for one in answered if one.manifest == manifest), None)
        beside = (own or Answered(manifest, epochs or range(0), 0), *others) if others else ()
        whole = across and epochs is None and not chosen
        rest = [one for one in named if whole and one != manifest]
        return Subject(estimating, (manifest, *rest), epochs, awaited, beside)

    async def _answered(self, named: Sequence[Manifest], text: str | None = None) -> list[Answered]:
        """Return the versions with reports of the epochs that a text names, and how many."""
        if len(named) < 2:
            return []
        counted, now = [(one, await self._reports(one, text)) for one in named], self.clock()
        live = self.catalogue.running(named[0].name, now)
        return by_reports(counted, live, now if text is None else None)

    async def _reports(self, survey: Manifest, text: str | None) -> dict[int, int]:
        """Return the reports of the epochs that a text names, or of the one shown by default."""
        newest, now = await self.store.newest_epoch(survey.survey_id), self.clock()
        if newest is None:
            return {}
        epochs = alone(await default_epoch(self.store, survey, now)) or range(0)
        try:
            epochs = epochs if text is None else epoch_range(text, survey.schedule, now)
        except ValueError:  # the survey has no such epochs
            return {}
        if len(epochs) > most_epochs(survey):
            return {}
        known = [epoch for epoch in epochs if epoch <= newest]
        return {epoch: await self.store.reports(survey.survey_id, epoch) for epoch in known}

    def listed(self, subject: Subject) -> Subject:
        """Return a subject for a survey in a list; the figures of all these surveys are cached."""
        if subject.estimating is self._analysts:
            return replace(subject, estimating=self._for_lists)
        return subject

    async def made(
        self,
        request: web.BaseRequest,
        subject: Subject,
        what: Hashable,
        packed: Callable[[Sequence[EpochCounts]], bytes],
        read: Callable[[Subject], Awaitable[Sequence[EpochCounts]]] | None = None,
    ) -> bytes:
        """Return the packed result of a subject's counts, computed in the queue.

        Raises:
            Refusal: too-few-reports if there are no counts, or the reason for a missing answer.
        """

        def unless_wrong(counts: Sequence[EpochCounts]) -> bytes:
            try:
                return packed(counts)
            except ValueError as error:  # such as epochs over which devices keep responses
                raise Refusal(RefusalCode.BAD_QUERY, str(error)) from error

        ids = tuple(survey.survey_id for survey in subject.surveys)
        counts = read or self.epoch_counts
        try:
            made = await subject.estimating.made(
                request, (ids, what), lambda: counts(subject), unless_wrong
            )
        except TooFewReports as error:
            raise NothingBefore(RefusalCode.TOO_FEW_REPORTS, str(error)) from error
        if made is None:
            reason = self.without_figures(subject.newest, subject.epochs)
            raise Refusal(RefusalCode.TOO_FEW_REPORTS, reason)
        return made

    def without_figures(self, survey: Manifest, epochs: range | None = None) -> str:
        """Return the reason why a survey, or some of its epochs, has no figures."""
        return appear_text(survey, self.clock(), self.catalogue.ended_at(survey), epochs)

    async def epoch_counts(self, subject: Subject) -> Sequence[EpochCounts]:
        """Return counts of the requested epochs; by default of the newest that is over."""
        return await self.read_counts(subject.newest, subject.epochs, self._relayed_from)

    async def read_counts(
        self, survey: Manifest, epochs: range | None, relayed_from: float = math.inf
    ) -> list[EpochCounts]:
        """Return the counts of a survey's epochs, for figures."""
        now = self.clock()
        return await shown_counts(self.store, survey, epochs, now, relayed_from, self._hidden)

    async def across(self, subject: Subject) -> Sequence[EpochCounts]:
        """Return counts of all surveys with the same question: of as many newest epochs as fit.

        The survey in question is first; the epochs of each survey are in order.
        """
        counts: list[EpochCounts] = []
        for manifest in asked_alike(subject.newest, subject.surveys):
            most = min(most_epochs(manifest), _MOST_ROWS // len(manifest.categories) or 1)
            most = LINE_EPOCHS if manifest.kind.texts else most  # the list of surveys has as many
            left, epochs = most - len(counts), subject.epochs
            if epochs is None:
                newest = await self.store.newest_epoch(manifest.survey_id)
                end = 0 if newest is None else newest + 1
                epochs = range(max(0, end - max(0, left)), end)
            counts += await self.read_counts(manifest, epochs)
        return counts

    async def queue(self, request: web.BaseRequest, name: str) -> Estimating:
        """Return the queue for a request for figures; Refusal if the request may not see them."""
        await self.catalogue.reread()
        public = self.catalogue.is_public(name)
        if public and not held_tokens(request):
            return self._public
        try:
            role = await require_role(request, self.store, Role.READER, self.clock(), name)
        except Refusal:
            if public:
                return self._public
            raise
        # The number of people with a link is unknown.
        return self._public if role is Role.READER else self._analysts


def _formed(made: bytes, form: str) -> web.Response:
    return json_answer(made) if form == "json" else csv_answer(made)


class NothingBefore(Refusal):
    """There are figures, but no earlier ones to compare them with."""


@dataclass(slots=True)
class Sides:
    """The two sides of a comparison: a subject, and the other side.

    Attributes:
        subject: both surveys, and the epochs of the first; None means the newest that is over.
        epochs: the other side's epochs; None means the same dates, if it has them, or those before.
        at, across: the time and text of a note, if that determines the compared epochs.
        before: how many of the counts belong to the other side.
    """

    subject: Subject
    epochs: range | None
    previous: bool
    at: int = 0
    across: str = ""
    before: int = 0

    async def read(self, figures: FigureService) -> Sequence[EpochCounts]:
        """Return the counts of the other side, then of the subject; empty if there are no counts.

        Raises:
            TooFewReports: if there is no epoch before, or only one side has figures.
        """
        ours, other = self.subject.surveys
        epochs, others = self.subject.epochs, self.epochs
        if self.across:
            named = figures.catalogue.named(ours.name)
            known = [(one, await self._listed(figures, one)) for one in named[named.index(ours) :]]
            epochs, other, others = sides_across(Note(self.at, self.across), known)
            self.subject = replace(self.subject, surveys=(ours, other))
        elif others is None and not self.previous:
            epochs, others = epochs_beside(
                epochs,
                (ours, await self._listed(figures, ours)),
                (other, await self._listed(figures, other)),
            )
        elif epochs is None or self.previous:
            listed = await self._listed(figures, ours)
            own = others if other == ours else None
            epochs = epochs or alone(newest_over(listed, with_before=self.previous, but=own))
            if self.previous and epochs:
                others = epochs_before(listed, epochs, ours)
                if others is None:
                    named = figures.catalogue.named(ours.name)
                    figured = [
                        one
                        for one in named[named.index(ours) + 1 :]
                        if any(epoch.n for epoch in await self._listed(figures, one))
                    ]
                    raise nothing_before(ours, figured)
        if not epochs:
            return ()
        before = await figures.read_counts(other, others) if others else []
        counts = await figures.read_counts(ours, epochs)
        if not (before and counts):
            missing = (ours, epochs) if before else (other, others)
            raise TooFewReports(figures.without_figures(*missing))
        self.before = len(before)
        return [*before, *counts]

    async def _listed(self, figures: FigureService, manifest: Manifest) -> Sequence[ListedEpoch]:
        return await shown_epochs(figures.store, manifest, figures.clock(), MOST_LISTED)

    def histograms(
        self, counts: Sequence[EpochCounts], level: float
    ) -> "tuple[Histogram, Histogram]":
        """Return the histogram of the subject, and that of the other side."""
        from deniable.presenting import histogram_of

        ours, other = self.subject.surveys
        now = histogram_of(ours, counts[self.before :], level)
        return now, histogram_of(other, counts[: self.before], level)


async def asked_sides(figures: FigureService, request: web.BaseRequest, subject: Subject) -> Sides:
    """Return the sides of ``?epoch=`` and ``?against=``, by default the epoch before.

    Raises:
        Refusal: if there is no such survey, the request may not see it, or names no epochs.
    """
    manifest, text = subject.newest, request.query.get("against", PREVIOUS)
    try:
        if text.startswith(ACROSS):
            notes = await figures.store.notes(manifest.name)
            note = find_note(text[len(ACROSS) :], notes, subject.epochs)
            return Sides(replace(subject, surveys=(manifest, manifest)), None, False, *note)
        other, epochs = find_against(text, manifest, figures.catalogue.named)
    except (ReadingError, ValueError) as error:
        known = "against must be previous, days, yesterday, older, a known survey, or across NOTE"
        reason = str(error) if text.startswith(ACROSS) else known
        raise Refusal(RefusalCode.BAD_QUERY, reason) from None
    if other.name != manifest.name:
        await figures.queue(request, other.name)
    both = replace(subject, surveys=(manifest, other))
    named = None
    if epochs not in (None, PREVIOUS):
        named = epochs_of("against", epochs, other, figures.clock())
    return Sides(both, named, epochs == PREVIOUS)
