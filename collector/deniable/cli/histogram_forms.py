"""A histogram for people."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable.documents import level_text, number_text
from deniable.documents.bars import BARS, NOWHERE, bar
from deniable.documents.terminal import print_alerts, print_notes
from deniable.estimates import EpochState, Histogram, IntervalMethod, NumericSummary, View
from deniable.estimates.fields import Json, response_rows
from deniable.estimates.numeric import QUARTILES
from deniable.estimates.rows import ShownRows, chosen_rows
from deniable.mechanisms import SurveyMechanism
from deniable.mechanisms.design import DesignMechanism
from deniable.reading import instant_text
from deniable.reading.epochs import epochs_named

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
_NARROWEST_BAR, _WIDEST_BAR = 8, 30


def supporting_text(mechanism: SurveyMechanism) -> str | None:
    """Return how many answers a design's response supports, and how often each; else None."""
    if not isinstance(mechanism, DesignMechanism):
        return None
    return (
        f"Each response supports {mechanism.design.extent} answers: one that nobody has is "
        f"supported by {float(mechanism.miss):.1%} of responses, one that everybody has by "
        f"{float(mechanism.hit):.1%}."
    )


def show_histogram(
    histogram: Histogram,
    screen: Console,
    older: str | None = None,
    mechanism: SurveyMechanism | None = None,
    view: View = View.UNBIASED,
    *,
    top: int | None = None,
    simultaneous: bool = False,
) -> None:
    """Print a histogram as a table with bars, and what to mind when reading it.

    An older survey of the name, whose id begins so, has figures as well. What responses support is
    told of a design.
    """
    shown = chosen_rows(histogram, view, top=top, simultaneous=simultaneous)
    supporting = None if mechanism is None else supporting_text(mechanism)
    screen.print(Text(histogram.question, style="bold"))
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
    cautions = histogram.cautions_of(shown, view)
    print_alerts(cautions, screen)
    if histogram.numeric is None:
        tables: tuple[Table, ...] = (
            *_category_tables(histogram, shown, screen.width, supporting, view),
            _response_table(histogram),
        )
        notes = [
            *([] if supporting is None else [supporting]),
            *_category_notes(histogram, shown),
        ]
    else:
        tables = _numbers(histogram.numeric), _bins(histogram.numeric, screen.width)
        notes = _numeric_notes(histogram)
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
    if older is not None:
        notes.append(f"An older survey of this name has figures of its own: --survey {older}")
    print_notes(cautions, screen, *notes)


def _category_notes(histogram: Histogram, shown: ShownRows) -> list[str]:
    held = "hold all at once" if shown.simultaneous else "each stands by itself"
    notes = [
        "Estimates are unbiased and may leave [0 %, 100 %]; intervals are cut to it, and "
        f"{held}. Raw counts contain the noise. {BARS}. Devices: {histogram.enrolment}."
    ]
    if any(map(_mark, shown.rows)):
        notes.append(
            "!! marks counts that honest devices do not cause, ! intervals outside [0, 1]."
        )
    if len(histogram.responses) > _MOST_RESPONSES:
        notes.append("Raw counts of the responses are in --json.")
    return notes


def _numeric_notes(histogram: Histogram) -> list[str]:
    notes = [
        "The mean is unbiased and may leave the range; intervals are cut to what is possible, and "
        "each stands by itself. Single values, and what is not shown, are in --json. "
        f"Devices: {histogram.enrolment}.",
    ]
    if impossible := histogram.impossible:
        shown = ", ".join(impossible[:_NAMED]) + (", …" if len(impossible) > _NAMED else "")
        notes.append(f"!! These values have counts that honest devices do not cause: {shown}.")
    return notes


def _numbers(numeric: NumericSummary) -> Table:
    table = _table("", "estimate", _interval_heading(numeric.mean.level))
    mean = numeric.mean
    spread = mean.standard_error if mean.outside else mean.high - mean.low
    value, low, high = (number_text(end, spread) for end in (mean.value, mean.low, mean.high))
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
    return f"{level_text(level)} interval"
