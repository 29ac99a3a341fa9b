"""Dots and interval bands, with their numbers in the same rows."""

import math
from collections.abc import Sequence
from dataclasses import replace

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
    element,
    foot,
    head,
    label,
    picture,
    text_width,
    tick_class,
    upright,
)

_WIDE = 480
"""From this width on label, chart and numbers share a line; below it, the chart has its own."""

_GAP = 12
_LONG = 20
"""With more rows than this, the axis is written above them too."""

_NONE = "no difference"


def dots_chart(
    dots: Sequence[Dot],
    *,
    width: float,
    title: str,
    heading: bool = False,
    notes: Sequence[str] = (),
    scale: Scale = SHARES,
    differences: bool = False,
    level: str = "95%",
    value: str = "estimate",
) -> Markup:
    """Return a row for each dot: label, band, numbers.

    The title names the image, and is drawn if ``heading`` is set. Notes are written below the
    chart. ``value`` names the dots. ``differences`` are around 0; one whose interval contains 0 is
    marked "not clear", since whether two intervals of shares overlap says little about it.
    """
    if differences:
        dots = [replace(dot, mark=_distinguished(dot)) for dot in dots]
    wide = width >= _WIDE
    decimals = scale.decimals(dot.band[1] - dot.band[0] for dot in dots if dot.band)
    values = [scale.text(dot.value, decimals) for dot in dots]
    intervals = [_interval(dot.band, scale, decimals) for dot in dots]
    # Columns from the right: marks, intervals, values. In a narrow chart, marks have a line of
    # their own.
    marks = max((text_width(dot.mark) for dot in dots), default=0) if wide else 0
    interval_end = width - 4 - (marks + _GAP if marks else 0)
    value_end = interval_end - max(map(text_width, intervals), default=0) - _GAP
    numbers = value_end - max(map(text_width, values), default=0) - _GAP
    start, end = 24.0, width - 24
    if wide:
        start = min(max((text_width(dot.label) for dot in dots), default=0), 0.33 * width) + 24
        end = numbers - 12
    room = start - 20 if wide else numbers - 4
    reached = [number for dot in dots for number in dot.numbers]
    axis = axis_over([*reached, *([0.0] if differences else [])], scale, start, end)

    drawn, y = head(title, width) if heading else ([], 0.0)
    y += LINE
    column = f"{value} [{level} interval]"
    drawn.append(element("text", column, cls="small end", x=interval_end, y=y - 5))
    if differences:
        y += 0 if wide else LINE
        drawn.append(_reference_name(axis, y - 5))
    if len(dots) > _LONG:
        y += LINE
        drawn.append(_tick_texts(axis, y - 6))
    if wide:
        drawn.append(_grid(axis, y, y + 24 * len(dots), differences=differences))
    for dot, number, interval in zip(dots, values, intervals, strict=True):
        row = [
            label(dot.label, room, x=4.0, y=y + 16.5),
            element("text", number, cls="number end", x=value_end, y=y + 16.5),
            element("text", interval, cls="number end", x=interval_end, y=y + 16.5),
        ]
        cls = "mark" if dot.mark.startswith("!!") else "note"
        if wide:
            row.append(_band(dot, axis, y + 12))
            place = {"cls": cls, "x": interval_end + _GAP, "y": y + 16.5}
        else:
            y += 23
            row += [_grid(axis, y, y + 16, differences=differences), _band(dot, axis, y + 8)]
            y += 14 if dot.mark else 0
            place = {"cls": f"{cls} end", "x": interval_end, "y": y + 15.5}
        if dot.mark:
            row.append(element("text", dot.mark, **place))
        drawn.append(element("g", *row, cls="row"))
        y += 24
    drawn.append(_tick_texts(axis, y + 12))
    below, bottom = foot(level, notes, width, y + LINE + 4, value)
    return picture(width, bottom, title, *drawn, *below)


def _distinguished(dot: Dot) -> str:
    low, high = dot.band or (0.0, 0.0)
    return " ".join(filter(None, [dot.mark, "not clear" if low <= 0 <= high else ""]))


def _interval(band: Band | None, scale: Scale, decimals: int) -> str:
    if band is None:
        return f"none in [{scale.text(scale.least, 0)}, {scale.text(scale.most, 0)}]"
    return f"[{scale.text(band[0], decimals)}, {scale.text(band[1], decimals)}]"


def _band(dot: Dot, axis: Axis, y: float) -> Markup:
    """Return the band and the dot, or an arrow if the axis does not reach the value."""
    drawn = [element("line", cls="guide", x1=axis.start, x2=axis.end, y1=y, y2=y)]
    if dot.band is not None:
        x = axis.at(dot.band[0])
        size = max(axis.at(dot.band[1]) - x, 1.0)
        drawn.append(element("rect", cls="band", x=x, y=y - 4, width=size, height=8.0))
    if math.isfinite(dot.value):
        x = axis.at(dot.value)
        if axis.within(dot.value) == dot.value:
            drawn.append(element("circle", cls="dot", cx=x, cy=y, r=3.5))
        else:
            back = x + (8 if dot.value < axis.low else -8)
            points = f"{x:.1f},{y:.1f} {back:.1f},{y - 5:.1f} {back:.1f},{y + 5:.1f}"
            drawn.append(element("polygon", cls="dot", points=points))
    return element("g", *drawn)


def _grid(axis: Axis, top: float, bottom: float, *, differences: bool) -> Markup:
    """Return lines at the ticks, and grey where no true value can be."""
    drawn = [
        element("rect", cls="impossible", x=x, y=top, width=axis.at(high) - x, height=bottom - top)
        for low, high in ((axis.low, axis.scale.least), (axis.scale.most, axis.high))
        if high > low
        for x in [axis.at(low)]
    ]
    drawn += [upright(axis.at(tick), top, bottom, tick_class(tick)) for tick in axis.ticks]
    if differences:
        drawn.append(upright(axis.at(0.0), top - 3, bottom, "reference"))
    return element("g", *drawn)


def _tick_texts(axis: Axis, y: float) -> Markup:
    texts = [
        element("text", axis.tick_text(tick), cls="small middle", x=axis.at(tick), y=y)
        for tick in axis.ticks
    ]
    return element("g", *texts)


def _reference_name(axis: Axis, y: float) -> Markup:
    half = text_width(_NONE, SMALL) / 2
    x = min(max(axis.at(0.0), half), axis.end - half)
    return element("text", _NONE, cls="small middle", x=x, y=y)
