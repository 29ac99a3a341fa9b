"""Linear queries: any weighted sum of the frequencies, such as a mean or the share of a group.

w.f is the mean over the reports y of a kernel g(y), where P g = w: with any left inverse G,
g = G^T w, since P G^T = I.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.covariance import Model, cautious_errors
from deniable.estimates.intervals import check_level, normal_quantile
from deniable.estimates.inverse import check_counts, tables
from deniable.mechanisms import Mechanism, TwoValuedMechanism

__all__ = ["Estimate", "linear_query", "mean"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """One unbiased number with its uncertainty.

    Attributes:
        value: the estimate; it may leave the range of what is possible.
        standard_error: of the value; NaN for a single report in the sampled model.
        low, high: ends of the confidence interval, within what is possible.
        level: of the interval.
        outside: whether the interval lay wholly outside what is possible and became the nearest end
            point: chance, or false reports.
    """

    value: float
    standard_error: float
    low: float
    high: float
    level: float
    outside: bool

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON; a standard error that does not exist is None."""
        return {
            "estimate": self.value,
            "standard_error": None if np.isnan(self.standard_error) else self.standard_error,
            "low": self.low,
            "high": self.high,
            "outside": self.outside,
        }


def linear_query(
    mechanism: Mechanism,
    counts: Sequence[int],
    weights: Sequence[float | Fraction],
    level: float = 0.95,
    model: Model = Model.SAMPLED,
) -> Estimate:
    """Estimate the sum of weighted frequencies, sum_x w_x f_x.

    Args:
        mechanism: what the devices sampled from.
        counts: how often each response was seen.
        weights: w, one a category.
        level: confidence level in (0, 1) of the normal interval, which is cut to [min w, max w].
        model: what the standard error takes as random. The interval is of the sampled model.

    Raises:
        ValueError: for a level outside (0, 1), a wrong number of weights, or counts that allow no
            estimate.

    Source: docs/mathematics.md, section 10.
    """
    check_level(level)
    check_counts(mechanism, counts)
    if len(weights) != mechanism.categories:
        raise ValueError(f"{mechanism.categories} weights are expected, one a category")
    w = np.array([float(weight) for weight in weights])
    value, error = query_values(mechanism, counts, w, model)
    half = normal_quantile(level) * cautious_values(mechanism, counts, w)[1]
    low, high = float(value - half), float(value + half)
    return within(float(value), float(error), low, high, level, float(w.min()), float(w.max()))


def mean(
    mechanism: Mechanism,
    counts: Sequence[int],
    values: Sequence[Fraction],
    level: float = 0.95,
    model: Model = Model.SAMPLED,
) -> Estimate:
    """Estimate the mean of the numbers that the categories are.

    Args:
        mechanism: what the devices sampled from.
        counts: how often each response was seen.
        values: the numbers, one a category.
        level: confidence level in (0, 1).
        model: what the standard error takes as random.

    Raises:
        ValueError: like :func:`linear_query`.
    """
    # From the first value on: floats resolve the steps of a range better than numbers far from 0.
    above = linear_query(mechanism, counts, [v - values[0] for v in values], level, model)
    first = float(values[0])
    return Estimate(
        first + above.value,
        above.standard_error,
        first + above.low,
        first + above.high,
        level,
        above.outside,
    )


def kernels(mechanism: Mechanism, weights: Floats) -> Floats:
    """Return g with P g = w.

    Args:
        mechanism: what the devices sampled from.
        weights: w, shape (categories,), or (many, categories).

    Returns:
        g, shape (responses,), or (many, responses).
    """
    if isinstance(mechanism, TwoValuedMechanism):
        # G = (I - q 11^T)/kappa: g_y = (w_y - q sum w)/kappa.
        kappa, q = float(mechanism.contraction), float(mechanism.lie)
        return np.asarray((weights - q * weights.sum(axis=-1, keepdims=True)) / kappa)
    return np.asarray(weights @ tables(mechanism).inverse)


def second_moments(mechanism: Mechanism, g: Floats) -> Floats:
    """Return the mean of g(y)^2 over the responses to each true category, sum_y P_xy g_y^2.

    Args:
        mechanism: what the devices sample from.
        g: kernels, shape (responses,), or (many, responses).

    Returns:
        Shape (categories,), or (many, categories).
    """
    squares = g**2
    if isinstance(mechanism, TwoValuedMechanism):
        kappa, q = float(mechanism.contraction), float(mechanism.lie)
        return np.asarray(kappa * squares + q * squares.sum(axis=-1, keepdims=True))
    return np.asarray(squares @ tables(mechanism).matrix.T)


def query_values(
    mechanism: Mechanism, counts: Sequence[int], weights: Floats, model: Model
) -> tuple[Floats, Floats]:
    """Return the estimates of linear queries and their standard errors.

    Args:
        mechanism: what the devices sampled from.
        counts: how often each response was seen.
        weights: w, shape (categories,), or (many, categories).
        model: what the errors take as random.
    """
    n = check_counts(mechanism, counts)
    lam = np.asarray(counts, dtype=np.float64) / n
    g = kernels(mechanism, weights)
    value = np.asarray(g @ lam)
    if model is Model.SAMPLED:
        # Reports are independent and alike: the sample variance of g over n.
        spread = np.asarray((g - value[..., None]) ** 2 @ lam)
        return value, np.sqrt(spread / (n - 1)) if n > 1 else np.full(value.shape, np.nan)
    # n Var = g^T (diag lam - P^T diag(f) P) g = sum_y lam_y g_y^2 - sum_x f_x w_x^2, since P g = w.
    # Linear in lam and f; the second sum is itself a linear query.
    variance = np.asarray(g**2 @ lam - kernels(mechanism, weights**2) @ lam)
    return value, np.sqrt(np.maximum(variance, 0.0) / n)


def cautious_values(
    mechanism: Mechanism, counts: Sequence[int], weights: Floats
) -> tuple[Floats, Floats]:
    """Return the estimates of linear queries, and the errors that normal intervals are made of.

    Args:
        mechanism: what the devices sampled from.
        counts: how often each response was seen.
        weights: w, shape (categories,), or (many, categories).
    """
    g = kernels(mechanism, weights)
    # Var g(y) is the mean over the true categories x of Var(g(y) | x), and the variance of their
    # means (P g)_x = w_x. So it is never below the least Var(g(y) | x) = sum_y P_xy g_y^2 - w_x^2.
    least = np.maximum((second_moments(mechanism, g) - weights**2).min(axis=-1), 0.0)
    lam = np.asarray(counts, dtype=np.float64) / check_counts(mechanism, counts)
    return np.asarray(g @ lam), cautious_errors(mechanism, counts, g, least)


def within(
    value: float,
    error: float,
    low: float,
    high: float,
    level: float,
    least: float,
    most: float,
) -> Estimate:
    """Return the estimate with its interval cut to [least, most]."""
    return Estimate(
        value,
        error,
        min(max(low, least), most),
        min(max(high, least), most),
        level,
        outside=high < least or low > most,
    )
