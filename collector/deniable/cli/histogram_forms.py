"""A histogram for people and for spreadsheets."""

import csv
import io
import math
from fractions import Fraction

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable.cli.bars import bar
from deniable.estimates import Estimate, Histogram, IntervalMethod, NumericSummary

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
    "impossible",
)
_STATISTICS_COLUMNS = (
    "survey",
    "survey_id",
    "epoch",
    "n",
    "statistic",
    "estimate",
    "standard_error",
    "low",
    "high",
    "level",
    "outside",
)
_NUMBERS_WIDTH = 54
_SHARES_WIDTH = 44
_WIDEST_LABEL = 40
_NAMED = 5
_NARROWEST_BAR, _WIDEST_BAR = 8, 30


def show_histogram(histogram: Histogram, screen: Console, step: int = 1) -> None:
    """Print a histogram as a table with bars, and what to mind when reading it.

    Args:
        histogram: what to print.
        screen: where to.
        step: in steps of how many reports figures appear.
    """
    screen.print(Text(histogram.question, style="bold"))
    delta = "" if histogram.delta == "0" else f", delta {histogram.delta}"
    screen.print(
        f"{histogram.survey}, epoch {histogram.epochs[0]}; reports: {histogram.n:,}; "
        f"epsilon {histogram.epsilon}{delta}\n"
    )
    if histogram.numeric is None:
        screen.print(_table(histogram, screen.width))
        notes = _category_notes(histogram)
    else:
        screen.print(_numbers(histogram.numeric))
        screen.print()
        screen.print(_bins(histogram.numeric, screen.width))
        notes = _numeric_notes(histogram, histogram.numeric)
    if histogram.distrusted:
        notes.append(
            f"! {histogram.distrusted:,} of the reports were vouched for by issuers that are not "
            "trusted any more."
        )
    if histogram.kept_range is not None:
        first, last = histogram.kept_range
        notes.append(
            f"Devices keep responses for epochs {first} to {last}: figures of these epochs share "
            "noise. An average of them is less exact than it looks, and their differences have "
            "errors of their own."
        )
    if step > 1:
        notes.append(
            f"Figures are renewed when at least {step:,} more reports have come; those are stored."
        )
    screen.print("\n" + "\n".join(notes), style="dim")


def _category_notes(histogram: Histogram) -> list[str]:
    bias = _two_digits(100 * histogram.poisoning.bias(0.01))
    off = f"an estimate is off by up to {bias} percentage points"
    if (fakes := histogram.poisoning.fakes_for_one_error) is not None:
        off += f"; {fakes:,} more, all fake, would move any by its standard error"
    notes = [
        "Estimates are unbiased and may leave [0 %, 100 %]; intervals are cut to it, and each "
        "stands by itself. Raw counts contain the noise.",
        _manipulation(histogram, off),
    ]
    if histogram.impossible:
        notes.append(_impossible(histogram))
    if (histogram.outside & ~histogram.poisoning.impossible).any():
        notes.append("! The whole interval lay outside: chance, or false reports.")
    if histogram.reports_for_five_points > histogram.n:
        notes.append(
            f"Mostly noise so far: intervals of ± 5 percentage points take about "
            f"{histogram.reports_for_five_points:,} reports at this epsilon."
        )
    return notes


def _numeric_notes(histogram: Histogram, numeric: NumericSummary) -> list[str]:
    notes = [
        "The mean is unbiased and may leave the range; intervals are cut to what is possible, and "
        "each stands by itself.",
        _manipulation(
            histogram, f"the mean is off by up to {_two_digits(0.01 * numeric.influence)}"
        ),
    ]
    if numeric.blur:
        first, second = (Fraction(category) for category in histogram.categories[:2])
        reach = f"{float(numeric.blur * (second - first)):.15g}"
        notes.append(
            f"Shares and quartiles are smoothed over {reach} either way, or they would be all "
            "noise: read their intervals, which allow for it. Single values are in --json."
        )
    if impossible := histogram.impossible:
        shown = ", ".join(impossible[:_NAMED]) + (", …" if len(impossible) > _NAMED else "")
        notes.append(f"{_impossible(histogram)} Single values: {shown}.")
    width = numeric.mean.high - numeric.mean.low
    span = float(Fraction(histogram.categories[-1]) - Fraction(histogram.categories[0]))
    if width > span / 5 and not math.isnan(numeric.mean.standard_error):
        needed = histogram.n * (1.96 * numeric.mean.standard_error / (0.02 * span)) ** 2
        notes.append(
            f"Mostly noise so far: the mean within ± 2 % of the range takes about {needed:,.0f} "
            "reports at this epsilon."
        )
    if any(group.share.outside for group in numeric.bins) or numeric.mean.outside:
        notes.append("! The whole interval lay outside: chance, or false reports.")
    return notes


def _manipulation(histogram: Histogram, off: str) -> str:
    """Return what fake reports could do, given how far off 1 % of them bring the figures."""
    return (
        f"Intervals exclude manipulation: if 1 % of reports are fake, {off}. "
        f"Devices: {histogram.enrolment}."
    )


def _impossible(histogram: Histogram) -> str:
    """Return what is to be thought of flagged counts."""
    chance = f"{100 * histogram.poisoning.false_alarm:.4g} %"
    return (
        "!! Honest devices do not cause such counts: false reports, or chance (in at most "
        f"{chance} of honest histograms)."
    )


def _numbers(numeric: NumericSummary) -> Table:
    """Return mean and quartiles."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for heading in ("estimate", f"{100 * numeric.mean.level:.4g} % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    mean = numeric.mean
    # Two digits of what is uncertain.
    places = max(0, 1 - math.floor(math.log10(max(mean.high - mean.low, 1e-9))))
    value, low, high = (f"{x:,.{places}f}" for x in (mean.value, mean.low, mean.high))
    table.add_row("mean", value, f"{low} – {high}" + ("!" if mean.outside else ""))
    names = {0.25: "lower quartile", 0.5: "median", 0.75: "upper quartile"}
    for quartile in numeric.quartiles:
        interval = f"{quartile.low:.15g} – {quartile.high:.15g}"
        table.add_row(names[quartile.probability], f"{quartile.value:.15g}", interval)
    return table


def _bins(numeric: NumericSummary, width: int) -> Table:
    """Return the shares of groups of values, with bars."""
    label = max(len(group.label) for group in numeric.bins)
    bar_width = min(_WIDEST_BAR, width - label - _SHARES_WIDTH)
    table = Table(box=None, pad_edge=False)
    table.add_column("values", justify="right", no_wrap=True)
    for heading in ("share", "std error", f"{100 * numeric.mean.level:.4g} % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    if bar_width >= _NARROWEST_BAR:
        table.add_column("", no_wrap=True)
    for group in numeric.bins:
        share = group.share
        error = "-" if math.isnan(share.standard_error) else f"{share.standard_error:.1%}"
        interval = f"{share.low:.1%} – {share.high:.1%}" + ("!" if share.outside else "")
        cells = [group.label, f"{share.value:.1%}", error, interval]
        if bar_width >= _NARROWEST_BAR:
            cells.append(bar(share.value, share.low, share.high, bar_width))
        table.add_row(*cells)
    return table


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
        error = float(histogram.standard_error[i])
        few = histogram.methods[i] is IntervalMethod.CLOPPER_PEARSON or math.isnan(error)
        mark = "!" if histogram.outside[i] else ""
        if histogram.poisoning.impossible[i]:
            mark = "!!"
        cells: list[Text | str] = [
            Text(category),
            f"{int(histogram.raw[i]):,}",
            f"{estimate:.1%}",
            "-" if few else f"{error:.1%}",
            f"{low:.1%} – {high:.1%}" + mark,
        ]
        if bar_width >= _NARROWEST_BAR:
            cells.append(bar(estimate, low, high, bar_width))
        table.add_row(*cells)
    return table


def histogram_csv(histogram: Histogram) -> str:
    """Return a histogram as CSV, one row a category; a number that does not exist is empty.

    Of a numeric survey, whose single values are noise, one row a statistic.
    """
    if histogram.numeric is not None:
        return _numeric_csv(histogram, histogram.numeric)
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
                "impossible": int(histogram.poisoning.impossible[i]),
            }
        )
    return stream.getvalue()


def _numeric_csv(histogram: Histogram, numeric: NumericSummary) -> str:
    rows: list[tuple[str, float, float | None, float, float, bool]] = [
        ("mean", *_parts(numeric.mean)),
        *(
            (f"quantile {each.probability}", each.value, None, each.low, each.high, False)
            for each in numeric.quartiles
        ),
        *((f"share of {group.label}", *_parts(group.share)) for group in numeric.bins),
    ]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_STATISTICS_COLUMNS)
    fixed = (histogram.survey, histogram.survey_id, histogram.epochs[0], histogram.n)
    for statistic, value, error, low, high, outside in rows:
        shown = "" if error is None or math.isnan(error) else error
        numbers = (value, shown, low, high, histogram.level, int(outside))
        writer.writerow([*fixed, statistic, *numbers])
    return stream.getvalue()


def _parts(estimate: Estimate) -> tuple[float, float, float, float, bool]:
    return (
        estimate.value,
        estimate.standard_error,
        estimate.low,
        estimate.high,
        estimate.outside,
    )


def _two_digits(number: float) -> str:
    """Return a number in two digits, or as a whole one, never as 3.9e+02."""
    return f"{number:.2g}" if number < 99.5 else f"{number:,.0f}"
