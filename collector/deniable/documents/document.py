"""A document: the content of a result on any surface, with its cautions, each worded once."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final, Generic, Literal, TypeVar

Result = TypeVar("Result")


class Level(StrEnum):
    """The weight of a caution: how much it limits the use of a result.

    Surfaces with room for a sentence or two, such as a chart, omit the notes.
    """

    ALERT = "alert"  # the result must not be used
    WARNING = "warning"  # the result may mislead uninformed readers
    NOTE = "note"


_MARKS: Final = {Level.ALERT: "!! ", Level.WARNING: "! ", Level.NOTE: ""}


@dataclass(frozen=True, slots=True)
class Caution:
    """A sentence about a result; programs identify it by its code."""

    code: str
    level: Level
    text: str

    def __str__(self) -> str:
        """Return the sentence, marked by its level, for plain text."""
        return f"{_MARKS[self.level]}{self.text}"

    @property
    def brief(self) -> bool:
        """Return whether the caution accompanies the result everywhere, even in one sentence."""
        return self.level is not Level.NOTE


@dataclass(frozen=True, slots=True)
class Rule(Generic[Result]):
    """A line of a table of cautions: ``text`` returns "" for results to which it does not apply."""

    code: str
    level: Level
    text: Callable[[Result], str]


def cautions_of(rules: Iterable[Rule[Result]], result: Result) -> tuple[Caution, ...]:
    """Return the cautions that apply, in the order of their table: alerts come first."""
    texts = ((rule, rule.text(result)) for rule in rules)
    return tuple(Caution(rule.code, rule.level, text) for rule, text in texts if text)


def with_cautions(text: str, cautions: Iterable[Caution]) -> str:
    """Return a sentence followed by the cautions that accompany the result everywhere."""
    return " ".join((text, *(caution.text for caution in cautions if caution.brief)))


def caution_maps(cautions: Iterable[Caution]) -> list[dict[str, str]]:
    """Return cautions as plain values for JSON."""
    return [{"code": caution.code, "text": caution.text} for caution in cautions]


def caution_codes(cautions: Iterable[Caution]) -> str:
    """Return the codes of cautions as the text of a cell."""
    return " ".join(caution.code for caution in cautions)


_ROUNDING = 1e-9
"""The relative rounding error of a number computed in floats."""

_NUMBER = re.compile(r"[+-]?(?=\.?[0-9])[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_MOST_DIGITS = 400
_BEYOND = 10**308


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact: a labelled text for people (none if empty), and a value for programs.

    Attributes:
        details: additional labels and texts for the fact.
        aside: whether the fact is folded under Details where possible.
    """

    label: str = ""
    text: str = ""
    key: str | None = None
    value: Any = None
    details: Sequence[tuple[str, str]] = ()
    aside: bool = False


ColumnKind = Literal["text", "name", "number", "exact", "share", "unbiased", "points"]
"""The type of a column's values: shares are written in percent, their differences in points.

A share below 0 or above 1 is written as 0 % or 100 %, unless it must appear unbiased.

Only texts are broken into lines; an exact number has all its digits.
"""

Shape = Literal["value", "interval", "bar"]
"""A column's view of a row: its value, the ends ``low`` and ``high`` of its interval, or a bar."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, with a key for programs and a title for people.

    Attributes:
        key: empty if only people see the column.
        title: None if only programs see it.
        width: the key of a row's typical interval width, to which its numbers are rounded.
        signed: whether positive numbers have a sign.
        cell: the text of a row for people, if it differs from the text of the value.
    """

    key: str
    title: str | None = None
    kind: ColumnKind = "text"
    width: str = ""
    shape: Shape = "value"
    signed: bool = False
    cell: Callable[[Mapping[str, Any]], str] | None = None

    def texts(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the column's cells; shares and points are rounded alike to their typical width."""
        widths = sorted(
            row[self.width]
            for row in rows
            if self.width and row[self.width] and row.get("kind", self.kind) != "number"
        )
        typical = widths[len(widths) // 2] if widths else math.inf
        return [self._text(row, typical) for row in rows]

    def _text(self, row: Mapping[str, Any], width: float) -> str:
        if self.cell is not None:
            return self.cell(row)
        sign = "+" if self.signed else ""
        kind = row.get("kind", self.kind)
        if kind == "number":
            width = (self.width and row[self.width]) or math.inf
        if self.shape == "interval":
            if row["low"] is None:
                return "-"
            low, high = (
                None if row[end] is None else number_text(row[end], width, sign, kind=kind)
                for end in ("low", "high")
            )
            return f"from {low} up" if high is None else f"{low} to {high}"
        value = row[self.key]
        return value if isinstance(value, str) else number_text(value, width, sign, kind=kind)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by the keys of the columns; programs get a document's table if it has a key.

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
        """Return the rows for programs, with the values that have columns."""
        keys = [column.key for column in self.columns]
        return [{key: row[key] for key in keys if key in row} for row in self.rows]


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a result.

    Attributes:
        sentence: the result in one sentence, which can be published by itself.
        chart: a function from a width to an SVG drawing.
        values: additional values, only for programs.
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
    """Return a probability in percent, to twelve digits, or more if these would give 100 %."""
    text = f"{100 * level:.12g}"
    return f"{Decimal(str(level)).scaleb(2) if text == '100' and level != 1 else text} %"


def read_number(text: str) -> Fraction | None:
    """Return a written number exactly; None for anything but ASCII decimals.

    float and int would also accept "1_0", "nan" and the digits of every script.
    """
    if len(text) > _MOST_DIGITS or not _NUMBER.fullmatch(text):
        return None
    number = Fraction(text)
    return number if abs(number) < _BEYOND else None


def bound_text(most: float) -> str:
    """Return a bound to two digits, or to whole numbers from 99.5 on, rounded up."""
    places = max(0, 1 - math.floor(math.log10(most))) if 0 < most < 99.5 else 0
    text = f"{math.ceil(most * 10**places * (1 - _ROUNDING)) / 10**places:,.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def number_text(
    number: float | None, width: float = math.inf, sign: str = "", *, kind: ColumnKind = "number"
) -> str:
    """Return a number, rounded to the second digit of its interval's width: more would be noise.

    Percentages have at least one decimal. A whole number has thousands separators. A number with an
    unknown interval has six digits, or a decimal of percent. A missing number is "-".
    """
    if number is None:
        return "-"
    if type(number) is int:
        return with_minus(f"{number:{sign},}")
    if kind == "exact":
        return with_minus(f"{number:{sign}z.15g}")
    if kind == "share":
        number = min(max(number, 0.0), 1.0)
    factor, least, mark = (100, 1, "%" * (kind in {"share", "unbiased"}))
    if kind == "number":
        factor, least = 1, 0
        if not 0 < width < math.inf:
            return with_minus(f"{number:{sign}z.6g}")
    places = decimals(factor * width, least) if 0 < width < math.inf else least
    return with_minus(f"{factor * number:{sign}z,.{places}f}{mark}")


def with_minus(text: str) -> str:
    """Return a number for people: a negative one has a minus sign instead of a hyphen."""
    return f"\N{MINUS SIGN}{text[1:]}" if text.startswith("-") else text


def decimals(width: float, least: int) -> int:
    """Return the number of decimals up to the second digit of an interval's width."""
    return min(max(1 - math.floor(math.log10(width)), least), 12)


def upper_text(value: Fraction | Decimal, digits: int = 3) -> str:
    """Return an epsilon, a delta or odds to this many significant digits, rounded up."""
    if value == Decimal("Infinity"):
        return "infinite"
    exact = Fraction(value)
    context = Context(prec=digits, rounding=ROUND_CEILING)
    rounded = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    plain = rounded == 0 or -7 < rounded.adjusted() < 12
    return f"{rounded.normalize(context):f}" if plain else f"{rounded:E}"
