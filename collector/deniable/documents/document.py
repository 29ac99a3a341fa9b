"""A document: what a result says, of which each surface renders the same.

It has a heading, facts, tables and notes; what is for programs alone has no text, and what is for
people alone no key.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


@dataclass(frozen=True, slots=True)
class Fact:
    """A thing that is known: with its label for people, and with its key and value for programs.

    Attributes:
        details: labels and texts that belong to it, for people.
    """

    label: str = ""
    text: str = ""
    key: str | None = None
    value: Any = None
    details: Sequence[tuple[str, str]] = ()

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield labels and texts for people."""
        if self.text:
            yield self.label, self.text
        for label, text in self.details:
            yield f"  {label}", text


class Kind(Enum):
    """What the values of a column are."""

    TEXT = "text"
    NUMBER = "number"
    SHARE = "share"
    BAR = "bar"
    """A share, and the ends of its interval."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: the key of its values, and its title.

    Attributes:
        width: the key of a row's value that tells how wide the interval of a number is.
    """

    key: str
    title: str
    kind: Kind = Kind.TEXT
    width: str = ""

    def text(self, row: Mapping[str, Any]) -> str:
        """Return its cell in a row; a text stands there as it is, whatever the column is of."""
        value = row[self.key]
        if isinstance(value, str):
            return value
        width = row[self.width] if self.width else math.inf
        return number_text(value, width, share=self.kind is Kind.SHARE)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by the keys of their columns; programs see them under its key, unless it has none."""

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """What a result says."""

    facts: Sequence[Fact] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    heading: str = ""


def number_text(
    number: float | None, width: float = math.inf, sign: str = "", *, share: bool = False
) -> str:
    """Return a number to the second digit of its interval's width: more of them are noise.

    A whole one in thousands, one whose interval nobody knows to six digits, and "-" for none.
    """
    if number is None:
        return "-"
    if type(number) is int:
        return f"{number:{sign},}"
    hundred, mark = (100, "%") if share else (1, "")
    if not 0 < width < math.inf:
        return f"{hundred * number:{sign}.6g}{mark}"
    decimals = min(max(1 - math.floor(math.log10(hundred * width)), 0), 12)
    return f"{hundred * number:{sign}z,.{decimals}f}{mark}"
