"""Planning: how many reports an accuracy takes."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache
from typing import Final

import numpy as np
from scipy import special

from deniable.documents import level_text
from deniable.estimates.binomial import check_level, normal_quantile
from deniable.estimates.decoders import Floats, decoder_of
from deniable.estimates.numeric import GroupBounds, group_bounds
from deniable.estimates.quantiles import (
    MOST_CUTS,
    QUARTILES,
    QuantileBounds,
    ShareQueries,
    averaged_shares,
    blur_of,
    cuts_of,
    quantiles,
)
from deniable.mechanisms import Mechanism

_MANY: Final = 1 << 50
"""So many reports that their expected counts are whole numbers in all but name."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How exact an estimate is to be: n reports with the variance V each reach scale root(V/n).

    Attributes:
        size: what is to be reached, a share or in the units of the values.
        scale: how many standard errors that is.
        words: how exact that is, for people, with ``{}`` in place of the size.
    """

    size: float
    scale: float
    words: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.size < math.inf:
            raise ValueError("what is to be reached must be above 0")

    @classmethod
    def half_width(cls, size: float, level: float = 0.95) -> "Accuracy":
        """Return the accuracy of intervals which reach so far to either side."""
        check_level(level)
        words = f"within ± {{}}, by intervals of {level_text(level)}"
        return cls(size, normal_quantile(level), words)

    @classmethod
    def standard_error(cls, size: float) -> "Accuracy":
        """Return the accuracy of estimates with such an error."""
        return cls(size, 1.0, "with a standard error of {}")

    @classmethod
    def difference(cls, size: float, power: float = 0.8, significance: float = 0.05) -> "Accuracy":
        """Return the accuracy that two groups of n reports need to show a difference so large.

        With the probability ``power``, by a two-sided test that finds one where there is none with
        the probability ``significance``. Source: the normal approximation for two proportions;
        docs/mathematics.md, section 5.
        """
        if not significance < power < 1:
            raise ValueError("the power must be in (significance, 1), such as 0.8")
        # The difference has twice the variance. It is found where it exceeds z_(1 - alpha/2) of its
        # errors, which it does with the wanted power if it is z_power more.
        check_level(1 - significance)
        beyond = float(special.ndtri(power))
        words = (
            "so exact that between two groups or epochs, of so many reports each, a difference of "
            f"{{}}, looked at by itself, is found {level_text(power)} of the time, and one where "
            f"there is none {level_text(significance)}"
        )
        scale = math.sqrt(2) * (normal_quantile(1 - significance) + beyond)
        return cls(size, scale, words)

    def reports(self, variance: float) -> int:
        """Return how many reports of this variance reach it, at least 1."""
        # In fractions: none overflows.
        return max(
            1, math.ceil(Fraction(variance) * (Fraction(self.scale) / Fraction(self.size)) ** 2)
        )

    def reached(self, variance: float, reports: int) -> float:
        """Return the size that so many reports reach."""
        return self.scale * math.sqrt(variance / reports)


def reports_for_half_width(
    mechanism: Mechanism,
    half_width: float,
    frequency: float | None = None,
    level: float = 0.95,
) -> int:
    """Return about how many reports give intervals of this half width, for every category.

    At the expected frequency, or in the worst case (docs/mathematics.md, section 5).
    """
    _check_points(half_width)
    return Accuracy.half_width(half_width, level).reports(share_variance(mechanism, frequency))


def reports_for_share(
    mechanism: Mechanism, members: Sequence[bool], half_width: float, level: float = 0.95
) -> int:
    """Return about how many reports give the share of a group of categories such an interval.

    In the worst case, as for a single category.
    """
    _check_points(half_width)
    decoder, group = decoder_of(mechanism), np.asarray(members)
    moments = decoder.means(decoder.kernels(group.astype(np.float64)) ** 2)
    worst = _worst(moments[group].max(), moments[~group].max(), None)
    return Accuracy.half_width(half_width, level).reports(float(worst))


def reports_for_mean(
    mechanism: Mechanism, values: Sequence[Fraction], half_width: float, level: float = 0.95
) -> int:
    """Return how many reports give the mean an interval of this half width, whatever the answers.

    The half width is in the units of the values (docs/mathematics.md, section 10).
    """
    if not 0 < half_width < math.inf:
        raise ValueError("the half width must be above 0, such as 5 for the mean ± 5")
    return Accuracy.half_width(half_width, level).reports(mean_variance(mechanism, values))


def share_variance(mechanism: Mechanism, frequency: float | None = None) -> float:
    """Return the largest n Var that the estimate of any category's share has in any population.

    Where the share is known to be about ``frequency``, in any population with that.
    """
    if frequency is not None and not 0 <= frequency <= 1:
        raise ValueError("the frequency must be in [0, 1], such as 0.1, or None for the worst case")
    decoder = decoder_of(mechanism)
    moments = decoder.moments
    # Of d questions, each is what one report in d is about.
    return len(decoder.parts) * float(_worst(moments.own, moments.other, frequency).max())


def cumulative_variance(mechanism: Mechanism, share: float | None = None) -> float:
    """Return the largest n Var that the share of answers up to any one has in any population.

    Where that share is known to be about ``share``, in any population with that.
    """
    decoder, k = decoder_of(mechanism), mechanism.categories
    cuts = [cut for cut in cuts_of(decoder, MOST_CUTS) if cut < k - 1] or [0]
    weights = averaged_shares(k, cuts, 0, 0)
    moments, within = decoder.means(decoder.kernels(weights) ** 2), weights > 0
    own = np.where(within, moments, -np.inf).max(axis=1)
    other = np.where(within, -np.inf, moments).max(axis=1)
    return float(_worst(own, other, share).max())


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
    _check_points(half_width)
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
        raise ValueError("the half width is at least a step of the values")
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
    return max(max(one.high - one.value, one.value - one.low) for one in quartiles)


def even_counts(mechanism: Mechanism, n: int) -> list[int]:
    """Return how often each response is expected, if all answers are equally frequent."""
    return [round(n * float(share)) for share in decoder_of(mechanism).even_shares]


def _scaled(level: float, n: int) -> float:
    """Return how many errors of so many reports, in errors of very many, intervals reach."""
    # Errors shrink with the root of n, and bounds stay where they are.
    return normal_quantile(level) * math.sqrt(_MANY / (n - 1))


def _check_points(half_width: float) -> None:
    if not 0 < half_width < 1:
        raise ValueError("the half width must be in (0, 1), such as 0.05 for ± 5 percentage points")


def _worst(own: Floats, other: Floats, frequency: float | None) -> Floats:
    """Return the largest V, given the second moments of a kernel whose mean is 1 or 0."""
    # With h_jx = sum_y P_xy G_jy^2, V_j = sum_x f_x h_jx - f_j^2 is linear in the frequencies of
    # the others: at f_j = t the worst population puts the rest on the x != j with the largest h_jx,
    #   V_j = t h_jj + (1 - t) H_j - t^2,   H_j = max_(x != j) h_jx,
    # which is concave in t, with its top where h_jj - H_j = 2t.
    t = np.clip((own - other) / 2, 0, 1) if frequency is None else np.float64(frequency)
    return np.asarray(t * own + (1 - t) * other - t**2)
