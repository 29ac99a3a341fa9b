"""An estimate and its two bands, which all charts draw, and their legend.

Bars would tell of lengths from 0, whiskers hide how likely is what: a dark band is where a value
probably is, a light one where it very probably is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from deniable.presenting.charts.svg import Markup, element, lines, text_width

Band = tuple[float, float]

LINE = 18
"""How high a line of text is."""

SMALL = 11
"""The size of the small one."""


@dataclass(frozen=True, slots=True)
class Dot:
    """An estimate and two intervals, None where no possible value is in them, or there is none.

    ``value`` may be impossible, or NaN. ``mark`` is a short text after the numbers that tells what
    is to be known before they are used.
    """

    label: str
    value: float
    inner: Band | None
    outer: Band | None
    mark: str = ""

    @property
    def numbers(self) -> list[float]:
        """Return the values that an axis is to reach."""
        return [self.value, *(self.inner or ()), *(self.outer or ())]


def head(title: str, width: float) -> tuple[list[Markup], float]:
    """Return the lines of a title, and where they end."""
    drawn: list[Markup] = []
    for line in lines(title, width - 8, 17):
        drawn.append(element("text", line, cls="heading", x=4.0, y=22.0 * len(drawn) + 18))
    return drawn, 22.0 * len(drawn)


def foot(
    levels: tuple[str, str], notes: Sequence[str], width: float, top: float, value: str = "estimate"
) -> tuple[list[Markup], float]:
    """Return the legend of the marks, with the notes below it, and where they end.

    ``value`` names the dots. A level that is empty has no marks.
    """
    y = top + LINE
    drawn = [element("circle", cls="dot", cx=12.0, cy=y - 4, r=3.0)]
    x = 20.0
    bands = zip(("inner", "outer"), levels, strict=True)
    for cls, name in (
        ("", value),
        *((cls, f"{level} interval") for cls, level in bands if level),
    ):
        if cls:
            drawn.append(element("rect", cls=cls, x=x, y=y - 8, width=16, height=8))
            x += 20
        drawn.append(element("text", name, cls="small", x=x, y=y))
        x += 12 + text_width(name, SMALL)
    for note in notes:
        for line in lines(note, width - 8, SMALL):
            y += 16
            drawn.append(element("text", line, cls="small", x=4.0, y=y))
    return drawn, y + 8


def upright(x: float, top: float, bottom: float, cls: str) -> Markup:
    """Return a line at a number."""
    return element("line", cls=cls, x1=x, x2=x, y1=top, y2=bottom)


def tick_class(tick: float) -> str:
    """Return the class of a line at a tick."""
    return "zero" if abs(tick) < 1e-12 else "grid"
