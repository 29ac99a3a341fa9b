"""Figures of one question over time: a line for each survey with the question, epoch by epoch."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

import numpy as np

from deniable.estimates.answers import Answers, Range, answers_text
from deniable.estimates.curve import QUARTILES
from deniable.estimates.decoders import Floats
from deniable.estimates.estimate import Estimate, estimate_of
from deniable.estimates.forms import Form, Unit
from deniable.estimates.histogram import Histogram
from deniable.estimates.means import share_of_row
from deniable.estimates.results import Tabular, Values, Worded, presented
from deniable.mechanisms import Levels

SeriesFigures = Sequence[tuple[str, tuple[Estimate | None, ...]]]
"""Labels of groups of answers, and the estimate of each in each epoch; None is a gap."""
LEAST_EPOCHS: Final = 3
"""Two have a difference, but no trend."""
_UNITS: Final = (604_800, 86_400, 3_600, 60)
"""A week, a day and so on in seconds: a slope is stated per the longest unit that passed twice."""


@dataclass(frozen=True, slots=True)
class Point:
    """An epoch of a series, from ``start`` to ``end`` in Unix seconds.

    A point without a histogram is a gap: too few reports arrived.
    """

    survey_id: str
    epoch: int
    start: int
    end: int
    histogram: Histogram | None = None

    @property
    def n(self) -> int:
        """Return the number of reports behind the epoch's figures."""
        return 0 if self.histogram is None else self.histogram.n

    @property
    def fewest_fakes(self) -> int:
        """Return the least number of fake reports; if above 0, the figures must not be used."""
        return 0 if self.histogram is None else self.histogram.poisoning.fewest_fakes

    @property
    def over(self) -> bool:
        """Return whether the epoch has figures and has ended."""
        standing = None if self.histogram is None else self.histogram.standing
        return self.n > 0 and (standing is None or standing.state != "open")


@dataclass(frozen=True, slots=True)
class Trend(Worded):
    """The slope of a share, or of a mean, over the epochs of one survey.

    Attributes:
        slope: the figure's rise in this many ``seconds``, such as a week.
        points: the epochs behind the slope; estimates: the figure in each.
    """

    slope: Estimate
    seconds: int
    points: tuple[Point, ...]
    estimates: tuple[Estimate, ...]

    def step(self, at: int) -> tuple[Estimate, Estimate] | None:
        """Return the figure before and after a time, if it changed then and not otherwise.

        Each is the mean over equally many epochs, by their reports. None if the two do not clearly
        differ, or if the figure clearly rose or fell within either.
        """
        pairs = [*zip(self.points, self.estimates, strict=True)]
        before, after = (
            [pair for pair in pairs if pair[0].end <= at],
            [pair for pair in pairs if pair[0].start >= at],
        )
        if not (most := min(len(before), len(after))):
            return None
        for side in (before, after):
            points, estimates = zip(*side, strict=True)
            if len(side) >= LEAST_EPOCHS and _trend(points, estimates).slope.distinguishable:
                return None
        was, since = _average(before[-most:]), _average(after[:most])
        return (was, since) if (since - was).distinguishable else None


@dataclass(frozen=True, slots=True)
class Series(Tabular):
    """The epochs of one question, from surveys with one name.

    Surveys may run side by side, but are kept apart: no difference is taken between two of them.

    Attributes:
        points: survey by survey, the one in question last; the epochs of each are in order.
        notes: events that an operator noted, with their times in Unix seconds.
        apart: the ids of surveys of the name with a different question.
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
        """Return the epochs of each survey, the one in question last, others by their age."""
        grouped = groupby(self.points, key=lambda point: point.survey_id)
        return tuple(tuple(points) for _, points in grouped)

    @property
    def histograms(self) -> list[Histogram]:
        """Return the figures of the epochs that have figures."""
        return [point.histogram for point in self.points if point.histogram]

    @property
    def categories(self) -> tuple[str, ...]:
        """Return the last survey's answers, single questions' before combinations."""
        return self.histograms[-1].labels if self.histograms else ()

    @property
    def numeric(self) -> bool:
        """Return whether the series consists of numbers."""
        return bool(self.histograms) and self.histograms[0].values is not None

    @property
    def tells_distribution(self) -> bool:
        """Return whether the series is of numbers whose quartiles are known."""
        return self.numeric and any(_tells_distribution(one) for one in self.histograms)

    def share(self, answers: Answers) -> tuple[Estimate | None, ...]:
        """Return the share of answers in each epoch.

        None is a gap, an epoch without figures. ValueError if no epoch has figures.
        """
        if not isinstance(answers, str | Mapping | Range):
            answers = tuple(answers)
        shares = tuple(_share(point.histogram, answers) for point in self.points)
        if self.histograms and shares.count(None) == len(shares):
            self.histograms[-1].share(answers)  # this raises the error with the reason
        return shares

    def trend(self, answers: Answers | None = None) -> Trend:
        """Return how fast the share of answers, or the mean, rises, using the epochs that are over.

        For several surveys, the trend is that of the last with three such epochs. Of epochs over
        which devices keep their responses, only the last counts. ValueError if there are fewer than
        three.
        """
        figures = self._means() if answers is None else self.share(answers)
        estimates = dict(zip(self.points, figures, strict=True))
        for line in reversed(self.lines):
            # One epoch of each kept range: others would share its noise.
            apart = {
                point.histogram.kept_range or point.epoch: point
                for point in line
                if point.histogram and point.over and estimates[point]
            }
            if len(apart) >= LEAST_EPOCHS:
                points = tuple(apart.values())
                return _trend(points, [one for point in points if (one := estimates[point])])
        raise ValueError(f"a trend needs {LEAST_EPOCHS} finished epochs with independent noise")

    def _means(self) -> tuple[Estimate | None, ...]:
        histograms = (point.histogram for point in self.points)
        return tuple(None if one is None else one.mean() for one in histograms)

    def holds_at_once(self, *groups: Answers) -> bool:
        """Return whether intervals hold for all answers of an epoch, as those of categories do."""
        return not groups and not self.numeric

    def figures(self, *groups: Answers) -> Iterator[tuple[str, tuple[Estimate | None, ...]]]:
        """Yield a label for each group of answers, and their share in each epoch.

        Without groups, each category is a group, as in its histogram; these estimates cannot be
        combined further. A numeric survey has the mean instead, and the quartiles, if it has the
        distribution. Intervals of categories hold for all those of an epoch at once.
        """
        if not groups and self.numeric:
            yield "mean", self._means()
            histograms = [point.histogram for point in self.points]
            if self.tells_distribution:
                for probability, name in QUARTILES.items():
                    yield name, tuple(_quartile(one, probability, name) for one in histograms)
            return
        for answers in groups:
            yield answers_text(answers), self.share(answers)
        if not groups:
            # Not by share(): a query for each of 65,536 categories would take an hour.
            by_category = [_shares(point.histogram) for point in self.points]
            for category in self.categories:
                yield category, tuple(shares.get(category) for shares in by_category)

    def sentence(self, *groups: Answers, among: Sequence[str] | None = None) -> str:
        """Return the trend of answers or of the mean, and the notes, in words.

        For all categories, or those ``among`` them, and if there is no trend, it is the change from
        the first figures to the last; "" if these cannot be compared. All are from one survey: of
        several, from the last that has enough epochs with figures.
        """
        return str(presented(self, "sentence", *groups, among=among))

    def cautions(self, *groups: Answers) -> tuple[Any, ...]:
        """Return the cautions about the figures of groups of answers, or of all answers."""
        return tuple(presented(self, "cautions", list(self.figures(*groups)), *groups))

    def document(
        self,
        figures: SeriesFigures,
        *groups: Answers,
        chosen: Any = None,
        notes: Sequence[str] = (),
    ) -> Any:
        """Return figures of the series, for groups of answers or for categories, as a document.

        ``chosen`` are the categories, if they are those with the largest shares.
        """
        return presented(self, "document", figures, *groups, chosen=chosen, notes=notes)

    def plot(self, width: float = 720) -> Any:
        """Return a chart: bands over the epochs, with a panel for each category or for the mean."""
        return presented(self, "picture", width)

    def rows(self, *groups: Answers) -> Iterator[dict[str, Any]]:
        """Return a row for each epoch and group, as in :meth:`figures`.

        The figures are None for a gap.
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
        """Return CSV with a row for each epoch and group."""
        return str(presented(self, "csv", *groups))


def _trend(points: tuple[Point, ...], estimates: Sequence[Estimate]) -> Trend:
    """Return the slope of estimates of points of one survey, by least squares."""
    span = points[-1].end - points[0].start
    seconds = next((unit for unit in _UNITS if span >= 2 * unit), 1)
    # With t_i the middle of an epoch and n_i its reports, Var y_i is about s^2/n_i. So the slope b
    # of the line a + b t with the least sum of n_i (y_i - a - b t_i)^2 has the least variance
    # (Gauss and Markov). It is b = sum c_i y_i, with c_i = n_i (t_i - m) / sum n_j (t_j - m)^2 and
    # m = sum n_i t_i / sum n_i, so that sum c_i = 0 and sum c_i t_i = 1. The c_i do not depend on
    # responses: whatever the course f_i, b is unbiased for sum c_i f_i, its mean slope. As a linear
    # form it has the variance sum c_i^2 Var y_i, plus at most the contribution of devices in
    # several epochs.
    middles = np.array([(point.start + point.end) / 2 / seconds for point in points])
    weights = np.array([float(point.n) for point in points])
    apart = middles - np.average(middles, weights=weights)
    slopes = weights * apart / (weights @ apart**2)
    first = estimates[0]
    unit = Unit.DIFFERENCE if first.unit.of_shares else Unit.CHANGE
    return Trend(_combined(slopes, estimates, unit), seconds, points, tuple(estimates))


def _average(side: Sequence[tuple[Point, Estimate]]) -> Estimate:
    """Return the mean of a figure over epochs, weighted by their reports."""
    weights = np.array([float(point.n) for point, _ in side])
    estimates = [estimate for _, estimate in side]
    return _combined(weights / weights.sum(), estimates, estimates[0].unit)


def _combined(factors: Floats, estimates: Sequence[Estimate], unit: Unit) -> Estimate:
    """Return the sum of an epoch's estimates times these factors."""
    terms = {
        sample: factor * own
        for factor, one in zip(factors, estimates, strict=True)
        for sample, own in one.linear.terms.items()
    }
    return estimate_of(Form(terms), estimates[0].level, estimates[0].label, unit)


def _tells_distribution(histogram: Histogram) -> bool:
    """Return whether the survey is for quartiles; in other surveys, quartiles are mostly noise."""
    return isinstance(histogram.sample.mechanism, Levels)


def _quartile(histogram: Histogram | None, probability: float, name: str) -> Estimate | None:
    """Return a quartile of numbers as an estimate without a linear form."""
    if histogram is None or histogram.numeric is None or not _tells_distribution(histogram):
        return None
    (own,) = (one for one in histogram.numeric.quartiles if one.probability == probability)
    ends = (own.low, own.high, own.level)
    return Estimate(own.value, math.nan, *ends, label=name, samples=(histogram.sample,))


def _shares(histogram: Histogram | None) -> dict[str, Estimate]:
    """Return each category's share, except for questions without reports."""
    if histogram is None:
        return {}
    h, tally = histogram, histogram.sample.tally
    ends = h.simultaneous
    columns = (h.estimate, h.standard_error, ends.low, ends.high, ends.outside, h.influence)
    rows = [
        *zip(h.categories, zip(*(column.tolist() for column in columns), strict=True), strict=True)
    ]
    own = {
        category: share_of_row(figures, h.level, category, (h.sample,), at_once=True)
        for part in h.sample.decoder.parts
        if part.tally(tally).n
        for category, figures in rows[part.categories]
    }
    single = (h.share(label) for label in h.labels[: len(h.labels) - len(h.categories)])
    return own | {
        one.label: replace(one.at(h.level_at_once), level=h.level, at_once=True) for one in single
    }


def _share(histogram: Histogram | None, answers: Answers) -> Estimate | None:
    if histogram is None:
        return None
    try:
        return histogram.share(answers)
    except ValueError:
        return None
