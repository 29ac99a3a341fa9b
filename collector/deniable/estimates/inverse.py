"""Debiasing: a left inverse of the transposed solution matrix, applied to the counts.

If f are the true frequencies, responses come with frequencies lambda = P^T f. Any G with G P^T = I
gives an unbiased estimate G c/n of f. Never clipped, never rescaled: the estimate may leave [0, 1],
and averages of it stay right.
"""

import operator
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Mechanism, Rows, TwoValuedMechanism

__all__ = ["NotInvertible", "debias", "left_inverse", "solution_matrix"]

Floats = NDArray[np.float64]

_WORST_CONDITION: Final = 1e13
"""Beyond this, fewer than three digits of an estimate would be left in floating point."""

_KEPT: Final = 2
"""Mechanisms whose tables are kept: with 4,096 categories they are 256 MiB each."""


class NotInvertible(ValueError):
    """Two mixtures of categories give the same responses: no estimate can tell them apart."""


@dataclass(frozen=True, eq=False)
class Tables:
    """What the estimates of a mechanism without closed form are made of; not to be written to.

    Attributes:
        matrix: P, shape (categories, responses).
        inverse: G with G P^T = I, of the same shape.
    """

    matrix: Floats
    inverse: Floats

    @cached_property
    def moments(self) -> "Moments":
        """Return the second moments of each frequency's kernel, made once."""
        moments = self.matrix @ (self.inverse**2).T
        own = moments.diagonal().copy()
        # The variance if x is true: the mean is (G P^T)_jx, 1 for x = j and 0 else.
        np.fill_diagonal(moments, own - 1)
        least = moments.min(axis=0)
        np.fill_diagonal(moments, -np.inf)
        return Moments(own, np.maximum(moments.max(axis=0), 0.0), np.maximum(least, 0.0))

    @cached_property
    def extremes(self) -> "Extremes":
        """Return the least and the largest entries, found once."""
        return Extremes(
            self.inverse.min(axis=1),
            self.inverse.max(axis=1),
            self.matrix.min(axis=0),
            self.matrix.max(axis=0),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """The means of G_jy^2 over the responses y to a true category, for each j.

    Attributes:
        own: if j is true.
        other: if another is true, the largest; 0 if there is no other.
        least_variance: the least variance of G_jy, whichever category is true.
    """

    own: Floats
    other: Floats
    least_variance: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Extremes:
    """How far a single report's weight can go, and how likely a response can be.

    Attributes:
        least, most: of G_jy over the responses y, for each category j.
        rarest, likeliest: of P_xy over the true categories x, for each response y.
    """

    least: Floats
    most: Floats
    rarest: Floats
    likeliest: Floats


def extremes(mechanism: Mechanism) -> Extremes:
    """Return the least and the largest entries of a mechanism's matrix and of its left inverse."""
    if not isinstance(mechanism, TwoValuedMechanism):
        return tables(mechanism).extremes
    # G = (I - q 11^T)/kappa
    d, q, kappa = mechanism.truth, mechanism.lie, mechanism.contraction
    return Extremes(
        *(np.full(mechanism.categories, float(x)) for x in (-q / kappa, (1 - q) / kappa, q, d))
    )


def tables(mechanism: Mechanism) -> Tables:
    """Return a mechanism's tables, made once.

    Raises:
        NotInvertible: if no estimate can tell its categories apart.
    """
    assert isinstance(mechanism, Hashable)
    return _tables(mechanism)


@lru_cache(maxsize=_KEPT)
def _tables(mechanism: Mechanism) -> Tables:
    matrix = solution_matrix(mechanism)
    inverse = left_inverse(matrix)
    matrix.flags.writeable = inverse.flags.writeable = False
    return Tables(matrix, inverse)


def solution_matrix(mechanism: Rows) -> Floats:
    """Return P as floats, shape (categories, responses)."""
    grid = mechanism.grid
    # Both ways round each entry once. Dividing by a power of two is exact, so that a whole row of
    # integers can be rounded at a time.
    binary = grid & (grid - 1) == 0 and grid <= 1 << 64
    matrix = np.empty((mechanism.categories, mechanism.responses))
    for x in range(mechanism.categories):
        row = mechanism.row(x)
        matrix[x] = (
            np.array(row, dtype=np.float64) / grid if binary else [weight / grid for weight in row]
        )
    return matrix


def left_inverse(matrix: Floats) -> Floats:
    """Return G with G P^T = I: of all of them, the one of least variance at uniform frequencies.

    Args:
        matrix: P, shape (categories, responses), of full row rank.

    Returns:
        G, shape (categories, responses): the inverse of P^T if it is square. A response that never
        occurs weighs nothing. Each of G's other columns sums to 1.

    Raises:
        NotInvertible: if the rows of P are not independent, or so nearly dependent that floating
            point cannot tell.

    Source: Aitken 1936; docs/mathematics.md, section 3.
    """
    mass = matrix.sum(axis=0)
    if not mass.all():
        found = np.zeros_like(matrix)
        found[:, mass > 0] = left_inverse(matrix[:, mass > 0])
        return found
    categories, responses = matrix.shape
    if responses < categories:
        raise NotInvertible("fewer responses occur than there are categories")
    if responses == categories:
        # P = K D with D the masses of the columns, so (P^T)^-1 = (K^T)^-1 D^-1. Noise that piles up
        # at the ends of a range makes masses very different, and K is better conditioned.
        inverse = _inverted((matrix / mass).T)
        inverse /= mass
        return inverse
    # With f uniform, lambda = D 1/k, and a response has the covariance D/k - lambda lambda^T, of
    # which every G with G P^T = I makes G D G^T/k - f f^T. So D decides, and generalised least
    # squares have the least variance,
    #     G = C^-1 P D^-1,   C = P D^-1 P^T,
    # since G D N^T = C^-1 P N^T = 0 for every N with N P^T = 0, so that G + N has N D N^T more.
    # C stays what it is if a response is split into parts: only likelihoods count. With
    # D^-1/2 P^T = Q R it is R^-1 Q^T D^-1/2; C itself would square the condition of R.
    root = np.sqrt(mass)
    q, r = np.linalg.qr((matrix / root).T)
    return np.asarray(_inverted(r) @ q.T / root, dtype=np.float64)


def _inverted(matrix: Floats) -> Floats:
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError as error:
        raise NotInvertible("the solution matrix's rows are not linearly independent") from error
    condition = float(np.linalg.norm(matrix, 1) * np.linalg.norm(inverse, 1))
    if not condition <= _WORST_CONDITION:
        raise NotInvertible(
            f"floating point cannot invert the solution matrix (condition number {condition:.1g}); "
            "raise epsilon or use fewer categories"
        )
    return np.asarray(inverse, dtype=np.float64)


def debias(mechanism: Mechanism, counts: Sequence[int]) -> Floats:
    """Return the unbiased estimate of the true frequencies.

    Args:
        mechanism: what the devices sampled from; its implemented integers are used.
        counts: how often each response was seen, shape (responses,); the sum n is positive.

    Returns:
        Estimated frequencies, shape (categories,); they may leave [0, 1]. They sum to 1, or less
        if responses were counted that never occur.

    Raises:
        TypeError: for counts that are no integers.
        ValueError: for a wrong number of counts, or no reports.
        NotInvertible: if no estimate can tell the categories apart.

    Source: docs/mathematics.md, section 3.
    """
    n = check_counts(mechanism, counts)
    if isinstance(mechanism, TwoValuedMechanism):
        # P = kappa I + q 11^T, so P^-1 = (I - q 11^T)/kappa, and
        #   f_j = (c_j/n - q)/kappa = (c_j N - n a) / (n (N - k a)),   q = a/N, kappa = 1 - k q:
        # in integers, so that nothing cancels however small kappa is.
        grid, a = mechanism.grid, mechanism.lies
        denominator = n * (grid - mechanism.categories * a)
        return np.array([(int(count) * grid - n * a) / denominator for count in counts])
    return tables(mechanism).inverse @ (np.asarray(counts, dtype=np.float64) / n)


def check_counts(mechanism: Mechanism, counts: Sequence[int]) -> int:
    """Return the number of reports.

    Raises:
        TypeError: for counts that are no integers.
        ValueError: for a wrong number of counts, a negative one, or no reports.
    """
    if len(counts) != mechanism.responses:
        raise ValueError(f"{mechanism.responses} counts are expected, one a response")
    try:
        # Ints of Python's own: numpy's wrap around when they are summed.
        n = sum(map(operator.index, counts))
    except TypeError:
        raise TypeError("counts are integers: give them as they were counted, unscaled") from None
    if n < 1 or min(counts) < 0:
        raise ValueError("there is nothing to estimate from: no reports")
    return n
