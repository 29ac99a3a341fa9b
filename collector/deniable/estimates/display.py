"""Histograms, series and differences as charts, as a part of a page, and as columns."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from deniable.estimates.answers import Answers
from deniable.estimates.charts import (
    SHARES,
    Band,
    Dot,
    Markup,
    Panel,
    Picture,
    Scale,
    difference_chart,
    dots_chart,
    series_chart,
    standalone,
)
from deniable.estimates.charts.svg import element
from deniable.estimates.estimate import (
    Estimate,
    Unit,
    bias_text,
    decided_by_fakes,
    fakes_sentence,
)
from deniable.estimates.fields import (
    Json,
    category_rows,
    crossed_rows,
    histogram_map,
    statistic_rows,
)
from deniable.estimates.frames import Column
from deniable.estimates.planning import Accuracy, reports_for_half_width
from deniable.estimates.rows import ShownRows, chosen_rows, shown_rows
from deniable.estimates.views import View

if TYPE_CHECKING:
    from deniable.estimates.histogram import Histogram
    from deniable.estimates.series import Series

INNER: Final = 0.5
"""The level of the inner band."""

WIDTH: Final = 720

_TOLD: Final = (
    *("survey", "survey_id", "question", "start", "end", "state", "seal", "n", "level", "model"),
    *("mechanism", "epsilon", "delta", "enrolment"),
)
_STATISTIC: Final = (
    *("estimate", "standard_error", "low", "high", "influence", "blur", "too_wide"),
)
_ALL_NOISE: Final = "Mostly noise so far: no answer is"
_MANY: Final = 10**9
"""More reports than any survey gets."""
_CHANCE: Final = (
    "about chance alone: who was not asked, does not answer, lies or fakes is not in them."
)
_VIEWS: Final = {
    View.PROJECTED: "Dots: projected view, the possible shares nearest to the estimates; biased.",
    View.LIKELIHOOD: "Dots: likelihood view, the possible shares that fit best; biased.",
}


def noise_text(histogram: "Histogram", *, simultaneous: bool = False) -> str:
    """Return which figures are noise so far, and how many reports would help, if any are.

    They would give the intervals that are shown, simultaneous or not. Not of counts that honest
    devices do not cause: more of them help nobody.
    """
    if histogram.impossible:
        return ""
    if (numeric := histogram.numeric) is not None:
        mean = numeric.mean
        if not numeric.too_wide(mean) or math.isnan(mean.standard_error):
            return ""
        accuracy = Accuracy.half_width(0.02 * numeric.span, mean.level)
        needed = accuracy.reports(histogram.n * mean.standard_error**2)
        return (
            "Mostly noise so far: the mean within ± 2 % of the range, by an interval of "
            f"{_level_text(mean.level)}, takes {_reports_text(needed)} at this epsilon."
        )
    k, told = len(histogram.categories), int(histogram.distinguishable.sum())
    if told == k:
        return ""
    level = _level_text(histogram.level)
    noise = f"{k - told:,} of {k:,} answers {'is' if k - told == 1 else 'are'} not"
    text = (
        f"{noise if told else _ALL_NOISE} distinguishable from 0 by {level} intervals that hold "
        "for all at once"
    )
    own = histogram.level_at_once if simultaneous else histogram.level
    for width in (0.05, 1 / k):  # if enough for the first, answers are many, and rare
        needed = reports_for_half_width(histogram.sample.mechanism, width, level=own)
        if needed > histogram.n:
            wide = f"intervals of ± {100 * width:.2g} percentage points"
            which = f"such {wide}" if simultaneous else f"{level} {wide}, each by itself,"
            text += f"; {which} take {_reports_text(needed)} at this epsilon"
            break
    return f"{text}."


def _reports_text(needed: int) -> str:
    """Return how many reports that is, in two digits, rounded up."""
    if needed > _MANY:
        return "more than a billion reports"
    step = 10 ** max(len(str(needed)) - 2, 0)
    return f"about {-(-needed // step) * step:,} reports"


def _level_text(level: float) -> str:
    return f"{100 * level:.12g} %"


def alert_text(histograms: Sequence["Histogram"]) -> str:
    """Return that figures are not to be used, and of which epochs, if so."""
    found: dict[str, set[int]] = {each.survey_id: set() for each in histograms}
    for each in histograms:
        found[each.survey_id].update(each.epochs if each.impossible else ())
    places = [
        f"epoch{'s' * (len(epochs) > 1)} {epochs_text(sorted(epochs))}"
        f"{f' of {survey[:12]}' * (len(found) > 1)}"
        for survey, epochs in found.items()
        if epochs
    ]
    if not places:
        return ""
    return f"Not to be used: honest devices do not cause the counts of {' and '.join(places)}."


def fakes_text(histogram: "Histogram") -> str:
    """Return what 1 % of fake reports can do to the figures that are shown, as a sentence."""

    def bias(
        name: str, influences: Sequence[float], unit: Unit = Unit.SHARE, widest: float = 1.0
    ) -> str:
        most = max(influences)
        return bias_text(name, most, unit, decided=decided_by_fakes(most, widest))

    if (numeric := histogram.numeric) is not None:
        parts = [bias("the mean", [numeric.mean.influence], Unit.NUMBER, numeric.span)]
        told = [one.share.influence for one in numeric.bins if not numeric.too_wide(one)]
        parts += [bias("a share", told)] if told else []
    elif crossed := [row["influence"] for row in crossed_rows(histogram)]:
        parts = [
            bias("a combination", histogram.influence.tolist()),
            bias("an answer to one question", crossed),
        ]
    else:
        parts = [bias("a share", histogram.influence.tolist())]
    return fakes_sentence(f"{', '.join(parts)}; a sum has a bound of its own")


def unseen_text(histogram: "Histogram") -> str:
    """Return which fake reports show no sign, as a sentence."""
    share = histogram.poisoning.detectable_share
    if share is None:
        return (
            "With this few reports, fake ones cannot be detected; those that only lie about their "
            "answer never are."
        )
    percent = f"{100 * share:.2g}" if share < 0.995 else "100"  # never 1e+02
    return (
        f"Fakes below about {percent} % of the reports may show no "
        "sign, and those that only lie about their answer never do."
    )


def furthest_text(name: str, estimates: Iterable[Estimate], reports: str) -> str:
    """Return what 1 % of fakes can do to those estimates that they move furthest, as a sentence."""
    one = max(estimates, key=lambda estimate: estimate.influence)
    bias = bias_text(name, one.influence, one.unit, decided=one.fakes_decide)
    return fakes_sentence(bias, reports)


def smoothing_text(histogram: "Histogram") -> str:
    """Return that groups and quartiles are smoothed, if any are shown that are."""
    numeric = histogram.numeric
    if numeric is None or not numeric.blur:
        return ""
    told = [not numeric.too_wide(each) for each in numeric.bins]
    if not any(told) and all(numeric.too_wide(each) for each in numeric.quartiles):
        return ""
    reach = f"{numeric.blur * numeric.span / (len(histogram.categories) - 1):.15g}"
    return (
        f"Shares and quartiles are smoothed over {reach} either way, or they would be all noise: "
        "read their intervals, which allow for it."
    )


def histogram_dots(histogram: "Histogram", shown: ShownRows) -> list[Dot]:
    """Return the rows of a chart, with their intervals of 50 % inside, unless all hold at once."""
    own = () if shown.simultaneous else shown_rows(histogram.at(INNER))
    inner = {row["category"]: _band(row) for row in own}
    return [
        Dot(
            row["category"],
            row["shown" if "shown" in row else "estimate"],
            inner.get(row["category"]),
            _band(row),
            "!!" * bool(row.get("impossible")),
        )
        for row in shown.rows
    ]


def _band(row: Json) -> Band | None:
    return None if row["outside"] else (row["low"], row["high"])


def histogram_picture(
    histogram: "Histogram",
    shown: ShownRows,
    view: View | str = View.UNBIASED,
    *,
    width: float = WIDTH,
    heading: bool = True,
    dots: Sequence[Dot] | None = None,
) -> Picture:
    """Return the chart of rows of a histogram; ``dots``, if they are made already."""
    if dots is None:
        dots = histogram_dots(histogram, shown)
    svg = dots_chart(
        dots,
        width=width,
        title=histogram.question or "Estimated shares",
        heading=heading,
        notes=[*_notes(histogram, shown, View(view))],
        levels=_levels([histogram.level], simultaneous=shown.simultaneous),
    )
    return Picture(svg)


def _notes(histogram: "Histogram", shown: ShownRows, view: View) -> Iterator[str]:
    if shown.note:
        yield shown.note
    elif len(shown.rows) < shown.total:
        yield f"{len(shown.rows)} of {shown.total:,} answers."
    if histogram.impossible:
        yield (
            "!! Not to be used: honest devices do not cause such counts. At least "
            f"{histogram.poisoning.fewest_fakes:,} reports are fake."
        )
    where = f"{histogram.survey}, epoch {epochs_text(histogram.epochs)}: "
    delta = "" if histogram.delta == "0" else f", delta {histogram.delta}"
    yield (
        f"{where * bool(histogram.survey)}{histogram.n:,} report{'s' * (histogram.n != 1)}, "
        f"epsilon {histogram.epsilon}{delta}."
    )
    if view in _VIEWS:
        yield _VIEWS[view]
    held = "that hold all at once" if shown.simultaneous else "each by itself"
    yield f"Intervals, {held}, are {_CHANCE}"


def epochs_text(epochs: Sequence[int]) -> str:
    """Return epochs as "3", "0-5" or "0, 2"."""
    if len(epochs) > 2 and [*epochs] == [*range(epochs[0], epochs[-1] + 1)]:
        return f"{epochs[0]}-{epochs[-1]}"
    return ", ".join(map(str, epochs))


def series_panels(
    series: "Series",
    *groups: Answers,
    among: Collection[str] | None = None,
    simultaneous: bool = False,
) -> list[Panel]:
    """Return a panel for each group of answers, or each category; of numbers one for their mean.

    ``among``: of categories, for these only.
    """
    outer = [*series.figures(*groups, simultaneous=simultaneous)]
    inner = outer if simultaneous else series.at(INNER).figures(*groups)
    return [
        Panel(
            label,
            tuple(
                None if wide is None else _dot("", wide, None if simultaneous else narrow)
                for wide, narrow in zip(estimates, narrower, strict=True)
            ),
        )
        for (label, estimates), (_, narrower) in zip(outer, inner, strict=True)
        if among is None or label in among
    ]


def series_picture(
    series: "Series",
    width: float = WIDTH,
    *,
    heading: bool = True,
    panels: Sequence[Panel] | None = None,
    simultaneous: bool = False,
) -> Picture:
    """Return the chart of a series: a panel for each category or for the mean, or some of these."""
    held = "that hold for all answers of an epoch at once" if simultaneous else "each by itself"
    points = series.points
    shown = [point.histogram for point in points if point.histogram]
    values = [each for histogram in shown for each in histogram.values or () if series.numeric]
    pairs = enumerate(pairwise(points), start=1)
    breaks = [at for at, (one, other) in pairs if one.survey_id != other.survey_id]
    levels = [histogram.level for histogram in shown]
    svg = series_chart(
        series_panels(series) if panels is None else panels,
        [str(point.epoch) for point in points],
        width=width,
        title=f"{series.survey}, epoch by epoch",
        heading=heading,
        scale=Scale(float(min(values)), float(max(values)), 1, "") if values else SHARES,
        notes=[*filter(None, [alert_text(shown)]), f"Intervals, {held}, are {_CHANCE}"],
        breaks=breaks,
        levels=_levels(levels, simultaneous=simultaneous),
    )
    return Picture(svg)


def difference_dots(differences: Mapping[str, Estimate]) -> list[Dot]:
    """Return the rows of a chart of differences, by their labels."""
    return [_dot(label, each, each.at(INNER)) for label, each in differences.items()]


def plot_differences(
    differences: Mapping[str, Estimate],
    *,
    title: str = "Differences",
    width: float = WIDTH,
    heading: bool = True,
    dots: Sequence[Dot] | None = None,
) -> Picture:
    """Return the chart of differences of shares, by their labels; it says which are none.

    ``dots`` are its rows, if they are made already.
    """
    svg = difference_chart(
        difference_dots(differences) if dots is None else dots,
        width=width,
        title=title,
        heading=heading,
        notes=[f"In percentage points. Intervals, each by itself, are {_CHANCE}"],
        levels=_levels(each.level for each in differences.values()),
    )
    return Picture(svg)


def _dot(label: str, estimate: Estimate, inner: Estimate | None) -> Dot:
    narrow, wide = (
        None if one is None or one.outside else (one.low, one.high) for one in (inner, estimate)
    )
    return Dot(label, estimate.value, narrow, wide)


def _levels(outer: Iterable[float], *, simultaneous: bool = False) -> tuple[str, str]:
    """Return the names of the inner intervals, which stand by themselves or not at all, and outer.

    Of rows that are chosen by their estimates an interval of 50 % of its own holds less often.
    """
    texts = " or ".join(map(_percent, sorted(set(outer))))
    return ("", f"{texts} simultaneous") if simultaneous else (_percent(INNER), texts)


def _percent(level: float) -> str:
    return f"{100 * level:.12g}%"


def histogram_html(histogram: "Histogram") -> Markup:
    """Return the chart, with the same numbers as a table below it."""
    shown = chosen_rows(histogram)
    _, level = _levels([histogram.level], simultaneous=shown.simultaneous)
    head = ("", "estimate", f"{level} interval", "")
    dots = histogram_dots(histogram, shown)
    rows = [_row(head, "col"), *(_row(_cells(dot), "row") for dot in dots)]
    table = element("details", element("summary", "Table"), element("table", *rows))
    return element("div", standalone(histogram_picture(histogram, shown, dots=dots).svg), table)


def _cells(dot: Dot) -> tuple[str, ...]:
    band = "none in [0, 1]" if dot.outer is None else "[{:.1%}, {:.1%}]".format(*dot.outer)
    return dot.label, f"{dot.value:.1%}", band, dot.mark


def _row(cells: Sequence[str], heading: str) -> Markup:
    """Return a row whose first cell is its heading, or all of whose cells head columns."""
    names = ["th" if i == 0 or heading == "col" else "td" for i in range(len(cells))]
    scopes = [{"scope": heading} if name == "th" else {} for name in names]
    return element(
        "tr",
        *(
            element(name, cell, **scope)
            for name, cell, scope in zip(names, cells, scopes, strict=True)
        ),
    )


def histogram_columns(histogram: "Histogram") -> dict[str, Column]:
    """Return the columns of a table: a row a category, or of a numeric survey one a statistic."""
    if histogram.numeric is not None:
        rows = statistic_rows(histogram_map(histogram)["numeric"])
        names = ["statistic", *_STATISTIC]
    else:
        rows = category_rows(histogram)
        names = [name for name in rows[0] if name != "raw" or not histogram.responses]
    columns: dict[str, Any] = {name: [row.get(name) for row in rows] for name in names}
    return columns


def histogram_metadata(histogram: "Histogram") -> dict[str, str]:
    """Return what holds for all rows."""
    told = histogram_map(histogram)
    texts = {name: str(told[name]) for name in _TOLD if told[name] is not None}
    fakes = str(histogram.poisoning.fewest_fakes)
    return {**texts, "epochs": epochs_text(histogram.epochs), "fewest_fakes": fakes}
