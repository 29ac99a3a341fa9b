"""Cautions: what is to be known of a result before it is used, each with one code and wording."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

Result = TypeVar("Result")


class Level(StrEnum):
    """How much a caution changes what may be done with a result.

    Surfaces with room for a sentence or two, such as a chart, leave out the notes.
    """

    ALERT = "alert"  # it is not to be used
    WARNING = "warning"  # it may mislead whoever does not know
    NOTE = "note"


_MARKS: Final = {Level.ALERT: "!! ", Level.WARNING: "! ", Level.NOTE: ""}


@dataclass(frozen=True, slots=True)
class Caution:
    """A sentence about a result; programs know it by its code."""

    code: str
    level: Level
    text: str

    def __str__(self) -> str:
        """Return the sentence, marked by its level, for plain text."""
        return f"{_MARKS[self.level]}{self.text}"

    @property
    def brief(self) -> bool:
        """Return whether the caution stands wherever the result does, even in a single sentence."""
        return self.level is not Level.NOTE


@dataclass(frozen=True, slots=True)
class Rule(Generic[Result]):
    """A line of a table of cautions: ``text`` is empty of results for which it does not hold."""

    code: str
    level: Level
    text: Callable[[Result], str]


def cautions_of(rules: Iterable[Rule[Result]], result: Result) -> tuple[Caution, ...]:
    """Return the cautions that hold, in the order of their table: alerts stand first there."""
    texts = ((rule, rule.text(result)) for rule in rules)
    return tuple(Caution(rule.code, rule.level, text) for rule, text in texts if text)


def caution_maps(cautions: Iterable[Caution]) -> list[dict[str, str]]:
    """Return cautions as plain values for JSON."""
    return [{"code": caution.code, "text": caution.text} for caution in cautions]


def caution_codes(cautions: Iterable[Caution]) -> str:
    """Return the codes of cautions, for a cell."""
    return " ".join(caution.code for caution in cautions)


CAUTION: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "text": {"type": "string"}},
    "required": ["code", "text"],
    "additionalProperties": False,
}
"""The JSON Schema of a caution."""
