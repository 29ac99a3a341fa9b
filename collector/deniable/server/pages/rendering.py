"""Rendering of a page: its controls, and HTML with escaped texts and relative links."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from aiohttp import web

from deniable.documents import Document, level_text, with_minus
from deniable.documents.html import document_html, escape
from deniable.mechanisms.answering import answer_labels
from deniable.messages import Manifest, Schedule
from deniable.planning.words import promise_text
from deniable.reading import CANNOT_BE_ASKED, ListedEpoch, instant_text
from deniable.reading.epochs import (
    UNITS,
    asked_text,
    dates_text,
    duration_text,
    epoch_range,
    unit_text,
)
from deniable.reading.source import most_epochs
from deniable.server.pages.page_table import PAGES, Page
from deniable.server.routes.requests import asked_groups
from deniable.server.routes.routing import FORMATS, HTML, ROUTES

if TYPE_CHECKING:
    from jinja2 import Environment
    from multidict import MultiMapping

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    # Without a referrer, forms would be sent with the origin "null".
    "Referrer-Policy": "same-origin",
}
_WIDTHS: Final = {"wide": 720, "narrow": 360}
"""Widths of a chart beside its labels, and of one on a phone."""


def rendered(template: str, **values: Any) -> str:
    """Return a template filled in."""
    return _environment().get_template(template).render(values)


def page(template: str, status: int = 200, **values: Any) -> web.Response:
    """Return a whole page, which no other page may frame."""
    body = rendered(template, **values)
    return web.Response(
        status=status, text=body, content_type=HTML, charset="utf-8", headers=_HEADERS
    )


def root_of(request: web.BaseRequest) -> str:
    """Return the relative path from a page to the root of the collector's paths."""
    # The path as received: an encoded slash is not a slash.
    return "../" * (request.rel_url.raw_path.count("/") - 1) or "./"


def is_script(request: web.BaseRequest) -> bool:
    """Return whether an open page requests its changing part."""
    headers = request.headers
    return "HX-Request" in headers and "HX-History-Restore-Request" not in headers


def here(request: web.BaseRequest) -> dict[str, str]:
    """Return a page's location, relative to itself."""
    # As received: in a decoded one, "C#" ends the query.
    url = request.rel_url
    return {"here": url.raw_path.rpartition("/")[2], "query": url.raw_query_string}


def _document(
    document: Document,
    *,
    folded: bool = False,
    lead: str = "",
    links: Sequence[tuple[str, str]] = (),
) -> str:
    """Return a document as HTML, with its chart for wide pages and for phones, and links below."""
    chart = ""
    if document.chart is not None:
        chart = "".join(
            f'<div class="chart {kind}">{document.chart(width)}</div>\n'
            for kind, width in _WIDTHS.items()
        )
    texts = ", ".join(f'<a href="{escape(to)}">{escape(text)}</a>' for text, to in links)
    chart += f'<p class="note">{lead} {texts}</p>\n' * bool(links)
    return document_html(document, chart, folded=folded, heading=explained)


GLOSSARY: Final = {
    "debiased": "calculated so that the noise of the devices cancels out on average",
    "epoch": "the time slice in which a device reports at most once per survey",
    "epsilon": "a measure of what one report reveals: it changes the odds of one answer over "
    "another by a factor of at most e^epsilon; smaller is more private",
    "interval": "the range of values that fit the reports; allowing only for chance, 95 % "
    "intervals contain the truth in at least 95 of 100 such surveys",
    "noise": "the random change that a device makes to its answer before sending it",
}
"""The terms that a page explains, in the words of docs/glossary.md."""
_TERMS: Final = re.compile(rf"\b({'|'.join(GLOSSARY)})\b", re.IGNORECASE)


def explained(text: str) -> str:
    """Return a text as HTML; its first term shows a definition when pointed at or pressed."""
    return _TERMS.sub(_term, escape(text), count=1)


def _term(word: re.Match[str]) -> str:
    term = word[1].lower()
    link = f'popovertarget="term-{term}" title="{GLOSSARY[term]}"'
    return f'<button type="button" class="term" {link}>{word[1]}</button>'


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["cannot_be_asked"] = CANNOT_BE_ASKED
    environment.filters["count"] = lambda number: f"{number:,}"
    environment.filters["instant"] = instant_text
    environment.filters["dates"] = dates_text
    environment.filters["boxed"] = box_text
    environment.filters["unit"] = unit_text
    environment.filters["promise"] = promise_text
    environment.filters["html"] = _document
    environment.filters["explained"] = explained
    environment.globals["glossary"] = GLOSSARY
    return environment


MOST_LISTED: Final = 1024
"""Answers in a list of choices; with more, the answer is typed."""

_MOST_LEADERS: Final = 50

MOST_CELLS: Final = 200
"""Cells of a table of two questions; more take too long here."""


@dataclass(frozen=True, slots=True)
class Asking:
    """The available questions about a survey, and the chosen one.

    Attributes:
        kinds: keys and titles of the questions; kind: the key of the chosen one.
        answers: the available answers, if not too many; for several questions, with the questions.
        questions: names of the survey's questions, if it has several.
        query: the choices; without any, the first two groups, or the upper half of a range.
        affirmed: the yes answers, if separate yes/no questions are to be ranked.
        most: the largest number of leaders, one fewer than there are answers.
    """

    kinds: tuple[tuple[str, str], ...]
    kind: str
    answers: tuple[str, ...]
    questions: tuple[str, ...]
    query: Mapping[str, str]
    affirmed: tuple[str, ...] = ()
    most: int = _MOST_LEADERS

    @property
    def leaders(self) -> str:
        """Return the chosen number of leaders, if there are more answers; "" for none."""
        count = self.query.get("leaders", "")
        if re.fullmatch("[0-9]{1,4}", count, re.ASCII) is None:
            return count
        return str(min(int(count), self.most))

    @classmethod
    def of(cls, query: Mapping[str, str], manifest: Manifest) -> "Asking":
        """Return the questions of a survey, and the chosen one."""
        kinds = []
        if manifest.kind.name == "joint":
            kinds += [("table", "Two questions"), ("group", "Compare groups")]
        if manifest.ordered:
            kinds += [("range", "Range of answers"), ("quantile", "Median and other percentiles")]
        if manifest.values is None:
            kinds += [("leaders", "Ranking"), ("ahead", "Two answers")]
        if manifest.kind.name != "joint":
            kinds += [("apart", "Compare groups")]
        keys = [key for key, _ in kinds]
        wanted = query.get("ask", "")
        kind = wanted if wanted in keys else keys[0]
        answers: Sequence[str] = answer_labels(manifest.dimensions) or manifest.categories
        listed = tuple(answers) if len(answers) <= MOST_LISTED and not manifest.kind.texts else ()
        given: dict[str, str] = {}
        if kind == "group" and not {"answer", "given"} & {*query}:
            (one, first, second, *_), (other, answer, *_) = manifest.dimensions[:2]
            given = {"answer": f"{other}: {answer}"}
            given |= {"given": f"{one}: {second}", "than": f"{one}: {first}"}
        elif kind == "range":
            given = {"answer": answers[len(answers) // 2], "last": answers[-1]}
        names = tuple(name for name, *_ in manifest.dimensions)
        yes: tuple[str, ...] = ()
        if kind == "leaders" and manifest.kind.name != "joint":
            from deniable.estimates.answers import affirmed

            yes = affirmed(manifest.dimensions)
        ranked = len(yes) or len(manifest.categories)
        if manifest.dimensions and ("question" in query or not yes):
            sizes = {name: len(labels) for name, *labels in manifest.dimensions}
            ranked = sizes.get(query.get("question", names[0]), ranked)
        most = _MOST_LEADERS if manifest.kind.texts else min(max(ranked - 1, 1), _MOST_LEADERS)
        return cls(tuple(kinds), kind, listed, names, given | dict(query), yes, most)


LEVELS: Final = tuple((text, level_text(float(text))) for text in ("0.5", "0.9", "0.95", "0.99"))
WIDTHS: Final = ("0.05", "0.005", "0.01", "0.02", "0.03", "0.1")
_EPSILONS: Final = ("0.25", "0.5", "1", "1.5", "2", "3", "4")
"""Epsilons of a plan, in addition to the survey's own, which is the default."""


def plan_epsilons(manifest: Manifest) -> tuple[str, ...]:
    """Return the epsilons that a plan offers, the survey's own first."""
    return tuple(dict.fromkeys((manifest.epsilon, *_EPSILONS)))


MOST_OFFERED: Final = 120
"""Answers that can be added up."""

MOST_REPEATED: Final = 4096
"""For surveys with more answers, a page covers one epoch only."""


@dataclass(frozen=True, slots=True)
class Controls:
    """The controls of a page whose choices are not in its query, with their current values."""

    sought: bool = False  # whether answers can be searched by name
    groups: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    many: bool = False  # whether more answers could be offered
    widths: tuple[tuple[str, str], ...] = ()  # the widths of a plan, with their names
    epsilons: tuple[tuple[str, str], ...] = ()
    asking: Asking | None = None  # the available questions, on the page of questions

    @classmethod
    def of(cls, request: web.BaseRequest, surveys: Sequence[Manifest], page: Page) -> "Controls":
        """Return the controls of a page about surveys, the newest first."""
        query, manifest = request.query, surveys[0]
        if "width" in page.takes:
            return cls(
                widths=tuple((width, width_text(manifest, float(width))) for width in WIDTHS),
                epsilons=tuple((text, text) for text in plan_epsilons(manifest))
                * free_epsilon(manifest),
            )
        if "ask" in page.takes:
            return cls(asking=Asking.of(query, manifest))
        if "group" not in page.takes or manifest.values is not None or manifest.kind.texts:
            return cls()
        categorical = (survey for survey in surveys if survey.values is None)
        answers = dict.fromkeys(
            name
            for survey in categorical
            for name in (
                *(answer_labels(survey.dimensions) if survey.kind.name == "joint" else ()),
                *survey.categories,
            )
        )
        # Texts from a link's author are not accepted.
        groups = tuple(name for name in asked_groups(request) if name in answers)
        offered = tuple(answers)
        many = len(answers) > MOST_OFFERED
        if many:
            sought = query.get("find", "").casefold()
            matches = (name for name in offered if sought in name.casefold())
            offered = tuple(dict.fromkeys([*groups, *islice(matches, MOST_OFFERED)]))
        return cls(len(answers) > page.most, groups, offered, many)


def width_text(manifest: Manifest, width: float) -> str:
    """Return a margin of error: in points for shares, as this part of their range for numbers."""
    from deniable.planning.plans import Figure, has_shares

    figure, values = Figure.of(manifest), manifest.values
    text = f"± {figure.amount(figure.span * width)}"
    if values is None or has_shares(manifest):
        return text
    least, most = (with_minus(f"{float(values[end]):.6g}") for end in (0, -1))
    return f"{text}, of {least} to {most}"


def epoch_choices(
    manifest: Manifest, epochs: Sequence[ListedEpoch], *, together: bool
) -> Iterator[tuple[str, str]]:
    """Yield the epochs to choose from, by their days, with their names.

    All epochs ``together`` can be one more choice.
    """
    known, schedule = [epoch for epoch in reversed(epochs) if epoch.n], manifest.schedule
    for epoch in known:
        dates = dates_text(schedule, [epoch.number])
        yield (
            asked_text(schedule, range(epoch.number, epoch.number + 1)),
            f"{dates} ({epoch.n:,} {'reports' if epoch.state.over else 'so far'})",
        )
    if together and can_be_pooled(manifest) and known:
        last = known[0].number + 1
        span = range(max(known[-1].number, last - most_epochs(manifest)), last)
        if len(span) > 1:
            yield asked_text(schedule, span), f"{dates_text(schedule, span)} together"


def can_be_pooled(manifest: Manifest) -> bool:
    """Return whether the epochs of a survey can be added up here."""
    return manifest.repeat.epochs is None and len(manifest.categories) <= MOST_REPEATED


def ranges_to_compare(
    manifest: Manifest, epochs: Sequence[ListedEpoch], now: float
) -> Iterator[tuple[str, str]]:
    """Yield last week and the previous one, or up to four epochs and as many before them."""
    week, schedule = UNITS["week"], manifest.schedule
    over = [epoch.number for epoch in epochs if epoch.n and epoch.state.over]
    half = min(4, len(over) // 2, most_epochs(manifest))
    if schedule.epoch_seconds >= week and half > 1 and can_be_pooled(manifest):
        length = duration_text(half * schedule.epoch_seconds)
        last = over[-1] + 1
        yield asked_text(schedule, range(last - half, last)), f"the last {length}"
        yield asked_text(schedule, range(last - 2 * half, last - half)), f"the {length} before"
    daily = schedule.epoch_seconds < week and week % schedule.epoch_seconds == 0
    if not daily or not can_be_pooled(manifest):
        return
    for text, instant in (("last week", now), ("the week before", now - week)):
        with suppress(ValueError):  # before the survey began
            days = epoch_range("last-week", schedule, instant)
            if len(days) <= most_epochs(manifest) and not {*days}.isdisjoint(over):
                yield asked_text(schedule, days), text


def box_text(text: str, schedule: Schedule) -> str:
    """Return the text of a box for a choice, with dates of epochs instead of numbers."""
    try:
        return asked_text(schedule, epoch_range(text, schedule, 0)) if text[:1].isdigit() else text
    except ValueError:  # the text may be an id
        return text


_CARRIED: Final = ("survey", "epoch", "level", "group")
"""The choices that are kept on every view that has them."""


def carried(query: "MultiMapping[str]", view: Page) -> list[tuple[str, str]]:
    """Return the choices that are kept when another view is opened."""
    dated = "epoch" in view.takes and not view.across  # a series shows all epochs
    return [(k, v) for k, v in query.items() if k in _CARRIED and (dated or k != "epoch")]


def tabs(request: web.BaseRequest, name: str, *, whole: bool) -> Iterator[tuple[Page, str]]:
    """Yield the views of a survey, and their addresses from the collector's root.

    If the ``whole`` survey is shown, no epoch is before it: a comparison chooses its own epochs.
    """
    for view in PAGES:
        if view.tab:
            kept = carried(request.query, view)
            if whole and "against" in view.takes:
                kept = [(key, value) for key, value in kept if key != "epoch"]
            query = urlencode(kept)
            yield view, view.address(name) + f"?{query}" * bool(query)


def unseen(query: "MultiMapping[str]", view: Page, version: str) -> list[tuple[str, str]]:
    """Return the choices that the controls of a view lack, and its form keeps.

    If there are several versions, it keeps the ``version`` whose choices it lists.
    """
    kept = [(k, v) for k, v in carried(query, view) if k == "survey" or k not in view.takes]
    return [("survey", version), *kept] if version and "survey" not in query else kept


def downloads(
    query: Sequence[tuple[str, str]], page: Page, root: str, name: str
) -> Iterator[tuple[str, str]]:
    """Yield the formats of a page's figures for programs, and their addresses."""
    for source in (*ROUTES, *PAGES):
        if source.path in page.downloads:
            taken = source.takes if isinstance(source, Page) else source.parameters or ()
            chosen = [(key, value) for key, value in query if key in taken]
            path = root + source.path.lstrip("/").replace("{name}", name)
            if "format" in taken:
                for form in reversed(FORMATS):
                    yield form.upper(), f"{path}?{urlencode([*chosen, ('format', form)])}"
            else:
                yield source.path.rpartition(".")[2].upper(), f"{path}?{urlencode(chosen)}"


def free_epsilon(manifest: Manifest) -> bool:
    """Return whether a survey fits any epsilon: one with shares, whose reports are all alike."""
    return manifest.values is None and not manifest.kind.first_round_kept
