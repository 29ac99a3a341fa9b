"""What can be chosen on a survey's page, and what is chosen."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from deniable.messages import Manifest
from deniable.reading import MOST_ROWS, VIEWS, ListedEpoch
from deniable.server.pages.limits import MOST_COMPARED, MOST_OFFERED, MOST_PANELS
from deniable.server.pages.rendering import root_of

if TYPE_CHECKING:
    from aiohttp import web

_LEVELS: Final = tuple(
    (each, f"{100 * float(each):g} %") for each in ("0.5", "0.9", "0.95", "0.99")
)
AT_ONCE: Final = "simultaneous"
"""Of a query for intervals that hold for all answers at once."""

OF_EPOCHS: Final = ("figures", "compare")
WIDTHS: Final = ("0.05", *(f"{each / 200:g}" for each in range(1, 21)))
EPSILONS: Final = ("1", *(f"{each / 4:g}" for each in range(1, 17)))
"""Of the sliders; the first is where they stand."""

_MOST: Final = {"figures": MOST_ROWS, "series": MOST_PANELS, "compare": MOST_COMPARED}
"""How many answers each page shows."""

MOST_REPEATED: Final = 4096
"""Of surveys with more answers, a page tells of one epoch only."""


@dataclass(frozen=True, slots=True)
class Controls:
    """What can be chosen on a page, as it is chosen; None and nothing where there is no choice."""

    levels: tuple[tuple[str, str], ...] = ()
    level: str = ""
    epochs: bool = False
    epoch: str = ""
    against: str | None = None
    views: tuple[str, ...] = ()
    view: str = ""
    raw: bool | None = None
    simultaneous: bool | None = None
    wanted: str = ""
    sought: bool = False  # whether answers are looked for by name
    groups: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    many: bool = False  # whether more could be offered
    width: str = ""
    epsilon: str = ""
    readings: Mapping[str, str] = field(default_factory=dict)  # of sliders, by their places

    @classmethod
    def of(cls, request: "web.BaseRequest", surveys: Sequence[Manifest], kind: str) -> "Controls":
        """Return those of a page about surveys, the newest first."""
        query, manifest = request.query, surveys[0]
        if kind == "plan":
            width, epsilon = query.get("width", WIDTHS[0]), query.get("epsilon", EPSILONS[0])
            unit = "percentage points" if manifest.values is None else "% of the range"
            readings = {"width-now": f"± {100 * float(width):.3g} {unit}"}
            if free_epsilon(manifest):
                readings["epsilon-now"] = epsilon
            return cls(width=width, epsilon=epsilon, readings=readings)
        groups, wanted = asked_groups(request), query.get("find", "")
        told = (each for each in surveys if manifest.values is None and each.values is None)
        answers = dict.fromkeys(name for each in told for name in each.categories)
        groups = tuple(each for each in groups if each in answers)  # no text of whoever made a link
        offered = tuple(answers)
        shown, many = len(offered), len(offered) > MOST_OFFERED
        if many:
            sought = wanted.casefold()
            found = (each for each in offered if sought in each.casefold())
            offered = tuple(dict.fromkeys([*groups, *islice(found, MOST_OFFERED)]))
        figures = kind == "figures"
        return cls(
            _LEVELS,
            query.get("level", "0.95"),
            epochs=kind in OF_EPOCHS,
            epoch=query.get("epoch", ""),
            against=query.get("against", "") if kind == "compare" else None,
            views=VIEWS if figures and manifest.values is None else (),
            view=query.get("view", VIEWS[0]),
            raw="raw" in query if figures else None,
            simultaneous=AT_ONCE in query if figures and manifest.values is None else None,
            wanted=wanted,
            sought=shown > _MOST[kind],
            groups=groups,
            offered=offered,
            many=many,
        )


def epoch_choices(
    manifest: Manifest, kind: str, epochs: Sequence[ListedEpoch]
) -> Iterator[tuple[str, str]]:
    """Yield which epochs there are to choose from, and what they are called."""
    known = [each for each in reversed(epochs) if each.n]
    for each in known:
        yield str(each.number), f"{each.number} ({each.n:,}, {each.state})"
    together = (
        kind == "figures"
        and manifest.repeat.epochs is None
        and len(manifest.categories) <= MOST_REPEATED
    )
    if together and len(known) > 1:
        span = f"{known[-1].number}-{known[0].number}"
        yield span, f"{span} together"


def asked_groups(request: "web.BaseRequest") -> tuple[str, ...]:
    """Return the answers that are to be added up."""
    return tuple(request.query.getall("group", ()))


def downloads(request: "web.BaseRequest", kind: str) -> Iterator[tuple[str, str]]:
    """Yield what the figures of a page can be had as, and where."""
    what = {"figures": "histogram", "series": "series"}.get(kind)
    if what is None:
        return
    name = request.path.split("/")[2]
    keys = ("epoch", "survey", "level", *(["view"] if kind == "figures" else []))
    query = {key: request.query[key] for key in keys if key in request.query}
    start = f"{root_of(request)}v1/surveys/{name}/{what}"
    for form in ("csv", "json"):
        yield form.upper(), f"{start}?{urlencode({**query, 'format': form})}"
    if kind == "figures":
        query |= {key: request.query[key] for key in ("find", AT_ONCE) if key in request.query}
        yield "SVG", f"{name}/chart.svg?{urlencode(query)}"


def free_epsilon(manifest: Manifest) -> bool:
    """Return whether it could be published anew at any epsilon: for shares, of reports alike."""
    return manifest.values is None and not manifest.kind.first_round_kept
