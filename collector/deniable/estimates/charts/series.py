"""Estimates over epochs: a small panel for each category, all with one scale."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deniable.estimates.charts.bands import LINE, SMALL, Band, Dot, foot, head, tick_class, upright
from deniable.estimates.charts.dates import date_ticks
from deniable.estimates.charts.scales import SHARES, Axis, Scale, axis_over
from deniable.estimates.charts.svg import Markup, element, label, picture, text_width

_PANEL = 165
_WIDEST = 3
_HIGH = 110
_TICKS = 42
_DATE = 62
"""How wide a date below the axis is, with the space beside it."""
_BROADEST = 56
"""A step of time, so that few epochs are no walls."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One category over the epochs; None is an epoch of which nothing is known of it."""

    label: str
    dots: tuple[Dot | None, ...]


def series_chart(
    panels: Sequence[Panel],
    epochs: Sequence[str],
    *,
    width: float,
    title: str,
    description: str = "",
    heading: bool = False,
    notes: Sequence[str] = (),
    scale: Scale = SHARES,
    breaks: Sequence[int] = (),
    starts: Sequence[int] = (),
    marks: Sequence[tuple[float, str]] = (),
    levels: tuple[str, str] = ("50%", "95%"),
    high: float = _HIGH,
) -> Markup:
    """Return bands over the epochs, whose names are given; gaps stay gaps. Panels are so high.

    Nothing is drawn between epochs: each has its own step. ``breaks`` are the places of epochs with
    which another survey begins. With their ``starts``, Unix seconds, dates stand in place of names.
    ``marks`` are places between epochs' starts, and short names.
    """
    columns = max(1, min(int(width // _PANEL), len(panels), _WIDEST))
    across = width / columns
    known = [number for panel in panels for dot in panel.dots if dot for number in dot.numbers]
    drawn, top = head(title, width) if heading else ([], 0.0)
    bottom = top
    for i, panel in enumerate(panels):
        left, y = i % columns * across, top + i // columns * (high + 2 * LINE + 8)
        axis = axis_over(known, scale, y + LINE + high, y + LINE + 6, 22)
        room = across - _TICKS - 10
        step = room / max(1, len(epochs))
        steps = _Steps(left + _TICKS, min(step, _BROADEST) if starts else step, axis)
        bottom = y + 2 * LINE + high
        inside = [
            label(panel.label, across - 12, cls="name", x=left + 4, y=y + 13),
            *_grid(steps, steps.left + room),
            *(mark for place, name in marks for mark in _marked(steps, place, name)),
            *(upright(steps.start(at), axis.end, axis.start, "reference") for at in breaks),
            *_ribbons(panel, steps),
            *(
                _dates(starts, steps, int(room // _DATE), bottom - 5)
                if starts
                else _names(epochs, steps, bottom - 5)
            ),
        ]
        drawn.append(element("g", *inside, cls="panel"))
    if breaks:
        notes = ["dashed: a new survey begins", *notes]
    below, end = foot(levels, notes, width, bottom + 4)
    return picture(width, end, title, description, *drawn, *below)


def sparkline(
    panel: Panel, epochs: Sequence[int], width: float, *, scale: Scale = SHARES, high: float = 32
) -> Markup:
    """Return one category's bands over the epochs, without axes; its title has the numbers."""
    known = [(dot, epoch) for dot, epoch in zip(panel.dots, epochs, strict=True) if dot]
    axis = axis_over([n for dot, _ in known for n in dot.numbers], scale, high - 4, 4)
    places = scale.decimals(dot.outer[1] - dot.outer[0] for dot, _ in known if dot.outer)
    values = (f"epoch {epoch} {scale.text(dot.value, places)}" for dot, epoch in known)
    title = f"{panel.label}: {', '.join(values)}"
    steps = _Steps(0.0, width / max(1, len(panel.dots)), axis)
    return picture(width, high, title, "", *_ribbons(panel, steps))


@dataclass(frozen=True, slots=True)
class _Steps:
    left: float
    size: float
    axis: Axis

    def start(self, place: int) -> float:
        return self.left + place * self.size


def _grid(steps: _Steps, right: float) -> Iterator[Markup]:
    axis = steps.axis
    for low, high in ((axis.low, axis.scale.least), (axis.scale.most, axis.high)):
        if high > low:
            y = axis.at(high)
            size = {"width": right - steps.left, "height": axis.at(low) - y}
            yield element("rect", cls="impossible", x=steps.left, y=y, **size)
    for tick in axis.ticks:
        y = axis.at(tick)
        yield element("line", cls=tick_class(tick), x1=steps.left, x2=right, y1=y, y2=y)
        yield element("text", axis.tick_text(tick), cls="small end", x=steps.left - 4, y=y + 4)


def _ribbons(panel: Panel, steps: _Steps) -> Iterator[Markup]:
    for cls in ("outer", "inner"):
        for first, run in _runs([None if dot is None else getattr(dot, cls) for dot in panel.dots]):
            yield element("path", cls=cls, d=_ribbon(first, run, steps))
    for place, dot in enumerate(panel.dots):
        if dot is not None and math.isfinite(dot.value):
            middle, y = steps.start(place) + steps.size / 2, steps.axis.at(dot.value)
            cls, size = ("dot", 3.0) if steps.size > 9 else ("point", 1.2)
            yield element("circle", cls=cls, cx=middle, cy=y, r=size)


def _runs(bands: Sequence[Band | None]) -> Iterator[tuple[int, list[Band]]]:
    """Return the runs without a gap, each with its first place."""
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
            (steps.start(first + i + end), at(band[side]) - (0.5 if side else -0.5))
            for i, band in enumerate(run)
            for end in (0, 1)
        ]
        corners += edge if side else edge[::-1]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners) + "Z"


def _dates(starts: Sequence[int], steps: _Steps, most: int, y: float) -> Iterator[Markup]:
    free = -math.inf
    for place, text in date_ticks(starts, most).items():
        x = steps.start(place) + steps.size / 2
        half = text_width(text, SMALL) / 2
        if x - half >= free:  # between surveys there may be gaps, and epochs of other lengths
            yield element("text", text, cls="small middle", x=x, y=y)
            free = x + half + 4


def _marked(steps: _Steps, place: float, name: str) -> Iterator[Markup]:
    x = steps.start(0) + place * steps.size
    yield upright(x, steps.axis.end, steps.axis.start, "noted")
    yield element("text", name, cls="small middle", x=x, y=steps.axis.end - 2)


def _names(epochs: Sequence[str], steps: _Steps, y: float) -> Iterator[Markup]:
    """Return names of epochs as far as there is room, from the first on."""
    room = max(map(text_width, epochs), default=0) + 6
    apart = max(1, math.ceil(room / max(steps.size, 1e-9)))
    for place in range(0, len(epochs), apart):
        x = steps.start(place) + steps.size / 2
        yield element("text", epochs[place], cls="small middle", x=x, y=y)
