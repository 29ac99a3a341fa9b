"""Who answers with pages: what the table names."""

from pkgutil import resolve_name

from aiohttp import web

from deniable.server.pages.table import PAGES, Page
from deniable.server.pages.visit import Site, Visit
from deniable.server.routes.routing import Handler


def page_handlers(site: Site) -> dict[str, Handler]:
    """Return who answers with pages, by path."""
    return {page.path: _handler(site, page) for page in PAGES}


def _handler(site: Site, page: Page) -> Handler:
    answer = resolve_name(f"{__package__}.{page.answer}")

    async def handle(request: web.BaseRequest, name: str) -> web.Response:
        answered: web.Response = await answer(Visit(site, page, _without_empty(request), name))
        return answered

    return handle


def _without_empty(request: web.BaseRequest) -> web.BaseRequest:
    """Return a request without the parameters that a form leaves empty."""
    kept = [(key, value) for key, value in request.query.items() if value]
    if len(kept) == len(request.query):
        return request
    return request.clone(rel_url=request.rel_url.with_query(kept))
