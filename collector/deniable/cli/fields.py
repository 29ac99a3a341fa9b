"""What a command found: one list of fields, from which its text and its JSON follow."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import click


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its key in JSON, and its title for people, unless they do not see it."""

    key: str
    title: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that was found.

    Attributes:
        key: in JSON; None if it is not there.
        lines: labels and texts for people.
        columns: for a list of mappings that people are shown as a table.
        text: a paragraph for people, a note if it has no key.
    """

    key: str | None
    value: Any = None
    lines: Sequence[tuple[str, str]] = ()
    columns: Sequence[Column] = ()
    text: str = ""


def print_fields(fields: Sequence[Field], *, as_json: bool) -> None:
    """Print all fields that have a key as JSON, or what is for people of all of them."""
    if as_json:
        found = {field.key: _finite(field.value) for field in fields if field.key}
        return click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    from rich.table import Table
    from rich.text import Text

    from deniable.cli.screen import console

    screen, blocks = console(), 0
    lines = Table(box=None, pad_edge=False, show_header=False)
    lines.add_column(no_wrap=True)
    lines.add_column(overflow="fold")
    for label, text in (line for field in fields for line in field.lines):
        lines.add_row(Text(label), Text(text))
    if lines.rows:
        screen.print(lines)
    for field in fields:
        if (field.text or field.columns) and (blocks or lines.rows):
            screen.print()
        if field.text:
            screen.print(field.text, style=None if field.key else "dim")
        if field.columns:
            shown = [column for column in field.columns if column.title]
            table = Table(box=None, pad_edge=False)
            for column in shown:
                side: Literal["left", "right"] = "right" if column.number else "left"
                table.add_column(column.title, justify=side, no_wrap=column.number)
            for row in field.value:
                table.add_row(*(Text(cell_text(row[column.key])) for column in shown))
            screen.print(table)
        blocks += bool(field.text or field.columns)
    return None


def cell_text(value: object) -> str:
    """Return a cell: a whole number in thousands, another one to six digits, "-" for none."""
    if type(value) is int:
        return f"{value:,}"
    return "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and math.isinf(value) else value
