"""Debiasing: a left inverse of the transposed solution matrix, applied to the counts.

If f are the true frequencies, responses come with frequencies lambda = P^T f. Any G with G P^T = I
gives an unbiased estimate G c/n of f. Never clipped, never rescaled: the estimate may leave [0, 1],
and averages of it stay right.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Mechanism, RandomisedResponse

__all__ = ["NotInvertible", "debias", "left_inverse", "solution_matrix"]

Floats = NDArray[np.float64]


class NotInvertible(ValueError):
    """Two mixtures of categories give the same responses: no estimate can tell them apart."""


def solution_matrix(mechanism: Mechanism) -> Floats:
    """Return P as floats, shape (categories, responses)."""
    return np.array(
        [
            [float(mechanism.probability(x, y)) for y in range(mechanism.responses)]
            for x in range(mechanism.categories)
        ]
    )


def left_inverse(matrix: Floats) -> Floats:
    """Return G with G P^T = I.

    Args:
        matrix: P, shape (categories, responses), of full row rank.

    Returns:
        G, shape (categories, responses): the Moore-Penrose inverse of P^T.

    Raises:
        NotInvertible: if the rows of P are not independent.
    """
    if np.linalg.matrix_rank(matrix) < matrix.shape[0]:
        raise NotInvertible("the solution matrix's rows are not linearly independent")
    return np.asarray(np.linalg.pinv(matrix.T), dtype=np.float64)


def debias(mechanism: Mechanism, counts: Sequence[int]) -> Floats:
    """Return the unbiased estimate of the true frequencies.

    Args:
        mechanism: what the devices sampled from; its implemented integers are used.
        counts: how often each response was seen, shape (responses,); the sum n is positive.

    Returns:
        Estimated frequencies, shape (categories,); they may leave [0, 1]. They sum to 1 for
        randomised response and every other square matrix, not in general.

    Raises:
        ValueError: for a wrong number of counts, or no reports.

    Source: docs/mathematics.md, section 3.
    """
    n = check_counts(mechanism, counts)
    if isinstance(mechanism, RandomisedResponse):
        # P = kappa I + q 11^T, so P^-1 = (I - q 11^T)/kappa, and
        #   f_j = (c_j/n - q)/kappa = (c_j N - n a) / (n (N - k a)),   q = a/N, kappa = 1 - k q:
        # in integers, so that nothing cancels however small kappa is.
        grid, a = mechanism.grid, mechanism.lies
        denominator = n * (grid - mechanism.categories * a)
        return np.array([(int(count) * grid - n * a) / denominator for count in counts])
    return left_inverse(solution_matrix(mechanism)) @ (np.asarray(counts, dtype=np.float64) / n)


def check_counts(mechanism: Mechanism, counts: Sequence[int]) -> int:
    """Return the number of reports.

    Raises:
        ValueError: for a wrong number of counts, a negative one, or no reports.
    """
    if len(counts) != mechanism.responses:
        raise ValueError(f"{mechanism.responses} counts are expected, one a response")
    n = sum(int(count) for count in counts)
    if n < 1 or min(counts) < 0:
        raise ValueError("there is nothing to estimate from: no reports")
    return n
