"""Words of two questions together: the two-way table, and whether their answers go together."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, Final

from deniable.documents import Caution, Column, Document, Table
from deniable.documents.csv import rows_csv
from deniable.documents.document import number_text
from deniable.estimates.cross import CrossTable, Of
from deniable.estimates.estimate import Estimate
from deniable.presenting.cautions import DisplayedFigures, furthest, with_cautions
from deniable.presenting.rows import (
    estimate_columns,
    estimate_map,
    estimate_row,
    histogram_facts,
    sentence_map,
)
from deniable.reading.epochs import reporters

_WIDEST: Final = 5
"""Columns beside each other that can be read on a phone; more of them are below each other."""
_ALL: Final = "all"
_FIGURES: Final = ("estimate", "standard_error", "low", "high", "outside")
_NOTES: Final = {
    Of.ROWS: "Shares of rows: among those who gave a row's answer to {rows}, of each answer to "
    "{columns}; the last row is of all devices.",
    Of.COLUMNS: "Shares of columns: among those who gave a column's answer to {columns}, of each "
    "answer to {rows}; the last column is of all devices.",
    Of.ALL: "Shares of all devices: of those that gave both answers.",
}


def cross_table_sentence(table: CrossTable) -> str:
    """Return whether the answers go together, as it can be published."""
    both = f"{table.rows[0]} and {table.columns[0]}"
    whom = reporters(table.histogram.sample.place)
    if table.histogram.sample.fewest_fakes:
        text = f"Nobody can tell whether {both} go together."
    elif table.test is None:
        text = f"The reports of {whom} are too few to tell whether {both} go together."
    elif table.test.p_value < 1 - table.histogram.level:
        text = f"Among {whom}, {both} go together ({table.test})."
    else:
        text = f"Among {whom}, no sign was found that {both} go together ({table.test})."
    return with_cautions(text, cross_table_cautions(table))


def cross_table_cautions(table: CrossTable) -> tuple[Caution, ...]:
    """Return the cautions of its figures."""
    cells = [*_cells(table)]
    return DisplayedFigures(
        (table.histogram.sample,),
        *furthest(cells, "a share"),
        outside=sum(cell.outside for cell in cells),
        level=table.histogram.level,
        too_small=any(cell.too_small for cell in cells),
    ).cautions


def cross_table_document(table: CrossTable) -> Document:
    """Return the table as a document; with many columns, a row a cell."""
    histogram = table.histogram
    wide = len(table.cells[0]) > _WIDEST
    return Document(
        facts=[*histogram_facts(histogram)],
        tables=[*_lists(table)] if wide else [_table(table)],
        notes=[
            _NOTES[table.of].format(rows=table.rows[0], columns=table.columns[0]),
            "Intervals hold for all cells at once, and are cut to [0 %, 100 %]. "
            + "A group without figures is too small." * any(map(_untold, _cells(table))),
        ],
        cautions=cross_table_cautions(table),
        heading=histogram.question,
        sentence=cross_table_sentence(table),
        values=_shared(table) | {"cells": [*_records(table)]},
    )


def cross_table_csv(table: CrossTable) -> str:
    """Return a row a cell as CSV."""
    shared = _shared(table)
    shared["epochs"] = " ".join(map(str, shared["epochs"]))
    keys = ("survey", "survey_id", "epochs", "n", "of", "row", "column", *_FIGURES, "level")
    return rows_csv(keys, _records(table), shared)


def _shared(table: CrossTable) -> dict[str, Any]:
    return {
        **sentence_map(table.histogram, cross_table_sentence(table)),
        "rows": table.rows[0],
        "columns": table.columns[0],
        "of": str(table.of),
        "p_value": None if table.test is None else table.test.p_value,
    }


def _cells(table: CrossTable) -> Iterator[Estimate]:
    return (cell for row in table.cells for cell in row)


def _names(table: CrossTable) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names of rows and columns, with those of all devices."""
    rows, columns = [*table.rows[1:], _ALL], [*table.columns[1:], _ALL]
    return rows[: len(table.cells)], columns[: len(table.cells[0])]


def _records(table: CrossTable) -> Iterator[dict[str, Any]]:
    places = product(*_names(table))
    for (row, column), cell in zip(places, _cells(table), strict=True):
        yield {"row": row, "column": column, **estimate_map(cell)}


def _table(table: CrossTable) -> Table:
    rows, columns = _names(table)
    titles = [
        Column(f"column_{at}", name, "name", cell=partial(_text, at))
        for at, name in enumerate(columns)
    ]
    named = [{"name": name, "cells": cells} for name, cells in zip(rows, table.cells, strict=True)]
    keyed = [row | {column.key: "" for column in titles} for row in named]
    title = f"{table.rows[0]} (rows) and {table.columns[0]} (columns): shares"
    return Table([Column("name", table.rows[0]), *titles], keyed, title=title)


def _lists(table: CrossTable) -> Iterator[Table]:
    """Yield a table for each answer of the rows, with a row for each of the columns."""
    titles = estimate_columns(table.histogram.level, simultaneous=True)
    rows, columns = _names(table)
    for name, cells in zip(rows, table.cells, strict=True):
        records = [
            {"name": column, **_fields(cell)} for column, cell in zip(columns, cells, strict=True)
        ]
        title = f"{table.rows[0]}: {name}" if name != _ALL else "all devices"
        yield Table([Column("name", table.columns[0]), *titles], records, title=title)


def _untold(cell: Estimate) -> bool:
    return cell.too_small


def _fields(cell: Estimate) -> dict[str, Any]:
    fields = estimate_map(cell)
    return estimate_row(fields | {"low": None, "high": None} if cell.too_small else fields)


def _text(at: int, row: Any) -> str:
    """Return a cell in short: the share, and the ends of its interval."""
    cell: Estimate = row["cells"][at]
    if cell.too_small:
        return "-"
    width = cell.high - cell.low
    value, low, high = (
        number_text(number, width or 1.0, kind="share")
        for number in (cell.value, cell.low, cell.high)
    )
    return f"{value} ({low.removesuffix('%')}–{high.removesuffix('%')})"
