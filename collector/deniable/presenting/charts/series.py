"""Estimates over epochs: a small panel for each category, all with one scale."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from deniable.presenting.charts.svg import (
    LINE,
    SHARES,
    SMALL,
    Axis,
    Band,
    Dot,
    Markup,
    Scale,
    axis_over,
    date_ticks,
    element,
    foot,
    head,
    label,
    picture,
    text_width,
    tick_class,
    upright,
)

_PANEL = 165
_WIDEST = 3
_HIGH = 110
_TICKS = 42
_DATE = 62
"""The width of a date below the axis, including the space beside it."""
_BROADEST = 56
"""The greatest width of a time step, so that few epochs do not look like walls."""

_COLOURS: Final = 3
"""The number of colours for lines other than the newest."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One category over the epochs; None means that it is unknown in an epoch."""

    label: str
    dots: tuple[Dot | None, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """The epochs of one survey, from ``first`` to before ``end``, among all in a panel."""

    name: str
    first: int
    end: int


def series_chart(
    panels: Sequence[Panel],
    epochs: Sequence[str],
    *,
    width: float,
    title: str,
    heading: bool = False,
    notes: Sequence[str] = (),
    scale: Scale = SHARES,
    lines: Sequence[Line] = (),
    spans: Sequence[tuple[int, int]] = (),
    marks: Sequence[tuple[int, str]] = (),
    level: str = "95%",
    high: float = _HIGH,
) -> Markup:
    """Return bands over the named epochs; gaps stay gaps. ``height`` is a panel's height.

    Nothing is drawn between epochs: each has its own step. With their ``spans``, Unix seconds, they
    are on one time axis, with dates instead of names. ``lines`` are their surveys, the newest last,
    if there are several. ``marks`` are instants, with short names.
    """
    places = spans or [(place, place + 1) for place in range(len(epochs))]
    broadest = max([_PANEL, *(text_width(panel.label) + 12 for panel in panels)])
    columns = max(1, min(int(width // broadest), len(panels), _WIDEST))
    across = width / columns
    # Only values of other surveys: a wide interval of few reports would leave no room for the rest.
    first = lines[-1].first if lines else 0
    known = [
        min(max(number, scale.least), scale.most)
        for panel in panels
        for place, dot in enumerate(panel.dots)
        if dot
        for number in (dot.numbers if place >= first else [dot.value])
        if math.isfinite(number)
    ]
    drawn, top = head(title, width) if heading else ([], 0.0)
    bottom = top
    for i, panel in enumerate(panels):
        left, y = i % columns * across, top + i // columns * (high + 2 * LINE + 8)
        axis = axis_over(known, scale, y + LINE + high, y + LINE + 6, 22)
        room = across - _TICKS - 10
        steps = _steps(places, left + _TICKS, room, axis, _BROADEST if spans else math.inf)
        bottom = y + 2 * LINE + high
        inside = [
            label(panel.label, across - 12, cls="name", x=left + 4, y=y + 13),
            *_grid(steps, steps.left + room),
            *(mark for instant, name in marks for mark in _marked(steps, instant, name)),
            *_ribbons(panel, steps, lines),
            *(
                _dates(spans, steps, int(room // _DATE), bottom - 5)
                if spans
                else _names(epochs, steps, bottom - 5)
            ),
        ]
        drawn.append(element("g", *inside, cls="panel"))
    below, end = foot(level, notes, width, bottom + 4 + LINE * len(lines))
    legend = [
        mark
        for at, line in enumerate(reversed(lines))
        for mark in _legend(line.name, _line_class(at), bottom + 14 + LINE * at)
    ]
    return picture(width, end, title, *drawn, *legend, *below)


@dataclass(frozen=True, slots=True)
class _Steps:
    """The epochs on a time axis, ``size`` pixels per unit from the first instant on."""

    spans: Sequence[tuple[int, int]]
    left: float
    first: int
    size: float
    axis: Axis

    def at(self, instant: int) -> float:
        return self.left + (instant - self.first) * self.size

    def ends(self, place: int) -> tuple[float, float]:
        start, end = self.spans[place]
        return self.at(start), self.at(end)


def _steps(
    spans: Sequence[tuple[int, int]], left: float, room: float, axis: Axis, most: float = math.inf
) -> _Steps:
    """Return steps that fill ``room`` pixels, none broader than ``most``."""
    first = min((start for start, _ in spans), default=0)
    last = max((end for _, end in spans), default=1)
    longest = max((end - start for start, end in spans), default=1)
    size = min(room / max(1, last - first), most / max(1, longest))
    return _Steps(spans, left, first, size, axis)


def _grid(steps: _Steps, right: float) -> Iterator[Markup]:
    axis = steps.axis
    for tick in axis.ticks:
        y = axis.at(tick)
        yield element("line", cls=tick_class(tick), x1=steps.left, x2=right, y1=y, y2=y)
        yield element("text", axis.tick_text(tick), cls="small end", x=steps.left - 4, y=y + 4)


def _ribbons(panel: Panel, steps: _Steps, lines: Sequence[Line] = ()) -> Iterator[Markup]:
    """Yield the marks of each line, the newest first, so that none is hidden below it."""
    for at, line in enumerate(reversed(lines or [Line("", 0, len(panel.dots))])):
        dots = panel.dots[line.first : line.end]
        for first, run in _runs([None if dot is None else dot.band for dot in dots]):
            outline = _ribbon(line.first + first, run, steps)
            yield element("path", cls=f"band{_line_class(at)}", d=outline)
        for place, dot in enumerate(dots, start=line.first):
            if dot is not None and math.isfinite(dot.value):
                start, end = steps.ends(place)
                cls, size = ("dot", 3.0) if end - start > 9 else ("point", 1.2)
                x, y = (start + end) / 2, steps.axis.at(dot.value)
                yield element("circle", cls=f"{cls}{_line_class(at)}", cx=x, cy=y, r=size)


def _line_class(at: int) -> str:
    """Return the additional class of a line's marks; none for the newest, which is at 0."""
    return f" line-{(at - 1) % _COLOURS + 1}" if at else ""


def _legend(name: str, cls: str, y: float) -> Iterator[Markup]:
    yield element("rect", cls=f"band{cls}", x=4, y=y, width=16, height=8)
    yield element("circle", cls=f"dot{cls}", cx=12.0, cy=y + 4, r=3.0)
    yield element("text", name, cls="small", x=26, y=y + 8)


def _runs(bands: Sequence[Band | None]) -> Iterator[tuple[int, list[Band]]]:
    """Return the runs without a gap, each with the place where it begins."""
    run: list[Band] = []
    for place, band in enumerate([*bands, None]):
        if band is not None:
            run.append(band)
        elif run:
            yield place - len(run), run
            run = []


def _ribbon(first: int, run: Sequence[Band], steps: _Steps) -> str:
    """Return the outline of steps: along the upper ends to the right, along the lower ones back."""
    at = steps.axis.at
    corners = []
    for side in (1, 0):
        edge = [
            (x, at(band[side]) - (0.5 if side else -0.5))
            for place, band in enumerate(run, start=first)
            for x in steps.ends(place)
        ]
        corners += edge if side else edge[::-1]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners) + "Z"


def _dates(
    spans: Sequence[tuple[int, int]], steps: _Steps, most: int, y: float
) -> Iterator[Markup]:
    free, ordered = -math.inf, sorted(dict(reversed(spans)).items())
    for place, text in date_ticks([start for start, _ in ordered], most).items():
        x = sum(map(steps.at, ordered[place])) / 2
        half = text_width(text, SMALL) / 2
        if x - half >= free:  # surveys may have gaps between them, and epochs of different lengths
            yield element("text", text, cls="small middle", x=x, y=y)
            free = x + half + 4


def _marked(steps: _Steps, instant: int, name: str) -> Iterator[Markup]:
    x = steps.at(instant)
    yield upright(x, steps.axis.end, steps.axis.start, "noted")
    yield element("text", name, cls="small", x=x + 3, y=steps.axis.end + 9)


def _names(epochs: Sequence[str], steps: _Steps, y: float) -> Iterator[Markup]:
    """Return the names of as many epochs as fit, from the first on."""
    room = max(map(text_width, epochs), default=0) + 6
    apart = max(1, math.ceil(room / max(steps.size, 1e-9)))
    for place in range(0, len(epochs), apart):
        x = sum(steps.ends(place)) / 2
        yield element("text", epochs[place], cls="small middle", x=x, y=y)
