"""The page on which an analyst makes links to a survey's figures, and revokes them."""

from aiohttp import web

from deniable.directory.tokens import MOST_DAYS, links, new_link
from deniable.messages import Refusal, RefusalCode
from deniable.server.pages.entrance import read_form, see
from deniable.server.pages.handlers import Visit
from deniable.server.pages.rendering import page, root_of
from deniable.server.routes.parameters import asked_survey
from deniable.server.routes.tokens import require_role
from deniable.stores import Role


async def share(visit: Visit) -> web.Response:
    """Answer with the links to a survey's figures, make one, or revoke one."""
    site, request, now = visit.site, visit.request, visit.site.clock()
    await require_role(request, site.store, Role.ANALYST, now)
    manifest, link = await asked_survey(request, site.catalogue, visit.name), ""
    if request.method == "POST":
        form = await read_form(request)
        if "revoke" in form:
            for token in await links(site.store, manifest.name):
                if token.digest.hex() == form["revoke"]:
                    await site.store.revoke_token(token.digest)
            return see(request, visit.page.address(manifest.name))
        days, label = form.get("days", ""), form.get("label", "")
        known = days.isdecimal() and days.isascii() and len(days) <= len(str(MOST_DAYS))
        if not (known and 1 <= int(days) <= MOST_DAYS):
            raise Refusal(RefusalCode.MALFORMED, f"days must be in 1 to {MOST_DAYS}")
        if not label.isprintable() or len(label) > 100:
            raise Refusal(RefusalCode.MALFORMED, "of whom it is for, write one line")
        link = await new_link(site.store, manifest.name, int(days), label, now)
    return page(
        visit.page.template,
        root=root_of(request),
        known=True,
        **site.head(manifest),
        link=link,
        origin=site.config.origin,
        links=[(token, token.runs(now)) for token in await links(site.store, manifest.name)],
        most=MOST_DAYS,
    )
