"""Documents on a terminal."""

import io
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from deniable.documents.document import Column, Document, Fact, Level, Table

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


BARS: Final = "Bars are solid to the low end, half-tone to the estimate, and light to the high end"
"""The legend of bars."""


_STYLES: Final[dict[object, str]] = {Level.ALERT: "bold red", Level.WARNING: "yellow"}
_NARROWEST_TEXT: Final = 12
"""The least width to which texts are broken; with less room, a table becomes a list."""
_NARROWEST_BAR, _WIDEST_BAR, _WIDEST_LABEL = 8, 30, 40


def document_text(document: Document, width: int = 100) -> str:
    """Return a document as plain text, in lines of at most this width."""
    from rich.console import Console

    screen = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    with screen.capture() as capture:
        print_document(document, screen)
    return "\n".join(map(str.rstrip, capture.get().splitlines())).rstrip()


def print_document(document: Document, screen: "Console") -> None:
    """Print the parts of a document for people, with empty lines between the parts."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    sentence = document.sentence
    for caution in document.cautions:
        if caution.level is Level.ALERT:  # an alert is shown above, once
            screen.print(f"{caution}\n", style="bold red")
            sentence = sentence.replace(f" {caution.text}", "")
    if sentence:
        parts.append(Text(sentence))
    if document.heading:
        parts.append(Text(document.heading, style="bold"))
    if facts := facts_text(document.facts, screen.width):
        # A group, since printing a text alone breaks it: keys stay beside their labels.
        parts.append(Group(Text(facts, no_wrap=True, overflow="ignore")))
    tables = [table for table in document.tables if table.rows]
    bars: list[str] = []
    for table in tables:
        if table_width(table, _NARROWEST_TEXT) > screen.width:
            parts.append(Text("\n".join(_list(table, screen.width))))
            continue
        texts = _layout(table, screen.width)
        parts.append(_table(table, texts, titled=len(tables) > 1))
        if any(_is_bar(column) and any(cells) for column, cells in texts):
            bars = [BARS]
    for number, part in enumerate(parts):
        if number:
            screen.print()
        screen.print(part, crop=False)
    if document.notes or document.cautions or bars:
        if parts:
            screen.print()
        below = (str(one) for one in document.cautions if one.level is not Level.ALERT)
        screen.print("\n".join([*document.notes, *bars, *below]), style="dim")


def facts_text(facts: Iterable[Fact], width: int, indent: int = 0) -> str:
    """Return labels and texts; the texts begin at ``indent``, or after the longest label.

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
    """Return the width of a table without bars, with its texts whole or as narrow as possible."""
    from rich.cells import cell_len

    width = -2
    for column, cells in _texts(table):
        lines = [line for text in (column.title or "", *cells) for line in text.splitlines()]
        widest = max(map(cell_len, lines), default=0)
        if narrowest is not None and column.kind == "text":
            widest = min(widest, narrowest)
        width += widest + 2
    return width


def _texts(table: Table) -> list[tuple[Column, list[str]]]:
    """Return the columns that people see, except bars, with their cells."""
    return [(column, column.texts(table.rows)) for column in table.titled if not _is_bar(column)]


def _layout(table: Table, width: int) -> list[tuple[Column, list[str]]]:
    """Return the columns of a table with their cells, and its bars as wide as possible."""
    texts = _texts(table)
    if bar_width := _bar_width(texts, width):
        texts += [
            (column, [_bar(column, row, bar_width) for row in table.rows])
            for column in table.columns
            if _is_bar(column)
        ]
    return texts


def _table(
    table: Table, texts: Sequence[tuple[Column, list[str]]], *, titled: bool
) -> "RenderableType":
    from rich.cells import cell_len
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(
        title=table.title if titled and table.title else None,
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        show_header=any(column.title for column in table.titled),
    )
    for column, cells in texts:
        text = column.kind == "text"
        grid.add_column(
            column.title or "",
            justify="left" if text or column.kind == "name" or _is_bar(column) else "right",
            no_wrap=not text,
            overflow="fold",
            min_width=min(_NARROWEST_TEXT, max(map(cell_len, cells))) if text else None,
        )
    for row, *cells in zip(table.rows, *(cells for _, cells in texts), strict=True):
        grid.add_row(*map(Text, cells), style=_STYLES.get(row.get("caution")))
    return grid


def _list(table: Table, width: int) -> Iterator[str]:
    """Yield lines of a table that is too wide: each row's first cell, then the others below."""
    (_, names), *others = _texts(table)
    if table.title:
        yield table.title
    for at, name in enumerate(names):
        yield name
        pairs = [(column.title, cells[at]) for column, cells in others if cells[at]]
        text = ", ".join(f"{title or ''}\N{NO-BREAK SPACE}{cell}".strip() for title, cell in pairs)
        yield facts_text([Fact(text=text)], width, indent=2)


def _is_bar(column: Column) -> bool:
    return column.shape == "bar"


def _bar_width(texts: Sequence[tuple[Column, list[str]]], width: int) -> int:
    """Return the width left for bars beside columns, the first of which may be folded; or 0."""
    from rich.cells import cell_len

    widest = [max(map(cell_len, (column.title or "", *cells))) for column, cells in texts]
    left = width - 2 * len(widest) - min(widest[0], _WIDEST_LABEL) - sum(widest[1:])
    return min(left, _WIDEST_BAR) if left >= _NARROWEST_BAR else 0


def _bar(column: Column, row: Mapping[str, Any], width: int) -> str:
    """Draw a share, as BARS explains; what is beyond 0 or 1 is drawn at the bar's ends."""
    value, low, high = row[column.key], row["low"], row["high"]
    if low is None or row.get("kind", column.kind) not in {"share", "unbiased"}:
        return ""
    ends: list[float] = [min(low, value), value, max(high, value)]
    solid, half, light = (round(width * min(max(end, 0.0), 1.0)) for end in ends)
    return "█" * solid + "▓" * (half - solid) + "░" * (light - half)
