"""Ordered answers: quantiles, by testing every value, and the cumulative curve with its band."""

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

# F_v is the share of answers at or below category v. Its unbiased estimate is sharp. If nearby
# responses are nearly equally likely, whatever the answer, it is mostly noise: neighbouring
# estimates err in opposite directions. Averages over neighbours have far smaller errors. They still
# bound F_v, because F never falls: its average over the next values is at least F_v, its average
# over the last values at most F_v.

_MOST_WEIGHTS: Final = 1 << 21
"""The most cuts times responses: all cuts for up to 1,448 values; every eighth for 4,096."""
_ERRORS: Final = 2
"""The number of standard errors that are traded for one unit of blur."""


def averaged_shares(categories: int, cuts: Sequence[int], blur: int, shift: int) -> Floats:
    """Return the weights of averages of F around each cut.

    Averages are triangular: F_(v + shift + u) for |u| <= blur weighs 1 + blur - |u|. So they
    include no value below v if shift = blur, and none above it if shift = -blur. F is 0 below the
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
    """Return the last values of the considered ranges, evenly spaced, at most this many."""
    k = decoder.categories
    stride = -(-k * decoder.responses // _MOST_WEIGHTS)
    if most is not None:
        stride = max(stride, -(-k // most))
    return range((k - 1) % stride, k, stride)


def rising_shares(shares: Floats, errors: Floats) -> Floats:
    """Return the nearest nondecreasing shares, with 1 at the last cut."""
    weights = np.ones(len(shares)) if np.isinf(errors).any() else 1 / np.maximum(errors, 1e-9) ** 2
    fitted = optimize.isotonic_regression(shares[:-1], weights=weights[:-1]).x
    # The least squares within [0, 1] are those without bounds, clipped.
    return np.append(np.clip(fitted, 0, 1), 1.0)


def blur_of(mechanism: Mechanism, n: int) -> int:
    """Return the blur of averages, chosen before reading the counts.

    It is the blur at which a bound of F is nearest to it, in the middle of a uniform population. A
    blur of b values shifts the bound by b/k, and leaves a known error. Bounds are valid with any
    blur that does not depend on the data.
    """
    assert isinstance(mechanism, Hashable)
    if not decoder_of(mechanism).tells_shares:
        return 0
    blurs, variance = _blurs(mechanism)
    costs = _ERRORS * np.sqrt(variance / n) + np.array(blurs) / mechanism.categories
    return blurs[int(costs.argmin())]


@lru_cache(maxsize=2)
def _blurs(mechanism: Mechanism) -> tuple[list[int], Floats]:
    """Return the blurs to choose from, and n times the variance of each."""
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
"""With more answers, the curve is computed at this many, evenly spaced."""

_DRAWN: Final = 10_000
_SEED: Final = 20261
_SURE: Final = 0.001
"""The chance that the drawn quantile is below the true one is at most this."""
_WORTH: Final = 0.5
"""A band wider than this, on average, is too uninformative to show."""
_LARGE: Final = 1000
"""With fewer reports the band may hold less often: at epsilon 6, for 100 of them, in 78 %."""
_FURTHEST: Final = 1000.0
"""More squared errors than any level requires."""
_Value = TypeVar("_Value", float, str)


@dataclass(frozen=True, slots=True)
class Quantile(Worded, Generic[_Value]):
    """The smallest value at or below which at least a share ``probability`` of the answers lies.

    The estimate and the ends of the interval are among the values, numbers or names of answers. In
    large samples the interval covers as often as its level states, or more. ``share`` is the share
    of answers up to the estimate, if the quantile is from a histogram.
    """

    probability: float
    value: _Value
    low: _Value
    high: _Value
    level: float
    share: Estimate | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Return the name of the quantile, for people."""
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
        raise ValueError(f"{k} values are expected, one per category")
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
    """Return the shares up to each value, with the bounds that test quantiles."""
    decoder = decoder_of(mechanism)
    tally = decoder.tally(counts)
    blur = blur_of(mechanism, tally.n)
    return ShareQueries.of(decoder, blur, cuts_of(decoder)).bounds(tally)


@dataclass(frozen=True, slots=True, eq=False)
class ShareQueries:
    """The queries for shares up to some values, and for averages of these that bound them."""

    cuts: range
    sharp: Queries
    after: Queries
    before: Queries

    @classmethod
    def of(cls, decoder: Decoder, blur: int, cuts: range) -> "ShareQueries":
        """Return the queries up to these values, with a blur that does not depend on counts."""

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
        cuts: the places of the values.
        rising: the nearest nondecreasing shares.
        after, before: averages over the next values and over the last ones.
    """

    cuts: range
    rising: Floats
    after: Floats
    after_error: Floats
    before: Floats
    before_error: Floats

    def places(self, probability: float, z: float) -> tuple[int, int, int]:
        """Return the places of a quantile's estimate, and of its interval at this many errors."""
        # Between two cuts c < d, the quantile is in (c, d] if F_c < p <= F_d. In that case the
        # averages after d and before c lie on the same sides of p, so that each of the tests
        # after_d + z error < p,    before_c - z error > p rejects (c, d] with a probability of at
        # most (1 - level)/2 in large samples. The ranges that neither test rejects cover the
        # quantile with at least the level; so does their hull, with the estimate.
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
        """Return the range whose last place is a quantile's estimate."""
        return int(np.argmax(self.rising >= probability - TIE))

    def distances(self, probability: float) -> Floats:
        """Return the number of errors at which each range is rejected; 0 if no test rejects it."""
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
        """Return the least and greatest number of places by which this quantile exceeds another's.

        They are the ends of an interval, for independent counts over the same values.
        """

        # A difference is kept if two ranges so far apart are rejected at x and y errors, with x^2 +
        # y^2 <= c. For the true ranges, x is at most |N| of a normal N. If answers are so close
        # that neighbouring ranges are equally good, the least x^2 + y^2 of all pairs so far apart
        # is at most N^2, as with intervals of sums (MOVER: Zou and Donner 2008). If they are far
        # apart, no other ranges qualify, and one side's quantile may be at the end of its range, so
        # that half of the time x is 0 and otherwise |N|. With both sides, x^2 + y^2 is 0 in 1/4 of
        # samples, in 1/2 has one degree of freedom, in 1/4 two. The c for the latter case is
        # larger.
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
    """The shares of answers up to each of some answers, in order; the last is the greatest answer.

    Attributes:
        categories: the answers up to which shares are computed.
        estimate: the shares. They may leave [0, 1] or fall, and are unbiased except for ``blur``.
        rising: the nearest shares that stay in [0, 1] and never fall.
        low, high: a band that contains the whole true curve with the probability of the level, or
            more, in large samples; also between these answers, since the curve rises.
        deviations: the number of standard errors to either side.
        blur: the number of answers to either side over which estimates are averaged to reduce
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
        """Return the average width of the band."""
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
    queries = ShareQueries.of(decoder, blur, cuts_of(decoder, MOST_CUTS))
    estimate, error = high, high_error = low, low_error = queries.sharp.cautious(tally, tally.n)
    kernels = queries.sharp.kernels
    if blur:
        # F is at most its average over the next answers, and at least that over the last ones.
        high, high_error = queries.after.cautious(tally, tally.n)
        low, low_error = queries.before.cautious(tally, tally.n)
        kernels = np.concatenate([-queries.after.kernels, queries.before.kernels])
    deviations = _largest_deviation(decoder, tally, kernels, level, both_sides=not blur)
    high, low = high + deviations * high_error, low - deviations * low_error
    # F rises, within [0, 1] and to 1. If chance moves one end beyond the other, both are kept.
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
    """Return the errors by which no estimate is too high; with ``both_sides``, or too low."""
    # The quantile of the largest of normal variables with the correlations of the kernels g, in the
    # possible population nearest to the estimate: drawn, and limited to the union bound.
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
    """Quartiles by the names of answers, and the cumulative curve, of this many reports."""

    reports: int
    quartiles: tuple[Quantile[str], ...]
    curve: CumulativeCurve

    @property
    def withheld(self) -> bool:
        """Return whether the band is too uninformative, or holds too seldom, to show to people."""
        return self.curve.width > _WORTH or self.reports < _LARGE
