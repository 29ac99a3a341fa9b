"""Ordered answers: quantiles, by testing every value, and the curve, in a band for all of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Generic, TypeVar, overload

import numpy as np
from scipy import special

from deniable.estimates.binomial import check_level, normal_quantile
from deniable.estimates.cumulative import averaged_shares, blur_of, cuts_of, rising_shares
from deniable.estimates.decoders import Counts, Decoder, Floats, Tally, decoder_of
from deniable.estimates.estimate import Estimate
from deniable.estimates.queries import Queries
from deniable.estimates.results import Worded
from deniable.estimates.views import projected
from deniable.mechanisms import Mechanism

TIE: Final = 1e-9
"""A share this near to a quantile's probability has reached it: rounding decides no tie."""
QUARTILES: Final = {0.25: "lower quartile", 0.5: "median", 0.75: "upper quartile"}
MOST_CUTS: Final = 256
"""Of more answers the curve is looked at for so many, evenly spaced."""

_DRAWN: Final = 10_000
_SEED: Final = 20261
_SURE: Final = 0.001
"""The chance that the drawn quantile is below the true one is at most this."""
_WORTH: Final = 0.5
"""A band over more than this, on average, says too little to be shown."""
_LARGE: Final = 1000
"""Of fewer reports the band may hold less often than it says: at epsilon 6, of 100 in 78 %."""
_Value = TypeVar("_Value", float, str)


@dataclass(frozen=True, slots=True)
class Quantile(Worded, Generic[_Value]):
    """The smallest value at or below which at least a share ``probability`` of the answers lies.

    Estimate and ends of the interval are among the values, numbers or the names of answers; in
    large samples it covers as often as its level says, or more. ``share`` is that of the answers up
    to it, if it is of a histogram.
    """

    probability: float
    value: _Value
    low: _Value
    high: _Value
    level: float
    share: Estimate | None = field(default=None, compare=False, repr=False)


@overload
def quantiles(
    mechanism: Mechanism,
    counts: Counts,
    values: Sequence[Fraction],
    probabilities: Sequence[float] = ...,
    level: float = ...,
) -> tuple[Quantile[float], ...]: ...


@overload
def quantiles(
    mechanism: Mechanism,
    counts: Counts,
    values: Sequence[str],
    probabilities: Sequence[float] = ...,
    level: float = ...,
) -> tuple[Quantile[str], ...]: ...


def quantiles(
    mechanism: Mechanism,
    counts: Counts,
    values: Sequence[Fraction] | Sequence[str],
    probabilities: Sequence[float] = (0.25, 0.5, 0.75),
    level: float = 0.95,
) -> tuple[Quantile[float], ...] | tuple[Quantile[str], ...]:
    """Estimate quantiles, by test inversion (Woodruff 1952; docs/mathematics.md, section 10)."""
    check_level(level)
    decoder, k = decoder_of(mechanism), mechanism.categories
    tally = decoder.tally(counts)
    if len(values) != k:
        raise ValueError(f"{k} values are expected, one a category")
    if not all(0 < probability < 1 for probability in probabilities):
        raise ValueError("a quantile's probability must be in (0, 1), such as 0.5")
    bounds = ShareQueries.of(decoder, blur_of(mechanism, tally.n)).bounds(tally)
    z = normal_quantile(level)
    made: list[Quantile[Any]] = []
    for p in probabilities:
        value, low, high = (_written(values[place]) for place in bounds.places(p, z))
        made.append(Quantile(float(p), value, low, high, level))
    return tuple(made)


@dataclass(frozen=True, slots=True, eq=False)
class ShareQueries:
    """The queries for shares up to some values, and for averages of these that bound them."""

    cuts: range
    sharp: Queries
    after: Queries
    before: Queries

    @classmethod
    def of(cls, decoder: Decoder, blur: int, most: int | None = None) -> "ShareQueries":
        """Return the queries up to so many values, with a blur that does not depend on counts."""
        cuts = cuts_of(decoder, most)

        def averages(shift: int) -> Queries:
            weights = averaged_shares(decoder.categories, cuts, blur, shift)
            return Queries.of(decoder, weights)

        sharp = averages(0)
        after, before = (averages(blur), averages(-blur)) if blur else (sharp, sharp)
        return cls(cuts, sharp, after, before)

    def bounds(self, tally: Tally) -> "QuantileBounds":
        """Return the shares and averages of counts."""
        sharp = self.sharp.cautious(tally, tally.n)
        after, before = (
            sharp if queries is self.sharp else queries.cautious(tally, tally.n)
            for queries in (self.after, self.before)
        )
        return QuantileBounds(self.cuts, rising_shares(*sharp), *after, *before)


@dataclass(frozen=True, slots=True, eq=False)
class QuantileBounds:
    """The shares up to some values, and averages of these that bound them, with their errors.

    Attributes:
        cuts: the values, by their places.
        rising: the nearest shares that rise.
        after, before: averages over the next values and over the last ones.
    """

    cuts: range
    rising: Floats
    after: Floats
    after_error: Floats
    before: Floats
    before_error: Floats

    def places(self, probability: float, z: float) -> tuple[int, int, int]:
        """Return the places of a quantile's estimate, and of its ends at so many errors."""
        # Between two cuts c < d, the quantile is in (c, d] if F_c < p <= F_d. In that case the
        # averages after d and before c lie on the same sides of p, so that each of the tests
        #     after_d + z error < p,    before_c - z error > p
        # rejects (c, d] with a probability of at most (1 - level)/2 in large samples. What neither
        # rejects covers the quantile with at least the level; so does its hull, with the estimate.
        kept = self.after + z * self.after_error >= probability
        kept[1:] &= (self.before - z * self.before_error)[:-1] <= probability
        estimate = int(np.argmax(self.rising >= probability - TIE))
        staying = [*np.flatnonzero(kept), estimate]
        first, last = min(staying), max(staying)
        cuts = self.cuts
        return cuts[estimate], cuts[first - 1] + 1 if first else 0, cuts[last]


def _written(value: Fraction | str) -> float | str:
    return value if isinstance(value, str) else float(value)


@dataclass(frozen=True, slots=True, eq=False)
class CumulativeCurve:
    """The shares of answers up to each of some, in their order, the last of which is the greatest.

    Attributes:
        categories: the answers up to which they are.
        estimate: the shares. They may leave [0, 1] or fall, and are unbiased but for ``blur``.
        rising: the nearest shares that do neither.
        low, high: a band that holds the whole true curve with the probability of the level, or
            more, in large samples; between these answers as well, since it rises.
        deviations: how many standard errors it reaches to either side.
        blur: over how many answers to either side estimates are averaged, so that they are not all
            noise; the band allows for it.
    """

    categories: tuple[str, ...]
    estimate: Floats
    rising: Floats
    low: Floats
    high: Floats
    level: float
    deviations: float
    blur: int

    @property
    def width(self) -> float:
        """Return how wide the band is, on average."""
        return float((self.high - self.low).mean())


def cumulative_curve(
    mechanism: Mechanism, counts: Counts, categories: Sequence[str], level: float = 0.95
) -> CumulativeCurve:
    """Estimate the curve of ordered answers; docs/mathematics.md, section 20."""
    check_level(level)
    decoder, k = decoder_of(mechanism), mechanism.categories
    tally = decoder.tally(counts)
    if len(categories) != k:
        raise ValueError(f"{k} categories are expected")
    blur = blur_of(mechanism, tally.n)
    queries = ShareQueries.of(decoder, blur, MOST_CUTS)
    estimate, error = high, high_error = low, low_error = queries.sharp.cautious(tally, tally.n)
    kernels = queries.sharp.kernels
    if blur:
        # F is at most its average over the next answers, and at least that over the last ones.
        high, high_error = queries.after.cautious(tally, tally.n)
        low, low_error = queries.before.cautious(tally, tally.n)
        kernels = np.concatenate([-queries.after.kernels, queries.before.kernels])
    deviations = _largest_deviation(decoder, tally, kernels, level, both_sides=not blur)
    high, low = high + deviations * high_error, low - deviations * low_error
    # F rises, within [0, 1] and to 1. Where chance brings one end beyond the other, both are kept.
    high[-1] = low[-1] = 1.0
    high = np.minimum.accumulate(np.clip(high, 0, 1)[::-1])[::-1]
    low = np.maximum.accumulate(np.clip(low, 0, 1))
    return CumulativeCurve(
        tuple(categories[cut] for cut in queries.cuts),
        estimate,
        rising_shares(estimate, error),
        np.minimum(low, high),
        np.maximum(low, high),
        level,
        deviations,
        blur,
    )


def _largest_deviation(
    decoder: Decoder, tally: Tally, g: Floats, level: float, *, both_sides: bool
) -> float:
    """Return how many standard errors no query is too high by, with the probability of the level.

    Or too high or low, for both sides.

    The quantile of the largest of normal variables with the exact correlations of the kernels g, in
    the possible population that is nearest to the estimate: drawn, from a fixed seed, and no more
    than what a union bound has.
    """
    shares = decoder.response_shares(projected(decoder.frequencies(tally)))
    mean = g @ shares
    covariance = (g * shares) @ g.T - np.outer(mean, mean)
    deviation = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    uncertain = deviation > 1e-6 * deviation.max(initial=0.0)
    scale = deviation[uncertain]
    sides = len(scale) * (1 + both_sides)
    bound = normal_quantile(1 - 2 * (1 - level) / max(2, sides))
    if not len(scale):
        return bound
    values, vectors = np.linalg.eigh(
        covariance[np.ix_(uncertain, uncertain)] / np.outer(scale, scale)
    )
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = np.random.default_rng(_SEED).standard_normal((_DRAWN, len(scale))) @ root.T
    largest = np.sort((np.abs(drawn) if both_sides else drawn).max(axis=1))
    # More than r of the drawn ones are below the true quantile with the chance P(Bin > r).
    rank = int(special.bdtrik(1 - _SURE, _DRAWN, level)) + 1
    return min(bound, float(largest[rank])) if rank < _DRAWN else bound


@dataclass(frozen=True, slots=True)
class Distribution:
    """Quartiles by the names of answers, and the cumulative curve, of so many reports."""

    reports: int
    quartiles: tuple[Quantile[str], ...]
    curve: CumulativeCurve

    @property
    def withheld(self) -> bool:
        """Return whether the band says too little, or holds too seldom, to be shown to people."""
        return self.curve.width > _WORTH or self.reports < _LARGE
