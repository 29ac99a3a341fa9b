"""The figures of all surveys of a name, epoch by epoch."""

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from deniable.directory import older_epochs
from deniable.reading import EpochCounts
from deniable.server.pages.controls import asked_groups
from deniable.server.pages.survey import estimated, survey_page
from deniable.server.pages.visit import Visit
from deniable.server.routes.figures import Asked
from deniable.server.routes.parameters import asked_level


async def series(visit: Visit) -> web.Response:
    """Answer with a series, as charts and in numbers."""
    request, site, name = visit.request, visit.site, visit.name
    asked = await visit.asked()
    level, groups = asked_level(request), asked_groups(request)
    wanted = request.query.get("find", "")

    def values(shown: Sequence[EpochCounts]) -> dict[str, Any]:
        from deniable.estimates import series_of
        from deniable.server.pages.shown import shown_series

        found = series_of(name, asked.surveys, shown, level)
        return {"shown": shown_series(found, groups, wanted), "level": level}

    older: list[range] = []

    async def read(asked: Asked) -> Sequence[EpochCounts]:
        shown = await site.figures.across(asked)
        for manifest in asked.surveys if asked.epochs is None else ():
            own = [each.epoch for each in shown if each.survey_id == manifest.survey_id]
            older.append(await older_epochs(site.store, manifest, min(own, default=None)))
        return shown

    content = await estimated(visit, asked, (level, groups, wanted), values, read)
    return await survey_page(visit, asked, content, older)
