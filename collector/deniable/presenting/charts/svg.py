"""SVG as text: what is not markup already is escaped, so that no label can become markup."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Final

from deniable.documents.html import escape

_NARROW: Final = frozenset("fijlrtI.,:;'|!()[] -")
_BROAD: Final = frozenset("mwMW%@—")


class Markup(str):
    """Text that is SVG already; templates take it as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return the markup itself, by which template engines know not to escape it."""
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
        # First to far less: which way half a tenth goes is not for the last digit of a sum to say.
        return f"{round(round(value, 6), 1) + 0.0:g}"
    return escape(str(value))


def picture(width: float, height: float, title: str, description: str, *inner: str) -> Markup:
    """Return a whole image, named by its title."""
    return element(
        "svg",
        element("title", title),
        element("desc", description) if description else Markup(),
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
    """Return the one stylesheet of charts, for pages and for images by themselves."""
    return files(__package__).joinpath("charts.css").read_text(encoding="utf-8")


def standalone(svg: str) -> Markup:
    """Return an image that needs no page: with its stylesheet, and paper behind it."""
    paper = element("rect", cls="paper", width="100%", height="100%")
    # Of the opening tag, whose attributes are escaped, the first ">" is the end.
    return Markup(svg.replace(">", f"><style>{stylesheet()}</style>{paper}", 1))


def notice(title: str, text: str, width: float = 720) -> Markup:
    """Return an image of a text, where there is nothing to be drawn."""
    broken = [*lines(text, width - 32)]
    drawn = [element("text", line, x=16, y=28 + 20 * at) for at, line in enumerate(broken)]
    return picture(width, 28 + 20 * len(broken), title, "", *drawn)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that a notebook shows, and a file keeps."""

    svg: Markup = field(repr=False)

    def _repr_svg_(self) -> str:
        return standalone(self.svg)

    def save(self, path: str | PathLike[str]) -> None:
        """Write an SVG file, with its stylesheet; ValueError for another ending of its name."""
        if Path(path).suffix.lower() not in {"", ".svg"}:
            raise ValueError("a chart is saved as SVG: let the file's name end in .svg")
        Path(path).write_text(standalone(self.svg), encoding="utf-8")


def text_width(text: str, size: float = 13) -> float:
    """Return about how many pixels a text takes in common fonts, rather too many than too few."""
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
    """Return a text in so many pixels; if it must be cut, all of it shows on pointing at it."""
    kept = text
    if text_width(text) > most:
        while kept and text_width(kept + "…") > most:
            kept = kept[:-1]
        return element("text", kept.rstrip() + "…", element("title", text), **attributes)
    return element("text", text, **attributes)


def lines(text: str, most: float, size: float = 13) -> Iterator[str]:
    """Break a text at spaces, into lines of so many pixels."""
    line = ""
    for word in text.split():
        if line and text_width(f"{line} {word}", size) > most:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    if line:
        yield line
