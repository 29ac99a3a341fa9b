"""A request for a page, with all that its answer may be made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from deniable.directory import Config
from deniable.messages import Manifest
from deniable.reading import instant_text
from deniable.server.operations.metrics import Meters
from deniable.server.pages.rendering import page, root_of
from deniable.server.pages.table import Page
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.figures import Asked, Figures
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
        figures = self.site.figures
        asked = figures.asked_across if self.page.across else figures.asked
        return await asked(self.request, self.name)

    def shown(self, status: int = 200, **values: Any) -> web.Response:
        """Return the page as a whole."""
        return page(self.page.template, status, root=root_of(self.request), **values)


def is_script(request: web.BaseRequest) -> bool:
    """Return whether a page that is open asks for what changes of it."""
    headers = request.headers
    return "HX-Request" in headers and "HX-History-Restore-Request" not in headers


def here(request: web.BaseRequest) -> dict[str, str]:
    """Return where a page is, relative to itself."""
    # As it came: in a decoded one, "C#" ends the query.
    url = request.rel_url
    return {"here": url.raw_path.rpartition("/")[2], "query": url.raw_query_string}
