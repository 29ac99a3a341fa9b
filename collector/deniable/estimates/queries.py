"""Linear queries: any weighted sum of the frequencies, such as a mean or the share of a group."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy import linalg

from deniable.estimates.decoders import (
    Decoder,
    Floats,
    Model,
    Tally,
    cautious_errors,
    chosen_errors,
    recurring_errors,
)

_FEW = 5
"""Fewer reports than this say too little about how many there might have been."""
_DUST = 1e-12
"""Second moments that differ by less than this part of the largest one count as equal."""


def query_values(decoder: Decoder, tally: Tally, weights: Floats) -> tuple[Floats, Floats]:
    """Return the estimates of linear queries (…, categories), and their standard errors."""
    questions = _weighted_questions(decoder, tally, weights)
    parts = [_values(*question, tally.n) for question in questions]
    return _added(parts, _across(questions, tally))


def cautious_values(
    decoder: Decoder, tally: Tally, weights: Floats, unseen: float = 0.0
) -> tuple[Floats, Floats]:
    """Return the estimates of linear queries, and their errors for normal intervals.

    If few reports were seen, ``unseen`` is how many may be missing that move a query furthest.
    """
    questions = _weighted_questions(decoder, tally, weights)
    return _added(
        [
            Queries.of(question, part).cautious(own, tally.n, unseen)
            for question, own, part in questions
        ],
        _across(questions, tally),
    )


def contrast_variance(
    decoder: Decoder, tally: Tally, above: Floats, below: Floats, unseen: float
) -> tuple[tuple[float, float, float], Callable[[float], float]]:
    """Return the cautious variance of one query minus r times another, as a function of r.

    The variance of the reports alone is given as the coefficients of 1, r and r^2.
    """
    three = np.stack([above, below, above + below])
    seen = query_values(decoder, tally, three)[1] ** 2
    questions = [
        (weights, queries.kernels @ own.shares, queries.moments, queries.kernels, own)
        for question, own, weights in _weighted_questions(decoder, tally, three)
        for queries in [Queries.of(question, weights)]
    ]

    def contrast(r: float, squares: Floats) -> Floats:
        # (a - r b)^2 = a^2 - 2 r a b + r^2 b^2, with a b from (a + b)^2; the same for variances.
        a, b, both = squares
        return np.asarray(a - r * (both - a - b) + r * r * b)

    def variance(r: float) -> float:
        least = sum(
            float(least_variances(contrast(r, moments), w[0] - r * w[1], values[0] - r * values[1]))
            / own.n
            for w, values, moments, _, own in questions
        )
        rare = sum(
            float(_unseen_variance(own, g[0] - r * g[1], values[0] - r * values[1], unseen))
            for _, values, _, g, own in questions
        )
        return max(float(contrast(r, seen)), least) + rare

    first, second, both = seen.tolist()
    return (first, first + second - both, second), variance


def _unseen_variance(tally: Tally, kernels: Floats, values: Floats, unseen: float) -> Floats:
    """Return the variance that rare reports, few of which were seen, add to means of kernels."""
    # They move a mean furthest: the variance of their share is not the observed one, which is 0 if
    # none was seen. The score interval of a Poisson count c is centred at c + z^2/2.
    added = np.zeros(kernels.shape[:-1])
    reach = np.ptp(kernels, axis=-1)[..., None]
    for end in (kernels.min(axis=-1), kernels.max(axis=-1)):
        seen = (np.abs(kernels - end[..., None]) <= _DUST * reach) @ tally.counts
        added += np.where(seen < _FEW, unseen * ((end - values) / tally.n) ** 2, 0.0)
    return added


def widening(decoder: Decoder, tally: Tally, weights: Floats) -> Floats:
    """Return the factor by which intervals are wider if devices may be in several epochs."""
    if tally.epochs == 1:
        return np.ones(weights.shape[:-1])
    questions = _weighted_questions(decoder, tally, weights)
    once = _added([_values(*question, tally.n, recurring=False) for question in questions])[1]
    return _wider(query_values(decoder, tally, weights)[1], once)


def _wider(errors: Floats, once: Floats) -> Floats:
    return np.fmax(errors / np.where(once > 0, once, np.inf), 1.0)


def _weighted_questions(
    decoder: Decoder, tally: Tally, weights: Floats
) -> list[tuple[Decoder, Tally, Floats]]:
    """Return the questions that have weight, with the reports about them and their weights."""
    parts = decoder.parts
    if len(parts) > 1:
        parts = tuple(part for part in parts if weights[..., part.categories].any()) or parts[:1]
    questions = [(part.decoder, part.tally(tally), weights[..., part.categories]) for part in parts]
    if not all(own.n for _, own, _ in questions):
        raise ValueError("one of the questions has no reports yet")
    return questions


def _across(questions: list[tuple[Decoder, Tally, Floats]], tally: Tally) -> "Floats | float":
    """Return the most that devices with other questions in other epochs add to the variance."""
    # The product of the standard deviations that they add to each question's part.
    if len(questions) == 1 or tally.epochs == 1:
        return 0.0
    recurring = []
    for question in questions:
        once, again = (
            _values(*question, tally.n, recurring=several)[1] ** 2 for several in (False, True)
        )
        # The variance that pairs of different epochs add to one question's part.
        recurring.append(np.sqrt(np.maximum(again - once, 0.0)))
    return np.asarray(sum(recurring) ** 2 - sum(deviation**2 for deviation in recurring))


def _added(
    parts: list[tuple[Floats, Floats]], across: "Floats | float" = 0.0
) -> tuple[Floats, Floats]:
    """Return sums over questions, whose reports come from different, randomly drawn devices."""
    if len(parts) == 1:
        return parts[0]
    errors = np.sqrt(sum(error**2 for _, error in parts) + across)
    return np.asarray(sum(value for value, _ in parts)), np.asarray(errors)


def _values(
    decoder: Decoder,
    tally: Tally,
    weights: Floats,
    reports: int,
    *,
    recurring: bool = True,
) -> tuple[Floats, Floats]:
    """Return the estimates from the given number of reports about the question."""
    n, shares = tally.n, tally.shares
    g = decoder.kernels(weights)
    value = np.asarray(g @ shares)
    shifted = linalg.norm(decoder.shifts(tally, weights), axis=-1)

    def errors(model: Model) -> Floats:
        if model is Model.SAMPLED:
            # Reports are independent and identically distributed: the sample variance of g over n.
            spread = np.asarray((g - value[..., None]) ** 2 @ shares)
            noise = np.sqrt(spread / (n - 1)) if n > 1 else np.full(value.shape, np.nan)
        else:
            noise = np.sqrt(np.maximum(decoder.noise(weights, shares), 0.0) / n)
        return np.asarray(np.hypot(noise, shifted))

    sampled = errors(Model.SAMPLED)
    if recurring and tally.epochs > 1:
        fixed = chosen_errors(errors, Model.FIXED, n / reports)
        sampled = recurring_errors(tally, sampled, fixed)
    return value, sampled


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Linear queries of one question, with the parts that do not depend on counts.

    Attributes:
        weights: (..., categories).
        kernels: g, (..., responses).
        moments: E(g(y)^2 | x) = sum_y P_xy g_y^2 for each category x.
    """

    decoder: Decoder
    weights: Floats
    kernels: Floats
    moments: Floats

    @classmethod
    def of(cls, decoder: Decoder, weights: Floats) -> "Queries":
        """Return the queries of these weights."""
        kernels = decoder.kernels(weights)
        return cls(decoder, weights, kernels, np.asarray(decoder.means(kernels**2)))

    def cautious(self, tally: Tally, reports: int, unseen: float = 0.0) -> tuple[Floats, Floats]:
        """Return the estimates from the given number of reports about the question.

        The errors for normal intervals are returned too.
        """
        values = np.asarray(self.kernels @ tally.shares)
        least = least_variances(self.moments, self.weights, values)
        shifted = linalg.norm(self.decoder.shifts(tally, self.weights), axis=-1)
        errors = np.hypot(cautious_errors(tally, self.kernels, least), shifted)
        if unseen:
            rare = _unseen_variance(tally, self.kernels, values, unseen)
            errors = np.sqrt(errors**2 + rare)
        if tally.epochs > 1:
            once, recurring = (
                _values(self.decoder, tally, self.weights, reports, recurring=several)[1]
                for several in (False, True)
            )
            errors = errors * _wider(recurring, once)
        return values, errors


def least_variances(moments: Floats, weights: Floats, values: Floats) -> Floats:
    """Return the least variance of g(y) in any population in which its mean is the value.

    Arguments are the second moments E(g(y)^2 | x) and the means E(g(y) | x), the weights, both
    (..., categories), and values (...), which are clipped to the possible range.

    Source: docs/mathematics.md, section 19.
    """
    # In a population f the mean of g is sum_x f_x w_x, its second moment sum_x f_x E(g^2 | x): the
    # one with the least second moment at a given mean is on the lower hull of the points (w_x,
    # E(g^2 | x)), and so has at most two answers. Each step (of the simplex method) replaces an end
    # of the chord above the value by the point that is furthest below it, until there is none.
    w, s = (grid.reshape(-1, grid.shape[-1]) for grid in np.broadcast_arrays(weights, moments))
    value = np.clip(np.ravel(values), w.min(axis=-1), w.max(axis=-1))
    query = np.arange(len(w))
    # Of answers with equal weights, the one with the least second moment is used.
    left, right = np.lexsort((s, w))[:, 0], np.lexsort((s, -w))[:, 0]
    dust = _DUST * np.abs(s).max(axis=-1)
    while True:
        width = w[query, right] - w[query, left]
        rise = s[query, right] - s[query, left]
        slope = np.divide(rise, width, out=np.zeros(len(w)), where=width > 0)
        above = s - s[query, left, None] - slope[:, None] * (w - w[query, left, None])
        lowest = above.argmin(axis=-1)
        below = above[query, lowest] < -dust
        if not below.any():
            break
        side = w[query, lowest] <= value
        left = np.where(below & side, lowest, left)
        right = np.where(below & ~side, lowest, right)
    moment = s[query, left] + slope * (value - w[query, left])
    return np.asarray(np.maximum(moment - value**2, 0.0).reshape(np.shape(values)))


Figure = TypeVar("Figure", float, Floats)


class Ends(NamedTuple, Generic[Figure]):
    """The ends of intervals about their estimates, not clipped to the possible range."""

    low: Figure
    value: Figure
    high: Figure


def difference_ends(
    one: Ends[Figure], other: Ends[Figure], correlation: Figure
) -> tuple[Floats, Floats]:
    """Return the ends of one minus the other, also for arrays.

    An end's squared distance from its estimate is z^2 times the variance that applies near that
    end. So a contrast has the variance of the ends at which it is least, or greatest, with the
    covariance of the estimates (MOVER: Zou and Donner 2008). docs/mathematics.md, section 19.
    """
    value = np.asarray(one.value) - other.value

    def reach(first: Figure, second: Figure) -> Floats:
        square = np.square(first) + np.square(second) - 2 * correlation * first * second
        return np.asarray(np.sqrt(np.maximum(square, 0.0)))

    return (
        value - reach(one.value - one.low, other.high - other.value),
        value + reach(one.high - one.value, other.value - other.low),
    )
