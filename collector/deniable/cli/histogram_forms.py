"""A histogram for people."""

import math
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable.cli.bars import NOWHERE, bar
from deniable.cli.life_terms import epochs_named
from deniable.estimates import EpochState, Histogram, IntervalMethod, NumericSummary, View
from deniable.estimates.display import fakes_text, noise_text, smoothing_text, unseen_text
from deniable.estimates.fields import Json, response_rows
from deniable.estimates.numeric import QUARTILES
from deniable.estimates.rows import ShownRows, chosen_rows
from deniable.messages import is_simulated
from deniable.reading import instant_text

_NUMBERS_WIDTH = 54
_SHARES_WIDTH = 44
_WIDEST_LABEL = 40
_NAMED = 5
_MOST_RESPONSES = 64
_STATES = {
    EpochState.OPEN: "open: more reports may come",
    EpochState.GRACE: "over; late reports are still taken",
    EpochState.CLOSED: "over; no more reports are taken, and it is about to be sealed",
    EpochState.SEALED: "sealed: these counts are final",
}
_SHOWN = {
    View.UNBIASED: "Estimates are unbiased and may leave [0 %, 100 %].",
    View.PROJECTED: "Shown are the possible frequencies nearest to the unbiased estimates: biased, "
    "for looking at, never to be added up or averaged.",
    View.LIKELIHOOD: "Shown are the frequencies that make what was counted the likeliest: biased, "
    "for looking at, never to be added up or averaged.",
}
_NARROWEST_BAR, _WIDEST_BAR = 8, 30
_OUTSIDE = "! The whole interval lay outside what is possible: chance, or false reports."


def show_histogram(
    histogram: Histogram,
    screen: Console,
    step: int = 1,
    older: str | None = None,
    supporting: str | None = None,
    view: View = View.UNBIASED,
    *,
    top: int | None = None,
    simultaneous: bool = False,
) -> None:
    """Print a histogram as a table with bars, and what to mind when reading it.

    Figures appear in steps of so many reports; an older survey of the name, whose id begins so, has
    figures as well. What responses support is told of a design.
    """
    shown = chosen_rows(histogram, view, top=top, simultaneous=simultaneous)
    screen.print(Text(histogram.question, style="bold"))
    if is_simulated(histogram.survey):
        screen.print("simulated: no real device answered", style="bold")
    delta = "" if histogram.delta == "0" else f", delta {histogram.delta}"
    screen.print(
        f"{histogram.survey}, {epochs_named(histogram.epochs)}; reports: {histogram.n:,}; "
        f"epsilon {histogram.epsilon}{delta}"
    )
    if histogram.start is not None and histogram.end is not None:
        screen.print(f"{instant_text(histogram.start)} to {instant_text(histogram.end)}")
    if histogram.standing is not None:
        screen.print(_STATES[histogram.standing.state])
    screen.print()
    if histogram.impossible:
        screen.print(_warning(histogram) + "\n", style="bold red")
    if histogram.numeric is None:
        tables: tuple[Table, ...] = (
            *_category_tables(histogram, shown, screen.width, supporting, view),
            _response_table(histogram),
        )
        notes = [
            *([] if supporting is None else [supporting]),
            *([shown.note] if shown.note else []),
            *_category_notes(histogram, shown, view),
        ]
    else:
        tables = _numbers(histogram.numeric), _bins(histogram.numeric, screen.width)
        notes = _numeric_notes(histogram, histogram.numeric)
    for table in tables:
        if table.row_count:
            screen.print(table)
            screen.print()
    if histogram.crossed:
        notes.append("Devices answer all questions at once; single questions' shares are sums.")
    elif histogram.margins:
        told = ", ".join(f"{each.question} {each.n:,}" for each in histogram.margins)
        notes.append(
            f"Each device answers one of the questions, which it draws. Reports about each: {told}."
        )
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
    if older is not None:
        notes.append(f"An older survey of this name has figures of its own: --survey {older}")
    screen.print("\n".join(notes), style="dim")


def _category_notes(histogram: Histogram, shown: ShownRows, view: View) -> list[str]:
    held = "hold all at once" if shown.simultaneous else "each stands by itself"
    notes = [
        f"{_SHOWN[view]} Intervals are those of the unbiased estimates, cut to [0 %, 100 %], and "
        f"{held}. Raw counts contain the noise.",
        _manipulation(histogram),
    ]
    if any(row["outside"] and not row.get("impossible") for row in shown.rows):
        chance = ""
        # Of intervals that hold all at once, to none or few.
        if not shown.simultaneous and (expected := shown.total * (1 - histogram.level) / 2) >= 1:
            chance = f" Chance alone does it to up to {expected:,.0f} of {shown.total:,}."
        notes.append(_OUTSIDE + chance)
    if len(histogram.responses) > _MOST_RESPONSES:
        notes.append("Raw counts of the responses are in --json.")
    if noise := noise_text(histogram, simultaneous=shown.simultaneous):
        notes.append(noise)
    return notes


def _numeric_notes(histogram: Histogram, numeric: NumericSummary) -> list[str]:
    notes = [
        "The mean is unbiased and may leave the range; intervals are cut to what is possible, and "
        "each stands by itself.",
        _manipulation(histogram),
    ]
    if smoothing := smoothing_text(histogram):
        notes.append(smoothing)
    if hidden := numeric.hidden:
        notes.append(
            "Not shown, since intervals cover more than half of what is possible: "
            f"{', '.join(hidden)}. Shares within ± 10 percentage points take about "
            f"{histogram.reports_for_shares:,} reports if answers are spread evenly; "
            "asking for groups takes far fewer, as `survey publish` says."
        )
    notes.append("Single values, and what is not shown, are in --json.")
    if impossible := histogram.impossible:
        shown = ", ".join(impossible[:_NAMED]) + (", …" if len(impossible) > _NAMED else "")
        notes.append(f"!! These values have counts that honest devices do not cause: {shown}.")
    if noise := noise_text(histogram):
        notes.append(noise)
    if any(group.share.outside for group in numeric.bins) or numeric.mean.outside:
        notes.append(_OUTSIDE)
    return notes


def _manipulation(histogram: Histogram) -> str:
    fakes = histogram.poisoning.fakes_for_one_error
    enough = ""
    if fakes is not None and histogram.numeric is None:
        what = "combination" if histogram.crossed else "share"
        enough = f" {fakes:,} more, all fake, would move any {what} by its standard error."
    return (
        f"Intervals exclude manipulation. {fakes_text(histogram)}{enough} {unseen_text(histogram)} "
        "Suspicious counts are marked !!. "
        f"Devices: {histogram.enrolment}."
    )


def _warning(histogram: Histogram) -> str:
    chance = f"{100 * histogram.poisoning.false_alarm:.4g} %"
    return (
        "!! DO NOT USE THESE FIGURES. Honest devices do not cause such counts (!!): at least "
        f"{histogram.poisoning.fewest_fakes:,} of the {histogram.n:,} reports are fake. "
        "What is not marked may be as wrong. (Chance does this to at most "
        f"{chance} of honest histograms.)"
    )


def _numbers(numeric: NumericSummary) -> Table:
    table = _table("", "estimate", _interval_heading(numeric.mean.level))
    mean = numeric.mean
    # Two digits of what is uncertain.
    spread = mean.standard_error if mean.outside else mean.high - mean.low
    places = max(0, 1 - math.floor(math.log10(max(spread, 1e-9))))
    value, low, high = (f"{x:,.{places}f}" for x in (mean.value, mean.low, mean.high))
    if not numeric.too_wide(mean):
        table.add_row("mean", value, "none in the range!" if mean.outside else f"{low} – {high}")
    for quartile in numeric.quartiles:
        if not numeric.too_wide(quartile):
            interval = f"{quartile.low:.15g} – {quartile.high:.15g}"
            table.add_row(QUARTILES[quartile.probability], f"{quartile.value:.15g}", interval)
    return table


def _bins(numeric: NumericSummary, width: int) -> Table:
    # The error of a share with blurred ends would belie the interval, which is of sharp ones.
    headings = ["smoothed share"] if numeric.blur else ["share", "std error"]
    label = max(len(group.label) for group in numeric.bins)
    bar_width = min(_WIDEST_BAR, width - label - _SHARES_WIDTH)
    table = _table("values", *headings, _interval_heading(numeric.mean.level), bars=bar_width)
    table.columns[0].justify, table.columns[0].no_wrap = "right", True
    for group in numeric.bins:
        share = group.share
        if numeric.too_wide(group):
            continue
        interval = f"{NOWHERE}!" if share.outside else f"{share.low:.1%} – {share.high:.1%}"
        numbers = (f"{share.value:.1%}", f"{share.standard_error:.1%}")[: len(headings)]
        bars = _bars(share.value, share.low, share.high, bar_width)
        table.add_row(group.label, *numbers, interval, *bars)
    return table


def _category_tables(
    histogram: Histogram, shown: ShownRows, width: int, supporting: str | None, view: View
) -> Iterator[Table]:
    """Yield the table of single questions' answers, and that of categories; or of the largest."""
    single = [row for row in shown.rows if not shown.chosen and "raw" not in row]
    yield _category_table(histogram, single, width, supporting, view, shown)
    others = shown.rows[len(single) :]
    yield _category_table(histogram, others, width, supporting, view, shown)


def _category_table(
    histogram: Histogram,
    rows: Sequence[Json],
    width: int,
    supporting: str | None,
    view: View,
    shown: ShownRows,
) -> Table:
    label = min(_WIDEST_LABEL, max((len(row["category"]) for row in rows), default=0))
    at_once = ", at once" * shown.simultaneous
    bar_width = min(_WIDEST_BAR, width - label - _NUMBERS_WIDTH - len(at_once))
    counted = rows and all(row.get("raw") is not None for row in rows)
    raw = ["supported" if supporting else "raw"] if counted else []
    name = "estimate" if view is View.UNBIASED else str(view)
    headings = (*raw, name, "std error", _interval_heading(histogram.level) + at_once)
    table = _table("answer", *headings, bars=bar_width)
    answers = table.columns[0]
    answers.overflow, answers.min_width, answers.max_width = "fold", min(label, 12), _WIDEST_LABEL
    for row in rows:
        # With a handful of reports a standard error is as uncertain as what it describes.
        value, error = row["shown" if "shown" in row else "estimate"], row["standard_error"]
        few = row.get("method") == IntervalMethod.CLOPPER_PEARSON or error is None
        interval = NOWHERE if row["outside"] else f"{row['low']:.1%} – {row['high']:.1%}"
        table.add_row(
            Text(row["category"]),
            *(f"{row['raw']:,}" for _ in raw),
            f"{value:.1%}",
            "-" if few else f"{error:.1%}",
            interval + _mark(row),
            *_bars(value, row["low"], row["high"], bar_width),
        )
    return table


def _response_table(histogram: Histogram) -> Table:
    # Empty if responses are the categories, or too many.
    table = _table("response", "raw")
    if len(histogram.responses) <= _MOST_RESPONSES:
        for row in response_rows(histogram) or ():
            table.add_row(Text(row["response"]), f"{row['raw']:,}{_mark(row)}")
    return table


def _table(first: str, *headings: str, bars: int = 0) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    if bars >= _NARROWEST_BAR:
        table.add_column("", no_wrap=True)
    return table


def _bars(value: float, low: float, high: float, width: int) -> list[str]:
    return [bar(value, low, high, width)] if width >= _NARROWEST_BAR else []


def _mark(row: Json) -> str:
    return "!!" if row.get("impossible") else "!" if row.get("outside") else ""


def _interval_heading(level: float) -> str:
    return f"{100 * level:.12g} % interval"
