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
    chosen_errors,
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
    if len(weights) != decoder.categories:
        raise ValueError(f"{decoder.categories} weights are expected, one a category")
    w = np.array([float(weight) for weight in weights])
    value, error = query_values(decoder, tally, w, model)
    half = normal_quantile(level) * cautious_values(decoder, tally, w)[1]
    low, high = float(value - half), float(value + half)
    uncut = Estimate(float(value), float(error), low, high, level)
    parts = [w[part.categories] for part in decoder.parts]
    return within(
        uncut, sum(float(each.min()) for each in parts), sum(float(each.max()) for each in parts)
    )


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
    asked = _asked(decoder, tally, weights)
    if len(asked) > 1 and model is Model.FIXED:
        raise ValueError(
            "if devices are fixed, sums over several questions have no known error: no report "
            "tells of two of them"
        )
    return _added([_values(*each, model, tally.n) for each in asked])


def cautious_values(decoder: Decoder, tally: Tally, weights: Floats) -> tuple[Floats, Floats]:
    """Return the estimates of linear queries, and the errors that normal intervals are made of."""
    return _added([_cautious(*each) for each in _asked(decoder, tally, weights)])


def _asked(decoder: Decoder, tally: Tally, weights: Floats) -> list[tuple[Decoder, Tally, Floats]]:
    """Return the questions that have weight, with the reports about them and their weights."""
    parts = decoder.parts
    if len(parts) > 1:
        parts = tuple(part for part in parts if weights[..., part.categories].any()) or parts[:1]
    asked = [(part.decoder, part.tally(tally), weights[..., part.categories]) for part in parts]
    if not all(own.n for _, own, _ in asked):
        raise ValueError("no report is about one of the questions yet")
    return asked


def _added(found: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return sums over questions: reports about them are of different devices, drawn by chance."""
    if len(found) == 1:
        return found[0]
    errors = np.sqrt(sum(error**2 for _, error in found))
    return np.asarray(sum(value for value, _ in found)), np.asarray(errors)


def _values(
    decoder: Decoder, tally: Tally, weights: Floats, model: Model, reports: int
) -> tuple[Floats, Floats]:
    """Return the estimates from those of so many reports that are about the question."""
    n, shares = tally.n, tally.shares
    g = decoder.kernels(weights)
    value = np.asarray(g @ shares)

    def errors(model: Model) -> Floats:
        if model is Model.SAMPLED:
            # Reports are independent and alike: the sample variance of g over n.
            spread = np.asarray((g - value[..., None]) ** 2 @ shares)
            return np.sqrt(spread / (n - 1)) if n > 1 else np.full(value.shape, np.nan)
        # n Var = g^T (diag lam - P^T diag(f) P) g = sum_y lam_y g_y^2 - sum_x f_x w_x^2, since
        # P g = w. Linear in lam and f; the second sum is itself a linear query.
        variance = np.asarray(g**2 @ shares - decoder.kernels(weights**2) @ shares)
        return np.sqrt(np.maximum(variance, 0.0) / n)

    return value, chosen_errors(errors, model, n / reports)


def _cautious(decoder: Decoder, tally: Tally, weights: Floats) -> tuple[Floats, Floats]:
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
