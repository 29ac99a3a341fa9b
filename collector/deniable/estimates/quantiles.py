"""Quantiles of ordered categories, by testing every value."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from scipy.optimize import isotonic_regression

from deniable.estimates.binomial import check_level, normal_quantile
from deniable.estimates.cumulative import averaged_shares, blur_of
from deniable.estimates.decoders import Counts, Floats, decoder_of
from deniable.estimates.queries import cautious_values
from deniable.mechanisms import Mechanism

_TIE: Final = 1e-9
"""A share this near to a quantile's probability has reached it: rounding decides no tie."""
_MOST_WEIGHTS: Final = 1 << 21
"""Values tested times responses: all of up to 1,448 values; of 4,096, every eighth."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """The smallest value at or below which at least a share ``probability`` of the answers lies.

    Estimate and ends of the interval are among the values; in large samples it covers as often as
    its level says, or more.
    """

    probability: float
    value: float
    low: float
    high: float
    level: float


def quantiles(
    mechanism: Mechanism,
    counts: Counts,
    values: Sequence[Fraction],
    probabilities: Sequence[float] = (0.25, 0.5, 0.75),
    level: float = 0.95,
) -> tuple[Quantile, ...]:
    """Estimate quantiles, by test inversion (Woodruff 1952; docs/mathematics.md, section 10)."""
    check_level(level)
    decoder, k = decoder_of(mechanism), mechanism.categories
    tally = decoder.tally(counts)
    if len(values) != k:
        raise ValueError(f"{k} values are expected, one a category")
    if not all(0 < probability < 1 for probability in probabilities):
        raise ValueError("a quantile's probability must be in (0, 1), such as 0.5")
    blur = blur_of(mechanism, tally.n)
    stride = -(-k * mechanism.responses // _MOST_WEIGHTS)
    cuts = range((k - 1) % stride, k, stride)

    def averages(shift: int) -> tuple[Floats, Floats]:
        return cautious_values(decoder, tally, averaged_shares(k, cuts, blur, shift))

    z = normal_quantile(level)
    after, after_error = averages(blur)
    before, before_error = averages(-blur)
    rising = _isotonic(*averages(0))
    quantiles = []
    for p in probabilities:
        # Between two cuts c < d, the quantile is in (c, d] if F_c < p <= F_d. In that case the
        # averages after d and before c lie on the same sides of p, so that each of the tests
        #     after_d + z error < p,    before_c - z error > p
        # rejects (c, d] with a probability of at most (1 - level)/2 in large samples. What neither
        # rejects covers the quantile with at least the level; so does its hull, with the estimate.
        kept = after + z * after_error >= p
        kept[1:] &= (before - z * before_error)[:-1] <= p
        estimate = int(np.argmax(rising >= p - _TIE))
        staying = [*np.flatnonzero(kept), estimate]
        first, last = min(staying), max(staying)
        indices = cuts[estimate], cuts[first - 1] + 1 if first else 0, cuts[last]
        value, low, high = (float(values[index]) for index in indices)
        quantiles.append(Quantile(float(p), value, low, high, level))
    return tuple(quantiles)


def _isotonic(shares: Floats, errors: Floats) -> Floats:
    """Return the nearest shares that rise, to 1 at the last cut."""
    weights = np.ones(len(shares)) if np.isinf(errors).any() else 1 / np.maximum(errors, 1e-9) ** 2
    fitted = isotonic_regression(shares[:-1], weights=weights[:-1]).x
    # The least squares within [0, 1] are those without bounds, clipped.
    return np.append(np.clip(fitted, 0, 1), 1.0)
