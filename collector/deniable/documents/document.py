"""A document: what a result says, to people and to programs, on whatever surface."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

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


ColumnKind = Literal["text", "name", "number", "share", "points"]
"""What the values of a column are: shares are written in percent, their differences in points.

Only a text is broken into lines.
"""

Shape = Literal["value", "interval", "bar"]
"""How a column shows a row: its value, the ends ``low`` and ``high`` of its interval, or a bar."""

NOWHERE: Final = "none possible"
"""Stands for an interval that lay wholly outside what is possible."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: for programs by its key, for people below its title.

    Attributes:
        key: empty if people alone see the column.
        title: None if programs alone see it.
        width: the key of a row's typical interval width, to which its numbers are rounded.
        signed: whether positive numbers have a sign.
        cell: the text of a row for people, where it is not that of the value.
    """

    key: str
    title: str | None = None
    kind: ColumnKind = "text"
    width: str = ""
    shape: Shape = "value"
    signed: bool = False
    cell: Callable[[Mapping[str, Any]], str] | None = None

    def texts(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return its cells, alike for all rows of one ``kind``, which may be a row's own."""
        widths: dict[str, list[float]] = {}
        for row in rows:
            if self.width and row[self.width]:
                widths.setdefault(row.get("kind", self.kind), []).append(row[self.width])
        typical = {kind: sorted(known)[len(known) // 2] for kind, known in widths.items()}
        return [self._text(row, typical.get(row.get("kind", self.kind), math.inf)) for row in rows]

    def _text(self, row: Mapping[str, Any], width: float) -> str:
        if self.cell is not None:
            return self.cell(row)
        sign = "+" if self.signed else ""
        kind = row.get("kind", self.kind)
        if self.shape == "interval":
            ends = (number_text(row[end], width, sign, kind=kind) for end in ("low", "high"))
            return "-" if row["low"] is None else NOWHERE if row["outside"] else " to ".join(ends)
        value = row[self.key]
        return value if isinstance(value, str) else number_text(value, width, sign, kind=kind)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by the keys of its columns; programs see them in a document if it has a key itself.

    A row's ``caution``, if it has one, is a level.
    """

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    key: str | None = None
    title: str = ""

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
    """A document of a result.

    Attributes:
        sentence: the result in one sentence, which can be published by itself.
        chart: the drawing of a width, as SVG.
        values: more values, for programs alone.
    """

    facts: Sequence[Fact] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    cautions: Sequence[Caution] = ()
    heading: str = ""
    sentence: str = ""
    chart: Callable[[float], str] | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


def level_text(level: float) -> str:
    """Return a confidence level in percent."""
    return f"{100 * level:.12g} %"


def number_text(
    number: float | None, width: float = math.inf, sign: str = "", *, kind: ColumnKind = "number"
) -> str:
    """Return a number to the second digit of its interval's width: more of them are noise.

    Percentages have a decimal at least. A whole number is in thousands, one whose interval nobody
    knows has six digits, and none is "-".
    """
    if number is None:
        return "-"
    if type(number) is int:
        return f"{number:{sign},}"
    factor, mark = (1 if kind == "number" else 100), "%" * (kind == "share")
    if not 0 < width < math.inf:
        return f"{factor * number:{sign}.6g}{mark}"
    places = decimals(factor * width, least=0 if kind == "number" else 1)
    return f"{factor * number:{sign}z,.{places}f}{mark}"


def decimals(width: float, least: int) -> int:
    """Return the number of decimals up to the second digit of an interval's width."""
    return min(max(1 - math.floor(math.log10(width)), least), 12)
