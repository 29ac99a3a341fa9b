"""The parts of a chart as SVG: elements, texts, scales, ticks of dates, bands and dots."""

import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Final

from deniable.documents import decimals, with_minus
from deniable.documents.html import escape
from deniable.messages import calendar

_NARROW: Final = frozenset("fijlrtI.,:;'|!()[] -")
_BROAD: Final = frozenset("mwMW%@—")


class Markup(str):
    """Text that is SVG already; templates use it unescaped."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return the markup itself; template engines then do not escape it."""
        return str(self)


def element(name: str, *children: str, **attributes: object) -> Markup:
    """Return an element; ``cls`` is its class, and numbers are rounded to a tenth of a pixel."""
    written = "".join(f' {_named(key)}="{_written(value)}"' for key, value in attributes.items())
    inner = "".join(child if isinstance(child, Markup) else _written(child) for child in children)
    return Markup(f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>")


def _named(key: str) -> str:
    return "class" if key == "cls" else key.replace("_", "-")


def _written(value: object) -> str:
    if isinstance(value, float):
        # Rounded twice, so that the last digit of a sum does not decide about half a tenth.
        return f"{round(round(value, 6), 1) + 0.0:g}"
    return escape(str(value))


def picture(width: float, height: float, title: str, *inner: str) -> Markup:
    """Return a whole image, named by its title."""
    return element(
        "svg",
        element("title", title),
        *inner,
        xmlns="http://www.w3.org/2000/svg",
        cls="deniable-chart",
        role="img",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
    )


@cache
def stylesheet() -> str:
    """Return the stylesheet of charts, for pages and for standalone images."""
    return files(__package__).joinpath("charts.css").read_text(encoding="utf-8")


def standalone(svg: str) -> Markup:
    """Return an image that needs no page, since it contains its stylesheet and a background."""
    paper = element("rect", cls="paper", width="100%", height="100%")
    # Attributes are escaped, so the first ">" ends the opening tag.
    return Markup(svg.replace(">", f"><style>{stylesheet()}</style>{paper}", 1))


def notice(title: str, text: str, width: float = 720) -> Markup:
    """Return an image that only shows a text, because there is nothing to draw."""
    broken = [*lines(text, width - 32)]
    drawn = [element("text", line, x=16, y=28 + 20 * at) for at, line in enumerate(broken)]
    return picture(width, 28 + 20 * len(broken), title, *drawn)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that notebooks show, and that can be saved to a file."""

    svg: Markup = field(repr=False)

    def _repr_svg_(self) -> str:
        return standalone(self.svg)

    def save(self, path: str | PathLike[str]) -> None:
        """Write an SVG file with its stylesheet; ValueError if the name has a different ending."""
        if Path(path).suffix.lower() not in {"", ".svg"}:
            raise ValueError("charts are saved as SVG: the file's name must end in .svg")
        Path(path).write_text(standalone(self.svg), encoding="utf-8")


def text_width(text: str, size: float = 13) -> float:
    """Return about how many pixels a text needs in common fonts; it errs towards too many."""
    return sum(map(_advance, text)) * size


def _advance(character: str) -> float:
    if character in _NARROW:
        return 0.4
    if character in _BROAD:
        return 1.0
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or ord(character) > 0xFFFF:
        return 1.35
    return 0.72 if character.isupper() else 0.64 if ord(character) < 0x250 else 0.8


def label(text: str, most: float, **attributes: object) -> Markup:
    """Return a text in this many pixels; pointing at a shortened text shows all of it."""
    kept = text
    if text_width(text) > most:
        while kept and text_width(kept + "…") > most:
            kept = kept[:-1]
        return element("text", kept.rstrip() + "…", element("title", text), **attributes)
    return element("text", text, **attributes)


def lines(text: str, most: float, size: float = 13) -> Iterator[str]:
    """Break a text at spaces, into lines of this many pixels."""
    line = ""
    for word in text.split():
        if line and text_width(f"{line} {word}", size) > most:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    if line:
        yield line


_DAY: Final = 86_400
_LONG: Final = 300 * _DAY
"""From this time on, days are not distinguished."""


def date_ticks(starts: Sequence[int], most: int) -> dict[int, str]:
    """Return texts for the places of at most ``most`` epochs, evenly spaced from the first on.

    The starts are Unix seconds, in order. Hours have the date where a day begins.
    """
    places = range(0, len(starts), -(-len(starts) // max(most, 1)))
    moments = [calendar(starts[place]) or datetime.max.replace(tzinfo=UTC) for place in places]
    if starts[-1] - starts[0] > _LONG:
        return {place: f"{at:%b %Y}" for place, at in zip(places, moments, strict=True)}
    ticks, day = {}, None
    for place, at in zip(places, moments, strict=True):
        hour = f"{at:%H:%M:%S}".removesuffix(":00")
        ticks[place] = hour if at.date() == day else f"{at.day} {at:%b}"
        day = at.date()
    return ticks


@dataclass(frozen=True, slots=True)
class Scale:
    """The drawn numbers, each written as ``factor`` times itself and a suffix, within bounds."""

    least: float
    most: float
    factor: float = 100
    suffix: str = "%"
    signed: bool = False

    def text(self, value: float, decimals: int) -> str:
        """Return the number as written beside the chart."""
        if not math.isfinite(value):
            return "none"
        # Adding 0 turns -0.0 into 0.0.
        scaled = round(value * self.factor, decimals) + 0.0
        form = f",.{decimals}f" if abs(scaled) < 1e6 else ".3g"
        return with_minus(f"{scaled:{'+' if self.signed and scaled else ''}{form}}{self.suffix}")

    def decimals(self, widths: Iterable[float]) -> int:
        """Return how many decimals distinguish the ends of intervals with such widths."""
        known = sorted(width for width in widths if width > 0) or [1.0]
        return decimals(known[len(known) // 2] * self.factor, least=1)


SHARES: Final = Scale(0, 1)
"""Shares of all reports, in percent."""

POINTS: Final = Scale(-1, 1, suffix="", signed=True)
"""Differences of shares, in percentage points."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of pixels for a range of numbers, with round numbers marked."""

    scale: Scale
    low: float
    high: float
    ticks: tuple[float, ...]
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the position of a number; for numbers beyond the axis, the position of its end."""
        return self.start + (self.within(value) - self.low) / (self.high - self.low) * (
            self.end - self.start
        )

    def within(self, value: float) -> float:
        """Return the number, or the nearest end of the axis."""
        return min(max(value, self.low), self.high)

    def tick_text(self, tick: float) -> str:
        """Return the label of a tick."""
        step = (self.ticks[1] - self.ticks[0]) * self.scale.factor
        return self.scale.text(tick, max(0, -math.floor(math.log10(step) + 1e-9)))


def axis_over(
    values: Iterable[float], scale: Scale, start: float, end: float, apart: float = 55
) -> Axis:
    """Return an axis that covers all values, and 0 if that is a possible value.

    It exceeds the possible range if values do, by at most half of that range: farther ones are
    drawn at its end.
    """
    beyond = (scale.most - scale.least) / 2
    known = [
        min(max(value, scale.least - beyond), scale.most + beyond)
        for value in values
        if math.isfinite(value)
    ]
    if scale.least <= 0 <= scale.most:
        known.append(0.0)
    low, high = min(known, default=scale.least), max(known, default=scale.most)
    if not high - low > 1e-9 * (scale.most - scale.least):  # ticks cannot be distinguished there
        low, high = scale.least, scale.most
    step = _round_step((high - low) / max(2, abs(end - start) // apart))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(number * step for number in range(first, last + 1))
    return Axis(scale, ticks[0], ticks[-1], ticks, start, end)


def _round_step(least: float) -> float:
    """Return the least 1, 2 or 5 times a power of ten that is at least this large."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= least * (1 - 1e-9))


Band = tuple[float, float]

LINE = 18
"""The height of a line of text."""

SMALL = 11
"""The size of small text."""


@dataclass(frozen=True, slots=True)
class Dot:
    """An estimate and its interval; None for an interval without possible values, or for none.

    ``value`` may be impossible, or NaN. ``mark`` is a short text after the numbers that readers
    need before using them.
    """

    label: str
    value: float
    band: Band | None
    mark: str = ""

    @property
    def numbers(self) -> list[float]:
        """Return the values that an axis must reach."""
        return [self.value, *(self.band or ())]


def head(title: str, width: float) -> tuple[list[Markup], float]:
    """Return the lines of a title, and the position of their end."""
    drawn: list[Markup] = []
    for line in lines(title, width - 8, 17):
        drawn.append(element("text", line, cls="heading", x=4.0, y=22.0 * len(drawn) + 18))
    return drawn, 22.0 * len(drawn)


def foot(
    level: str, notes: Sequence[str], width: float, top: float, value: str = "estimate"
) -> tuple[list[Markup], float]:
    """Return the legend of the marks, with the notes below it, and the position of their end.

    ``value`` names the dots.
    """
    y = top + LINE
    drawn = [element("circle", cls="dot", cx=12.0, cy=y - 4, r=3.0)]
    drawn.append(element("text", value, cls="small", x=20.0, y=y))
    x = 32 + text_width(value, SMALL)
    drawn.append(element("rect", cls="band", x=x, y=y - 8, width=16, height=8))
    drawn.append(element("text", f"{level} interval", cls="small", x=x + 20, y=y))
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
