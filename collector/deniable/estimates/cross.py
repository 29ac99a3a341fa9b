"""Two questions that are asked together: a two-way table, and whether their answers go together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deniable.documents import Caution, Column, Document, Table
from deniable.documents.csv import rows_csv
from deniable.documents.document import number_text
from deniable.estimates.answers import NOTHING_TOGETHER
from deniable.estimates.association import association
from deniable.estimates.cautions import DisplayedFigures
from deniable.estimates.change import Test
from deniable.estimates.document import estimate_columns, estimate_row, histogram_facts
from deniable.estimates.estimate import Estimate, Form, Unit, furthest, share_within
from deniable.estimates.fields import estimate_map, sentence_map
from deniable.mechanisms.answering import sizes_of
from deniable.reading.epochs import reporters

if TYPE_CHECKING:
    from deniable.estimates.decoders import Floats
    from deniable.estimates.histogram import Histogram

_WIDEST: Final = 5
"""Columns beside each other that can be read on a phone; more of them are below each other."""
_ALL: Final = "all"


class Of(StrEnum):
    """Whose shares the cells are."""

    ROWS = "rows"
    COLUMNS = "columns"
    ALL = "all"


@dataclass(frozen=True)
class CrossTable:
    """The shares of two questions' answers together.

    Attributes:
        rows, columns: the questions' names, and their answers behind them.
        cells: by rows and columns; of row shares, a last row for all devices, of column shares a
            last column.
        test: whether the answers go together at all; None if the reports are too few to tell.
    """

    histogram: "Histogram"
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    of: Of
    cells: tuple[tuple[Estimate, ...], ...]
    test: Test | None

    @property
    def sentence(self) -> str:
        """Return whether the answers go together, as it can be published."""
        both = f"{self.rows[0]} and {self.columns[0]}"
        whom = reporters(self.histogram.sample.place)
        if self.histogram.sample.fewest_fakes:
            text = f"Nobody can tell whether {both} go together."
        elif self.test is None:
            text = f"The reports of {whom} are too few to tell whether {both} go together."
        elif self.test.p_value < 1 - self.histogram.level:
            text = f"Among {whom}, {both} go together ({self.test})."
        else:
            text = f"Among {whom}, no sign was found that {both} go together ({self.test})."
        return " ".join([text, *(caution.text for caution in self.cautions if caution.brief)])

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Return the cautions of its figures."""
        cells = [cell for row in self.cells for cell in row]
        return DisplayedFigures(
            (self.histogram.sample,),
            *furthest(cells, "a share"),
            outside=sum(cell.outside for cell in cells),
            level=self.histogram.level,
            too_small=any(cell.too_small for cell in cells),
        ).cautions

    def document(self) -> Document:
        """Return the table as a document; with many columns, a row a cell."""
        histogram = self.histogram
        wide = len(self.cells[0]) > _WIDEST
        return Document(
            facts=[*histogram_facts(histogram)],
            tables=[*self._lists()] if wide else [self._table()],
            notes=[
                _NOTES[self.of].format(rows=self.rows[0], columns=self.columns[0]),
                "Intervals hold for all cells at once, and are cut to [0 %, 100 %]. "
                + "A group without figures is too small." * any(map(_untold, self._cells())),
            ],
            cautions=self.cautions,
            heading=histogram.question,
            sentence=self.sentence,
            values=self._shared() | {"cells": [*self._records()]},
        )

    def to_csv(self) -> str:
        """Return a row a cell as CSV."""
        shared = self._shared()
        shared["epochs"] = " ".join(map(str, shared["epochs"]))
        keys = ("survey", "survey_id", "epochs", "n", "of", "row", "column", *_FIGURES, "level")
        return rows_csv(keys, self._records(), shared)

    def _shared(self) -> dict[str, Any]:
        return {
            **sentence_map(self.histogram, self.sentence),
            "rows": self.rows[0],
            "columns": self.columns[0],
            "of": str(self.of),
            "p_value": None if self.test is None else self.test.p_value,
        }

    def _cells(self) -> Iterator[Estimate]:
        return (cell for row in self.cells for cell in row)

    @property
    def _names(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names of rows and columns, with those of all devices."""
        rows, columns = [*self.rows[1:], _ALL], [*self.columns[1:], _ALL]
        return rows[: len(self.cells)], columns[: len(self.cells[0])]

    def _records(self) -> Iterator[dict[str, Any]]:
        places = product(*self._names)
        for (row, column), cell in zip(places, self._cells(), strict=True):
            yield {"row": row, "column": column, **estimate_map(cell)}

    def _table(self) -> Table:
        rows, columns = self._names
        titles = [
            Column(f"column_{at}", name, "name", cell=partial(_text, at))
            for at, name in enumerate(columns)
        ]
        named = [
            {"name": name, "cells": cells} for name, cells in zip(rows, self.cells, strict=True)
        ]
        keyed = [row | {column.key: "" for column in titles} for row in named]
        title = f"{self.rows[0]} (rows) and {self.columns[0]} (columns): shares"
        return Table([Column("name", self.rows[0]), *titles], keyed, title=title)

    def _lists(self) -> Iterator[Table]:
        """Yield a table for each answer of the rows, with a row for each of the columns."""
        titles = estimate_columns(self.histogram.level, simultaneous=True)
        rows, columns = self._names
        for name, cells in zip(rows, self.cells, strict=True):
            records = [
                {"name": column, **_fields(cell)}
                for column, cell in zip(columns, cells, strict=True)
            ]
            title = f"{self.rows[0]}: {name}" if name != _ALL else "all devices"
            yield Table([Column("name", self.columns[0]), *titles], records, title=title)


_FIGURES: Final = ("estimate", "standard_error", "low", "high", "outside")
_NOTES: Final = {
    Of.ROWS: "Shares of rows: among those who gave a row's answer to {rows}, of each answer to "
    "{columns}; the last row is of all devices.",
    Of.COLUMNS: "Shares of columns: among those who gave a column's answer to {columns}, of each "
    "answer to {rows}; the last column is of all devices.",
    Of.ALL: "Shares of all devices: of those that gave both answers.",
}


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


def cross_table(histogram: "Histogram", rows: str, columns: str, of: Of) -> CrossTable:
    """Return the two-way table of two questions.

    Raises:
        ValueError: if nothing tells of both together, or there are no such questions.
    """
    sample = histogram.sample
    names = [name for name, *_ in histogram.dimensions]
    if len(sample.decoder.parts) > 1:
        raise ValueError(NOTHING_TOGETHER)
    if rows == columns or not {rows, columns} <= set(names):
        there = ", ".join(names) or "none, since the survey asks one"
        raise ValueError(f"name two of the questions: {there}")
    at = names.index(rows), names.index(columns)
    questions = [histogram.dimensions[place] for place in at]
    grid = np.indices(sizes_of(histogram.dimensions)).reshape(len(names), -1)
    one, other = (
        (grid[place] == np.arange(len(question) - 1)[:, None]).astype(np.float64)
        for place, question in zip(at, questions, strict=True)
    )

    level = histogram.level_at_once  # of as many rows as there are cells, or more

    def share(name: str, w: "Floats", group: str = "", within: "Floats | None" = None) -> Estimate:
        if within is None:
            own = sample.query(w, level, histogram.model, label=name, unit=Unit.SHARE)
        else:
            both, whole = (Form({sample: v}, histogram.model) for v in (w * within, within))
            own = share_within(both, whole, level, name, group)
        return replace(own, level=histogram.level, at_once=True)

    def cell(i: int, j: int) -> Estimate:
        row, column = (
            f"{name}: {answers[place]}"
            for (name, *answers), place in zip(questions, (i, j), strict=True)
        )
        if of is Of.ROWS:
            return share(column, other[j], row, one[i])
        if of is Of.COLUMNS:
            return share(row, one[i], column, other[j])
        return share(f"{row} and {column}", one[i] * other[j])

    cells = [[cell(i, j) for j in range(len(other))] for i in range(len(one))]
    if of is Of.ROWS:
        cells.append([share(f"{columns}: {questions[1][j + 1]}", w) for j, w in enumerate(other)])
    if of is Of.COLUMNS:
        for i, w in enumerate(one):
            cells[i].append(share(f"{rows}: {questions[0][i + 1]}", w))
    test = association(sample, one, other)
    return CrossTable(histogram, questions[0], questions[1], of, tuple(map(tuple, cells)), test)
