"""Accuracy: the number of reports that estimates of shares need, without numpy for most surveys."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from deniable.estimates.binomial import check_level, normal_quantile, support_moments
from deniable.mechanisms import Mechanism, OneQuestion, RandomisedResponse, Strings
from deniable.mechanisms.block_design import BlockMechanism

SURELY: Final = 1.35
"""Texts of so many times the least share that stands out are found four times of five."""
FALSE_ALARM: Final = 0.05
"""The chance that any text that nobody has is found is at most this."""
MOST_CANDIDATES: Final = 1 << 20
"""The most prefixes of a level that are tested where nobody lists texts."""

_EXTENDED: Final = 20
"""So many prefixes are extended at a level, as a rule."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The required accuracy: n reports with the variance V each reach scale root(V/n).

    Attributes:
        size: the goal, as a share or in the units of the values.
        scale: the number of standard errors in the size.
        level: the level of the intervals, if the size is that of intervals.
        power, significance: the test's power and significance, if the size is a difference.
    """

    size: float
    scale: float
    level: float | None = field(default=None, compare=False)
    power: float | None = field(default=None, compare=False)
    significance: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.size < math.inf:
            raise ValueError("the size must be above 0")

    @classmethod
    def half_width(cls, size: float, level: float = 0.95) -> "Accuracy":
        """Return the accuracy of intervals that extend this far to either side."""
        check_level(level)
        return cls(size, normal_quantile(level), level)

    @classmethod
    def difference(cls, size: float, power: float = 0.8, significance: float = 0.05) -> "Accuracy":
        """Return the accuracy that two groups of n reports need to show a difference of this size.

        The two-sided test finds it with the probability ``power``, and a nonexistent one with the
        probability ``significance``. Source: the normal approximation for two proportions;
        docs/mathematics.md, section 5.
        """
        if not significance < power < 1:
            raise ValueError("the power must be in (significance, 1), such as 0.8")
        # The difference has twice the variance. It is found if it exceeds z_(1 - alpha/2) of its
        # errors, which has the required power if it is z_power more.
        check_level(1 - significance)
        from scipy import special

        beyond = float(special.ndtri(power))
        scale = math.sqrt(2) * (normal_quantile(1 - significance) + beyond)
        return cls(size, scale, power=power, significance=significance)

    def reports(self, variance: float) -> int:
        """Return how many reports with this variance reach the accuracy, at least 1."""
        # In fractions, which cannot overflow.
        return max(
            1, math.ceil(Fraction(variance) * (Fraction(self.scale) / Fraction(self.size)) ** 2)
        )

    def reached(self, variance: float, reports: int) -> float:
        """Return the size that this many reports reach."""
        return self.scale * math.sqrt(variance / reports)


def reports_for_half_width(
    mechanism: Mechanism,
    half_width: float,
    largest_share: float | None = None,
    level: float = 0.95,
) -> int:
    """Return about how many reports give each share up to the limit this margin of error.

    A largest share of 1 means any share; the default is :func:`default_largest_share`
    (docs/mathematics.md, section 5).
    """
    check_points(half_width)
    return Accuracy.half_width(half_width, level).reports(share_variance(mechanism, largest_share))


def default_largest_share(categories: int) -> float:
    """Return the default for the largest share that is to be exact: 10 %, or 2/k.

    For 16 answers at epsilon 3, 50 % would double the reports that their typical shares need.
    """
    return min(1.0, max(0.1, 2 / categories))


def checked_largest_share(largest_share: float | None, categories: int) -> float:
    """Return the largest share that is to be exact, by default the one for this many categories.

    ValueError if the value is not a share.
    """
    if largest_share is None:
        return default_largest_share(categories)
    if not 0 <= largest_share <= 1:
        raise ValueError("the largest share must be a number from 0 to 1, such as 0.1")
    return largest_share


def share_variance(mechanism: Mechanism, largest_share: float | None = None) -> float:
    """Return the largest n Var of any share up to ``largest_share``, in any population.

    The default is :func:`default_largest_share`, of each question's answers.
    """
    if isinstance(mechanism, OneQuestion):  # with d questions, one report in d is about each
        parts = mechanism.parts
        return len(parts) * max(share_variance(part, largest_share) for part in parts)
    largest_share = checked_largest_share(largest_share, mechanism.categories)
    chances = _chances(mechanism)
    if chances is not None:
        own, other, _ = support_moments(*chances)
        # Of texts, reports about shorter prefixes say nothing of a text's share.
        levels = len(mechanism.lengths) if isinstance(mechanism, Strings) else 1
        return levels * worst_variance(float(own), float(other), largest_share)
    from deniable.estimates.decoders import decoder_of  # needs numpy: most surveys do without it

    decoder = decoder_of(mechanism)
    moments = zip(decoder.moments.own.tolist(), decoder.moments.other.tolist(), strict=True)
    return max(worst_variance(*pair, largest_share) for pair in moments)


def _chances(mechanism: Mechanism) -> tuple[Fraction, Fraction] | None:
    """Return the chances that a report supports the answer, and another; None if these vary."""
    # If a design has more points than categories, intervals are narrower, if anything.
    if isinstance(mechanism, RandomisedResponse):
        return mechanism.privacy.truth, mechanism.privacy.lie
    if isinstance(mechanism, Strings):  # another text is supported so, on average over the hashes
        return mechanism.hit, Fraction(1, mechanism.value.categories)
    if isinstance(mechanism, BlockMechanism):
        return mechanism.hit, mechanism.miss
    return None


def worst_variance(own: float, other: float, largest_share: float = 1.0) -> float:
    """Return the largest V, given the second moments of a kernel whose mean is 1 or 0.

    It covers all populations in which the share with mean 1 is at most the largest.
    """
    # With h_jx = sum_y P_xy G_jy^2, V_j = sum_x f_x h_jx - f_j^2 is linear in the frequencies of
    # the others: at f_j = t the worst population puts the rest on the x != j with the largest h_jx,
    # V_j = t h_jj + (1 - t) H_j - t^2,   H_j = max_(x != j) h_jx, which is concave in t, with its
    # maximum where h_jj - H_j = 2t.
    t = min(max((own - other) / 2, 0.0), largest_share)
    return t * own + (1 - t) * other - t * t


def check_points(half_width: float) -> None:
    """Refuse an invalid half-width of an interval of shares."""
    if not 0 < half_width < 1:
        raise ValueError(
            "the margin of error must be in (0, 1), such as 0.05 for ± 5 percentage points"
        )


def least_standing(reports: int, rate: float, alpha: float) -> int:
    """Return the least count that a binomial reaches with less than a chance; one more, if none."""
    from scipy import special

    low, high = 0, reports + 1
    while high - low > 1:
        middle = (low + high) // 2
        if special.betainc(middle, reports - middle + 1, rate) < alpha:
            high = middle
        else:
            low = middle
    return high


def least_share(
    reports: int, rate: float, alpha: float, chances: tuple[float, float, int], rest: float = 1.0
) -> tuple[float, float]:
    """Return the least share that stands of so many reports, and the weight of each.

    A report supports a text that does not stand at this rate, and by ``chances`` p and q, of H hash
    functions. Texts too rare to be found, of shares r in all and each up to t, collide with it. A
    report of one supports it with p or w, and p - w = kappa/(1 - q). So they add the variance
    (p - w)^2 r t q (1 - q)/H at most to the q (1 - q)/n of its support's rate: as if there were so
    many fewer reports.
    """
    hit, miss, hashes = chances
    kappa, share, weight = hit - miss, 1.0, 1.0
    for _ in range(3):
        n = max(1, int(reports * weight))
        share = (least_standing(n, rate, alpha) / n - miss) / kappa
        squares = min(share, 1.0) * min(max(rest, 0.0), 1.0)
        weight = 1 / (1 + (kappa / (1 - miss)) ** 2 * squares * reports / hashes)
    return share, weight


def reports_to_find(mechanism: Strings, share: float, least: int) -> int:
    """Return about how many reports find a text of such a share, four times of five.

    Of a single length, in a list of a million texts.
    """
    p, q, levels = float(mechanism.value.truth), 1 / mechanism.value.categories, mechanism.lengths
    steps = [longer - length for length, longer in zip((0, *levels), levels, strict=False)]
    most = max(
        (mechanism.signs + 1) ** step * (_EXTENDED if at else 1) for at, step in enumerate(steps)
    )
    alpha = FALSE_ALARM / 2 / len(levels) / min(most, MOST_CANDIDATES)

    def finds(reports: int) -> bool:
        own = reports // len(levels)
        floor = q + (p - q) * min(1.0, least / reports)
        return least_share(own, floor, alpha, (p, q, mechanism.hashes))[0] <= share / SURELY

    high = 2 * len(levels)
    while not finds(high):
        high *= 2
    low = high // 2
    while high - low > high // 1000 + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if finds(middle) else (middle, high)
    return high
