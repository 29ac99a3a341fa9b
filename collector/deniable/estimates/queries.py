"""Linear queries: any weighted sum of the frequencies, such as a mean or the share of a group."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from deniable.estimates.binomial import check_level, normal_quantile
from deniable.estimates.decoders import (
    Counts,
    Decoder,
    Floats,
    Model,
    Tally,
    cautious_errors,
    decoder_of,
)
from deniable.mechanisms import Mechanism


@dataclass(frozen=True, slots=True)
class Estimate:
    """One unbiased number with its uncertainty.

    Attributes:
        value: the estimate; it may leave the range of what is possible.
        standard_error: of the value; NaN for a single report in the sampled model.
        low, high: ends of the confidence interval, within what is possible.
        outside: whether the interval lay wholly outside that and became the nearest end point:
            chance, or false reports.
    """

    value: float
    standard_error: float
    low: float
    high: float
    level: float
    outside: bool = False


def linear_query(
    mechanism: Mechanism,
    counts: Counts,
    weights: Sequence[float | Fraction],
    level: float = 0.95,
    model: Model = Model.SAMPLED,
) -> Estimate:
    """Estimate the sum of weighted frequencies, sum_x w_x f_x (docs/mathematics.md, section 10).

    The interval is the normal one of the sampled model, cut to [min w, max w].
    """
    check_level(level)
    decoder = decoder_of(mechanism)
    tally = decoder.tally(counts)
    if len(weights) != mechanism.categories:
        raise ValueError(f"{mechanism.categories} weights are expected, one a category")
    w = np.array([float(weight) for weight in weights])
    value, error = query_values(decoder, tally, w, model)
    half = normal_quantile(level) * cautious_values(decoder, tally, w)[1]
    low, high = float(value - half), float(value + half)
    uncut = Estimate(float(value), float(error), low, high, level)
    return within(uncut, float(w.min()), float(w.max()))


def mean(
    mechanism: Mechanism,
    counts: Counts,
    values: Sequence[Fraction],
    level: float = 0.95,
    model: Model = Model.SAMPLED,
) -> Estimate:
    """Estimate the mean of the numbers that the categories are."""
    # From the first value on: floats resolve the steps of a range better than numbers far from 0.
    above = linear_query(mechanism, counts, [v - values[0] for v in values], level, model)
    first = float(values[0])
    return replace(above, value=first + above.value, low=first + above.low, high=first + above.high)


def query_values(
    decoder: Decoder, tally: Tally, weights: Floats, model: Model
) -> tuple[Floats, Floats]:
    """Return the estimates of linear queries (…, categories), and their standard errors."""
    n, shares = tally.n, tally.shares
    g = decoder.kernels(weights)
    value = np.asarray(g @ shares)
    if model is Model.SAMPLED:
        # Reports are independent and alike: the sample variance of g over n.
        spread = np.asarray((g - value[..., None]) ** 2 @ shares)
        return value, np.sqrt(spread / (n - 1)) if n > 1 else np.full(value.shape, np.nan)
    # n Var = g^T (diag lam - P^T diag(f) P) g = sum_y lam_y g_y^2 - sum_x f_x w_x^2, since P g = w.
    # Linear in lam and f; the second sum is itself a linear query.
    variance = np.asarray(g**2 @ shares - decoder.kernels(weights**2) @ shares)
    return value, np.sqrt(np.maximum(variance, 0.0) / n)


def cautious_values(decoder: Decoder, tally: Tally, weights: Floats) -> tuple[Floats, Floats]:
    """Return the estimates of linear queries, and the errors that normal intervals are made of."""
    g = decoder.kernels(weights)
    # Var g(y) is the mean over the true categories x of Var(g(y) | x), and the variance of their
    # means (P g)_x = w_x. So it is never below the least Var(g(y) | x) = sum_y P_xy g_y^2 - w_x^2.
    least = np.maximum((decoder.second_moments(g) - weights**2).min(axis=-1), 0.0)
    return np.asarray(g @ tally.shares), cautious_errors(tally, g, least)


def within(estimate: Estimate, least: float, most: float) -> Estimate:
    """Return the estimate with its interval cut to [least, most]."""
    low, high = estimate.low, estimate.high
    return replace(
        estimate,
        low=min(max(low, least), most),
        high=min(max(high, least), most),
        outside=high < least or low > most,
    )
