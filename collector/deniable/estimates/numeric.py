"""What is read of a numeric survey: its mean, its quartiles, and shares of groups of values."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.covariance import Model
from deniable.estimates.cumulative import averaged_shares, blur_of
from deniable.estimates.influence import query_influence
from deniable.estimates.intervals import normal_quantile
from deniable.estimates.inverse import check_counts
from deniable.estimates.quantiles import Quantile, quantiles
from deniable.estimates.queries import (
    Estimate,
    cautious_values,
    mean,
    query_values,
    within,
)
from deniable.mechanisms import Mechanism

__all__ = [
    "QUARTILES",
    "Bin",
    "GroupBounds",
    "NumericSummary",
    "group_bounds",
    "group_labels",
    "numeric_summary",
]

Floats = NDArray[np.float64]

_MOST_BINS: Final = 20
_WORTH: Final = 0.5
"""An interval over more than this of what is possible says too little to be shown."""

QUARTILES: Final = {0.25: "lower quartile", 0.5: "median", 0.75: "upper quartile"}


@dataclass(frozen=True, slots=True)
class Bin:
    """A group of consecutive values.

    Attributes:
        label: its first and last value.
        share: estimate and standard error of its share with blurred ends, and an interval for the
            share itself, with sharp ones, to which that standard error does not belong.
    """

    label: str
    share: Estimate

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON; a standard error that does not exist is None."""
        return {"bin": self.label, **self.share.to_dict()}


@dataclass(frozen=True, slots=True)
class NumericSummary:
    """A numeric survey in few numbers.

    Single values are mostly noise: the responses were made such that near values look alike.

    Attributes:
        span: from the least possible answer to the greatest.
        mean: of the answers.
        influence: the largest kernel value: one fake report moves n times the mean no further, on
            average.
        quartiles: lower quartile, median and upper quartile.
        blur: over how many values to either side a bin's ends are averaged, so that its estimate is
            not all noise; 0 for sharp ends.
        bins: at most 20 groups that cover the range, of equal size but for the last.
    """

    span: float
    mean: Estimate
    influence: float
    quartiles: tuple[Quantile, ...]
    blur: int
    bins: tuple[Bin, ...]

    def too_wide(self, figure: Estimate | Quantile | Bin) -> bool:
        """Return whether a figure's interval covers more than half of what is possible."""
        if isinstance(figure, Bin):
            return figure.share.high - figure.share.low > _WORTH
        return figure.high - figure.low > _WORTH * self.span

    @property
    def hidden(self) -> tuple[str, ...]:
        """Return what is not shown to people, since its interval is too wide."""
        return (
            *(["mean"] if self.too_wide(self.mean) else []),
            *(QUARTILES[each.probability] for each in self.quartiles if self.too_wide(each)),
            *(group.label for group in self.bins if self.too_wide(group)),
        )

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON; a standard error that does not exist is None."""

        def flagged(figure: Estimate | Quantile | Bin) -> dict[str, object]:
            return {**figure.to_dict(), "too_wide": self.too_wide(figure)}

        return {
            "mean": flagged(self.mean),
            "influence": self.influence,
            "quartiles": [flagged(quartile) for quartile in self.quartiles],
            "blur": self.blur,
            "bins": [flagged(group) for group in self.bins],
        }


def numeric_summary(
    mechanism: Mechanism,
    counts: Sequence[int],
    categories: Sequence[str],
    values: Sequence[Fraction],
    level: float = 0.95,
    model: Model = Model.SAMPLED,
) -> NumericSummary:
    """Summarise the counts of a numeric survey.

    Args:
        mechanism: what the devices sampled from.
        counts: how often each response was seen.
        categories: the values as texts.
        values: the values as numbers, rising in equal steps.
        level: confidence level of each interval by itself, in (0, 1).
        model: what the standard errors take as random.

    Raises:
        ValueError: for a level outside (0, 1), or counts that allow no estimate.

    Source: docs/mathematics.md, section 10.
    """
    blur = blur_of(mechanism, check_counts(mechanism, counts))
    above = np.array([float(value - values[0]) for value in values])
    return NumericSummary(
        span=float(above[-1]),
        mean=mean(mechanism, counts, values, level, model),
        influence=query_influence(mechanism, above),
        quartiles=quantiles(mechanism, counts, values, tuple(QUARTILES), level),
        blur=blur,
        bins=_bins(mechanism, counts, categories, blur, level, model),
    )


def _bins(
    mechanism: Mechanism,
    counts: Sequence[int],
    categories: Sequence[str],
    blur: int,
    level: float,
    model: Model,
) -> tuple[Bin, ...]:
    bounds = group_bounds(mechanism, counts, blur, model)
    low, high = bounds.intervals(normal_quantile(level))
    bins = []
    for i, label in enumerate(group_labels(categories, blur)):
        value, error = float(bounds.values[i]), float(bounds.errors[i])
        share = within(value, error, float(low[i]), float(high[i]), level, 0.0, 1.0)
        bins.append(Bin(label, share))
    return tuple(bins)


class GroupBounds(NamedTuple):
    """What the intervals of groups' shares are made of, each a number a group.

    Attributes:
        values, errors: of the share with blurred ends.
        below, below_errors: of a query that is at most the share with sharp ends.
        above, above_errors: of one that is at least that.
    """

    values: Floats
    errors: Floats
    below: Floats
    below_errors: Floats
    above: Floats
    above_errors: Floats

    def intervals(self, z: float) -> tuple[Floats, Floats]:
        """Return both ends, z errors beyond the bounds, not yet cut to [0, 1].

        Where chance brings one bound beyond the other, the interval is what lies between: it holds
        both ends, and does not look certain for being empty.
        """
        # In large samples each bound fails with a probability of at most (1 - level)/2.
        ends = self.below - z * self.below_errors, self.above + z * self.above_errors, self.values
        return np.minimum.reduce(ends), np.maximum.reduce(ends)


def group_bounds(
    mechanism: Mechanism, counts: Sequence[int], blur: int, model: Model = Model.SAMPLED
) -> GroupBounds:
    """Return the bounds of the share of each group that a summary with this blur has.

    Source: docs/mathematics.md, section 10.
    """
    k = mechanism.categories
    cuts = (-1, *bin_ends(k, 2 * blur + 1))

    def shares(last: int, before: int) -> Floats:
        """Return the weights of F at the last value less F before the first, each shifted."""
        return (
            averaged_shares(k, cuts, blur, last)[1:] - averaged_shares(k, cuts, blur, before)[:-1]
        )

    # F_b - F_a is at most the average of F after b less the average before a, and at least the
    # average before b less that after a.
    return GroupBounds(
        *query_values(mechanism, counts, shares(0, 0), model),
        *cautious_values(mechanism, counts, shares(-blur, blur)),
        *cautious_values(mechanism, counts, shares(blur, -blur)),
    )


def group_labels(categories: Sequence[str], blur: int) -> tuple[str, ...]:
    """Return the first and last value of each group that a summary with this blur has."""
    cuts = pairwise((-1, *bin_ends(len(categories), 2 * blur + 1)))
    return tuple(
        categories[last] if before + 1 == last else f"{categories[before + 1]} – {categories[last]}"
        for before, last in cuts
    )


def bin_ends(categories: int, least: int) -> list[int]:
    """Return the last index of each group.

    Groups have the smallest size of 1, 2, 5, 10, 20, … that is at least ``least`` and makes no more
    than 20 of them; at least two groups are made. A rest of less than half a group belongs to the
    last one.
    """
    half = -(-categories // 2)
    for size in (min(digit * 10**power, half) for power in count() for digit in (1, 2, 5)):
        whole, rest = divmod(categories, size)
        groups = whole + (2 * rest >= size)
        if size >= min(least, half) and groups <= _MOST_BINS:
            break
    return [*(size * group - 1 for group in range(1, groups)), categories - 1]
