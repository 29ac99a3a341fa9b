"""The figures for people: one table of fields, from which text, a dict and JSON follow."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from math import inf, nextafter
from textwrap import wrap
from typing import Any, ClassVar

from deniable.client.transparency.plain_text import labelled

Row = tuple[str, str | bytes | Iterable[str] | None]
"""A label and what stands beside it: a text, paragraphs, bytes in hex; an empty one is left out."""


@dataclass(frozen=True, slots=True)
class Disclosure:
    """A thing whose fields are its form for JSON, and whose rows are its text for people."""

    _kind: ClassVar[str] = ""
    """Told first, of things of several kinds in one list."""
    _costs: ClassVar[tuple[str, ...]] = ()
    """The fields in units of 1e-9 epsilon, as their keys say."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON: bytes in hex, costs in units of 1e-9 epsilon."""
        values = {
            f"{attribute.name}_nano_epsilon"
            if attribute.name in self._costs
            else attribute.name: _plain(getattr(self, attribute.name))
            for attribute in fields(self)
        }
        return {"kind": self._kind, **values} if self._kind else values


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


def _plain(value: Any) -> Any:
    if isinstance(value, Disclosure):
        return value.to_dict()
    if is_dataclass(value):
        return {
            attribute.name: _plain(getattr(value, attribute.name)) for attribute in fields(value)
        }
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Fraction):  # bounds of what a response tells: rounded up
        return near if (near := float(value)) >= value else nextafter(near, inf)
    return value.value if isinstance(value, Enum) else value
