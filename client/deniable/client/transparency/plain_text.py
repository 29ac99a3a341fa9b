"""Plain text for people: 80 columns, and nothing in it that a terminal would obey."""

import unicodedata
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final

from deniable.budget import NANO, percent_text
from deniable.mechanisms import odds_ceiling

_WIDTH: Final = 80
_LABEL: Final = 16
_OBEYED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_UNITS: Final = ((604_800, "week"), (86_400, "day"), (3600, "hour"), (60, "minute"))
_MOST_EPSILON: Final = 14 * NANO
"""e^14 exceeds a million: nobody needs a larger number to see that it protects nothing."""

SAME_TIMES: Final = " that repeat and change in the same epochs as yours"
"""The answers that a cost covers where responses are kept (docs/mathematics.md, section 16)."""


def printable(text: str) -> str:
    r"""Return a text without what a terminal obeys or hides: control and format characters.

    Each becomes its escape, such as ``\x1b``.
    """
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in _OBEYED
        else character
        for character in text
    )


def wrapped(text: str, *, first: str = "", rest: str | None = None) -> list[str]:
    """Break a paragraph into lines of 80 columns; wide characters take two, combining ones none.

    What is not printable is escaped. ``first`` stands before the first line, ``rest`` before the
    others; by default as many spaces.
    """
    rest = " " * _columns(first) if rest is None else rest
    lines: list[str] = []
    line, used = first, _columns(first)
    begun = False
    for word in printable(text).split(" "):
        for part in _parts(word, _WIDTH - _columns(rest)):
            columns = _columns(part)
            if begun and used + 1 + columns > _WIDTH:
                lines.append(line)
                line, used, begun = rest, _columns(rest), False
            line += f" {part}" if begun else part
            used += columns + begun
            begun = True
    return [*lines, line]


def labelled(label: str, text: str, indent: int = 2) -> list[str]:
    """Return the lines of ``label  text``, the text in a column of its own."""
    return wrapped(text, first=(" " * indent + label).ljust(_LABEL))


def _parts(word: str, most: int) -> list[str]:
    """Cut a word that no line could hold."""
    parts, part = [], ""
    for character in word:
        if _columns(part) + _columns(character) > most:
            parts.append(part)
            part = ""
        part += character
    return [*parts, part]


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    visible = (character for character in text if not unicodedata.combining(character))
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in visible)


def shown_day(seconds: float) -> str:
    """Return the day of an instant in UTC."""
    return shown_time(seconds, "%Y-%m-%d")


def shown_time(seconds: float, form: str = "%Y-%m-%d %H:%M UTC") -> str:
    """Return an instant in UTC, whatever a clock or a manifest says."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime(form)
    except (ValueError, OverflowError, OSError):
        return f"Unix second {seconds:.0f}"


def shown_duration(seconds: int) -> str:
    """Return a length of time in its largest whole unit: "2 weeks", "36 hours", "90 seconds"."""
    for length, unit in _UNITS:
        if seconds % length == 0 and seconds:
            return counted(seconds // length, unit)
    return counted(seconds, "second")


def counted(count: int, unit: str) -> str:
    """Return a count with its unit: "1 byte", "1,024 bytes"."""
    return f"{count:,} {unit}" if count == 1 else f"{count:,} {unit}s"


def odds_of(nano: int) -> Fraction:
    """Return e^epsilon, rounded up, of an epsilon in units of 1e-9; large ones are cut."""
    return odds_ceiling(Fraction(min(max(nano, 0), _MOST_EPSILON), NANO))


def shown_guess(guess: Fraction) -> str:
    """Return the bound on a guess in words, rounded up."""
    return (
        "a guess at any yes/no question about your answer that is right 50% of the time becomes "
        f"right at most {percent_text(guess, 'most')} of the time once a response is seen"
    )
