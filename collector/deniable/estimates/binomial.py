"""Confidence intervals of binomial proportions."""

import sys
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FEW = 5
"""Below this many successes, or failures, the guaranteed interval is used at levels up to 95 %."""

_USUAL: Final = 0.95
_USUAL_QUANTILE: Final = 1.959963984540054
"""The quantile for the usual level, which saves waiting .3 s for scipy."""


class NotInvertible(ValueError):
    """Two mixtures of categories give the same responses: no estimate can distinguish them."""


class IntervalMethod(StrEnum):
    """The method of an interval."""

    WILSON = "wilson"
    CLOPPER_PEARSON = "clopper-pearson"
    NORMAL = "normal"


def wilson(counts: "Floats", n: int, level: float) -> tuple["Floats", "Floats"]:
    """Return Wilson's score interval for ``counts`` successes in n trials, any shape."""
    import numpy as np

    # |p - lam| <= z sqrt(lam (1-lam)/n), solved for lam.
    z2 = normal_quantile(level) ** 2
    p = counts / n
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return centre - half, centre + half


def clopper_pearson(counts: "Floats", n: int, level: float) -> tuple["Floats", "Floats"]:
    """Return the Clopper-Pearson interval of such counts, whose coverage is guaranteed.

    For a count between two whole numbers, the interval is between those of the two.
    """
    import numpy as np
    from scipy import special

    # The binomial tails as beta quantiles; at the ends of the range the limits are 0 and 1.
    tail = (1 - level) / 2
    some, others = np.where(counts > 0, counts, 1), np.where(counts < n, n - counts, 1)
    low = np.where(counts > 0, special.betaincinv(some, n - counts + 1, tail), 0.0)
    high = np.where(counts < n, special.betainccinv(counts + 1, others, tail), 1.0)
    return low, high


def binomial_intervals(
    counts: "Floats", n: int, level: float
) -> tuple["Floats", "Floats", tuple[IntervalMethod, ...]]:
    """Return Wilson's intervals, or Clopper and Pearson's if either count is small.

    Small means below 5, and at levels above 95 % below the number at which Wilson's is equally
    good.
    """
    import numpy as np

    few = np.minimum(counts, n - counts) < _fewest(level)
    low, high = wilson(counts, n, level)
    low[few], high[few] = clopper_pearson(counts[few], n, level)
    methods = IntervalMethod.WILSON, IntervalMethod.CLOPPER_PEARSON
    return low, high, tuple(methods[rare] for rare in few.tolist())


def _fewest(level: float) -> float:
    """Return the least count of either kind for Wilson's interval."""
    # It approximates a count of mean m as normal, and so misjudges its tails at z errors by factors
    # of e^(z^3 g/6) and e^(-z^3 g/6), where g is the skewness: 1/sqrt m if m is the smaller count
    # (the first term of Cramer's series for large deviations). These factors remain as at 5 and 95
    # % if z^3/sqrt m does: m grows with z^6, to 395 for 1,024 intervals at once. By the exact
    # distribution, the intervals then miss up to 1.6 times as often as stated at every level; with
    # 5 for all, up to 68 times for those 1,024. Below 95 %, only discreteness remains.
    return _FEW * max(1.0, (normal_quantile(level) / normal_quantile(0.95)) ** 6)


def check_level(level: float) -> None:
    """Refuse a confidence level outside (0, 1)."""
    if not 0 < level < 1:
        raise ValueError("the level must be in (0, 1), such as 0.95")


def normal_quantile(level: float) -> float:
    """Return z for a two-sided normal interval."""
    if level == _USUAL:
        return _USUAL_QUANTILE
    from scipy import special

    # From the lower tail: for the last levels below 1, (1 + level)/2 rounds to 1, whose quantile is
    # infinite. Never 0, so that an infinite error gives an infinite width at every level.
    return max(-float(special.ndtri((1 - level) / 2)), sys.float_info.min)


def support_moments(hit: Fraction, miss: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Return p (1 - q)^2 + (1 - p) q^2 and q (1 - q), and the lesser variance, all over kappa^2."""
    own = hit * (1 - miss) ** 2 + (1 - hit) * miss**2
    other = miss * (1 - miss)
    square = (hit - miss) ** 2
    return own / square, other / square, min(hit * (1 - hit), other) / square
