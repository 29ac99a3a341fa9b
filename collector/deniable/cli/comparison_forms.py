"""Shares, and what changed between epochs, for people."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable.documents import level_text, number_text
from deniable.documents.bars import NOWHERE, bar
from deniable.documents.terminal import print_alerts, print_notes
from deniable.estimates import Histogram
from deniable.estimates.comparison import Comparison, Row
from deniable.estimates.estimate import Unit
from deniable.reading.epochs import epochs_named

_BAR_WIDTH = 24
_LABEL_WIDTH = 40


def show_comparison(compared: Comparison, screen: Console) -> None:
    """Print it as a table, and in a sentence or with what to mind."""
    told, against = compared.histogram, compared.against
    screen.print(Text(told.question, style="bold"))
    versus = "" if against is None else f" against {_place(against)}"
    screen.print(f"{told.survey}, {_place(told)}{versus}; epsilon {told.epsilon}\n")
    cautions = compared.cautions
    print_alerts(cautions, screen)
    table = Table(box=None, pad_edge=False)
    table.add_column("answer", overflow="fold", max_width=_LABEL_WIDTH)
    interval = f"{level_text(told.level)} interval"
    if against is None:
        headings = ["estimate", "std error", interval, ""]
    else:
        headings = ["now", "before", "difference", interval, ""]
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for row in compared.rows:
        table.add_row(Text(row.label), *_cells(row))
    screen.print(table)
    screen.print()
    if len(compared.rows) == 1:
        screen.print(compared.rows[0].estimate.sentence + "\n")
    print_notes(cautions, screen, *_notes(compared))


def _cells(row: Row) -> Iterator[str]:
    estimate, before = row.estimate, row.before
    if before is None:
        yield f"{estimate.value:.1%}"
        yield (
            "-"
            if estimate.standard_error != estimate.standard_error
            else (f"{estimate.standard_error:.1%}")
        )
        yield NOWHERE if estimate.outside else f"{estimate.low:.1%} – {estimate.high:.1%}"
        yield bar(estimate.value, estimate.low, estimate.high, _BAR_WIDTH)
        return
    if estimate.unit is Unit.DIFFERENCE:
        yield f"{row.now.value:.1%}"
        yield f"{before.value:.1%}"
        yield f"{100 * estimate.value:+.1f}"
        yield f"{100 * estimate.low:+.1f} to {100 * estimate.high:+.1f}"
    else:
        for figure in (row.now, before):
            yield number_text(figure.value, figure.high - figure.low)
        value, low, high = (
            number_text(number, estimate.high - estimate.low, "+")
            for number in (estimate.value, estimate.low, estimate.high)
        )
        yield value
        yield f"{low} to {high}"
    yield "" if estimate.distinguishable else "not distinguishable"


def _notes(compared: Comparison) -> Iterator[str]:
    told, against = compared.histogram, compared.against
    if against is not None:
        if compared.rows[0].estimate.unit is Unit.DIFFERENCE:
            yield (
                "Differences are in percentage points, with intervals of their own: whether those "
                "of the two shares overlap tells less."
            )
        if compared.test is not None:
            yield f"Whether anything changed at all: {compared.test}."
    yield f"Devices: {told.enrolment}."


def _place(histogram: Histogram) -> str:
    return f"{epochs_named(histogram.epochs)} ({histogram.n:,} reports)"
