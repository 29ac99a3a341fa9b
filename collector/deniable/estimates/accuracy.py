"""Accuracy: the reports needed for estimates of shares, without numpy for most surveys."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

from deniable.estimates.binomial import check_level, normal_quantile, support_moments
from deniable.mechanisms import Mechanism, OneQuestion, TwoValuedMechanism
from deniable.mechanisms.block_design import BlockMechanism


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The required accuracy: n reports with the variance V each reach scale root(V/n).

    Attributes:
        size: the goal, as a share or in the units of the values.
        scale: the number of standard errors in it.
        level: the level of the intervals, if the size is that of intervals.
        power, significance: those of the test for a difference, if the size is a difference.
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
    def standard_error(cls, size: float) -> "Accuracy":
        """Return the accuracy of estimates with this standard error."""
        return cls(size, 1.0)

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
        """Return how many reports with this variance reach it, at least 1."""
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
    """Return the largest share that is to be exact, by default that of this many categories.

    ValueError if it is not a share.
    """
    if largest_share is None:
        return default_largest_share(categories)
    if not 0 <= largest_share <= 1:
        raise ValueError("the largest share must be in [0, 1], such as 0.1")
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
        return worst_variance(float(own), float(other), largest_share)
    from deniable.estimates.decoders import decoder_of  # needs numpy: most surveys do without it

    decoder = decoder_of(mechanism)
    moments = zip(decoder.moments.own.tolist(), decoder.moments.other.tolist(), strict=True)
    return max(worst_variance(*pair, largest_share) for pair in moments)


def _chances(mechanism: Mechanism) -> tuple[Fraction, Fraction] | None:
    """Return the probabilities that a report supports the answer, and another; None if they vary.

    If a design has more points than categories, estimates distribute their deficit from 1: their
    intervals are as wide as those of the support counts, or narrower.
    """
    if isinstance(mechanism, TwoValuedMechanism):
        return mechanism.privacy.truth, mechanism.privacy.lie
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
