"""What a page shows of histograms: charts, and the same numbers in tables."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from deniable.estimates import Estimate, Histogram, Series, View, plot_differences
from deniable.estimates.binomial import IntervalMethod
from deniable.estimates.charts import POINTS, SHARES, Dot, Markup, Scale
from deniable.estimates.comparison import Comparison
from deniable.estimates.display import (
    difference_dots,
    epochs_text,
    histogram_dots,
    histogram_picture,
    series_panels,
    series_picture,
    shown_rows,
)
from deniable.estimates.fields import Json, category_rows, numeric_map, statistic_rows
from deniable.server.pages.limits import MOST_PANELS, MOST_ROWS

Text = Callable[[float], str]
"""How a number is written."""

_HELPED: Final = (
    "Chance has helped the largest of many answers to be the largest: their estimates tend to be "
    "too high."
)
_WIDTHS: Final = (720, 360)
"""Of a chart beside its labels, and of one on a phone."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: its numbers in full precision, and as they are read."""

    label: str
    numbers: tuple[tuple[str, str], ...]  # names and values, for programs
    value: str
    interval: str
    error: str = ""
    mark: str = ""
    before: str = ""
    n: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """Charts, rows, and what is to be known of them."""

    charts: tuple[Markup, ...]
    rows: tuple[Row, ...]
    hidden: int = 0  # how many rows more there are
    sentence: str = ""
    notes: tuple[str, ...] = ()
    statistics: tuple[Row, ...] = ()


def shown_figures(
    histogram: Histogram, view: View, together: Sequence[str], wanted: str = ""
) -> Shown:
    """Return a histogram's chart and table: the largest shares, of those that are looked for.

    Raises:
        ValueError: for a view that there is not of it, or answers that cannot be added up.
    """
    if view is not View.UNBIASED and histogram.numeric is not None:
        raise ValueError("a numeric survey is shown unbiased only")
    kept, hidden = _largest(histogram, view, wanted)
    dots = _dots(histogram, view, kept)
    charts = tuple(
        histogram_picture(histogram, view, width=width, heading=False, dots=dots).svg
        for width in _WIDTHS
        if dots
    )
    text = _in(SHARES, ((row["low"], row["high"]) for row in kept))
    sentence = ""
    if together:
        sentence = histogram.share(together).sentence
    statistics: tuple[Row, ...] = ()
    if histogram.numeric is not None:
        of_numbers = statistic_rows(numeric_map(histogram.numeric))
        statistics = tuple(
            _row(row["statistic"], row, _number)
            for row in of_numbers
            if not row["too_wide"] and not row["statistic"].startswith("share")
        )
    return Shown(
        charts,
        tuple(_row(row["category"], row, text) for row in kept),
        hidden=hidden,
        # Fewer were looked for by name, which makes none of them larger.
        notes=(_HELPED,) if hidden and len(kept) == MOST_ROWS else (),
        sentence=sentence,
        statistics=statistics,
    )


def drawn(histogram: Histogram, view: View, wanted: str) -> Markup:
    """Return the chart by itself, of the rows that the page has."""
    kept, _ = _largest(histogram, view, wanted)
    return histogram_picture(histogram, view, dots=_dots(histogram, view, kept)).svg


def _largest(histogram: Histogram, view: View, wanted: str) -> tuple[list[Json], int]:
    """Return the rows with the largest shares, of those looked for, and how many others are not."""
    rows = shown_rows(histogram)
    if histogram.numeric is not None:
        told = [not histogram.numeric.too_wide(each) for each in histogram.numeric.bins]
        rows = [row for row, tells in zip(rows, told, strict=True) if tells]
    elif view is not View.UNBIASED:
        # Only categories have other views.
        rows = [
            {**row, "shown": shown}
            for row, shown in zip(
                category_rows(histogram), histogram.view(view).tolist(), strict=True
            )
        ]
    sought = wanted.casefold()
    kept = [row for row in rows if sought in row["category"].casefold()]
    if len(kept) > MOST_ROWS:
        kept = sorted(kept, key=lambda row: -(row["estimate"] or 0.0))[:MOST_ROWS]
    return kept, len(rows) - len(kept)


def _dots(histogram: Histogram, view: View, rows: Sequence[Json]) -> list[Dot]:
    drawn = {dot.label: dot for dot in histogram_dots(histogram, view)}
    return [drawn[row["category"]] for row in rows]


def shown_raw(histogram: Histogram) -> list[tuple[str, int]]:
    """Return responses and how often each was counted; the first of them, if there are many."""
    names = histogram.responses or histogram.categories
    return [(str(names[at]), int(histogram.raw[at])) for at in range(min(len(names), MOST_ROWS))]


def shown_series(series: Series, together: Sequence[str], wanted: str = "") -> Shown:
    """Return a series' chart and its table, of the answers added up or the most frequent ones."""
    shown = [point.histogram for point in series.points if point.histogram]
    if not shown:
        return Shown((), ())
    numeric = shown[-1].values is not None
    groups = [list(together)] if together else []
    among = None if numeric or groups else largest_shares(MOST_PANELS, shown[-1:], shown, wanted)
    figures = [each for each in series.figures(*groups) if among is None or each[0] in among]
    panels = series_panels(series, *groups, among=among)
    charts = tuple(
        series_picture(series, width, heading=False, panels=panels).svg for width in _WIDTHS
    )
    known = [each for _, found in figures for each in found if each is not None]
    text: Text = _number
    if not numeric:
        text = _in(SHARES, ((each.low, each.high) for each in known))
    rows = [
        _estimate_row(label, found[at], text, n=f"{point.n:,}", epoch=str(point.epoch))
        for at, point in enumerate(series.points)
        for label, found in figures
    ]
    hidden = 0 if among is None else len(series.categories) - len(figures)
    return Shown(charts, tuple(rows), hidden=hidden)


def largest_shares(
    most: int, told_in: Sequence[Histogram], histograms: Sequence[Histogram], wanted: str = ""
) -> list[str]:
    """Return so many answers with the largest shares in all histograms together.

    Chosen by one of them, chance would make them seem to fall in the others; but the mean of x and
    y, from n and m reports, (n x + m y) / (n + m), has with their difference x - y the covariance
    (V - V) / (n + m) = 0, if V / n and V / m are their variances. None to a question that in one of
    those which it is to be ``told_in`` no report is about.

    Raises:
        ValueError: if none is called as wanted.
    """
    told = [
        {
            name
            for part in each.sample.decoder.parts
            if part.tally(each.sample.tally).n
            for name in each.categories[part.categories]
        }
        for each in told_in
    ]
    reports: dict[str, float] = {}
    for each in histograms:
        for name, n in zip(each.categories, (each.n * each.estimate).tolist(), strict=True):
            if n == n:
                reports[name] = reports.get(name, 0.0) + n
    sought = wanted.casefold()
    found = [
        name
        for name in reports
        if sought in name.casefold() and all(name in names for names in told)
    ]
    if wanted and not found:
        raise ValueError("no answer is called so")
    return sorted(found, key=lambda name: -reports[name])[:most]


def shown_changes(compared: Comparison) -> Shown:
    """Return the chart of differences, and both epochs' shares beside them."""
    numeric = compared.histogram.values is not None
    points: Text = _number
    shares: Text = _number
    if not numeric:
        ends = [(row.estimate.low, row.estimate.high) for row in compared.rows]
        points, shares = _in(POINTS, ends), _in(SHARES, ends)
    charts: tuple[Markup, ...] = ()
    if not numeric:
        differences = {row.label: row.estimate for row in compared.rows}
        dots = difference_dots(differences)
        charts = tuple(
            plot_differences(differences, width=width, heading=False, dots=dots).svg
            for width in _WIDTHS
        )
    rows = []
    for row in compared.rows:
        estimate = row.estimate
        assert row.before is not None
        numbers = (
            ("difference", repr(estimate.value)),
            ("low", repr(estimate.low)),
            ("high", repr(estimate.high)),
            ("distinguishable", str(estimate.distinguishable).lower()),
        )
        rows.append(
            Row(
                row.label,
                numbers,
                points(estimate.value),
                _interval(estimate.low, estimate.high, points),
                mark="" if estimate.distinguishable else "not distinguishable",
                before=f"{shares(row.before.value)} → {shares(row.now.value)}",
            )
        )
    notes = []
    if compared.test is not None:
        notes.append(f"Whether anything changed at all: {compared.test}.")
    if (count := len(rows)) > 1:
        chance = count * (1 - compared.histogram.level)
        notes.append(
            f"Each interval stands by itself: chance alone makes {chance:.2g} of {count:,} seem to "
            "differ, on average."
        )
    notes.append(
        "Devices that are in both make these intervals wider than need be, never too narrow, as "
        "long as they tend to keep their answers."
    )
    hidden = 0 if numeric else len(compared.histogram.categories) - len(rows)
    return Shown(charts, tuple(rows), hidden=hidden, notes=tuple(notes))


def named_epochs(histogram: Histogram) -> str:
    """Return which epochs a histogram is of, in words."""
    return f"epoch{'s' * (len(histogram.epochs) > 1)} {epochs_text(histogram.epochs)}"


def _number(value: float) -> str:
    """Return a number in the units of the answers: four digits, or all before the point."""
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _in(scale: Scale, pairs: Iterable[tuple[float | None, float | None]]) -> Text:
    """Return how shares are written whose intervals have these ends: alike, and no finer."""
    known = [high - low for low, high in pairs if low is not None and high is not None]
    return partial(scale.text, decimals=scale.decimals(known))


def _row(label: str, row: Json, text: Text) -> Row:
    value, error = row.get("shown", row["estimate"]), row.get("standard_error")
    # Of few reports it tells little: they scatter less than their number does.
    few = row.get("method") == IntervalMethod.CLOPPER_PEARSON
    numbers = (
        ("share", _exact(row["estimate"])),
        ("low", _exact(row["low"])),
        ("high", _exact(row["high"])),
        ("standard-error", _exact(error)),
    )
    return Row(
        label,
        numbers,
        "–" if value is None else text(value),
        "–"
        if row["low"] is None
        else "none within 0 to 100%"
        if row["outside"]
        else _interval(row["low"], row["high"], text),
        "–" if few or error is None else text(error),
        mark="honest devices do not cause this" if row.get("impossible") else "",
    )


def _estimate_row(label: str, estimate: Estimate | None, text: Text, *, n: str, epoch: str) -> Row:
    if estimate is None:
        return Row(label, (("epoch", epoch),), "–", "no figures", n=n, before=epoch)
    numbers = (
        ("epoch", epoch),
        ("share", repr(estimate.value)),
        ("low", repr(estimate.low)),
        ("high", repr(estimate.high)),
    )
    interval = _interval(estimate.low, estimate.high, text)
    return Row(label, numbers, text(estimate.value), interval, n=n, before=epoch)


def _interval(low: float, high: float, text: Text) -> str:
    return f"{text(low)} to {text(high)}"


def _exact(number: float | None) -> str:
    return "" if number is None or number != number else repr(float(number))
