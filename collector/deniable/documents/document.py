"""A document: what a result says, to people and to programs, on whatever surface."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from deniable.documents.caution import Caution


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact: a labelled text for people, unless it is empty, and a value for programs.

    Attributes:
        details: more labels and texts, which belong to it.
    """

    label: str = ""
    text: str = ""
    key: str | None = None
    value: Any = None
    details: Sequence[tuple[str, str]] = ()


ColumnKind = Literal["text", "number", "share"]
"""What the values of a column are."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: the key of its values, its title, and what they are.

    Attributes:
        width: the key of what tells how wide the interval of a row's number is.
    """

    key: str
    title: str
    kind: ColumnKind = "text"
    width: str = ""

    def text(self, row: Mapping[str, Any]) -> str:
        """Return its cell in a row, whose numbers may be of a ``kind`` of their own."""
        value = row[self.key]
        if isinstance(value, str):
            return value
        width = row[self.width] if self.width else math.inf
        return number_text(value, width, share=row.get("kind", self.kind) == "share")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by the keys of its columns; programs see all of them, if it has a key itself."""

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a result; its values are for programs alone."""

    facts: Sequence[Fact] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    cautions: Sequence[Caution] = ()
    heading: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


def level_text(level: float) -> str:
    """Return a confidence level in percent."""
    return f"{100 * level:.12g} %"


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
