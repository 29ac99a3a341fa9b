"""Every page: one table, which routes, tabs, controls, the login's redirects and metrics follow."""

import re
from dataclasses import dataclass
from typing import Final

from deniable.reading import MOST_ROWS
from deniable.server.pages.limits import MOST_COMPARED, MOST_PANELS
from deniable.server.routes.routing import HTML, SVG, Route

AT_ONCE: Final = "simultaneous"
"""Of a query for intervals that hold for all answers at once."""

OF_SURVEY: Final = "/surveys/{name}"
_CHART: Final = f"{OF_SURVEY}/chart.svg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Route):
    """One page for people, or what pages consist of: no part of the interface for programs."""

    media: str = HTML
    answer: str  # who answers, as ``module:function`` of this package
    template: str = ""
    tab: str = ""  # what stands in its tab: it is a view of a survey
    takes: tuple[str, ...] = ()  # parameters of its query
    of_epochs: bool = False  # the epochs that it can be of are offered
    across: bool = False  # it is of all surveys of the name, unless one is asked for
    most: int = MOST_ROWS  # how many answers it shows
    downloads: tuple[str, ...] = ()  # paths of routes and pages that have the same figures

    @property
    def kind(self) -> str:
        """Return what scripts and styles know it by."""
        return self.path.removeprefix(OF_SURVEY).lstrip("/") or "survey"

    def address(self, name: str) -> str:
        """Return where it is of a survey, from the collector's root."""
        return self.path.replace("{name}", name).lstrip("/")


PAGES: Final[tuple[Page, ...]] = (
    Page("/", "the surveys", answer="surveys:surveys", template="list.html"),
    Page(
        "/login",
        "where a token begins a session",
        form=True,
        answer="login:login",
        template="login.html",
        takes=("next",),
    ),
    Page("/logout", "ends it", method="POST", answer="login:logout"),
    Page("/static/{name}", "a stylesheet or script", answer="rendering:static"),
    Page(
        OF_SURVEY,
        "a survey's figures",
        answer="figures:figures",
        template="figures.html",
        tab="Figures",
        takes=("survey", "epoch", "level", "view", "raw", AT_ONCE, "find", "group"),
        of_epochs=True,
        downloads=("/v1/surveys/{name}/histogram", _CHART),
    ),
    Page(
        f"{OF_SURVEY}/series",
        "them epoch by epoch",
        answer="series:series",
        template="series.html",
        tab="Over time",
        takes=("survey", "epoch", "level", "find", "group"),
        across=True,
        most=MOST_PANELS,
        downloads=("/v1/surveys/{name}/series",),
    ),
    Page(
        f"{OF_SURVEY}/compare",
        "two of its epochs",
        answer="compare:compare",
        template="compare.html",
        tab="Compare",
        takes=("survey", "epoch", "against", "level", "find", "group"),
        of_epochs=True,
        most=MOST_COMPARED,
    ),
    Page(
        f"{OF_SURVEY}/plan",
        "how many reports figures take",
        answer="plan:plan",
        template="plan.html",
        tab="Plan",
        takes=("survey", "width", "epsilon"),
    ),
    Page(
        _CHART,
        "its chart",
        media=SVG,
        answer="figures:chart",
        takes=("survey", "epoch", "level", "view", "find", AT_ONCE),
    ),
)


def tabs() -> list[Page]:
    """Return the views of a survey."""
    return [page for page in PAGES if page.tab]


def is_view(place: str) -> bool:
    """Return whether a place, from the collector's root, is a view of a survey."""
    views = "|".join(re.escape(tab.address("\n")).replace("\\\n", "[a-z0-9-]+") for tab in tabs())
    return re.fullmatch(rf"({views})(\?[!-~]*)?", place, re.ASCII) is not None
