"""The handlers of pages: the functions named in the table, each given a visit."""

import json
import re
from asyncio import to_thread
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import zip_longest
from pkgutil import resolve_name
from typing import Any, Final
from urllib.parse import urlencode

from aiohttp import web

from deniable.directory import Config
from deniable.directory.store_source import default_epoch, older_epochs, shown_epochs
from deniable.documents import Fact
from deniable.messages import Manifest, Refusal, RefusalCode, Schedule, is_simulated
from deniable.reading import (
    ACROSS,
    PREVIOUS,
    VIEWS,
    EpochCounts,
    EpochState,
    ListedEpoch,
    asked_alike,
)
from deniable.reading.epochs import (
    answered_texts,
    asked_text,
    date_text,
    dates_text,
    epoch_end_text,
    epoch_range,
    standing_text,
    unit_text,
    version_text,
    when_text,
)
from deniable.reading.source import MOST_LISTED, note_names
from deniable.server.pages.page_table import PAGES, Page
from deniable.server.pages.rendering import (
    LEVELS,
    MOST_REPEATED,
    Controls,
    carried,
    downloads,
    epoch_choices,
    here,
    is_script,
    page,
    ranges_to_compare,
    rendered,
    root_of,
    tabs,
    unseen,
)
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.figures import FigureService, NothingBefore, Subject
from deniable.server.routes.requests import held_role
from deniable.server.routes.routing import Handler
from deniable.stores import Role, Store
from deniable.terms.sentences import guess, learnt, summary

WITHHELD: Final = (
    " The number so far is not shown, because it would reveal the arrival of a single report. Your "
    "operator can see it. If no figures follow, check that your app asks this question."
)
"""What an analyst is told instead of the number of reports before the first figures."""
_TOO_MANY: Final = (
    f"several epochs of a survey with more than {MOST_REPEATED:,} answers take too long to "
    "compute here: compute them on your own machine, with deniable.presenting.connect"
)


@dataclass(frozen=True, slots=True)
class Site:
    """The collector to which the pages belong."""

    config: Config
    store: Store
    catalogue: Catalogue
    figures: FigureService
    clock: Callable[[], float]

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers of pages, by path."""
        return {
            page.path: partial(self._visited, page, resolve_name(f"{__package__}.{page.answer}"))
            for page in PAGES
        }

    async def _visited(
        self,
        page: Page,
        answer: "Callable[[Visit], Awaitable[web.Response]]",
        request: web.BaseRequest,
        name: str,
    ) -> web.Response:
        # A form leaves parameters empty.
        default = {"against": ("", PREVIOUS)}
        kept = [one for one in request.query.items() if one[1] not in default.get(one[0], ("",))]
        if len(kept) < len(request.query):
            request = request.clone(rel_url=request.rel_url.with_query(kept))
        return await answer(Visit(self, page, request, name))

    def awaited(self, subject: Subject) -> str:
        """Return which version the figures are from, if the newest version has none."""
        newest = subject.awaited
        if newest is None:
            return ""
        from deniable.publishing.changes import awaited_text

        reason = self.figures.without_figures(newest)
        both = subject.newest, newest
        return awaited_text(*both, [*map(self.catalogue.published_at, both)], reason)

    def answered(self, subject: Subject) -> list[tuple[str, str]]:
        """Return how many answered each of several versions of a survey, with the others' ids."""
        versions = [
            (self.version(one.manifest), one.reports, one.period) for one in subject.answered
        ]
        if not versions:
            return []
        ids = (one.manifest.survey_id.hex()[:12] for one in subject.answered)
        dated = next(one for one in subject.answered if one.reports)
        texts = answered_texts(versions, several=len(dated.epochs) > 1)
        return [*zip(texts, ids, strict=True)]

    def version(self, survey: Manifest) -> str:
        """Return the version name of a survey, according to its publication."""
        return version_text(survey.sequence, self.catalogue.published_at(survey))

    async def so_far(self, subject: Subject) -> tuple[str, str]:
        """Return the reports of the open epoch, and its dates, if an earlier epoch is shown."""
        manifest, now = subject.newest, self.clock()
        default = await default_epoch(self.store, manifest, now)
        epoch, reports = manifest.schedule.epoch_at(now), 0
        if epoch is not None and default not in (None, epoch):
            reports = await self.store.reports(manifest.survey_id, epoch)
        if epoch is None or not reports:
            return "", ""
        return so_far_text(manifest, reports), dates_of(manifest, [epoch])

    def head(self, manifest: Manifest) -> dict[str, Any]:
        """Return the values of a survey that are shown wherever it is named."""
        now, ended_at = self.clock(), self.catalogue.ended_at(manifest)
        heading = manifest.question or manifest.name
        if manifest.question and self.catalogue.shares_question(manifest):
            heading = f"{manifest.name}: {manifest.question}"
        return {
            "manifest": manifest,
            "heading": heading,
            "standing": standing_text(manifest.schedule, now, ended_at),
            "epoch_end": epoch_end_text(manifest.schedule, now, ended_at),
            "over": ended_at is not None or now >= manifest.schedule.end,
            "public": self.catalogue.is_public(manifest.name),
            "simulated": is_simulated(manifest.name),
            "elsewhere": manifest.origin if manifest.origin != self.config.origin else "",
        }


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a view, for its query, and whether more content may follow."""

    body: str
    live: bool = False
    status: int = 200
    figures: bool = True  # whether there are figures, for downloads
    pinned: Mapping[str, str] = field(default_factory=dict)  # query for the same figures for ever


def reason_sentence(refusal: Refusal) -> str:
    """Return the reason of a refusal as a sentence."""
    return f"{refusal.reason[0].upper()}{refusal.reason[1:]}."


def message(
    text: str,
    kind: str = "note",
    more: str = "",
    *,
    live: bool = False,
    status: int = 200,
    figures: bool = True,
) -> Content:
    """Return a message instead of figures, with folded details for operators."""
    body = rendered("message.html", text=text, kind=kind, more=more)
    return Content(body, live=live, status=status, figures=figures)


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page, and the text for {name} in its path."""

    site: Site
    page: Page
    request: web.BaseRequest
    name: str

    async def subject(self) -> Subject:
        """Return the subject of a page; Refusal if it may not be seen."""
        return await self.site.figures.subject(self.request, self.name, across=self.page.across)

    async def estimated(
        self,
        subject: Subject,
        values: Callable[[Sequence[EpochCounts]], dict[str, Any]],
        read: Callable[[Subject], Awaitable[Sequence[EpochCounts]]] | None = None,
        besides: Hashable = None,
    ) -> Content:
        """Return the page's template with values computed from counts, or the reason why not.

        The values follow from the subject, the page's query parameters, and the other arguments, so
        nobody waits twice for the same values.
        """

        def packed(counts: Sequence[EpochCounts]) -> bytes:
            if len(counts) > 1 and len(subject.newest.categories) > MOST_REPEATED:
                raise ValueError(_TOO_MANY)
            live = any(epoch.standing.state is not EpochState.SEALED for epoch in counts)
            page_values = {"view": self.page, "pinned": self._pinned(subject, counts)}
            page_values |= values(counts)
            head = json.dumps([live, page_values["pinned"]])
            return f"{head}\n{rendered(self.page.template, **page_values)}".encode()

        query = self.request.query
        choices = tuple((name, *query.getall(name, ())) for name in self.page.takes)
        figures, what = self.site.figures, (self.page.path, choices, besides)
        try:
            body = (await figures.made(self.request, subject, what, packed, read)).decode()
        except Refusal as refusal:
            if refusal.code is RefusalCode.TOO_FEW_REPORTS:
                text = reason_sentence(refusal)
                alone = isinstance(refusal, NothingBefore)  # one side has figures
                text += "" if alone else await self._progress(subject)
                return message(text, "sentence", live=True, figures=alone)
            if refusal.code is not RefusalCode.BAD_QUERY:
                raise
            return message(reason_sentence(refusal), "alert", status=400, figures=False)
        to_come = subject.epochs is None and self.site.clock() < subject.newest.schedule.end
        head, _, body = body.partition("\n")
        live, pinned = json.loads(head)
        return Content(body, live=live or to_come, pinned=pinned)

    def _pinned(self, subject: Subject, counts: Sequence[EpochCounts]) -> dict[str, str]:
        """Return the choices that identify the figures' survey and dates."""
        survey = subject.newest
        if {one.survey_id for one in counts} != {survey.survey_id}:
            return {}
        return {
            "survey": survey.survey_id.hex()[:12],
            "epoch": dates_of(survey, [one.epoch for one in counts]),
        }

    async def _progress(self, subject: Subject) -> str:
        """Return how many reports there are before the first figures, for readers who may know.

        A frequent reader sees when a report arrives. Operators see that in any case. Analysts see
        it if an issuer vouches for devices, since they then cannot add reports of their own to
        identify others'.
        """
        site, manifest = self.site, subject.newest
        now = site.clock()
        role = await held_role(self.request, site.store, now, manifest.name)
        vouched = bool(manifest.enrolment.issuer_ids) and role is Role.ANALYST
        epoch = manifest.schedule.epoch_at(now) if subject.epochs is None else subject.epochs[-1]
        if epoch is None:
            return ""
        if not (vouched or role is Role.OPERATOR):
            waits = role is Role.ANALYST and now < manifest.schedule.closes(epoch)
            return WITHHELD * waits
        reports = await site.store.counted(manifest.survey_id, epoch)
        least = max(1, manifest.minimum_reports)
        when = when_text(dates_text(manifest.schedule, [epoch]))
        return f" {reports:,} of {least:,} reports so far, {when}."

    async def view(
        self, subject: Subject, content: Content, older: Sequence[range] = ()
    ) -> web.Response:
        """Return a view of a survey, or only its changing part for a script.

        The view lists the omitted ``older`` epochs.
        """
        site, request, view, manifest = self.site, self.request, self.page, subject.newest
        headers = request.headers
        surveys = [manifest, *([subject.awaited] if subject.awaited else [])]
        identifier = "-".join(survey.survey_id.hex() for survey in surveys)
        script = is_script(request)
        chosen = [one for one in request.query.items() if one[0] not in content.pinned]
        pinned = [*content.pinned.items(), *chosen]
        dates = re.sub("[ :]", "-", content.pinned.get("epoch", "").replace("..", "-to-"))
        if script and headers.get("Shown-Survey", identifier) != identifier:
            # The rest of the page is outdated: a successor exists now, or has figures now.
            return web.Response(headers={"HX-Refresh": "true"})
        role = await held_role(request, site.store, site.clock(), manifest.name)
        named = site.catalogue.named(manifest.name)
        values: dict[str, Any] = {
            "root": root_of(request),
            **here(request),
            **site.head(manifest),
            "view": view,
            "chosen": request.query,
            "content": content,
            "pinned": urlencode(pinned),
            "file": "-".join(filter(None, [manifest.name, view.tab.lower(), dates])),
            "identifier": identifier,
            "version": identifier[:12] if len(named) > 1 and not view.across else "",
            "awaited": site.awaited(subject),
            "answered": site.answered(subject),
            "update": await self._update(*named[:2]) if subject.answered else "",
            "carried": urlencode(carried(request.query, view)),
            "known": role is not None,
            "shares": role not in {None, Role.READER},
            "downloads": (
                [*downloads(pinned, view, root_of(request), manifest.name)]
                if content.figures
                else []
            ),
        }
        plain = view.of_epochs and "against" not in view.takes and subject.epochs is None
        values["so_far"] = await site.so_far(subject) if plain else ("", "")
        changing = ("answered", "so_far", "downloads")
        state = (content, *(values[name] for name in changing))
        values["shown"] = sha256(repr(state).encode()).hexdigest()[:16]
        if script and headers.get("Shown-Figures") == values["shown"]:
            return web.Response(status=204)  # nothing has changed
        # If only time has passed, and nothing was chosen, only figures change.
        values["fragment"] = script and headers.get("HX-Trigger") != "live"
        if script and not values["fragment"]:
            return page("live.html", **values)

        async def listed() -> tuple[Controls, list[ListedEpoch], Sequence[range]]:
            # In a thread: there may be 65,536 answers to search.
            controls = await to_thread(Controls.of, request, subject.surveys, view)
            if script or not view.of_epochs:
                return controls, [], older
            epochs = await shown_epochs(site.store, manifest, site.clock(), MOST_LISTED)
            first = epochs[0].number if epochs else None
            return controls, epochs, [await older_epochs(site.store, manifest, first)]

        in_turn = subject.estimating.in_turn
        values["controls"], epochs, left_out = await in_turn(request, listed)
        if script:
            return page("live.html", **values)
        across, dated = view.across or "against" in view.takes, subject.epochs
        whole = bool(dated and len(dated) > 1 and epochs and dated[0] <= epochs[0].number)
        return page(
            "survey.html",
            content.status,
            **values,
            tabs=[*tabs(request, manifest.name, whole=whole)],
            unseen=unseen(request.query, view, values["version"]),
            levels=LEVELS,
            views=VIEWS,
            epochs=[*epoch_choices(manifest, epochs, together="against" not in view.takes)],
            complete=any(epoch.n and epoch.state.over for epoch in epochs) or not epochs,
            ranges=[*ranges_to_compare(manifest, epochs, site.clock())],
            others=[*self._others(manifest, every=values["shares"]), *self._other_side(manifest)],
            notes=note_names(await site.store.notes(manifest.name)) if across else (),
            older=[left for left in left_out if left],
            survey=request.query.get("survey", ""),
            versions=[one async for one in self._versions(manifest.name)],
            privacy=[*_privacy_lines(manifest)],
            in_numbers=summary(manifest)[1],
        )

    def _others(self, manifest: Manifest, *, every: bool) -> Iterator[tuple[str, str]]:
        """Yield surveys for comparison with a survey, each as an id or a name, and a text."""
        catalogue = self.site.catalogue
        for other in catalogue.named(manifest.name):
            if other != manifest and {*other.categories} & {*manifest.categories}:
                yield other.survey_id.hex()[:12], self.site.version(other)
        for other in catalogue.newest():
            alike = other.name != manifest.name and other.categories == manifest.categories
            if alike and (every or catalogue.is_public(other.name)):
                yield other.name, ": ".join(filter(None, (other.name, other.question)))

    def _other_side(self, manifest: Manifest) -> Iterator[tuple[str, str]]:
        """Yield the chosen epochs of another survey, or of another version, with their name."""
        text = self.request.query.get("against", "")
        which, apart, dates = text.partition(":")
        if not apart or text.startswith(ACROSS):
            return
        catalogue, now = self.site.catalogue, self.site.clock()
        for other in (*catalogue.named(manifest.name), *catalogue.named(which)[:1]):
            if which in {other.survey_id.hex()[:12], other.name}:
                with suppress(ValueError):  # it has no such epochs
                    period = dates_text(other.schedule, epoch_range(dates, other.schedule, now))
                    alike = other.name == manifest.name
                    yield text, f"{version_text(other.sequence) if alike else other.name}, {period}"

    async def _versions(self, name: str) -> AsyncIterator[tuple[Manifest, str, str, str]]:
        """Yield the surveys of a name, newest first, with their changes, if there are several.

        Each has the query that compares its first epoch with the last one before the update.
        """
        named = self.site.catalogue.named(name)
        if len(named) > 1:
            from deniable.publishing.changes import changed_text

            for survey, before in zip_longest(named, named[1:]):
                changed = "" if before is None else changed_text(before, survey)
                update = "" if before is None else await self._update(survey, before)
                yield survey, self.site.version(survey), changed, update

    async def _update(self, survey: Manifest, before: Manifest) -> str:
        """Return the query for the epochs on both sides of an update; "" if one has no figures."""
        ours, theirs = [await older_epochs(self.site.store, one, None) for one in (survey, before)]
        if not (ours and theirs and len(asked_alike(survey, (survey, before))) > 1):
            return ""
        old, began = before.schedule, survey.schedule.epoch_start(ours.start)
        last = min(theirs.stop, (began - old.start) // old.epoch_seconds) - 1
        against = f"{before.survey_id.hex()[:12]}:{dates_of(before, [last])}"
        sides = {"epoch": dates_of(survey, [ours.start]), "against": against}
        query = urlencode({"survey": survey.survey_id.hex()[:12], **sides})
        return query if last in theirs else ""


def dates_of(survey: Manifest, epochs: Sequence[int]) -> str:
    """Return the text that selects epochs of a survey, whichever epoch is the newest."""
    return asked_text(survey.schedule, range(min(epochs), max(epochs) + 1))


def so_far_text(manifest: Manifest, reports: int) -> str:
    """Return the number of reports of the open epoch in words."""
    return f"This {unit_text(manifest.schedule)} so far: {reports:,} report{'s' * (reports != 1)}"


def epoch_health(schedule: Schedule, epoch: EpochCounts) -> Iterator[Fact]:
    """Yield the time until which the figures of an epoch change."""
    until = f"yes, until {date_text(schedule.closes(epoch.epoch), time=True)}"
    yield Fact(dates_text(schedule, [epoch.epoch]), "no" if epoch.standing.state.closed else until)


def _privacy_lines(manifest: Manifest) -> Iterator[str]:
    """Yield the lines on privacy, in the words for users."""
    dice, _, consent = summary(manifest)
    yield dice
    yield guess(manifest.mechanism.privacy.guess, str)
    yield from [*learnt(manifest, str)][1:]  # the first line is about all devices
    yield consent
