"""What is read of a numeric survey: its mean, its quartiles, and shares of groups of values."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, pairwise
from typing import Final

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

__all__ = ["Bin", "NumericSummary", "numeric_summary"]

Floats = NDArray[np.float64]

_MOST_BINS: Final = 20
_QUARTILES: Final = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class Bin:
    """A group of consecutive values.

    Attributes:
        label: its first and last value.
        share: estimate and standard error of its share with blurred ends, and an interval for the
            share itself, with sharp ones.
    """

    label: str
    share: Estimate


@dataclass(frozen=True, slots=True)
class NumericSummary:
    """A numeric survey in few numbers.

    Single values are mostly noise: the responses were made such that near values look alike.

    Attributes:
        mean: of the answers.
        influence: the largest kernel value: one fake report moves n times the mean no further, on
            average.
        quartiles: lower quartile, median and upper quartile.
        blur: over how many values to either side a bin's ends are averaged, so that its estimate is
            not all noise; 0 for sharp ends.
        bins: at most 20 groups that cover the range, of equal size but for the last.
    """

    mean: Estimate
    influence: float
    quartiles: tuple[Quantile, ...]
    blur: int
    bins: tuple[Bin, ...]

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON; a standard error that does not exist is None."""
        return {
            "mean": self.mean.to_dict(),
            "influence": self.influence,
            "quartiles": [quartile.to_dict() for quartile in self.quartiles],
            "blur": self.blur,
            "bins": [{"bin": group.label, **group.share.to_dict()} for group in self.bins],
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
        mean=mean(mechanism, counts, values, level, model),
        influence=query_influence(mechanism, above),
        quartiles=quantiles(mechanism, counts, values, _QUARTILES, level),
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
    k = len(categories)
    cuts = (-1, *bin_ends(k, 2 * blur + 1))

    def shares(last: int, before: int) -> Floats:
        """Return the weights of F at the last value less F before the first, each shifted."""
        return (
            averaged_shares(k, cuts, blur, last)[1:] - averaged_shares(k, cuts, blur, before)[:-1]
        )

    values, errors = query_values(mechanism, counts, shares(0, 0), model)
    # F_b - F_a is at most the average of F after b less the average before a, and at least the
    # average before b less that after a. In large samples each bound fails with a probability of
    # at most (1 - level)/2.
    above, above_errors = cautious_values(mechanism, counts, shares(blur, -blur))
    below, below_errors = cautious_values(mechanism, counts, shares(-blur, blur))
    high = np.maximum(above + normal_quantile(level) * above_errors, values)
    low = np.minimum(below - normal_quantile(level) * below_errors, values)
    bins = []
    for i, (before, last) in enumerate(pairwise(cuts)):
        label = categories[last]
        if before + 1 < last:
            label = f"{categories[before + 1]} – {label}"
        share = within(
            float(values[i]), float(errors[i]), float(low[i]), float(high[i]), level, 0.0, 1.0
        )
        bins.append(Bin(label, share))
    return tuple(bins)


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
