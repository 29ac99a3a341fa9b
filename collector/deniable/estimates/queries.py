"""Linear queries: any weighted sum of the frequencies, such as a mean or the share of a group."""

from collections.abc import Callable

import numpy as np

from deniable.estimates.decoders import (
    Decoder,
    Floats,
    Model,
    Tally,
    cautious_errors,
    chosen_errors,
    recurring_errors,
)


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
    across = _across(asked, tally) if model is Model.SAMPLED else 0.0
    return _added([_values(*each, model, tally.n) for each in asked], across)


def cautious_values(decoder: Decoder, tally: Tally, weights: Floats) -> tuple[Floats, Floats]:
    """Return the estimates of linear queries, and the errors that normal intervals are made of."""
    asked = _asked(decoder, tally, weights)
    return _added([_cautious(*each, tally.n) for each in asked], _across(asked, tally))


def contrast_variance(
    decoder: Decoder, tally: Tally, above: Floats, below: Floats
) -> Callable[[float], float]:
    """Return the cautious variance of one query less r times another, by r."""
    # Variances of a - r b are quadratic in r, with Cov(a, b) from that of a + b: those that were
    # seen, and those of one report if x is true, for each x.
    three = np.stack([above, below, above + below])
    seen = query_values(decoder, tally, three, Model.SAMPLED)[1] ** 2
    held = [
        _conditional(each, weights) / own.n for each, own, weights in _asked(decoder, tally, three)
    ]

    def at(r: float, variances: Floats) -> Floats:
        a, b, both = variances
        return np.asarray(a - r * (both - a - b) + r * r * b)

    def variance(r: float) -> float:
        least = sum(max(float(at(r, each).min()), 0.0) for each in held)
        return max(float(at(r, seen)), least)

    return variance


def widening(decoder: Decoder, tally: Tally, weights: Floats) -> Floats:
    """Return how many times as wide intervals are where devices may be in several epochs."""
    if tally.epochs == 1:
        return np.ones(weights.shape[:-1])
    asked = _asked(decoder, tally, weights)
    once = _added([_values(*each, Model.SAMPLED, tally.n, recurring=False) for each in asked])[1]
    return _wider(query_values(decoder, tally, weights, Model.SAMPLED)[1], once)


def _wider(errors: Floats, once: Floats) -> Floats:
    return np.fmax(errors / np.where(once > 0, once, np.inf), 1.0)


def _asked(decoder: Decoder, tally: Tally, weights: Floats) -> list[tuple[Decoder, Tally, Floats]]:
    """Return the questions that have weight, with the reports about them and their weights."""
    parts = decoder.parts
    if len(parts) > 1:
        parts = tuple(part for part in parts if weights[..., part.categories].any()) or parts[:1]
    asked = [(part.decoder, part.tally(tally), weights[..., part.categories]) for part in parts]
    if not all(own.n for _, own, _ in asked):
        raise ValueError("no report is about one of the questions yet")
    return asked


def _across(asked: list[tuple[Decoder, Tally, Floats]], tally: Tally) -> "Floats | float":
    """Return what devices add to the variance of a sum that answer one question now, another later.

    At most: however their answers go together, the standard deviations of what recurring devices
    add to each question's part, multiplied (Cauchy and Schwarz).
    """
    if len(asked) == 1 or tally.epochs == 1:
        return 0.0
    recurring = []
    for each in asked:
        once, again = (
            _values(*each, Model.SAMPLED, tally.n, recurring=several)[1] ** 2
            for several in (False, True)
        )
        # What pairs of different epochs add to the variance of one question's part.
        recurring.append(np.sqrt(np.maximum(again - once, 0.0)))
    return np.asarray(sum(recurring) ** 2 - sum(each**2 for each in recurring))


def _added(
    found: list[tuple[Floats, Floats]], across: "Floats | float" = 0.0
) -> tuple[Floats, Floats]:
    """Return sums over questions: reports about them are of different devices, drawn by chance.

    Unless devices recur: that adds ``across`` to variances.
    """
    if len(found) == 1:
        return found[0]
    errors = np.sqrt(sum(error**2 for _, error in found) + across)
    return np.asarray(sum(value for value, _ in found)), np.asarray(errors)


def _values(
    decoder: Decoder,
    tally: Tally,
    weights: Floats,
    model: Model,
    reports: int,
    *,
    recurring: bool = True,
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

    found = chosen_errors(errors, model, n / reports)
    if recurring and model is Model.SAMPLED and tally.epochs > 1:
        found = recurring_errors(tally, found, chosen_errors(errors, Model.FIXED, n / reports))
    return value, found


def _cautious(
    decoder: Decoder, tally: Tally, weights: Floats, reports: int
) -> tuple[Floats, Floats]:
    g = decoder.kernels(weights)
    # Var g(y) is the mean over the true categories x of Var(g(y) | x), and the variance of their
    # means (P g)_x = w_x. So it is never below the least Var(g(y) | x).
    least = np.maximum(_conditional(decoder, weights).min(axis=-1), 0.0)
    errors = cautious_errors(tally, g, least)
    if tally.epochs > 1:
        once, recurring = (
            _values(decoder, tally, weights, Model.SAMPLED, reports, recurring=each)[1]
            for each in (False, True)
        )
        errors = errors * _wider(recurring, once)
    return np.asarray(g @ tally.shares), errors


def _conditional(decoder: Decoder, weights: Floats) -> Floats:
    """Return Var(g(y) | x) = sum_y P_xy g_y^2 - w_x^2 for each category x."""
    return np.asarray(decoder.means(decoder.kernels(weights) ** 2) - weights**2)
