"""The exact covariance of the estimate, in the two models that differ in what is random.

``SAMPLED``: the devices are a random sample, and the estimate is of the population they came from.
``FIXED``: the devices are all there is, and only the mechanism is random. The two differ by
f(1 - f)/n on the diagonal.
"""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.inverse import check_counts, debias, left_inverse, solution_matrix
from deniable.mechanisms import Mechanism, RandomisedResponse

__all__ = ["Model", "covariance", "estimated_covariance", "standard_errors"]

Floats = NDArray[np.float64]


class Model(StrEnum):
    """What is random about the data."""

    SAMPLED = "sampled"
    FIXED = "fixed"


def covariance(mechanism: Mechanism, frequencies: Floats, n: int, model: Model) -> Floats:
    """Return the exact covariance of the debiased estimate, given the true frequencies.

    Args:
        mechanism: what the devices sample from.
        frequencies: f, shape (categories,).
        n: number of reports.
        model: what is random about the data.

    Returns:
        Shape (categories, categories).

    Source: docs/mathematics.md, section 4.
    """
    if isinstance(mechanism, RandomisedResponse):
        kappa, q = float(mechanism.contraction), float(mechanism.lie)
        lam = q + kappa * frequencies
    else:
        lam = solution_matrix(mechanism).T @ frequencies
    return _covariance(mechanism, frequencies, lam, model) / n


def estimated_covariance(mechanism: Mechanism, counts: Sequence[int], model: Model) -> Floats:
    """Return an unbiased estimate of that covariance from the counts.

    Raises:
        ValueError: for fewer than two reports in the sampled model, or no reports.
    """
    n = check_counts(mechanism, counts)
    # The responses' frequencies are taken as they were counted: in the sampled model that is the
    # sample covariance of G's columns, never negative, even if G is not square.
    lam = np.asarray(counts, dtype=np.float64) / n
    at_estimate = _covariance(mechanism, debias(mechanism, counts), lam, model)
    # Sampled: E[lamhat - lamhat^2] = (n-1)/n (lam - lam^2), so n becomes n - 1. Fixed: the
    # covariance is linear in f, so putting the unbiased fhat for f is unbiased as it stands.
    return at_estimate / (_degrees(n) if model is Model.SAMPLED else n)


def standard_errors(mechanism: Mechanism, counts: Sequence[int], model: Model) -> Floats:
    """Return the estimated standard error of each frequency, shape (categories,).

    For randomised response in O(categories), for any other matrix through the whole covariance.

    Raises:
        ValueError: for fewer than two reports in the sampled model, or no reports.
    """
    n = check_counts(mechanism, counts)
    if not isinstance(mechanism, RandomisedResponse):
        diagonal = np.diag(estimated_covariance(mechanism, counts, model))
        return np.sqrt(np.maximum(diagonal, 0.0))
    kappa = float(mechanism.contraction)
    if model is Model.SAMPLED:
        # Var f_j = lam_j (1 - lam_j) / (n kappa^2), estimated with n - 1.
        lam = np.asarray(counts, dtype=np.float64) / n
        return np.sqrt(lam * (1 - lam) / _degrees(n)) / kappa
    # n Var f_j = [f d (1-d) + (1-f) q (1-q)] / kappa^2, linear in f.
    d, q = float(mechanism.truth), float(mechanism.lie)
    f = debias(mechanism, counts)
    variance = (f * d * (1 - d) + (1 - f) * q * (1 - q)) / n
    return np.sqrt(np.maximum(variance, 0.0)) / kappa


def _covariance(mechanism: Mechanism, f: Floats, lam: Floats, model: Model) -> Floats:
    """Return n times the covariance: G C G^T, with C the covariance of one response's indicator.

    C = diag lam - lam lam^T in the sampled model, diag lam - P^T diag(f) P in the fixed one.
    """
    if isinstance(mechanism, RandomisedResponse):
        # G = (I - q 11^T)/kappa, and the rows of C sum to 0, so that G C G^T = C / kappa^2.
        kappa, q = float(mechanism.contraction), float(mechanism.lie)
        if model is Model.SAMPLED:
            mixed = np.outer(lam, lam)
        else:
            # P^T diag(f) P with P = kappa I + q 11^T and sum f = 1.
            mixed = kappa**2 * np.diag(f) + kappa * q * np.add.outer(f, f) + q**2
        return (np.diag(lam) - mixed) / kappa**2
    matrix = solution_matrix(mechanism)
    inverse = left_inverse(matrix)
    mixed = np.outer(lam, lam) if model is Model.SAMPLED else (matrix.T * f) @ matrix
    return np.asarray(inverse @ (np.diag(lam) - mixed) @ inverse.T, dtype=np.float64)


def _degrees(n: int) -> int:
    if n < 2:
        raise ValueError("one report has no standard error; wait for more")
    return n - 1
