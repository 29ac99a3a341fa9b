"""Reports that figures of other kinds than shares take, and variances of these figures."""

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Final

import numpy as np

from deniable.estimates.accuracy import Accuracy, check_points, worst_variance
from deniable.estimates.binomial import check_level, normal_quantile
from deniable.estimates.curve import (
    MOST_CUTS,
    QUARTILES,
    QuantileBounds,
    ShareQueries,
    averaged_shares,
    blur_of,
    cuts_of,
    quantiles,
)
from deniable.estimates.decoders import decoder_of
from deniable.estimates.numeric import GroupBounds, group_bounds
from deniable.mechanisms import Mechanism

_MANY: Final = 1 << 50
"""So many reports that their expected counts are whole numbers in all but name."""


def reports_for_share(
    mechanism: Mechanism,
    members: Sequence[bool],
    half_width: float,
    level: float = 0.95,
    largest_share: float = 1.0,
) -> int:
    """Return about how many reports give the share of a group of categories such an interval.

    In the worst case of shares up to the largest, as for a single category.
    """
    check_points(half_width)
    decoder, group = decoder_of(mechanism), np.asarray(members)
    moments = decoder.means(decoder.kernels(group.astype(np.float64)) ** 2)
    worst = worst_variance(float(moments[group].max()), float(moments[~group].max()), largest_share)
    return Accuracy.half_width(half_width, level).reports(worst)


def reports_for_mean(
    mechanism: Mechanism, values: Sequence[Fraction], half_width: float, level: float = 0.95
) -> int:
    """Return how many reports give the mean this margin of error, whatever the answers.

    It is in the units of the values (docs/mathematics.md, section 10).
    """
    if not 0 < half_width < math.inf:
        raise ValueError("the margin of error must be above 0, such as 5 for the mean ± 5")
    return Accuracy.half_width(half_width, level).reports(mean_variance(mechanism, values))


def cumulative_variance(mechanism: Mechanism, largest_share: float = 1.0) -> float:
    """Return the largest n Var that the share of answers up to any one has in any population.

    Of shares up to the largest.
    """
    decoder, k = decoder_of(mechanism), mechanism.categories
    cuts = [cut for cut in cuts_of(decoder, MOST_CUTS) if cut < k - 1] or [0]
    weights = averaged_shares(k, cuts, 0, 0)
    moments, within = decoder.means(decoder.kernels(weights) ** 2), weights > 0
    own = np.where(within, moments, -np.inf).max(axis=1)
    other = np.where(within, -np.inf, moments).max(axis=1)
    ends = zip(own.tolist(), other.tolist(), strict=True)
    return max(worst_variance(*pair, largest_share) for pair in ends)


def mean_variance(mechanism: Mechanism, values: Sequence[Fraction]) -> float:
    """Return the most that n Var of the mean's estimate is, in any population."""
    if len(values) != mechanism.categories:
        raise ValueError(f"{mechanism.categories} values are expected, one a category")
    # n Var = sum_x f_x h_x - (w.f)^2 with h_x = sum_y P_xy g_y^2, at most the largest h_x. Values
    # are counted from the middle of the range, where that bound is nearest.
    middle = (values[0] + values[-1]) / 2
    decoder = decoder_of(mechanism)
    g = decoder.kernels(np.array([float(value - middle) for value in values]))
    return float(decoder.means(g**2).max())


def reports_for_shares(mechanism: Mechanism, half_width: float, level: float = 0.95) -> int:
    """Return how many reports give every group of a numeric summary an interval this narrow.

    Shares are bounded by averages over neighbouring answers, and how far these bounds are apart
    depends on the answers. They are taken to be equally frequent here.
    """
    check_points(half_width)
    check_level(level)
    assert isinstance(mechanism, Hashable)
    return _reports_for_shares(mechanism, half_width, level)


@lru_cache(maxsize=8)
def _reports_for_shares(mechanism: Mechanism, half_width: float, level: float) -> int:
    decoder = decoder_of(mechanism)
    expected = decoder.tally(even_counts(mechanism, _MANY))

    @cache
    def bounds(blur: int) -> GroupBounds:
        return group_bounds(decoder, expected, blur)

    def narrow(n: int) -> bool:
        made = bounds(blur_of(mechanism, n))
        low, high = made.intervals(_scaled(level, n))
        return float(np.maximum(high - made.values, made.values - low).max()) <= half_width

    few, enough = 1, 2
    while not narrow(enough):
        few, enough = enough, 2 * enough
    while enough - few > 1:
        n = (few + enough) // 2
        few, enough = (few, n) if narrow(n) else (n, enough)
    return enough


def reports_for_quartiles(
    mechanism: Mechanism, values: Sequence[Fraction], half_width: float, level: float = 0.95
) -> int:
    """Return about how many reports give estimates of the quartiles so near the truth, to 2 %.

    As near as intervals reach if each response comes as often as expected; others reach further. Of
    numbers, if they are equally frequent. At least one step: where as many answers as a quartile
    wants end with one of them, no number of reports tells it from the next (ValueError).
    """
    if half_width < values[1] - values[0]:
        raise ValueError("the margin of error is at least a step of the values")
    decoder = decoder_of(mechanism)
    expected = decoder.tally(even_counts(mechanism, _MANY))

    @cache
    def bounds(blur: int) -> QuantileBounds:
        return ShareQueries.of(decoder, blur).bounds(expected)

    def near(n: int) -> bool:
        made, z = bounds(blur_of(mechanism, n)), _scaled(level, n)
        places = (made.places(p, z) for p in QUARTILES)
        reached = ((values[i] for i in place) for place in places)
        return all(max(high - value, value - low) <= half_width for value, low, high in reached)

    few, enough = 0, 64
    while not near(enough):
        few, enough = enough, 2 * enough
    while enough - few > max(1, enough / 50):
        n = (few + enough) // 2
        few, enough = (few, n) if near(n) else (n, enough)
    return enough


def quartiles_reach(
    mechanism: Mechanism, values: Sequence[Fraction], reports: int, level: float = 0.95
) -> float:
    """Return how far intervals of the quartiles reach to either side of so many, likewise."""
    quartiles = quantiles(mechanism, even_counts(mechanism, reports), values, level=level)
    return float(max(max(one.high - one.value, one.value - one.low) for one in quartiles))


def even_counts(mechanism: Mechanism, n: int) -> list[int]:
    """Return how often each response is expected, if all answers are equally frequent."""
    return [round(n * float(share)) for share in decoder_of(mechanism).even_shares]


def _scaled(level: float, n: int) -> float:
    """Return how many errors of so many reports, in errors of very many, intervals reach."""
    # Errors shrink with the root of n, and bounds stay where they are.
    return normal_quantile(level) * math.sqrt(_MANY / (n - 1))
