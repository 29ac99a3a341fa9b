"""A document: what a result says, to people and to programs, on whatever surface."""

import math
from collections.abc import Callable, Mapping, Sequence
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


ColumnKind = Literal["text", "name", "number", "share"]
"""The kind of a column's values; only a text is broken into lines."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: for programs by its key, for people below its title.

    Attributes:
        key: empty if people alone see the column.
        title: None if programs alone see it.
        width: the key of what tells how wide the interval of a row's number is.
        cell: the text of a row for people, where it is not that of the value.
    """

    key: str
    title: str | None = None
    kind: ColumnKind = "text"
    width: str = ""
    cell: Callable[[Mapping[str, Any]], str] | None = None

    def text(self, row: Mapping[str, Any]) -> str:
        """Return its cell in a row, whose numbers may be of a ``kind`` of their own."""
        if self.cell is not None:
            return self.cell(row)
        value = row[self.key]
        if isinstance(value, str):
            return value
        width = row[self.width] if self.width else math.inf
        return number_text(value, width, share=row.get("kind", self.kind) == "share")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by the keys of its columns; programs see them in a document if it has a key itself.

    A row's ``level``, if it has one, is that of a caution.
    """

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    key: str | None = None

    @property
    def titled(self) -> list[Column]:
        """Return the columns that people see."""
        return [column for column in self.columns if column.title is not None]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows for programs, with those values that they have columns for."""
        keys = [column.key for column in self.columns]
        return [{key: row[key] for key in keys if key in row} for row in self.rows]


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
