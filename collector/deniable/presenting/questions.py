"""Answers in words: who leads, two shares side by side, two questions together."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product, takewhile
from typing import Any, Final

from deniable.documents import Caution, Column, Document, Fact, Table, level_text, with_cautions
from deniable.documents.document import number_text
from deniable.documents.programs import rows_csv
from deniable.estimates.answers import listed
from deniable.estimates.estimate import Estimate
from deniable.estimates.forms import Unit
from deniable.estimates.questions import Beside, CrossTable, Leaders, Of, Ranked
from deniable.estimates.results import presents
from deniable.presenting.cautions import DisplayedFigures, furthest, moved_text
from deniable.presenting.estimate import estimate_text, so_far, times_text
from deniable.presenting.rows import (
    CUT,
    HELD,
    estimate_columns,
    estimate_map,
    estimate_row,
    histogram_facts,
    longer_notes,
    quoted,
    sentence_map,
)
from deniable.reading.epochs import reporters

_NAMED: Final = 10
_RANKS: Final = ("second", "third")
_NAMES = ("the difference", "the ratio")
_MORE = [
    Column(key) for key in ("high", "standard_error", "outside", "influence", "distinguishable")
]


def _row(name: str, kind: str, estimate: Estimate) -> dict[str, Any]:
    apart = None if estimate.unit is Unit.SHARE else estimate.distinguishable
    return {"figure": name, "kind": kind, **_fields(estimate), "distinguishable": apart}


def leaders_sentence(leaders: Leaders) -> str:
    """Return the result in words, suitable for publication."""
    certain, others = ([*map(quoted, names)] for names in (leaders.certain, leaders.possible))
    left = leaders.count - len(certain)
    kind = "yes answer" if leaders.affirmed else "answer"
    name = f"most frequent {kind}"
    if leaders.count > 1:
        name = f"{leaders.count} {name}s"
    place = leaders.histogram.sample.place
    name += f" to {place}" if place else f" of {reporters()}"
    if leaders.histogram.texts is not None:
        name += f", of the {leaders.answers:,} found,"
    text, ahead = f"The {name}", _ahead(leaders)
    if len(others) > _NAMED:
        others[_NAMED:] = [f"{len(others) - _NAMED:,} others"]
    rest = f"among {listed(others, 'and')}"
    verb = "is" if leaders.count == 1 else "are"
    if not left:
        sure = len(ahead) == leaders.count
        ordered = ", in this order" if sure else "; their order is not certain"
        if ahead and not sure:
            lead = "leads" if len(ahead) == 1 else "lead, in this order"
            ordered = f"; {listed(ahead, 'and')} {lead}, but the order of the others"
            ordered += " is not certain"
        text += f" {verb} {listed(certain, 'and')}" + ordered * (leaders.count > 1)
    elif not certain:
        text += f" {verb} {rest}"
    elif ahead:
        text = _ranks_text(leaders, ahead, place)
    else:
        more = "one more is" if left == 1 else f"{left} more are"
        text += f" include {listed(certain, 'and')}; {more} {rest}"
    text += f" ({level_text(leaders.histogram.level)} confidence that all of this holds)."
    leading = "answer leads" if leaders.count == 1 else f"{leaders.count} answers lead"
    if leaders.histogram.sample.fewest_fakes:
        text = f"Nobody can tell which {leading} in {place}: some reports are fake."
    elif len(leaders.candidates) == leaders.answers and not certain:
        text = f"Too few reports to say which {leading}" + f" in {place}" * bool(place) + "."
    text = with_cautions(text, leaders_cautions(leaders))
    return so_far(text, leaders.histogram.standing)


def _ahead(leaders: Leaders) -> tuple[str, ...]:
    """Return the first answers whose ranks are certain, in their order, quoted."""
    ranked = enumerate(leaders.rows[: leaders.count], 1)
    sure = takewhile(lambda one: (one[1].first, one[1].last) == (one[0], one[0]), ranked)
    return tuple(quoted(row.label) for _, row in sure)


def _ranks_text(leaders: Leaders, ahead: Sequence[str], place: str) -> str:
    """Return which answers lead in certain order, and among which the next ones are."""
    names = [name for name in map(quoted, leaders.candidates) if name not in ahead]
    if len(names) > _NAMED:
        names[_NAMED:] = [f"{len(names) - _NAMED:,} others"]
    texts = leaders.histogram.texts is not None
    where = f"In {place}, " * bool(place) + f"of the {leaders.answers:,} found, " * texts
    lead = f"{listed(ahead, 'and')} lead, in this order" if len(ahead) > 1 else f"{ahead[0]} leads"
    left = leaders.count - len(ahead)
    ranks = _RANKS[len(ahead) - 1 : leaders.count - 1]
    rest = listed(ranks, "and")
    if leaders.count > 1 + len(_RANKS):
        rest = "the next one" if left == 1 else f"the next {left}"
    text = f"{where}{lead}; {rest} {'is' if left == 1 else 'are'} among {listed(names, 'and')}"
    return text[0].upper() + text[1:]


def leaders_cautions(leaders: Leaders) -> tuple[Caution, ...]:
    """Return the cautions about its figures."""
    lead = [leaders.rows[0].share - row.share for row in leaders.rows[-1:] if len(leaders.rows) > 1]
    return DisplayedFigures(
        (leaders.histogram.sample,),
        *furthest(lead, "the lead of one answer over another"),
        outside=sum(row.share.outside for row in leaders.rows),
    ).cautions


def leaders_document(leaders: Leaders) -> Document:
    """Return the ranks as a document."""
    histogram = leaders.histogram
    columns = [
        Column("answer", "answer"),
        Column("ranks", "rank"),
        *estimate_columns(histogram.level, simultaneous=False),
        *map(Column, ("high", "first", "last", "certain", "standard_error", "outside")),
    ]
    return Document(
        facts=[*histogram_facts(histogram)],
        tables=[Table(columns, [_ranks(leaders, row) for row in leaders.rows], key="answers")],
        notes=[
            "Ranks hold for all answers at once: in at least "
            f"{level_text(histogram.level)} of such surveys, all ranks are right.",
            HELD[False],
            *_left_out(leaders),
            *longer_notes(histogram, clear=len(leaders.certain) == leaders.count),
        ],
        cautions=leaders_cautions(leaders),
        heading=histogram.question,
        sentence=leaders_sentence(leaders),
        values=sentence_map(histogram, leaders_sentence(leaders)) | {"leaders": leaders.count},
    )


def _left_out(leaders: Leaders) -> list[str]:
    more = len(leaders.candidates) - len(leaders.rows)
    return [f"{more:,} more answers may be among the leaders; only the largest are shown."] * bool(
        more
    )


def _ranks(leaders: Leaders, row: Ranked) -> dict[str, Any]:
    certain = row.label in leaders.certain
    ranks = str(row.first) if row.first == row.last else f"{row.first} to {row.last:,}"
    return estimate_row(estimate_map(row.share)) | {
        "answer": row.label,
        "ranks": ranks,
        "first": row.first,
        "last": row.last,
        "certain": certain,
    }


def beside_conclusion(beside: Beside) -> str:
    """Return the leader in words if the interval of the difference determines it."""
    difference, (first, second) = beside.difference, map(quoted, beside.names)
    fake = any(sample.fewest_fakes for sample in difference.samples)
    label = quoted(beside.one.label)
    if difference.too_small or fake or not difference.distinguishable:
        answered = f"who answered {label} more often: {first} or {second}"
        if beside.race:
            answered = f"whether {first} or {second} is ahead"
        return f"{'nobody can tell' if fake else 'too few reports to tell'} {answered}"
    if difference.low <= 0:
        first, second = second, first
    if beside.race:
        return f"{first} is ahead of {second}"
    return f"devices with {first} answered {label} more often than those with {second}"


def _times_text(beside: Beside) -> str:
    """Return how many times as often one group gave the answer, if it clearly did so more often."""
    difference = beside.difference
    fake = any(sample.fewest_fakes for sample in difference.samples)
    if beside.race or fake or difference.too_small or not difference.distinguishable:
        return ""
    ratio = beside.ratio if difference.low > 0 else beside.other / beside.one
    if ratio.too_small or ratio.low <= 1:
        return ""
    times, interval = times_text(ratio)
    return f" That is {times} times as often{interval}."


def beside_sentence(beside: Beside) -> str:
    """Return the result in words, suitable for publication."""
    text = _beside_statement(beside, beside.histogram.sample.place) + _times_text(beside)
    if beside.unsettled:
        text += (
            f" This compares only two answers: among all {beside.unsettled:,}, it is not certain "
            "which one leads."
        )
    text = with_cautions(text, beside_cautions(beside))
    return so_far(text, beside.histogram.standing)


def _beside_statement(beside: Beside, place: str = "") -> str:
    difference = beside.difference
    text = beside_conclusion(beside)
    if place:
        text = f"In {place}, {text}"
    text = text[0].upper() + text[1:]
    if not difference.too_small:
        show, sides = partial(estimate_text, difference), [beside.one, beside.other]
        sign = 1.0
        if difference.distinguishable and difference.high <= 0:
            sign, sides = -1.0, sides[::-1]
        if all(side.low <= side.value <= side.high for side in sides):
            one, other = (estimate_text(side, side.value) for side in sides)
            text += f": {one} against {other}"
        ends = sorted(sign * end for end in (difference.low, difference.high))
        value, low, high = map(show, (sign * difference.value, *ends))
        if difference.distinguishable:
            value, low, high = (number.lstrip("+") for number in (value, low, high))
        interval = f"{level_text(difference.level)} interval {low} to {high}"
        interval += ", which holds for all such differences" * difference.at_once
        text += f" (difference {value} points, {interval})"
    return f"{text}."


def beside_cautions(beside: Beside) -> tuple[Caution, ...]:
    """Return the cautions about its figures."""
    figures = (beside.difference,) if beside.race else (beside.difference, beside.ratio)
    texts = [furthest([one], name) for one, name in zip(figures, _NAMES, strict=False)]
    return DisplayedFigures(
        beside.difference.samples,
        ", ".join(text for text, _ in texts if text),
        any(decided for _, decided in texts),
        unseen=(beside.histogram, moved_text("the difference", (beside.one, beside.other))),
        outside=sum(one.outside for one in (beside.one, beside.other, *figures)),
        too_small=beside.difference.too_small,
    ).cautions


def beside_document(beside: Beside) -> Document:
    """Return both shares, their difference and their ratio as a document."""
    histogram, (first, second) = beside.histogram, beside.names
    rows = [
        _row(first, "share", beside.one),
        _row(second, "share", beside.other),
        _row("difference", "points", beside.difference),
        _row("times as often", "number", beside.ratio),
    ]
    columns = estimate_columns(histogram.level, simultaneous=False)
    return Document(
        facts=[*histogram_facts(histogram)],
        tables=[Table([Column("figure", "figure"), *columns, *_MORE], rows, key="figures")],
        notes=[
            "The difference is in percentage points.",
            HELD[False],
            *[CUT] * any(not 0 <= one.value <= 1 for one in (beside.one, beside.other)),
            *longer_notes(histogram, clear=beside.difference.distinguishable),
        ],
        cautions=beside_cautions(beside),
        heading=histogram.question,
        sentence=beside_sentence(beside),
        values=sentence_map(histogram, beside_sentence(beside)),
    )


_WIDEST: Final = 5
"""Columns that fit side by side on a phone; more of them are placed below each other."""
_ALL: Final = "all"
_FIGURES: Final = ("estimate", "low", "high", "standard_error", "outside")
_WHOSE: Final = {
    Of.ROWS: "percent of each row's devices",
    Of.COLUMNS: "percent of each column's devices",
    Of.ALL: "percent of all devices",
}


def cross_table_sentence(table: CrossTable) -> str:
    """Return whether the answers are related, suitable for publication."""
    both = f"{table.rows[0]} and {table.columns[0]}"
    whom = reporters(table.histogram.sample.place)
    if table.histogram.sample.fewest_fakes:
        text = f"Nobody can tell whether {both} are related."
    elif table.test is None:
        text = f"Too few reports to tell whether {both} are related among {whom}."
    elif table.together:
        text = f"Among {whom}, {both} are related."
        if table.contrast is not None:
            text += f" {_beside_statement(table.contrast)}"
    else:
        text = f"Among {whom}, there is no clear sign that {both} are related."
    text = with_cautions(text, cross_table_cautions(table))
    return so_far(text, table.histogram.standing)


def cross_table_cautions(table: CrossTable) -> tuple[Caution, ...]:
    """Return the cautions about its figures."""
    cells = [*_cells(table)]
    return DisplayedFigures(
        (table.histogram.sample,),
        *furthest(cells, "a share"),
        outside=sum(cell.outside for cell in cells),
        too_small=any(cell.too_small for cell in cells),
    ).cautions


def cross_table_document(table: CrossTable) -> Document:
    """Return the table as a document; with many columns, one row per cell."""
    histogram = table.histogram
    wide = len(table.cells[0]) > _WIDEST
    return Document(
        facts=[
            *histogram_facts(histogram),
            Fact("test", "" if table.test is None else str(table.test), aside=True),
        ],
        tables=[*_lists(table)] if wide else [_table(table)],
        notes=[
            "Intervals hold for all cells at once, and are cut to [0 %, 100 %]. "
            + "Groups shown without figures are too small to estimate."
            * any(cell.too_small for cell in _cells(table)),
        ],
        cautions=cross_table_cautions(table),
        heading=histogram.question,
        sentence=cross_table_sentence(table),
        values=_shared(table) | {"cells": [*_records(table)]},
    )


def cross_table_csv(table: CrossTable) -> str:
    """Return CSV with one row per cell."""
    shared = _shared(table)
    shared["epochs"] = " ".join(map(str, shared["epochs"]))
    keys = ("row", "column", *_FIGURES, "level", "of", "n", "survey", "survey_id", "epochs")
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
    """Return the names of rows and columns, including those for all devices."""
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
    both = f"{table.rows[0]} (rows) and {table.columns[0]} (columns)"
    interval = f"{level_text(table.histogram.level)} intervals, all at once"
    title = f"{both}: {_WHOSE[table.of]} ({interval})"
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
        title += f"; {_WHOSE[table.of]}" * (table.of is not Of.ROWS)
        yield Table([Column("name", table.columns[0]), *titles], records, title=title)


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


presents(Leaders, sentence=leaders_sentence, document=leaders_document)
presents(Beside, sentence=beside_sentence, document=beside_document)
presents(
    CrossTable,
    sentence=cross_table_sentence,
    document=cross_table_document,
    csv=cross_table_csv,
)
