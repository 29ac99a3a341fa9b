"""The first page: what is being asked."""

from aiohttp import web

from deniable.messages import is_simulated
from deniable.server.pages.visit import Visit
from deniable.server.routes.tokens import held_role


async def surveys(visit: Visit) -> web.Response:
    """Answer with the newest survey of each name."""
    site = visit.site
    await site.catalogue.reread()
    known = await held_role(visit.request, site.store) is not None
    now = site.clock()
    listed = [
        {
            "manifest": manifest,
            "standing": site.standing(manifest, now),
            "public": manifest.name in site.config.public,
            "simulated": is_simulated(manifest.name),
        }
        for manifest in site.catalogue.newest()
    ]
    return visit.shown(known=known, surveys=listed)
