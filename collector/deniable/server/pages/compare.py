"""What changed from one epoch of a survey to another."""

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from deniable.directory import shown_counts
from deniable.reading import EpochCounts
from deniable.server.pages.controls import asked_groups
from deniable.server.pages.health import epoch_health
from deniable.server.pages.survey import Content, estimated, message, survey_page
from deniable.server.pages.visit import Visit
from deniable.server.routes.figures import Asked
from deniable.server.routes.parameters import asked_epochs, asked_level


async def compare(visit: Visit) -> web.Response:
    """Answer with the differences of two epochs, as a chart and in numbers."""
    request = visit.request
    asked = await visit.asked()
    level, groups = asked_level(request), asked_groups(request)
    against = None
    if "against" in request.query:
        other = request.clone(
            rel_url=request.rel_url.update_query({"epoch": request.query["against"]})
        )
        against = asked_epochs(other, asked.newest, 1)
    if against is None:
        content = message("Choose the epoch to compare with.")
    else:
        content = await _compared(visit, asked, against, level, groups)
    return await survey_page(visit, asked, content)


async def _compared(
    visit: Visit, asked: Asked, against: range, level: float, groups: tuple[str, ...]
) -> Content:
    site, wanted = visit.site, visit.request.query.get("find", "")

    async def read(asked: Asked) -> Sequence[EpochCounts]:
        before = await shown_counts(site.store, asked.newest, against, site.clock())
        shown = await site.figures.shown(asked)
        return [*before, *shown] if before and shown else ()

    def values(shown: Sequence[EpochCounts]) -> dict[str, Any]:
        from deniable.estimates import histogram_of
        from deniable.estimates.comparison import compare
        from deniable.server.pages.shown import largest_shares, named_epochs, shown_changes

        one = histogram_of(asked.newest, shown[:1], level)
        other = histogram_of(asked.newest, shown[1:], level)
        found: list[str] = []
        if not groups and other.values is None:
            found = largest_shares((one, other), wanted, everywhere=True)
        names = set(found[: visit.page.most])
        among = [name for name in other.categories if name in names]
        compared = compare(other, list(groups) or None, one, among)
        return {
            "shown": shown_changes(compared, found),
            "units": "percentage points" if other.values is None else "the units of the answers",
            "level": level,
            "now": named_epochs(other),
            "before": named_epochs(one),
            "sentence": compared.rows[0].estimate.sentence if groups else "",
            "health": [*epoch_health(asked.newest.schedule, shown[-1])],
        }

    return await estimated(visit, asked, (level, groups, wanted, against), values, read)
