"""Cumulative shares of ordered categories, averaged as far as the noise demands.

F_v is the share of answers at or below category v. Its unbiased estimate is sharp, and for
the numeric mechanism it is mostly noise: near responses are nearly equally likely, whatever the
answer, so that neighbouring estimates err in opposite directions. Averages over neighbours err far
less. And they still bound F_v, because F never falls: its average over the next values is no less
than F_v, its average over the last values no more.
"""

from collections.abc import Hashable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final

import numpy as np
from scipy.optimize import isotonic_regression

from deniable.estimates.decoders import Decoder, Floats, decoder_of
from deniable.mechanisms import Mechanism

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
    fitted = isotonic_regression(shares[:-1], weights=weights[:-1]).x
    # The least squares within [0, 1] are those without bounds, clipped.
    return np.append(np.clip(fitted, 0, 1), 1.0)


def blur_of(mechanism: Mechanism, n: int) -> int:
    """Return the blur of averages, chosen before looking at the counts.

    The blur at which a bound of F is nearest to it, in the middle of a uniform population: b values
    of blur move it by b/k, and leave an error of so and so much. Bounds hold with any blur that
    does not depend on the data.
    """
    assert isinstance(mechanism, Hashable)
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
