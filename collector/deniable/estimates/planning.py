"""Reports needed for figures other than shares, and the variances of these figures."""

import math
from bisect import bisect
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Final

import numpy as np

from deniable.estimates.accuracy import Accuracy, worst_variance
from deniable.estimates.binomial import normal_quantile
from deniable.estimates.curve import (
    MOST_CUTS,
    QUARTILES,
    QuantileBounds,
    ShareQueries,
    averaged_shares,
    blur_of,
    cuts_of,
)
from deniable.estimates.decoders import Floats, decoder_of
from deniable.estimates.means import values_of
from deniable.mechanisms import Mechanism

_SHARES: Final = 129
_MANY: Final = 1 << 50
"""Enough reports that their expected counts are practically whole numbers."""


def reports_for_mean(
    mechanism: Mechanism, values: Sequence[Fraction], half_width: float, level: float = 0.95
) -> int:
    """Return how many reports give the mean this margin of error if answers are spread evenly.

    The margin is in the units of the values (docs/mathematics.md, section 10).
    """
    if not 0 < half_width < math.inf:
        raise ValueError("the margin of error must be above 0, such as 5 for the mean ± 5")
    return Accuracy.half_width(half_width, level).reports(mean_variance(mechanism, values))


def cumulative_variance(mechanism: Mechanism, largest_share: float = 1.0) -> float:
    """Return the largest n Var of the share of answers up to any one, in any population.

    The variance covers shares up to ``largest_share``.
    """
    decoder, k = decoder_of(mechanism), mechanism.categories
    cuts = [cut for cut in cuts_of(decoder, MOST_CUTS) if cut < k - 1] or [0]
    weights = averaged_shares(k, cuts, 0, 0)
    moments, within = decoder.means(decoder.kernels(weights) ** 2), weights > 0
    own = np.where(within, moments, -np.inf).max(axis=1)
    other = np.where(within, -np.inf, moments).max(axis=1)
    ends = zip(own.tolist(), other.tolist(), strict=True)
    return max(worst_variance(*pair, largest_share) for pair in ends)


def chosen_variance(
    mechanism: Mechanism, chosen: Floats, group: Floats, group_share: float, largest_share: float
) -> float:
    """Return the largest n Var of the share of chosen answers among a group, in any population.

    The variance covers shares up to ``largest_share``, and is exact to about a thousandth.

    Args:
        mechanism: the mechanism of the reports.
        chosen: 1 for the categories whose share it is, all of one question; 0 for the others.
        group: the same for the group.
        group_share: the share of devices in the group.
        largest_share: the largest share of the chosen answers among the group.

    Raises:
        ValueError: if chosen categories belong to several questions with separate reports.
    """
    decoder, questions = decoder_of(mechanism), len(decoder_of(mechanism).parts)
    if questions > 1:  # one report in so many is about each
        part, *others = (part for part in decoder.parts if chosen[part.categories].any())
        if others:
            raise ValueError("choose answers to one question: each device answers only one")
        decoder, chosen, group = part.decoder, chosen[part.categories], group[part.categories]
    # The share r = a/s of kernels with the means a and s has the error (g_a - r g_s)/s to the first
    # order. Its mean is 0, and its second moment is linear in the frequencies. So in the worst
    # population each of three parts gives the answer with the largest moment: the chosen ones of
    # the group (r s), the rest of the group (s - r s), and all others (1 - s).
    both, r = chosen * group, np.linspace(0.0, largest_share, _SHARES)
    whole = 1.0 if group.all() else decoder.kernels(group)
    moments = decoder.means((decoder.kernels(both) - r[:, None] * whole) ** 2)
    shares = (r * group_share, (1 - r) * group_share, np.full(_SHARES, 1 - group_share))
    parts = (both > 0, (group > 0) & (both == 0), group == 0)
    worst = sum(
        share * np.where(part, moments, 0.0).max(axis=1)
        for share, part in zip(shares, parts, strict=True)
    )
    return questions * float(np.max(worst)) / group_share**2


def mean_variance(mechanism: Mechanism, values: Sequence[Fraction]) -> float:
    """Return n Var of the mean's estimate: the most noise, plus the variance of even answers.

    A mechanism determines only the noise, max_x (sum_y P_xy g_y^2 - w_x^2): what answers add by
    themselves is the same for all. docs/mathematics.md, section 10.
    """
    if len(values) != mechanism.categories:
        raise ValueError(f"{mechanism.categories} values are expected, one per category")
    decoder = decoder_of(mechanism)
    w = values_of(decoder, values, (values[0] + values[-1]) / 2)
    noise = decoder.means(decoder.kernels(w) ** 2) - w**2
    return float(noise.max()) + even_variance(values)


def even_variance(values: Sequence[Fraction]) -> float:
    """Return the variance of values in equal steps that are equally frequent."""
    step = values[1] - values[0]
    return float(step**2 * (len(values) ** 2 - 1) / 12)


def reports_for_quartiles(
    mechanism: Mechanism,
    values: Sequence[Fraction],
    half_width: float | Fraction,
    level: float = 0.95,
) -> int:
    """Return about how many reports give quartiles this margin of error, within 2 %.

    The margin is that of intervals if each response comes as often as expected; other intervals are
    wider. It is for numbers that are equally frequent. The margin is at least one step. If a
    quartile's share of answers ends exactly at a value, no number of reports separates it from the
    next (ValueError).
    """
    steps = int(half_width / (values[1] - values[0]))
    if not steps:
        raise ValueError("the margin of error must be at least the step between values")
    decoder = decoder_of(mechanism)
    expected, cuts = decoder.tally(even_counts(mechanism, _MANY)), cuts_of(decoder)

    @cache
    def bounds(blur: int, p: float) -> QuantileBounds:
        # Whether any further from the quartile is too near to be told from it shows at these.
        first, last = (p * mechanism.categories + (steps + 2) * side for side in (-1, 1))
        nearest = slice(max(0, bisect(cuts, first) - 2), bisect(cuts, last) + 2)
        return ShareQueries.of(decoder, blur, cuts[nearest]).bounds(expected)

    def near(n: int) -> bool:
        blur, z = blur_of(mechanism, n), _scaled(level, n)
        reached = (bounds(blur, p).places(p, z) for p in QUARTILES)
        return all(max(high - at, at - low) <= steps for at, low, high in reached)

    few = 1
    for factor in (8, 2):  # wide steps first: for large numbers of answers each is costly
        while not near(factor * few):
            few *= factor
    enough = 2 * few
    while enough - few > max(1, enough / 50):
        n = (few + enough) // 2
        few, enough = (few, n) if near(n) else (n, enough)
    return enough


def even_counts(mechanism: Mechanism, n: int) -> list[int]:
    """Return the expected count of each response if all answers are equally frequent."""
    return [round(n * float(share)) for share in decoder_of(mechanism).even_shares]


def _scaled(level: float, n: int) -> float:
    """Return the errors of this many reports, relative to the errors of very many reports."""
    # Errors shrink with the root of n, and bounds are unchanged.
    return normal_quantile(level) * math.sqrt(_MANY / (n - 1))
