"""The views of a survey: what each asks for, and what its template is filled in with."""

from asyncio import to_thread
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from deniable.directory import older_epochs, shown_counts
from deniable.directory.health import epoch_health
from deniable.reading import VIEWS, EpochCounts
from deniable.server.pages.controls import EPSILONS, WIDTHS, asked_groups, free_epsilon
from deniable.server.pages.handlers import Content, Visit, message
from deniable.server.pages.rendering import rendered
from deniable.server.pages.table import AT_ONCE
from deniable.server.routes.figures import Subject, check_view, to_the_end
from deniable.server.routes.parameters import asked_choice, asked_epochs, asked_level


async def figures(visit: Visit) -> web.Response:
    """Answer with a histogram, as a chart and in numbers."""
    subject, request = await visit.subject(), visit.request
    level, view = asked_level(request), asked_choice(request, "view", VIEWS)
    groups, wanted = asked_groups(request), request.query.get("find", "")
    raw, at_once = "raw" in request.query, AT_ONCE in request.query

    def values(counts: Sequence[EpochCounts]) -> dict[str, Any]:
        from deniable.estimates import View, histogram_of
        from deniable.estimates.cautions import named_epochs
        from deniable.server.pages.shown import shown_figures, shown_raw

        check_view(subject.newest, view)
        histogram = histogram_of(subject.newest, counts, level)
        return {
            "histogram": histogram,
            "shown": shown_figures(histogram, View(view), groups, wanted, simultaneous=at_once),
            "raw": shown_raw(histogram) if raw else (),
            "responses": len(histogram.raw),
            "view": view,
            "when": named_epochs(histogram.epochs),
            "health": [*epoch_health(subject.newest.schedule, counts[-1])],
        }

    choices = (level, view, groups, wanted, raw, at_once)
    return await visit.view(subject, await visit.estimated(subject, choices, values))


async def chart(visit: Visit) -> web.Response:
    """Answer with the chart, as a file."""
    subject, request = await visit.subject(), visit.request
    level, view = asked_level(request), asked_choice(request, "view", VIEWS)
    wanted, at_once = request.query.get("find", ""), AT_ONCE in request.query

    def packed(counts: Sequence[EpochCounts]) -> bytes:
        from deniable.estimates import View, histogram_of
        from deniable.estimates.charts import standalone
        from deniable.server.pages.shown import drawn

        check_view(subject.newest, view)
        histogram = histogram_of(subject.newest, counts, level)
        return standalone(drawn(histogram, View(view), wanted, simultaneous=at_once)).encode()

    what = ("chart", level, view, wanted, at_once)
    body = await visit.site.figures.made(request, subject, what, packed)
    headers = {"Content-Disposition": f'attachment; filename="{visit.name}.svg"'}
    return web.Response(body=body, content_type=visit.page.media, headers=headers)


async def series(visit: Visit) -> web.Response:
    """Answer with the figures of all surveys of a name, epoch by epoch."""
    subject, request, site = await visit.subject(), visit.request, visit.site
    level, groups = asked_level(request), asked_groups(request)
    wanted = request.query.get("find", "")
    older: list[range] = []

    async def read(subject: Subject) -> Sequence[EpochCounts]:
        counts = await site.figures.across(subject)
        for manifest in subject.surveys if subject.epochs is None else ():
            own = [epoch.epoch for epoch in counts if epoch.survey_id == manifest.survey_id]
            older.append(await older_epochs(site.store, manifest, min(own, default=None)))
        return counts

    def values(counts: Sequence[EpochCounts]) -> dict[str, Any]:
        from deniable.estimates import series_of
        from deniable.server.pages.shown import shown_series

        made = series_of(visit.name, subject.surveys, counts, level)
        return {"shown": shown_series(made, groups, wanted, most=visit.page.most), "level": level}

    content = await visit.estimated(subject, (level, groups, wanted), values, read)
    return await visit.view(subject, content, older)


async def compare(visit: Visit) -> web.Response:
    """Answer with the changes from one epoch to another."""
    subject, request, site = await visit.subject(), visit.request, visit.site
    level, groups = asked_level(request), asked_groups(request)
    query, wanted = request.query, request.query.get("find", "")
    if "against" not in query:
        return await visit.view(subject, message("Choose the epoch to compare with."))
    other = request.clone(rel_url=request.rel_url.update_query({"epoch": query["against"]}))
    against = asked_epochs(other, subject.newest, 1)

    async def read(subject: Subject) -> Sequence[EpochCounts]:
        before = await shown_counts(site.store, subject.newest, against, site.clock())
        counts = await site.figures.epoch_counts(subject)
        return [*before, *counts] if before and counts else ()

    def values(counts: Sequence[EpochCounts]) -> dict[str, Any]:
        from deniable.estimates import histogram_of
        from deniable.estimates.cautions import named_epochs
        from deniable.estimates.comparison import compare
        from deniable.server.pages.shown import largest_shares, shown_changes

        one = histogram_of(subject.newest, counts[:1], level)
        other = histogram_of(subject.newest, counts[1:], level)
        largest: list[str] = []
        if not groups and other.values is None:
            largest = largest_shares((one, other), wanted, everywhere=True)
        names = set(largest[: visit.page.most])
        among = [name for name in other.categories if name in names]
        compared = compare(other, list(groups) or None, one, among)
        return {
            "shown": shown_changes(compared, largest),
            "units": "percentage points" if other.values is None else "the units of the answers",
            "level": level,
            "now": named_epochs(other.epochs),
            "before": named_epochs(one.epochs),
            "sentence": compared.rows[0].estimate.sentence if groups else "",
            "health": [*epoch_health(subject.newest.schedule, counts[-1])],
        }

    content = await visit.estimated(subject, (level, groups, wanted, against), values, read)
    return await visit.view(subject, content)


async def plan(visit: Visit) -> web.Response:
    """Answer with the ways to ask, and the reports that each takes."""
    subject, request = await visit.subject(), visit.request
    width = asked_choice(request, "width", WIDTHS)
    epsilon = asked_choice(request, "epsilon", EPSILONS)

    def made() -> str:
        from deniable.estimates import Accuracy
        from deniable.planning import plan, republished

        values = (survey := subject.newest).values
        span = 1.0 if values is None else float(values[-1] - values[0])
        accuracy = Accuracy.half_width(span * float(width))
        own, free = plan(survey, accuracy), free_epsilon(survey)
        others = plan(republished(survey, epsilon), accuracy) if free else own
        return rendered(visit.page.template, own=own, others=others, free=free, width=width)

    body = await to_the_end(subject.estimating.in_turn(request, lambda: to_thread(made)))
    return await visit.view(subject, Content(body))
