"""Plain text for people: 80 columns, without terminal control characters."""

import unicodedata
from collections.abc import Iterable, Sequence
from textwrap import TextWrapper, wrap
from typing import Final

_WIDTH: Final = 80
_LABEL: Final = 16
_MOST_LISTED: Final = 12
_OBEYED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"  # needed by Persian, Sinhala and emoji
_UNITS: Final = ((604_800, "week"), (86_400, "day"), (3600, "hour"), (60, "minute"))


def printable(text: str) -> str:
    r"""Return a text without control and format characters, which terminals obey or hide.

    Each such character becomes its escape, such as ``\x1b``.
    """
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in _OBEYED and character not in _JOINERS
        else character
        for character in text
    )


def wrapped(text: str, *, first: str = "", rest: str | None = None) -> list[str]:
    """Break a paragraph into lines of 80 characters; unprintable ones are escaped.

    ``first`` precedes the first line, ``rest`` the others; by default as many spaces.
    """
    rest = " " * len(first) if rest is None else rest
    wrapper = TextWrapper(_WIDTH, first, rest, break_on_hyphens=False)
    return wrapper.wrap(printable(text)) or [first]


def labelled(label: str, text: str, indent: int = 2) -> list[str]:
    """Return the lines of ``label text``, with the text in a separate column."""
    return wrapped(text, first=(" " * indent + label).ljust(_LABEL))


def in_units(seconds: int) -> tuple[int, str]:
    """Return a length of time as a number of its largest whole unit."""
    for length, unit in _UNITS:
        if seconds % length == 0 and seconds:
            return seconds // length, unit
    return seconds, "second"


def counted(count: int, unit: str) -> str:
    """Return a count with its unit: "1 byte", "1,024 bytes"."""
    return f"{count:,} {unit}" if count == 1 else f"{count:,} {unit}s"


def listed(answers: Sequence[str]) -> str:
    """Return all answers in a line, or the first few of many and the last."""
    if len(answers) <= _MOST_LISTED:
        return " / ".join(map(printable, answers))
    few = " / ".join(map(printable, (*answers[:3], "…", answers[-1])))
    return f"{few} ({len(answers):,})"


Row = tuple[str, str | bytes | Iterable[str] | None]
"""A label and its content: a text, paragraphs, bytes in hex; an empty one is omitted."""


def text_of(rows: Iterable[Row], indent: int = 2) -> list[str]:
    """Return the lines of a table's rows, at 80 columns."""
    lines: list[str] = []
    for label, content in rows:
        if isinstance(content, bytes):
            content = (f"{len(content):,}, in hex:", *(wrap(content.hex(), 64) or [""]))
        paragraphs = [content] if isinstance(content, str) and content else content or ()
        for number, paragraph in enumerate(paragraphs):
            lines += labelled("" if number else label, paragraph, indent)
    return lines
