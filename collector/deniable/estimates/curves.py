"""The cumulative curve of ordered answers, in a band that holds for all of it at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from deniable.estimates.binomial import check_level, normal_quantile
from deniable.estimates.cumulative import blur_of, rising_shares
from deniable.estimates.decoders import Counts, Decoder, Floats, Tally, decoder_of
from deniable.estimates.quantiles import ShareQueries
from deniable.estimates.views import projected
from deniable.mechanisms import Mechanism

MOST_CUTS: Final = 256
"""Of more answers the curve is looked at for so many, evenly spaced."""

_DRAWN: Final = 10_000
_SEED: Final = 20261
_SURE: Final = 0.001
"""The chance that the drawn quantile is below the true one is at most this."""


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
