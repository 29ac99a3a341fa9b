"""Who answers with pages: what the table names, given all that an answer may be made of."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pkgutil import resolve_name
from typing import Any

from aiohttp import web

from deniable.directory import Config
from deniable.messages import Manifest
from deniable.reading import instant_text
from deniable.server.operations.metrics import Meters
from deniable.server.pages.rendering import page, root_of
from deniable.server.pages.table import PAGES, Page
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.figures import Asked, Figures
from deniable.server.routes.routing import Handler
from deniable.stores import Store


@dataclass(frozen=True, slots=True)
class Site:
    """What the pages of a collector tell of."""

    config: Config
    store: Store
    catalogue: Catalogue
    figures: Figures
    clock: Callable[[], float]
    meters: Meters

    def handlers(self) -> dict[str, Handler]:
        """Return who answers with pages, by path."""
        return {
            page.path: partial(self._visited, page, resolve_name(f"{__package__}.{page.answer}"))
            for page in PAGES
        }

    async def _visited(
        self, page: Page, answer: "Answer", request: web.BaseRequest, name: str
    ) -> web.Response:
        # A form leaves parameters empty.
        kept = [(key, value) for key, value in request.query.items() if value]
        if len(kept) < len(request.query):
            request = request.clone(rel_url=request.rel_url.with_query(kept))
        return await answer(Visit(self, page, request, name))

    def standing(self, manifest: Manifest, now: float) -> str:
        """Return where a survey is in its life, in words."""
        schedule = manifest.schedule
        if self.catalogue.ended_at(manifest) is not None:
            return "ended"
        if now < schedule.start:
            return f"begins {instant_text(schedule.start)}"
        if now >= schedule.end:
            return "over"
        epoch = int((now - schedule.start) // schedule.epoch_seconds)
        return f"epoch {epoch} is open, the last is {schedule.epochs - 1}"


@dataclass(frozen=True, slots=True)
class Visit:
    """One request for a page, and what stands for {name} in its path."""

    site: Site
    page: Page
    request: web.BaseRequest
    name: str

    async def asked(self) -> Asked:
        """Return what a page of a survey is about; Refusal if that may not be seen."""
        return await self.site.figures.asked(self.request, self.name, across=self.page.across)

    def shown(self, status: int = 200, **values: Any) -> web.Response:
        """Return the page as a whole."""
        return page(self.page.template, status, root=root_of(self.request), **values)


Answer = Callable[[Visit], Awaitable[web.Response]]
