"""Ordered answers: quantiles, by testing every value, and the curve, in a band for all of it."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from deniable.estimates.binomial import check_level, normal_quantile
from deniable.estimates.decoders import Counts, Decoder, Floats, Tally, decoder_of
from deniable.estimates.estimate import Estimate
from deniable.estimates.frequencies import projected
from deniable.estimates.queries import Queries
from deniable.estimates.results import Worded
from deniable.mechanisms import Mechanism

# F_v is the share of answers at or below category v. Its unbiased estimate is sharp, and where near
# responses are nearly equally likely, whatever the answer, it is mostly noise: neighbouring
# estimates err in opposite directions. Averages over neighbours err
# far less. And they still bound F_v, because F never falls: its average over the next values is no
# less than F_v, its average over the last values no more.

_MOST_WEIGHTS: Final = 1 << 21
"""Cuts times responses: all of up to 1,448 values; of 4,096, every eighth."""
_ERRORS: Final = 2
"""How many standard errors are traded against one of blur."""


def averaged_shares(categories: int, cuts: Sequence[int], blur: int, shift: int) -> Floats:
    """Return the weights of averages of F around each cut.

    Averages are triangular: F_(v + shift + u) for |u| <= blur weighs 1 + blur - |u|. So they are
    over no value below v if shift = blur, and over none above it if shift = -blur. F is 0 below the
    first category and 1 from the last one on, which is known, not estimated. Cuts are from -1
    (nothing) to categories - 1 (everything); weights have the shape (cuts, categories).
    """
    # The average of 1[x <= v + shift + u] over u is the tail of the weights of u from
    # d = x - v - shift on: everything at d = -blur, nothing at blur + 1.
    triangle = [blur + 1 - abs(u) for u in range(-blur, blur + 1)]
    tail = np.array([*[*accumulate(triangle)][::-1], 0]) / (blur + 1) ** 2
    v = np.asarray(cuts)[:, None]
    distance = np.arange(categories) - v - shift
    weights = tail[np.clip(distance, -blur, blur + 1) + blur]
    return np.where(v < 0, 0.0, np.where(v >= categories - 1, 1.0, weights))


def cuts_of(decoder: Decoder, most: int | None = None) -> range:
    """Return the last values of the ranges that are looked at, evenly spaced, at most so many."""
    k = decoder.categories
    stride = -(-k * decoder.responses // _MOST_WEIGHTS)
    if most is not None:
        stride = max(stride, -(-k // most))
    return range((k - 1) % stride, k, stride)


def rising_shares(shares: Floats, errors: Floats) -> Floats:
    """Return the nearest shares that rise, to 1 at the last cut."""
    weights = np.ones(len(shares)) if np.isinf(errors).any() else 1 / np.maximum(errors, 1e-9) ** 2
    fitted = optimize.isotonic_regression(shares[:-1], weights=weights[:-1]).x
    # The least squares within [0, 1] are those without bounds, clipped.
    return np.append(np.clip(fitted, 0, 1), 1.0)


def blur_of(mechanism: Mechanism, n: int) -> int:
    """Return the blur of averages, chosen before looking at the counts.

    The blur at which a bound of F is nearest to it, in the middle of a uniform population: b values
    of blur move it by b/k, and leave an error of so and so much. Bounds hold with any blur that
    does not depend on the data.
    """
    assert isinstance(mechanism, Hashable)
    if not decoder_of(mechanism).tells_shares:
        return 0
    blurs, variance = _blurs(mechanism)
    costs = _ERRORS * np.sqrt(variance / n) + np.array(blurs) / mechanism.categories
    return blurs[int(costs.argmin())]


@lru_cache(maxsize=2)
def _blurs(mechanism: Mechanism) -> tuple[list[int], Floats]:
    """Return the blurs to choose from, and n times the variance that each leaves."""
    k = mechanism.categories
    blurs = [0]
    while (wider := blurs[-1] + max(1, blurs[-1] // 2)) < k / 2:
        blurs.append(wider)
    decoder = decoder_of(mechanism)
    shares, variance = decoder.even_shares, []
    for blur in blurs:
        (g,) = decoder.kernels(averaged_shares(k, [(k - 1) // 2], blur, 0))
        variance.append(max(0.0, float(g**2 @ shares - (g @ shares) ** 2)))
    return blurs, np.array(variance)


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
_FURTHEST: Final = 1000.0
"""So many squared errors no level asks for."""
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

    @property
    def name(self) -> str:
        """Return which quantile it is, for people."""
        return QUARTILES.get(self.probability, f"{100 * self.probability:.12g} % quantile")


def quantiles(
    mechanism: Mechanism,
    counts: Counts,
    values: Sequence[Fraction] | Sequence[str],
    probabilities: Sequence[float] = (0.25, 0.5, 0.75),
    level: float = 0.95,
) -> tuple[Quantile[Any], ...]:
    """Estimate quantiles, by test inversion (Woodruff 1952; docs/mathematics.md, section 11)."""
    check_level(level)
    k = mechanism.categories
    if len(values) != k:
        raise ValueError(f"{k} values are expected, one a category")
    if not all(0 < probability < 1 for probability in probabilities):
        raise ValueError("a quantile's probability must be in (0, 1), such as 0.5")
    bounds = quantile_bounds(mechanism, counts)
    z = normal_quantile(level)
    answers: list[Any] = [one if isinstance(one, str) else float(one) for one in values]
    made = []
    for p in probabilities:
        value, low, high = (answers[place] for place in bounds.places(p, z))
        made.append(Quantile(float(p), value, low, high, level))
    return tuple(made)


def quantile_bounds(mechanism: Mechanism, counts: Counts) -> "QuantileBounds":
    """Return the shares up to each value that quantiles are tested by."""
    decoder = decoder_of(mechanism)
    tally = decoder.tally(counts)
    return ShareQueries.of(decoder, blur_of(mechanism, tally.n)).bounds(tally)


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
        estimate = self.estimate(probability)
        staying = [*np.flatnonzero(self.distances(probability) <= z), estimate]
        firsts, lasts = self.ends
        return int(lasts[estimate]), int(firsts[min(staying)]), int(lasts[max(staying)])

    @property
    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first and the last place of each range between two cuts."""
        lasts = np.array(self.cuts)
        return np.append(0, lasts[:-1] + 1), lasts

    def estimate(self, probability: float) -> int:
        """Return the range that the estimate of a quantile is the last place of."""
        return int(np.argmax(self.rising >= probability - TIE))

    def distances(self, probability: float) -> Floats:
        """Return at how many errors each range is rejected; 0 of what no test rejects."""
        below = np.append(0.0, self.before[:-1] - probability)
        pairs = (
            (probability - self.after, self.after_error),
            (below, np.append(0.0, self.before_error[:-1])),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.maximum(*(np.where(d > 0, d / e, 0.0) for d, e in pairs)))

    def difference(
        self, other: "QuantileBounds", probability: float, level: float
    ) -> tuple[int, int]:
        """Return the least and the greatest number of places by which a quantile is another's plus.

        They are ends of an interval: of independent counts over the same values.
        """

        # A difference stays if two ranges that are so far apart are rejected at x and y errors,
        # with x^2 + y^2 <= c. Of the true ranges, x is |N| of a normal N at most, and where answers
        # lie so close that ranges next to them are as good, the least x^2 + y^2 of all that are so
        # far apart is N^2 at most: so it is with intervals of sums (MOVER: Zou and Donner 2008).
        # Where they are far apart, no other ranges will do, and one side's quantile may be at the
        # end of its range, so that half of the time x is 0 and else |N|: with both, x^2 + y^2 is 0
        # in 1/4 of samples, in 1/2 has one degree of freedom, in 1/4 two. The c of these is larger.
        def missed(c: float) -> float:
            return float(special.chdtrc(1, c) / 2 + special.chdtrc(2, c) / 4) - (1 - level)

        within = float(optimize.brentq(missed, 0.0, _FURTHEST)) if missed(0.0) > 0 else 0.0
        x, y = (side.distances(probability) for side in (self, other))
        i, j = np.nonzero(x[:, None] ** 2 + y**2 <= within)
        i, j = (
            np.append(kept, side.estimate(probability)) for kept, side in ((i, self), (j, other))
        )
        (first, last), (least, most) = self.ends, other.ends
        return int((first[i] - most[j]).min()), int((last[i] - least[j]).max())


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
