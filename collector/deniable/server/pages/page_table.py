"""All pages in one table: the basis of routes, tabs, controls, redirects and metrics."""

import re
from dataclasses import dataclass
from typing import Final

from deniable.reading import MOST_ROWS
from deniable.server.routes.routing import CSV, HTML, JSON, SVG, Route

OF_SURVEY: Final = "/surveys/{name}"
_CHART: Final = f"{OF_SURVEY}/chart.svg"
_DIFFERENCES: Final = f"{OF_SURVEY}/differences.svg"
_COMPARED: Final = 20
_CHARTED: Final = ("epoch", "survey", "level", "view", "find")
_QUESTIONS: Final = (
    *("survey", "epoch", "level", "ask", "answer", "given", "than", "other", "last"),
    *("leaders", "question", "rows", "columns", "of", "quantile"),
)
_ESTIMATES: Final = ("survey", "epoch", "level", "find", "group")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Route):
    """A page for people, or a part of pages; not part of the interface for programs."""

    summary: str = ""
    parameters: tuple[str, ...] | None = None
    media: str = HTML
    answer: str  # the answering function, as ``module:function`` of this package
    tab: str = ""  # the title of its tab, if the page is a view of a survey
    takes: tuple[str, ...] = ()  # query parameters that can be chosen on the page
    of_epochs: bool = False  # whether the survey's possible epochs are offered
    across: bool = False  # whether all surveys of the name are shown, unless one is selected
    most: int = MOST_ROWS  # the number of answers shown; others are found by name, or downloaded
    document: bool = False  # whether the template is that of all documents
    downloads: tuple[str, ...] = ()  # paths of routes and pages with the same figures

    @property
    def kind(self) -> str:
        """Return the name of the page for scripts and styles."""
        return self.path.removeprefix(OF_SURVEY).lstrip("/") or "survey"

    @property
    def template(self) -> str:
        """Return the file of the template: that of documents, or a file named like the function."""
        return "document.html" if self.document else f"{self.answer.partition(':')[2]}.html"

    def address(self, name: str) -> str:
        """Return the address of the page of a survey, from the collector's root."""
        return self.path.replace("{name}", name).lstrip("/")


PAGES: Final[tuple[Page, ...]] = (
    Page("/", answer="entrance:surveys"),
    Page("/login", answer="entrance:login", form=True, takes=("next",)),
    Page("/share", answer="entrance:shared", form=True),
    Page("/logout", answer="entrance:logout", method="POST"),
    Page("/static/{name}", answer="entrance:static"),
    Page(
        OF_SURVEY,
        answer="views:figures",
        tab="Figures",
        document=True,
        takes=(*_ESTIMATES, "view", "raw", "limit"),
        of_epochs=True,
        downloads=("/v1/surveys/{name}/histogram", _CHART),
    ),
    Page(
        f"{OF_SURVEY}/series",
        answer="views:series",
        tab="Over time",
        document=True,
        takes=_ESTIMATES,
        across=True,
        most=12,
        downloads=("/v1/surveys/{name}/series",),
    ),
    Page(
        f"{OF_SURVEY}/compare",
        answer="views:compare",
        tab="Compare",
        document=True,
        takes=(*_ESTIMATES, "against", "quantile"),
        of_epochs=True,
        most=_COMPARED,
        downloads=("/v1/surveys/{name}/comparison", _DIFFERENCES),
    ),
    Page(
        f"{OF_SURVEY}/ask",
        answer="ask:ask",
        tab="Ask",
        document=True,
        takes=_QUESTIONS,
        of_epochs=True,
        downloads=(f"{OF_SURVEY}/ask.json", f"{OF_SURVEY}/ask.csv"),
    ),
    Page(f"{OF_SURVEY}/ask.json", media=JSON, answer="ask:ask_file", takes=_QUESTIONS),
    Page(f"{OF_SURVEY}/ask.csv", media=CSV, answer="ask:ask_file", takes=_QUESTIONS),
    Page(
        f"{OF_SURVEY}/plan", answer="views:plan", tab="Plan", takes=("survey", "width", "epsilon")
    ),
    Page(f"{OF_SURVEY}/about", answer="entrance:about"),
    Page(f"{OF_SURVEY}/share", answer="entrance:share", form=True),
    Page(f"{OF_SURVEY}/line", answer="views:line"),
    Page(_CHART, media=SVG, answer="views:chart", takes=_CHARTED),
    Page(
        _DIFFERENCES,
        media=SVG,
        answer="views:difference_chart",
        takes=(*_ESTIMATES, "against", "quantile"),
        most=_COMPARED,
    ),
)


def is_view(place: str, name: str = "[a-z0-9-]+") -> bool:
    """Return whether a place, from the collector's root, is a view of a survey, or of this one."""
    views = "|".join(re.escape(page.address("\n")) for page in PAGES if page.tab)
    pattern = rf"({views})(\?[!-~]*)?".replace("\\\n", name)
    return re.fullmatch(pattern, place, re.ASCII) is not None
