"""Histograms, curves, series and differences as charts."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from deniable.documents import Caution, Document, level_text
from deniable.documents.html import document_html
from deniable.estimates.answers import Answers
from deniable.estimates.curve import CumulativeCurve
from deniable.estimates.estimate import Estimate
from deniable.estimates.forms import Unit
from deniable.estimates.frequencies import View
from deniable.estimates.histogram import Histogram
from deniable.estimates.results import presents
from deniable.estimates.series import Series, SeriesFigures
from deniable.presenting.cautions import CHANCE, histogram_cautions
from deniable.presenting.charts import (
    POINTS,
    SHARES,
    Dot,
    Line,
    Markup,
    Panel,
    Picture,
    Scale,
    dots_chart,
    series_chart,
    standalone,
)
from deniable.presenting.estimate import estimate_sentence
from deniable.presenting.rows import NOT_FOUND, ShownRows, chosen_rows
from deniable.reading.epochs import instant_text
from deniable.stores import Note

WIDTH: Final = 720
HELD_ALONE: Final = "Each interval holds by itself"
HELD_IN_EPOCHS: Final = "Intervals hold for all answers of an epoch at once"
_HIGH_CURVE: Final = 220


def histogram_picture(
    histogram: Histogram,
    view: View | str | None = None,
    *,
    top: int | None = None,
    find: str = "",
    width: float = WIDTH,
) -> Picture:
    """Return the chart of a histogram; ValueError if no row contains the wanted text."""
    rows = chosen_rows(histogram, view, top=top, wanted=find)
    if find and not rows.rows:
        raise ValueError(NOT_FOUND.rstrip("."))
    return rows_picture(histogram, rows, width=width)


def notebook_html(document: Document, heading: str = "", *, folded: bool = False) -> str:
    """Return a document with its chart as HTML, for a notebook."""
    chart = "" if document.chart is None else standalone(Markup(document.chart(WIDTH)))
    return f"<div>{heading}{document_html(document, chart, folded=folded)}</div>"


def histogram_dots(chosen: ShownRows) -> list[Dot]:
    """Return the rows of a chart."""
    return [
        Dot(
            row["category"],
            _within(row["shown" if "shown" in row else "estimate"], beyond=chosen.beyond),
            (row["low"], row["high"]),
            "!!" * bool(row.get("impossible")),
        )
        for row in chosen.rows
    ]


def _within(share: float, *, beyond: bool = False) -> float:
    """Return a share as drawn: a share beyond the possible range is at the end of the range."""
    return share if beyond else min(max(share, 0.0), 1.0)


def rows_picture(
    histogram: Histogram,
    chosen: ShownRows,
    *,
    width: float = WIDTH,
    heading: bool = True,
) -> Picture:
    """Return the chart of rows of a histogram."""
    svg = dots_chart(
        histogram_dots(chosen),
        width=width,
        title=histogram.question or "Estimated shares",
        heading=heading,
        notes=[*_notes(histogram, chosen)] if heading else [],
        level=_levels([histogram.level], simultaneous=chosen.simultaneous),
        value="estimate" if chosen.view is View.UNBIASED else str(chosen.view),
    )
    return Picture(svg)


def _notes(histogram: Histogram, chosen: ShownRows) -> Iterator[str]:
    """Yield the notes of a standalone chart; a document has its own notes."""
    if len(chosen.rows) < chosen.total and not chosen.chosen:
        yield f"{len(chosen.rows)} of {chosen.total:,} answers."
    if histogram.values is not None and not chosen.rows:  # no group's interval is informative
        yield estimate_sentence(histogram.mean())
    yield from brief_texts(histogram_cautions(histogram, chosen))
    where = f"{histogram.survey}, {histogram.sample.period}: "
    yield (
        f"{where * bool(histogram.survey)}{histogram.n:,} report{'s' * (histogram.n != 1)}, "
        f"epsilon {histogram.guarantee}."
    )
    yield _held("Intervals hold all at once" if chosen.simultaneous else "")


def _held(together: str) -> str:
    """Return which intervals hold together, if any do, and what intervals reflect."""
    if together:
        return f"{together} and reflect {CHANCE}"
    return f"{HELD_ALONE}. Intervals reflect {CHANCE}"


def brief_texts(cautions: Iterable[Caution]) -> Iterator[str]:
    """Yield the cautions that a chart has room for."""
    return (str(caution) for caution in cautions if caution.brief)


def curve_picture(curve: CumulativeCurve, width: float) -> Picture:
    """Return the chart of a curve in its band, drawn in steps since answers are single values."""
    rows = zip(curve.rising.tolist(), curve.low.tolist(), curve.high.tolist(), strict=True)
    dots = tuple(Dot("", value, (low, high)) for value, low, high in rows)
    svg = series_chart(
        [Panel("cumulative share", dots)],
        curve.categories,
        width=width,
        title="Cumulative shares",
        level=_levels([curve.level], simultaneous=True),
        high=_HIGH_CURVE,
    )
    return Picture(svg)


def series_panels(
    series: Series,
    *groups: Answers,
    figures: SeriesFigures | None = None,
) -> list[Panel]:
    """Return a panel for each group of answers, or each category; for numbers, one for the mean.

    ``figures`` are the figures to draw; by default, all are drawn.
    """
    return [
        Panel(label, tuple(None if one is None else _dot("", one) for one in estimates))
        for label, estimates in (series.figures(*groups) if figures is None else figures)
    ]


def series_picture(
    series: Series,
    width: float = WIDTH,
    *groups: Answers,
    heading: bool = True,
    figures: SeriesFigures | None = None,
) -> Picture:
    """Return the chart of a series: a panel for each category, for some, or for the mean."""
    simultaneous = series.holds_at_once(*groups)
    held = HELD_IN_EPOCHS * simultaneous
    points, levels = series.points, [histogram.level for histogram in series.histograms]
    notes = list(enumerate((Note(*note) for note in series.notes), start=1))
    svg = series_chart(
        series_panels(series, *groups, figures=figures),
        [str(point.epoch) for point in points],
        width=width,
        title=f"{series.survey}, epoch by epoch",
        heading=heading,
        scale=series_scale(series),
        notes=[
            *(f"{number}: {instant_text(note.at)} {note.text}" for number, note in notes),
            *([*brief_texts(series.cautions()), _held(held)] if heading else []),
        ],
        lines=_lines(series),
        spans=[(point.start, point.end) for point in points],
        marks=[
            (note.at, str(number))
            for number, note in notes
            if any(point.start <= note.at < point.end for point in points)
        ],
        level=_levels(levels, simultaneous=simultaneous),
    )
    return Picture(svg)


def _lines(series: Series) -> list[Line]:
    """Return the lines of a series with several surveys, named by their versions."""
    drawn, first, names = [], 0, version_names(series)
    for points in series.lines if len(names) > 1 else ():
        end = first + len(points)
        drawn.append(Line(names[points[0].survey_id], first, end))
        first = end
    return drawn


def version_names(series: Series) -> dict[str, str]:
    """Return the names of a series' surveys by their ids."""
    return {one.survey_id: one.sample.version for one in series.histograms}


def series_scale(series: Series) -> Scale:
    """Return the scale of a series, for shares or for its numbers."""
    if not series.numeric:
        return SHARES
    values = [value for histogram in series.histograms for value in histogram.values or ()]
    return Scale(float(min(values)), float(max(values)), 1, "")


def plot_differences(
    differences: Mapping[str, Estimate],
    *,
    title: str = "Differences",
    width: float = WIDTH,
    heading: bool = True,
    ends: tuple[float, float] | None = None,
) -> Picture:
    """Return the chart of differences by their labels; differences that are not clear are marked.

    ``ends`` are those of the range of numbers.
    """
    at_once = any(estimate.at_once for estimate in differences.values())
    held = "Intervals hold for all answers at once" * at_once
    svg = dots_chart(
        [_dot(label, estimate) for label, estimate in differences.items()],
        differences=True,
        width=width,
        title=title,
        heading=heading,
        notes=[
            f"{'In percentage points. ' * (not ends)}{_held(held)}",
        ]
        if heading
        else [],
        scale=Scale(*ends, 1, "", signed=True) if ends else POINTS,
        level=_levels((estimate.level for estimate in differences.values()), simultaneous=at_once),
    )
    return Picture(svg)


def _dot(label: str, estimate: Estimate) -> Dot:
    value = _within(estimate.value) if estimate.unit is Unit.SHARE else estimate.value
    return Dot(label, value, (estimate.low, estimate.high))


def _levels(levels: Iterable[float], *, simultaneous: bool = False) -> str:
    """Return the name of the intervals in a legend."""
    texts = " or ".join(level_text(one).replace(" ", "") for one in sorted(set(levels)))
    return texts + " all-at-once" * simultaneous


presents(Histogram, picture=histogram_picture)
