"""Confidence intervals: binomial ones for the noisy counts, mapped back to the true frequencies.

A response's count is binomial with lambda = q + kappa f, so an interval for lambda, mapped by the
increasing f = (lambda - q)/kappa, covers f exactly as often as it covers lambda.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.estimates.covariance import cautious_errors
from deniable.estimates.inverse import check_counts, debias, tables
from deniable.mechanisms import Mechanism, TwoValuedMechanism

__all__ = ["IntervalMethod", "Intervals", "clopper_pearson", "frequency_intervals", "wilson"]

Floats = NDArray[np.float64]

_FEW = 5
"""Below this many reports with a response, or without it, the guaranteed interval is used."""

_UNSEEN = 2
"""How many more of each response a normal interval's variance allows for: z^2/2 at 95 %."""


class IntervalMethod(StrEnum):
    """How an interval was made."""

    WILSON = "wilson"
    CLOPPER_PEARSON = "clopper-pearson"
    NORMAL = "normal"


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Confidence intervals for the frequencies of all categories.

    Attributes:
        low, high: their ends, within [0, 1], shape (categories,).
        methods: how each was made.
        outside: where the whole interval lay outside [0, 1] and became the nearest end point: the
            data are surprising, for chance or because somebody sent false reports.
    """

    low: Floats
    high: Floats
    methods: tuple[IntervalMethod, ...]
    outside: NDArray[np.bool_]


def wilson(counts: Floats, n: int, level: float) -> tuple[Floats, Floats]:
    """Return Wilson's score interval for binomial proportions.

    Args:
        counts: successes, any shape.
        n: trials.
        level: confidence level in (0, 1).
    """
    # |p - lam| <= z sqrt(lam (1-lam)/n), solved for lam.
    z2 = normal_quantile(level) ** 2
    p = counts / n
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return centre - half, centre + half


def clopper_pearson(counts: Floats, n: int, level: float) -> tuple[Floats, Floats]:
    """Return the Clopper-Pearson interval, whose coverage is guaranteed.

    Args:
        counts: successes, any shape.
        n: trials.
        level: confidence level in (0, 1).
    """
    # The binomial tails as beta quantiles; at the ends of the range the limits are 0 and 1.
    tail = (1 - level) / 2
    low = np.where(counts > 0, special.betaincinv(np.maximum(counts, 1), n - counts + 1, tail), 0.0)
    high = np.where(
        counts < n, special.betainccinv(counts + 1, np.maximum(n - counts, 1), tail), 1.0
    )
    return low, high


def frequency_intervals(mechanism: Mechanism, counts: Sequence[int], level: float) -> Intervals:
    """Return an interval for each category's true frequency.

    Randomised response: Wilson, or Clopper-Pearson where a count or its complement is below 5.
    Any other matrix: the normal interval, and labelled so; its variance takes each response to have
    been seen twice more than it was, and is never below the least that any population has. One
    report says nothing there.

    Args:
        mechanism: what the devices sampled from.
        counts: how often each response was seen.
        level: confidence level in (0, 1), of each interval by itself.

    Raises:
        ValueError: for a level outside (0, 1), or counts that allow no estimate.

    Source: docs/mathematics.md, section 5.
    """
    check_level(level)
    n = check_counts(mechanism, counts)
    if isinstance(mechanism, TwoValuedMechanism):
        seen = np.asarray(counts, dtype=np.float64)
        few = np.minimum(seen, n - seen) < _FEW
        low, high = wilson(seen, n, level)
        low[few], high[few] = clopper_pearson(seen[few], n, level)
        q, kappa = float(mechanism.lie), float(mechanism.contraction)
        low, high = (low - q) / kappa, (high - q) / kappa
        methods = tuple(
            IntervalMethod.CLOPPER_PEARSON if rare else IntervalMethod.WILSON for rare in few
        )
    else:
        made = tables(mechanism)
        # A frequency's kernel lives on few responses, and the variance of a rare count is not that
        # count: the score interval of a Poisson count c, |c - m| <= z sqrt(m), has its middle at
        # c + z^2/2, about 2 more. (Wilson's and Agresti and Coull's correction, for many counts.)
        least = made.moments.least_variance
        errors = cautious_errors(mechanism, counts, made.inverse, least, unseen=_UNSEEN)
        half = normal_quantile(level) * errors
        estimate = debias(mechanism, counts)
        low, high = estimate - half, estimate + half
        methods = (IntervalMethod.NORMAL,) * mechanism.categories
    outside = (high < 0) | (low > 1)
    return Intervals(np.clip(low, 0, 1), np.clip(high, 0, 1), methods, outside)


def check_level(level: float) -> None:
    """Check a confidence level.

    Raises:
        ValueError: unless it is in (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError("the level must be in (0, 1), such as 0.95")


def normal_quantile(level: float) -> float:
    """Return the z of a two-sided normal interval."""
    # From the lower tail: (1 + level)/2 rounds to 1, whose quantile is infinite, for the last
    # levels below 1. Never 0, so that an infinite error gives an infinite width at every level.
    return max(-float(special.ndtri((1 - level) / 2)), float(np.finfo(np.float64).tiny))
