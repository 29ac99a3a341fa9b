"""A survey's figures, and their chart by itself."""

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from deniable.reading import VIEWS, EpochCounts
from deniable.server.pages.controls import asked_groups
from deniable.server.pages.health import epoch_health
from deniable.server.pages.survey import estimated, survey_page
from deniable.server.pages.table import AT_ONCE
from deniable.server.pages.visit import Visit
from deniable.server.routes.figures import check_view
from deniable.server.routes.parameters import asked_choice, asked_level


async def figures(visit: Visit) -> web.Response:
    """Answer with a histogram, as a chart and in numbers."""
    request = visit.request
    asked = await visit.asked()
    level, view = asked_level(request), asked_choice(request, "view", VIEWS)
    groups, wanted = asked_groups(request), request.query.get("find", "")
    raw, at_once = "raw" in request.query, AT_ONCE in request.query

    def values(shown: Sequence[EpochCounts]) -> dict[str, Any]:
        from deniable.estimates import View, histogram_of
        from deniable.server.pages.shown import named_epochs, shown_figures, shown_raw

        check_view(asked.newest, view)
        histogram = histogram_of(asked.newest, shown, level)
        return {
            "histogram": histogram,
            "shown": shown_figures(histogram, View(view), groups, wanted, simultaneous=at_once),
            "raw": shown_raw(histogram) if raw else (),
            "responses": len(histogram.raw),
            "view": view,
            "when": named_epochs(histogram),
            "health": [*epoch_health(asked.newest.schedule, shown[-1])],
        }

    choices = (level, view, groups, wanted, raw, at_once)
    return await survey_page(visit, asked, await estimated(visit, asked, choices, values))


async def chart(visit: Visit) -> web.Response:
    """Answer with the chart, as a file."""
    request = visit.request
    asked = await visit.asked()
    level, view = asked_level(request), asked_choice(request, "view", VIEWS)
    wanted, at_once = request.query.get("find", ""), AT_ONCE in request.query

    def packed(shown: Sequence[EpochCounts]) -> bytes:
        from deniable.estimates import View, histogram_of
        from deniable.estimates.charts import standalone
        from deniable.server.pages.shown import drawn

        check_view(asked.newest, view)
        histogram = histogram_of(asked.newest, shown, level)
        return standalone(drawn(histogram, View(view), wanted, simultaneous=at_once)).encode()

    what = ("chart", level, view, wanted, at_once)
    body = await visit.site.figures.made(request, asked, what, packed)
    named = f'attachment; filename="{visit.name}.svg"'
    headers = {"Content-Disposition": named}
    return web.Response(body=body, content_type=visit.page.media, headers=headers)
