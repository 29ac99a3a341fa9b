"""Figures of a numeric survey: its mean, its quartiles, and shares of groups of values."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, pairwise
from typing import Final

import numpy as np

from deniable.estimates.binomial import normal_quantile
from deniable.estimates.curve import QUARTILES, Quantile, averaged_shares, blur_of, quantiles
from deniable.estimates.decoders import Counts, Floats, decoder_of
from deniable.estimates.estimate import Estimate, within
from deniable.estimates.forms import Sample
from deniable.estimates.influences import furthest_shifts
from deniable.estimates.means import mean_of, share_of_row
from deniable.estimates.queries import cautious_values, query_values
from deniable.mechanisms import Mechanism

_MOST_BINS: Final = 20
_WORTH: Final = 0.5
"""An interval wider than this part of the possible range is too uninformative to show."""


@dataclass(frozen=True, slots=True)
class Bin:
    """A group of consecutive values, labelled by the first and the last.

    Estimate and standard error are for its share with blurred ends. The interval is for the share
    itself, with sharp ends, so the standard error does not belong to it.
    """

    label: str
    share: Estimate


@dataclass(frozen=True, slots=True)
class NumericSummary:
    """The summary of a numeric survey, in a few numbers.

    Attributes:
        span: from the least possible answer to the greatest.
        blur: the number of values to either side over which a bin's ends are averaged to reduce
            noise; 0 for sharp ends.
        bins: at most 20 groups that cover the range, of equal size except for the last; like
            quartiles, empty if reports reveal only the mean.
    """

    span: float
    mean: Estimate
    quartiles: tuple[Quantile[float], ...]
    blur: int
    bins: tuple[Bin, ...]

    def too_wide(self, figure: Estimate | Quantile[float] | Bin) -> bool:
        """Return whether a figure's interval covers more than half of the possible range."""
        if isinstance(figure, Bin):
            return figure.share.high - figure.share.low > _WORTH
        return figure.high - figure.low > _WORTH * self.span

    @property
    def hidden(self) -> tuple[str, ...]:
        """Return the names of the figures whose intervals are too wide to be shown."""
        return (
            *(["mean"] if self.too_wide(self.mean) else []),
            *(
                QUARTILES[quartile.probability]
                for quartile in self.quartiles
                if self.too_wide(quartile)
            ),
            *(group.label for group in self.bins if self.too_wide(group)),
        )


def numeric_summary(
    mechanism: Mechanism,
    counts: Counts,
    categories: Sequence[str],
    values: Sequence[Fraction],
    level: float = 0.95,
) -> NumericSummary:
    """Summarise the counts of a numeric survey (docs/mathematics.md, section 11)."""
    decoder = decoder_of(mechanism)
    tally = decoder.tally(counts)
    span = float(values[-1] - values[0])
    middle = mean_of(Sample(mechanism, tally), values, level)
    if not decoder.tells_shares:
        return NumericSummary(span, middle, (), 0, ())
    blur, z, k = blur_of(mechanism, tally.n), normal_quantile(level), decoder.categories
    shares_and_errors = query_values(decoder, tally, group_weights(k, blur))
    # F_b - F_a is at most the average of F after b minus the average before a, and at least the
    # average before b minus that after a. In large samples each bound fails with a probability of
    # at most (1 - level)/2. If chance moves one beyond the other, the interval is the part between:
    # it contains both ends, and does not look certain because it is empty.
    below, below_errors = cautious_values(decoder, tally, group_weights(k, blur, -blur, blur))
    above, above_errors = cautious_values(decoder, tally, group_weights(k, blur, blur, -blur))
    ends = below - z * below_errors, above + z * above_errors, shares_and_errors[0]
    low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
    figures = np.array([*shares_and_errors, low, high])
    moved = (max(furthest_shifts(mechanism, w)) for w in group_weights(k, blur))
    shares = (
        within(share_of_row((*row, False, influence), level), 0.0, 1.0)
        for row, influence in zip(figures.T.tolist(), moved, strict=True)
    )
    return NumericSummary(
        span=span,
        mean=middle,
        quartiles=quantiles(mechanism, tally, values, tuple(QUARTILES), level),
        blur=blur,
        bins=tuple(map(Bin, _group_labels(categories, blur), shares)),
    )


def group_weights(categories: int, blur: int, last: int = 0, before: int = 0) -> Floats:
    """Return each group's weights: F at its last value minus F before its first, each shifted."""
    cuts = (-1, *bin_ends(categories, 2 * blur + 1))
    ends, starts = (averaged_shares(categories, cuts, blur, shift) for shift in (last, before))
    return np.asarray(ends[1:] - starts[:-1])


def _group_labels(categories: Sequence[str], blur: int) -> tuple[str, ...]:
    """Return the first and last value of each group in a summary with this blur."""
    cuts = pairwise((-1, *bin_ends(len(categories), 2 * blur + 1)))
    return tuple(
        categories[last] if before + 1 == last else f"{categories[before + 1]} – {categories[last]}"
        for before, last in cuts
    )


def bin_ends(categories: int, least: int) -> list[int]:
    """Return the last index of each group.

    Groups have the smallest size of 1, 2, 5, 10, 20, … that is at least ``least`` and gives at most
    20 groups; there are at least two. A remainder below half a group belongs to the last.
    """
    half = -(-categories // 2)
    for size in (min(digit * 10**power, half) for power in count() for digit in (1, 2, 5)):
        whole, rest = divmod(categories, size)
        groups = whole + (2 * rest >= size)
        if size >= min(least, half) and groups <= _MOST_BINS:
            break
    return [*(size * group - 1 for group in range(1, groups)), categories - 1]
