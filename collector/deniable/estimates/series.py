"""Figures of one question over time: a line for each survey that asks it, epoch by epoch."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from deniable.estimates.answers import Answers, Range, answers_text
from deniable.estimates.curve import QUARTILES
from deniable.estimates.estimate import Estimate
from deniable.estimates.histogram import Histogram
from deniable.estimates.means import share_of_row
from deniable.estimates.results import Tabular, Values, presented
from deniable.mechanisms import Levels

SeriesFigures = Sequence[tuple[str, tuple[Estimate | None, ...]]]
"""Labels of groups of answers, and the estimate of each in each epoch; None is a gap."""


@dataclass(frozen=True, slots=True)
class Point:
    """One epoch of a series, from ``start`` to ``end`` in Unix seconds.

    Without a histogram it is a gap: too few reports came.
    """

    survey_id: str
    epoch: int
    start: int
    end: int
    histogram: Histogram | None = None

    @property
    def n(self) -> int:
        """Return the number of reports that its figures are made of."""
        return 0 if self.histogram is None else self.histogram.n

    @property
    def fewest_fakes(self) -> int:
        """Return how many of the reports are fake at least; then its figures are not to be used."""
        return 0 if self.histogram is None else self.histogram.poisoning.fewest_fakes


@dataclass(frozen=True, slots=True)
class Series(Tabular):
    """The epochs of one question, of surveys of one name.

    Surveys may run side by side, and do not mix: no difference is taken between two of them.

    Attributes:
        points: survey after survey, the newest last; of each its epochs in their order.
        notes: what an operator says happened, and when, in Unix seconds.
        apart: the ids of surveys of the name that ask something else.
    """

    survey: str
    points: tuple[Point, ...]
    notes: tuple[tuple[int, str], ...] = ()
    apart: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the name and the number of epochs."""
        with_figures = sum(point.histogram is not None for point in self.points)
        return f"<Series {self.survey}: {len(self.points)} epochs, {with_figures} with figures>"

    @property
    def lines(self) -> tuple[tuple[Point, ...], ...]:
        """Return the epochs of each survey, the newest survey last."""
        grouped = groupby(self.points, key=lambda point: point.survey_id)
        return tuple(tuple(points) for _, points in grouped)

    @property
    def histograms(self) -> list[Histogram]:
        """Return the figures of the epochs that have any."""
        return [point.histogram for point in self.points if point.histogram]

    @property
    def categories(self) -> tuple[str, ...]:
        """Return the texts of all categories, which are the same in all epochs."""
        return self.histograms[0].categories if self.histograms else ()

    @property
    def numeric(self) -> bool:
        """Return whether the series is of numbers."""
        return bool(self.histograms) and self.histograms[0].values is not None

    def at(self, level: float) -> "Series":
        """Return the same with intervals of another level."""
        points = (
            replace(point, histogram=point.histogram and point.histogram.at(level))
            for point in self.points
        )
        return replace(self, points=tuple(points))

    def share(self, answers: Answers) -> tuple[Estimate | None, ...]:
        """Return the share of answers in each epoch.

        None is a gap: where there are no figures of it. ValueError if there are none in any epoch.
        """
        if not isinstance(answers, str | Mapping | Range):
            answers = tuple(answers)
        shares = tuple(_share(point.histogram, answers) for point in self.points)
        if self.histograms and shares.count(None) == len(shares):
            self.histograms[-1].share(answers)  # says why
        return shares

    def holds_at_once(self, *groups: Answers) -> bool:
        """Return whether intervals hold for all answers of an epoch: those of each category do."""
        return not groups and not self.numeric

    def figures(self, *groups: Answers) -> Iterator[tuple[str, tuple[Estimate | None, ...]]]:
        """Yield a label for each group of answers, and their share in each epoch.

        Without groups, each category is one, as its histogram has it: nothing can be made of these
        estimates. Of a numeric survey there is the mean instead, and the quartiles, if it tells the
        distribution. Intervals of categories hold for all those of an epoch at once.
        """
        if not groups and self.numeric:
            histograms = [point.histogram for point in self.points]
            yield "mean", tuple(None if one is None else one.mean() for one in histograms)
            if any(one and _tells_distribution(one) for one in histograms):
                for probability, name in QUARTILES.items():
                    yield name, tuple(_quartile(one, probability, name) for one in histograms)
            return
        for answers in groups:
            yield answers_text(answers), self.share(answers)
        if not groups:
            # Not by share(): a query of each of 65,536 categories would take an hour.
            by_category = [_shares(point.histogram) for point in self.points]
            for category in self.categories:
                yield category, tuple(shares.get(category) for shares in by_category)

    def sentence(self, *groups: Answers, among: Sequence[str] | None = None) -> str:
        """Return the change from the first figures to the last, and what was noted, in words.

        Of answers, or of categories ``among`` all; "" if these figures cannot be compared. Both are
        of one survey: of several, of the newest that has two epochs with figures.
        """
        return str(presented(self, "sentence", *groups, among=among))

    def cautions(self, *groups: Answers) -> tuple[Any, ...]:
        """Return the cautions of the figures of groups of answers, or of all answers."""
        return tuple(presented(self, "cautions", list(self.figures(*groups))))

    def document(
        self,
        figures: SeriesFigures,
        *groups: Answers,
        chosen: Any = None,
        notes: Sequence[str] = (),
    ) -> Any:
        """Return figures of the series, of groups of answers or of categories, as a document.

        ``chosen`` are the categories, if they are those with the largest shares.
        """
        return presented(self, "document", figures, *groups, chosen=chosen, notes=notes)

    def plot(self, width: float = 720) -> Any:
        """Return a chart: bands over the epochs, a panel for each category or for the mean."""
        return presented(self, "picture", width)

    def rows(self, *groups: Answers) -> Iterator[dict[str, Any]]:
        """Return a row for each epoch and group, as :meth:`figures` has them.

        Its figures are None where there is a gap.
        """
        yield from presented(self, "rows", list(self.figures(*groups)))

    def columns(self) -> Mapping[str, Values]:
        """Return a table with a row for each epoch and category."""
        return dict(presented(self, "columns"))

    def metadata(self) -> Mapping[str, str]:
        """Return the fields that all rows share."""
        return {"survey": self.survey}

    def to_dict(self, *groups: Answers) -> dict[str, Any]:
        """Return plain values for JSON."""
        return dict(presented(self, "map", *groups))

    def to_csv(self, *groups: Answers) -> str:
        """Return a row for each epoch and group as CSV."""
        return str(presented(self, "csv", *groups))


def _tells_distribution(histogram: Histogram) -> bool:
    """Return whether quartiles are what the survey asks for: of others they are mostly noise."""
    return isinstance(histogram.sample.mechanism, Levels)


def _quartile(histogram: Histogram | None, probability: float, name: str) -> Estimate | None:
    """Return a quartile of numbers as an estimate, of which nothing can be made."""
    if histogram is None or histogram.numeric is None or not _tells_distribution(histogram):
        return None
    (own,) = (one for one in histogram.numeric.quartiles if one.probability == probability)
    ends = (own.low, own.high, own.level)
    return Estimate(own.value, math.nan, *ends, label=name, samples=(histogram.sample,))


def _shares(histogram: Histogram | None) -> dict[str, Estimate]:
    """Return each category's share, but of questions that no report is about."""
    if histogram is None:
        return {}
    h, tally = histogram, histogram.sample.tally
    ends = h.simultaneous
    columns = (h.estimate, h.standard_error, ends.low, ends.high, ends.outside, h.influence)
    rows = [
        *zip(h.categories, zip(*(column.tolist() for column in columns), strict=True), strict=True)
    ]
    return {
        category: share_of_row(figures, h.level, category, (h.sample,), at_once=True)
        for part in h.sample.decoder.parts
        if part.tally(tally).n
        for category, figures in rows[part.categories]
    }


def _share(histogram: Histogram | None, answers: Answers) -> Estimate | None:
    if histogram is None:
        return None
    try:
        return histogram.share(answers)
    except ValueError:
        return None
