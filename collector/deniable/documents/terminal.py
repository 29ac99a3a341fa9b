"""Documents on a terminal."""

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from deniable.documents.caution import Caution, Level
from deniable.documents.document import Document, Fact, Table

if TYPE_CHECKING:  # rich takes longer to import than most commands take
    from rich.console import Console, RenderableType


def print_document(document: Document, screen: "Console") -> None:
    """Print the parts of a document for people, with an empty line between them."""
    from rich.text import Text

    parts: list[RenderableType] = [Text(document.heading)] if document.heading else []
    if facts := facts_text(document.facts, screen.width):
        parts.append(Text(facts))
    parts += map(_table, document.tables)
    print_alerts(document.cautions, screen)
    for number, part in enumerate(parts):
        if number:
            screen.print()
        screen.print(part)
    if document.notes or document.cautions:
        screen.print()
        print_notes(document.cautions, screen, *document.notes)


def facts_text(facts: Iterable[Fact], width: int, indent: int = 0) -> str:
    """Return labels and texts, which begin at ``indent``, or where the longest label leaves room.

    A text that is too long is broken at its spaces, unless they are non-breaking.
    """
    lines: list[tuple[str, str]] = []
    for fact in facts:
        lines += [(fact.label, fact.text)] * bool(fact.text)
        lines += ((f"  {label}", text) for label, text in fact.details)
    indent = indent or max((len(label) + 2 for label, _ in lines), default=0)
    lines_of = textwrap.TextWrapper(
        max(width - indent, indent), break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(
        f"{label * (not number):<{indent}}{line}".replace("\N{NO-BREAK SPACE}", " ")
        for label, text in lines
        for number, line in enumerate(lines_of.wrap(text))
    )


def _table(table: Table) -> "RenderableType":
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, pad_edge=False)
    for column in table.columns:
        number = column.kind != "text"
        grid.add_column(column.title, justify="right" if number else "left", no_wrap=number)
    for row in table.rows:
        grid.add_row(*(Text(column.text(row)) for column in table.columns))
    return grid


def print_alerts(cautions: Iterable[Caution], screen: "Console") -> None:
    """Print, above a result, why it is not to be used, if so."""
    for caution in cautions:
        if caution.level is Level.ALERT:
            screen.print(f"{caution}\n", style="bold red")


def print_notes(cautions: Iterable[Caution], screen: "Console", *others: str) -> None:
    """Print, below a result, what else is to be known of it; and other notes."""
    lines = [str(caution) for caution in cautions if caution.level is not Level.ALERT]
    screen.print("\n".join([*others, *lines]), style="dim")
