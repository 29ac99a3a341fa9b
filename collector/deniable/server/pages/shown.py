"""What a page shows of histograms: charts, and the same numbers in tables."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from deniable.documents import Caution, Level, number_text
from deniable.documents.html import cautions_html
from deniable.estimates import Estimate, Histogram, Series, View, plot_differences
from deniable.estimates.binomial import IntervalMethod
from deniable.estimates.charts import POINTS, SHARES, Markup, Scale
from deniable.estimates.comparison import Comparison
from deniable.estimates.display import (
    difference_dots,
    histogram_dots,
    histogram_picture,
    series_panels,
    series_picture,
)
from deniable.estimates.fields import Json, numeric_map, statistic_rows
from deniable.estimates.rows import chosen_rows
from deniable.estimates.series import Point
from deniable.reading import MOST_ROWS

Text = Callable[[float], str]
"""How a number is written."""

NOT_FOUND: Final = "no answer is called so"
NOWHERE: Final = "none possible"
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
    cut: bool = False  # whether these are the largest of more that were looked for
    simultaneous: bool = False  # whether intervals hold for all rows at once
    cautions: tuple[Caution, ...] = ()
    sentence: str = ""
    notes: tuple[str, ...] = ()
    statistics: tuple[Row, ...] = ()

    @property
    def alerts(self) -> Markup:
        """Return why they are not to be used, if so."""
        return self._html(Level.ALERT)

    @property
    def warnings(self) -> Markup:
        """Return what else may mislead, and what is to be known."""
        return self._html(Level.WARNING, Level.NOTE)

    def _html(self, *levels: Level) -> Markup:
        return Markup(cautions_html(one for one in self.cautions if one.level in levels))


def shown_figures(
    histogram: Histogram,
    view: View,
    together: Sequence[str],
    wanted: str = "",
    *,
    simultaneous: bool = False,
) -> Shown:
    """Return a histogram's chart and table: the largest shares, of those that are looked for.

    Raises:
        ValueError: for a view or intervals that there are not of it, or answers that cannot be
            added up.
    """
    found = chosen_rows(histogram, view, simultaneous=simultaneous, wanted=wanted)
    dots = histogram_dots(histogram, found)
    charts = tuple(
        histogram_picture(histogram, found, view, width=width, heading=False, dots=dots).svg
        for width in _WIDTHS
        if dots
    )
    text = _in(SHARES, ((row["low"], row["high"]) for row in found.rows))
    smoothed = histogram.numeric is not None and histogram.numeric.blur > 0
    sentence = ""
    if together:
        sentence = histogram.share(together).sentence
    statistics: tuple[Row, ...] = ()
    if histogram.numeric is not None:
        of_numbers = statistic_rows(numeric_map(histogram.numeric))
        statistics = tuple(
            _row(row["statistic"], row, _numbers([(row["low"], row["high"])]))
            for row in of_numbers
            if not row["too_wide"] and not row["statistic"].startswith("share")
        )
    return Shown(
        charts,
        tuple(_row(row["category"], row, text, smoothed=smoothed) for row in found.rows),
        hidden=found.total - len(found.rows),
        cut=found.chosen,
        simultaneous=found.simultaneous,
        cautions=histogram.cautions_of(found, view),
        sentence=sentence,
        statistics=statistics,
    )


def drawn(
    histogram: Histogram, view: View, wanted: str = "", *, simultaneous: bool = False
) -> Markup:
    """Return the chart by itself, of the rows that the page has; ValueError if there are none."""
    found = chosen_rows(histogram, view, simultaneous=simultaneous, wanted=wanted)
    if wanted and not found.rows:
        raise ValueError(NOT_FOUND)
    return histogram_picture(histogram, found, view).svg


def shown_raw(histogram: Histogram) -> list[tuple[str, int]]:
    """Return responses and how often each was counted; the first of them, if there are many."""
    names = histogram.responses or histogram.categories
    return [(str(names[at]), int(histogram.raw[at])) for at in range(min(len(names), MOST_ROWS))]


def shown_series(series: Series, together: Sequence[str], wanted: str = "", *, most: int) -> Shown:
    """Return a series' chart and its table, of the answers added up or the most frequent ones."""
    shown = [
        point.histogram
        for point in series.points
        if point.histogram and (point.histogram.values is not None) == series.numeric
    ]
    if not shown:
        return Shown((), ())
    groups = [list(together)] if together else []
    among, cut = None, False
    if not (series.numeric or groups):
        found = largest_shares(shown, wanted, everywhere=False)
        among, cut = set(found[:most]), len(found) > most
    # Those that are chosen by their estimates, chance has helped: see deniable.estimates.rows.
    figures = [
        each
        for each in series.figures(*groups, simultaneous=cut)
        if among is None or each[0] in among
    ]
    panels = series_panels(series, *groups, among=among, simultaneous=cut)
    charts = tuple(
        series_picture(series, width, heading=False, panels=panels, simultaneous=cut).svg
        for width in _WIDTHS
    )
    known = [each for _, found in figures for each in found if each is not None]
    ends = [(each.low, each.high) for each in known]
    text = _numbers(ends) if series.numeric and not groups else _in(SHARES, ends)
    several = len({point.survey_id for point in series.points}) > 1
    rows = [
        _estimate_row(label, found[at], text, point, several=several)
        for at, point in enumerate(series.points)
        for label, found in figures
    ]
    hidden = 0 if among is None else len(series.categories) - len(figures)
    return Shown(
        charts,
        tuple(rows),
        hidden=hidden,
        cut=cut,
        simultaneous=cut,
        cautions=series.cautions_of(figures),
    )


def largest_shares(
    histograms: Sequence[Histogram], wanted: str = "", *, everywhere: bool
) -> list[str]:
    """Return the answers, those with the largest shares in all histograms together first.

    Chosen by one of them, chance would make them seem to fall in the others; but the mean of x and
    y, from n and m reports, (n x + m y) / (n + m), has with their difference x - y the covariance
    (V - V) / (n + m) = 0, if V / n and V / m are their variances. None to a question that no report
    is about; if they are to be told of ``everywhere``, in any histogram.

    Raises:
        ValueError: if none is called as wanted.
    """
    reports: dict[str, float] = {}
    times: Counter[str] = Counter()
    for each in histograms:
        counts = (each.n * each.estimate).tolist()
        for part in each.sample.decoder.parts:
            if part.tally(each.sample.tally).n:
                told = each.categories[part.categories]
                times.update(told)
                for name, n in zip(told, counts[part.categories], strict=True):
                    reports[name] = reports.get(name, 0.0) + n
    sought, least = wanted.casefold(), len(histograms) if everywhere else 1
    found = [name for name in reports if sought in name.casefold() and times[name] >= least]
    if wanted and not found:
        raise ValueError(NOT_FOUND)
    return sorted(found, key=lambda name: -reports[name])


def shown_changes(compared: Comparison, found: Sequence[str] = ()) -> Shown:
    """Return the chart of differences, and both epochs' shares beside them.

    ``found`` are the answers that were looked for, where some of these are compared.
    """
    assert compared.against is not None
    numeric = compared.histogram.values is not None
    ends = [(row.estimate.low, row.estimate.high) for row in compared.rows]
    points = shares = _numbers(ends)
    if not numeric:
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
    return Shown(
        charts,
        tuple(rows),
        hidden=len(compared.histogram.categories) - len(rows) if found else 0,
        cut=len(found) > len(rows),
        cautions=compared.cautions,
        notes=tuple(notes),
    )


def _numbers(pairs: Iterable[tuple[float | None, float | None]]) -> Text:
    """Return how numbers are written whose intervals have these ends, in the answers' units."""
    known = sorted(high - low for low, high in pairs if low is not None and high is not None)
    typical = known[len(known) // 2] if known else 0.0
    return partial(number_text, width=typical)


def _in(scale: Scale, pairs: Iterable[tuple[float | None, float | None]]) -> Text:
    """Return how shares are written whose intervals have these ends: alike, and no finer."""
    known = [high - low for low, high in pairs if low is not None and high is not None]
    return partial(scale.text, decimals=scale.decimals(known))


def _row(label: str, row: Json, text: Text, *, smoothed: bool = False) -> Row:
    value, error = row.get("shown", row["estimate"]), row.get("standard_error")
    # Of few reports it tells little: they scatter less than their number does; and that of a
    # smoothed share tells nothing of the share itself.
    few = smoothed or row.get("method") == IntervalMethod.CLOPPER_PEARSON
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
        else NOWHERE
        if row["outside"]
        else _interval(row["low"], row["high"], text),
        "–" if few or error is None else text(error),
        mark="honest devices do not cause this" if row.get("impossible") else "",
    )


def _estimate_row(
    label: str, estimate: Estimate | None, text: Text, point: Point, *, several: bool
) -> Row:
    """Return a row of a series; which survey it is of, if it has ``several``."""
    n, place = f"{point.n:,}", (("epoch", str(point.epoch)), ("survey", point.survey_id))
    epoch = f"{point.epoch} of {point.survey_id[:12]}" if several else str(point.epoch)
    if estimate is None:
        return Row(label, place, "–", "no figures", n=n, before=epoch)
    numbers = (
        *place,
        ("share", repr(estimate.value)),
        ("low", repr(estimate.low)),
        ("high", repr(estimate.high)),
    )
    interval = NOWHERE if estimate.outside else _interval(estimate.low, estimate.high, text)
    return Row(label, numbers, text(estimate.value), interval, n=n, before=epoch)


def _interval(low: float, high: float, text: Text) -> str:
    return f"{text(low)} to {text(high)}"


def _exact(number: float | None) -> str:
    return "" if number is None or number != number else repr(float(number))
