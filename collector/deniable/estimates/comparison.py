"""Shares, their changes between epochs, and their differences between surveys."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from deniable.estimates.answers import Answers, answers_text, denies
from deniable.estimates.change import Test
from deniable.estimates.curve import Quantile, quantile_bounds
from deniable.estimates.estimate import Estimate, multiple
from deniable.estimates.forms import Unit
from deniable.estimates.histogram import Histogram
from deniable.estimates.results import Documented, presented

_OTHER_ANSWERS: Final = (
    "the two sides have different answers: compare the shares of the answers that they have in "
    "common"
)
_MOST_COMPARED: Final = 1024
"""One by one: for a design's 65,536 it would take hours."""


@dataclass(frozen=True, slots=True)
class Row:
    """A share, mean or quantile; in a comparison, both sides and their difference."""

    label: str
    estimate: Estimate
    now: Estimate
    before: Estimate | None

    @property
    def distinguishable(self) -> bool | None:
        """Return whether the difference is distinguishable from 0; None without a comparison."""
        return None if self.before is None else self.estimate.distinguishable


@dataclass(frozen=True, slots=True)
class Comparison(Documented):
    """Shares, means or a quantile of a histogram, alone or compared with another.

    Attributes:
        test: whether anything changed, if all answers are compared.
        quantiles: the quantiles of both sides, if compared; that of ``against`` is last.
        across: the event between the two sides, if an event identifies them.
    """

    histogram: Histogram
    against: Histogram | None
    rows: tuple[Row, ...]
    test: Test | None = None
    quantiles: tuple[Quantile[float], ...] = ()
    across: str = ""

    @property
    def leading(self) -> tuple[Row, ...]:
        """Return the rows for sentences: each question's, or all if only combinations changed."""
        single = tuple(row for row in self.rows if self.histogram.question_of(row.label))
        clear = {row in single for row in self.rows if row.distinguishable}
        return self.rows if clear == {False} else single or self.rows

    @property
    def at_once(self) -> bool:
        """Return whether the intervals of the rows hold for all answers at once."""
        return any(row.estimate.at_once for row in self.rows)

    @property
    def in_time(self) -> bool:
        """Return whether the sides are before and now, from one survey or from two versions."""
        return self.one_survey or bool(self.across)

    @property
    def versions_apart(self) -> bool:
        """Return whether the sides are two versions in the same time, from different devices."""
        now, before = self.histogram, self.against
        if before is None or self.one_survey or before.survey != now.survey:
            return False
        return (before.end or 0) > (now.start or 0) and (now.end or 0) > (before.start or 0)

    @property
    def one_survey(self) -> bool:
        """Return whether both sides are from one survey."""
        return self.against is None or self.against.survey_id == self.histogram.survey_id

    @property
    def on_one_side(self) -> tuple[str, ...]:
        """Return the answers that only one of the two sides has."""
        sides = [side.categories for side in (self.against, self.histogram) if side]
        common = {*sides[0]} & {*sides[-1]}
        return tuple(name for side in sides for name in side if name not in common)

    @property
    def possible(self) -> tuple[float, float] | None:
        """Return the least and the greatest possible difference of numbers; None for shares."""
        ours, theirs = (side and side.values for side in (self.histogram, self.against))
        if self.of_shares or not ours or not theirs:
            return None
        return float(ours[0] - theirs[-1]), float(ours[-1] - theirs[0])

    @property
    def ratio(self) -> Estimate | None:
        """Return how many times as large the larger share of two surveys is as the smaller.

        Its label is the answer; None unless one share is compared, or that of yes and no.
        """
        if self.against is None or self.in_time or not self.of_shares:
            return None
        if len(self.rows) > 1 and len(self.histogram.categories) > 2:
            return None
        row = min(self.rows, key=lambda row: denies(row.label))
        one, other = row.now, row.before
        if other is not None and other.value > one.value:
            one, other = other, one
        return None if other is None else multiple(one, other, row.label)

    @property
    def of_shares(self) -> bool:
        """Return whether shares are compared, rather than means or quantiles."""
        return self.rows[0].now.unit is Unit.SHARE

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return dict(presented(self, "map"))

    def to_csv(self) -> str:
        """Return CSV with one row per answer."""
        return str(presented(self, "csv"))

    def plot(self, width: float = 720) -> Any:
        """Return the chart of the differences; ValueError if there are none."""
        return presented(self, "picture", width)

    def __str__(self) -> str:
        """Return the document as text of 100 columns, for a terminal or a notebook."""
        return str(presented(self, "terminal"))

    def _repr_html_(self) -> str:
        return str(presented(self, "html"))


def _is_later(one: Histogram, other: Histogram) -> bool:
    """Return whether figures are from a newer survey of the name, or from later epochs."""
    ours, theirs = ((side.sequence, side.start or 0) for side in (one, other))
    return one.survey == other.survey and ours > theirs


def compare(
    histogram: Histogram,
    answers: Answers | None,
    against: Histogram | None,
    among: Sequence[str] | None = None,
    given: Answers | None = None,
    quantile: float | None = None,
) -> Comparison:
    """Return a share, or the difference of one or all shares, of means, or of quantiles.

    Within one survey the earlier epochs are subtracted from the later ones, and within one name the
    older survey from the newer, in whatever order they are given.

    Args:
        histogram: the histogram to compare, or to describe alone.
        answers: one share, of these answers together; None for each category's share, or the mean.
        against: the other histogram: other epochs, another version, or another survey.
        among: limits each category's share to these categories.
        given: for one share, only among those who gave these answers.
        quantile: the probability of a quantile to compare, such as 0.5 for the median.

    Raises:
        ValueError: if they cannot be compared, or there are no such answers.
    """
    if against is not None and against.epochs and against.sample.same_as(histogram.sample):
        raise ValueError("an epoch cannot be compared with itself")
    if against is not None and _is_later(against, histogram):
        histogram, against = against, histogram

    def row(label: str, now: Estimate, before: Estimate | None) -> Row:
        return Row(label, now if before is None else now - before, now, before)

    if answers is not None:
        before = None if against is None else against.share(answers, given=given)
        label = answers_text(answers)
        if given is not None:
            label += f", among those with {answers_text(given)}"
        share = row(label, histogram.share(answers, given=given), before)
        return Comparison(histogram, against, (share,))
    assert against is not None
    if histogram.texts is not None and against.texts is not None:
        histogram, against = (
            side.again(side.level, texts=own.beside(others))
            for side, own, others in (
                (histogram, histogram.texts, against.texts),
                (against, against.texts, histogram.texts),
            )
        )
    if quantile is not None:
        return _of_quantiles(histogram, against, quantile)
    if histogram.values is not None:
        return Comparison(histogram, against, (row("mean", histogram.mean(), against.mean()),))
    alike = histogram.categories == against.categories
    if not alike and histogram.survey == against.survey:
        # A new version of the survey may have more answers, or fewer.
        among = [name for name in among or histogram.labels if name in {*against.labels}]
    if not (alike or among):
        raise ValueError(_OTHER_ANSWERS)
    if among is None and (count := len(histogram.categories)) > _MOST_COMPARED:
        raise ValueError(f"{count:,} answers are too many to compare; name some with --share")
    # With two answers, one rises as the other falls: their intervals hold at once unchanged.
    two = alike and len(histogram.categories) == 2
    level = histogram.level if two else histogram.level_at_once

    def at_once(row: Row) -> Row:
        estimate = replace(row.estimate.at(level), level=histogram.level, at_once=True)
        return replace(row, estimate=estimate)

    rows = tuple(
        at_once(row(category, histogram.share(category), against.share(category)))
        for category in among or histogram.labels
    )
    try:
        test = histogram.changed_from(against)
    except ValueError:  # for several epochs, few reports, or thousands of categories, there is none
        test = None
    return Comparison(histogram, against, rows, test)


def _of_quantiles(histogram: Histogram, against: Histogram, probability: float) -> Comparison:
    """Return a quantile compared with another, and the difference; ValueError if there is none."""
    values = histogram.values
    if values is None:
        raise ValueError("the answers are not numbers, so their quantiles cannot be subtracted")
    if values != against.values:
        raise ValueError(_OTHER_ANSWERS)
    now, before = sides = tuple(side.quantile(probability) for side in (histogram, against))
    bounds, others = (
        quantile_bounds(side.sample.mechanism, side.sample.tally) for side in (histogram, against)
    )
    # Devices that are in both, with equal answers, affect both sides alike. So the interval of the
    # difference, which treats the sides as independent, is as wide as needed, or wider.
    level, step = min(now.level, before.level), float(values[1] - values[0])
    places = bounds.difference(others, probability, level)
    figures = (now.value - before.value, math.nan, *(step * place for place in places))
    value, error, low, high = (float(f"{figure:.12g}") for figure in figures)  # like answers
    difference = Estimate(
        *(value, error, low, high, level),
        label=now.name,
        unit=Unit.CHANGE,
        samples=(histogram.sample, against.sample),
    )
    one, other = (
        Estimate(side.value, math.nan, side.low, side.high, side.level, label=side.name)
        for side in sides
    )
    return Comparison(histogram, against, (Row(now.name, difference, one, other),), quantiles=sides)
