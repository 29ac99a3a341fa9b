"""Ends of the difference, and of the multiple, of two figures by their own intervals.

An end's squared distance from its estimate is z^2 times the variance that holds near that end. So a
contrast has the variance of the ends at which it is least, or greatest, with the covariance of the
estimates (MOVER: Zou and Donner 2008). docs/mathematics.md, section 19.
"""

import math
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from deniable.estimates.decoders import Floats

Figure = TypeVar("Figure", float, Floats)


class Ends(NamedTuple, Generic[Figure]):
    """The ends of intervals, which are not cut to what is possible, about their estimates."""

    low: Figure
    value: Figure
    high: Figure


def difference_ends(
    one: Ends[Figure], other: Ends[Figure], correlation: Figure
) -> tuple[Floats, Floats]:
    """Return the ends of one less the other, of arrays too."""
    value = np.asarray(one.value) - other.value

    def reach(first: Figure, second: Figure) -> Floats:
        square = np.square(first) + np.square(second) - 2 * correlation * first * second
        return np.asarray(np.sqrt(np.maximum(square, 0.0)))

    return (
        value - reach(one.value - one.low, other.high - other.value),
        value + reach(one.high - one.value, other.value - other.low),
    )


def multiple_ends(one: Ends[float], other: Ends[float], correlation: float) -> tuple[float, float]:
    """Return the ends of all q of which no one less q times the other is apart from 0.

    There is no upper end if the other may be 0; it may be above 0.
    """
    # With x and y the distances to the ends: (a - q b)^2 = x^2 - 2 q rho x y + q^2 y^2, which is
    # A q^2 - 2 B q + C = 0. It has a root on that side of a/b on which x and y lie.
    low, a, high = one
    least, b, most = other

    def root(x: float, y: float, *, larger: bool) -> float:
        square, half, constant = b * b - y * y, a * b - correlation * x * y, a * a - x * x
        spread = math.sqrt(max(half * half - square * constant, 0.0))
        return (half + spread) / square if larger else constant / (half + spread)

    return (
        root(a - low, most - b, larger=False) if low > 0 else 0.0,
        root(high - a, b - least, larger=True) if least > 0 else math.inf,
    )
