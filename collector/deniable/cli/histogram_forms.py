"""A histogram for people and for spreadsheets."""

import csv
import io
import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable.cli.bars import bar
from deniable.estimates import Histogram, IntervalMethod

__all__ = ["histogram_csv", "show_histogram"]

_FORMULA_SIGNS = tuple("=+-@\t\r")
_CSV_COLUMNS = (
    "survey",
    "survey_id",
    "epoch",
    "n",
    "category",
    "raw",
    "estimate",
    "standard_error",
    "low",
    "high",
    "level",
    "method",
    "outside",
)
_NUMBERS_WIDTH = 54
_WIDEST_LABEL = 40
_NARROWEST_BAR, _WIDEST_BAR = 8, 30


def show_histogram(histogram: Histogram, screen: Console) -> None:
    """Print a histogram as a table with bars, and what to mind when reading it."""
    screen.print(Text(histogram.question, style="bold"))
    delta = "" if histogram.delta == "0" else f", delta {histogram.delta}"
    screen.print(
        f"{histogram.survey}, epoch {histogram.epochs[0]}; reports: {histogram.n:,}; "
        f"epsilon {histogram.epsilon}{delta}\n"
    )
    screen.print(_table(histogram, screen.width))
    move = histogram.influence / histogram.n
    notes = [
        "Estimates are unbiased and may leave [0 %, 100 %]; intervals are cut to it, and each "
        "stands by itself. Raw counts contain the noise. "
        f"One false report moves an estimate by up to {100 * move:.2g} percentage points. "
        f"Devices: {histogram.enrolment}.",
    ]
    if histogram.outside.any():
        notes.append("! The whole interval lay outside: chance, or false reports.")
    if histogram.reports_for_five_points > histogram.n:
        notes.append(
            f"Mostly noise so far: intervals of ± 5 percentage points take about "
            f"{histogram.reports_for_five_points:,} reports at this epsilon."
        )
    screen.print("\n" + "\n".join(notes), style="dim")


def _table(histogram: Histogram, width: int) -> Table:
    label = min(_WIDEST_LABEL, max(map(len, histogram.categories)))
    bar_width = min(_WIDEST_BAR, width - label - _NUMBERS_WIDTH)
    table = Table(box=None, pad_edge=False)
    table.add_column("answer", overflow="fold", min_width=min(label, 12), max_width=_WIDEST_LABEL)
    for heading in ("raw", "estimate", "std error", f"{100 * histogram.level:.4g} % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    if bar_width >= _NARROWEST_BAR:
        table.add_column("", no_wrap=True)
    for i, category in enumerate(histogram.categories):
        estimate, low, high = (
            float(values[i]) for values in (histogram.estimate, histogram.low, histogram.high)
        )
        # With a handful of reports a standard error is as uncertain as what it describes.
        few = histogram.methods[i] is IntervalMethod.CLOPPER_PEARSON
        cells: list[Text | str] = [
            Text(category),
            f"{int(histogram.raw[i]):,}",
            f"{estimate:.1%}",
            "-" if few else f"{float(histogram.standard_error[i]):.1%}",
            f"{low:.1%} – {high:.1%}" + ("!" if histogram.outside[i] else ""),
        ]
        if bar_width >= _NARROWEST_BAR:
            cells.append(bar(estimate, low, high, bar_width))
        table.add_row(*cells)
    return table


def histogram_csv(histogram: Histogram) -> str:
    """Return a histogram as CSV, one row a category; a number that does not exist is empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for i, category in enumerate(histogram.categories):
        error = float(histogram.standard_error[i])
        writer.writerow(
            {
                "survey": histogram.survey,
                "survey_id": histogram.survey_id,
                "epoch": histogram.epochs[0],
                "n": histogram.n,
                # A spreadsheet would run a cell that looks like a formula.
                "category": f"'{category}" if category.startswith(_FORMULA_SIGNS) else category,
                "raw": int(histogram.raw[i]),
                "estimate": float(histogram.estimate[i]),
                "standard_error": "" if math.isnan(error) else error,
                "low": float(histogram.low[i]),
                "high": float(histogram.high[i]),
                "level": histogram.level,
                "method": histogram.methods[i].value,
                "outside": int(histogram.outside[i]),
            }
        )
    return stream.getvalue()
