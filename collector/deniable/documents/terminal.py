"""Documents on a terminal."""

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, Literal

from deniable.documents.caution import Caution, Level
from deniable.documents.document import Document, Fact, Table

if TYPE_CHECKING:  # rich takes longer to import than most commands take
    from rich.console import Console, RenderableType

_STYLES: Final[dict[object, str]] = {Level.ALERT: "bold red", Level.WARNING: "yellow"}
_NARROWEST_TEXT: Final = 24
"""The width down to which texts are broken; with less room, a table becomes a list."""


def print_document(document: Document, screen: "Console") -> None:
    """Print the parts of a document for people, with an empty line between them."""
    from rich.text import Text

    parts: list[RenderableType] = [Text(document.heading)] if document.heading else []
    if facts := facts_text(document.facts, screen.width):
        parts.append(Text(facts))
    parts += (_table(table, screen.width) for table in document.tables if table.rows)
    print_alerts(document.cautions, screen)
    for number, part in enumerate(parts):
        if number:
            screen.print()
        screen.print(part)
    if document.notes or document.cautions:
        if parts:
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


def table_width(table: Table, narrowest: int | None = None) -> int:
    """Return the width of a table with its texts whole, or broken down to the narrowest."""
    from rich.cells import cell_len

    width = 2 * (len(table.titled) - 1)
    for column in table.titled:
        texts = (column.title or "", *map(column.text, table.rows))
        widest = max(cell_len(line) for text in texts for line in text.splitlines() or [""])
        if narrowest is not None and column.kind == "text":
            widest = min(widest, narrowest)
        width += widest
    return width


def _table(table: Table, width: int) -> "RenderableType":
    from rich.table import Table as Grid
    from rich.text import Text

    if table_width(table, _NARROWEST_TEXT) > width:
        return Text("\n".join(_list(table, width)))
    titles = any(column.title for column in table.titled)
    grid = Grid(box=None, pad_edge=False, show_header=titles)
    for column in table.titled:
        side: Literal["left", "right"] = "left" if column.kind in {"text", "name"} else "right"
        grid.add_column(column.title or "", justify=side, no_wrap=column.kind != "text")
    for row in table.rows:
        style = _STYLES.get(row.get("level"))
        grid.add_row(*(Text(column.text(row)) for column in table.titled), style=style)
    return grid


def _list(table: Table, width: int) -> Iterator[str]:
    """Yield lines of a table that is too wide: each row's first cell, and below it the others."""
    first, *others = table.titled
    for row in table.rows:
        yield first.text(row)
        cells = (f"{column.title}\N{NO-BREAK SPACE}{column.text(row)}" for column in others)
        yield facts_text([Fact(text=", ".join(cells))], width, indent=2)


def print_alerts(cautions: Iterable[Caution], screen: "Console") -> None:
    """Print, above a result, why it is not to be used, if so."""
    for caution in cautions:
        if caution.level is Level.ALERT:
            screen.print(f"{caution}\n", style="bold red")


def print_notes(cautions: Iterable[Caution], screen: "Console", *others: str) -> None:
    """Print, below a result, what else is to be known of it; and other notes."""
    lines = [str(caution) for caution in cautions if caution.level is not Level.ALERT]
    screen.print("\n".join([*others, *lines]), style="dim")
