"""The exact covariance of the estimate, in the two models that differ in what is random.

``SAMPLED``: the devices are a random sample, and the estimate is of the population they came from.
``FIXED``: the devices are all there is, and only the mechanism is random. The two differ by
f(1 - f)/n on the diagonal.
"""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.inverse import check_counts, debias, tables
from deniable.mechanisms import Mechanism, TwoValuedMechanism

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
    if isinstance(mechanism, TwoValuedMechanism):
        kappa, q = float(mechanism.contraction), float(mechanism.lie)
        lam = q + kappa * frequencies
    else:
        lam = tables(mechanism).matrix.T @ frequencies
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

    The roots of unbiased variances: a frequency on which no report bears has the error 0.

    Raises:
        ValueError: for fewer than two reports in the sampled model, or no reports.

    Source: docs/mathematics.md, section 4.
    """
    n = check_counts(mechanism, counts)
    lam = np.asarray(counts, dtype=np.float64) / n
    degrees = _degrees(n) if model is Model.SAMPLED else n
    if not isinstance(mechanism, TwoValuedMechanism):
        # The diagonal of G (diag lam - B) G^T in O(k |Y|). Sampled: B = lam lam^T, and G lam = f.
        # Fixed: B = P^T diag(f) P, and G B G^T = diag f since G P^T = I. So n Var f_j is
        #   sum_y lam_y G_jy^2 - f_j^2   or   sum_y lam_y G_jy^2 - f_j.
        inverse, f = tables(mechanism).inverse, debias(mechanism, counts)
        variance = _mean_squares(inverse, lam) - (f**2 if model is Model.SAMPLED else f)
        return np.sqrt(np.maximum(variance, 0.0) / degrees)
    kappa = float(mechanism.contraction)
    if model is Model.SAMPLED:
        # Var f_j = lam_j (1 - lam_j) / (n kappa^2), estimated with n - 1.
        return np.sqrt(lam * (1 - lam) / degrees) / kappa
    # n Var f_j = [f d (1-d) + (1-f) q (1-q)] / kappa^2, linear in f.
    d, q = float(mechanism.truth), float(mechanism.lie)
    f = debias(mechanism, counts)
    variance = (f * d * (1 - d) + (1 - f) * q * (1 - q)) / degrees
    return np.sqrt(np.maximum(variance, 0.0)) / kappa


def cautious_errors(
    mechanism: Mechanism,
    counts: Sequence[int],
    kernels: Floats,
    least: Floats,
    *,
    unseen: int = 0,
) -> Floats:
    """Return the standard errors that normal intervals are made of, in the sampled model.

    An estimate is the mean over the reports y of a kernel g(y). If no report happens to fall where
    g is large, the sample knows nothing of g's variance, but the matrix does: an estimate below the
    least variance that there can be is raised to it, which brings it nearer to the true one.

    Args:
        mechanism: what the devices sampled from.
        counts: how often each response was seen.
        kernels: g, shape (responses,), or (many, responses).
        least: the least variance of each g(y) in any population.
        unseen: how many more of each response to allow for, where a kernel lives on few of them.

    Returns:
        One error a kernel; infinite for a single report.
    """
    n = check_counts(mechanism, counts)
    if n < 2:
        return np.full(kernels.shape[:-1], np.inf)
    lam = np.asarray(counts, dtype=np.float64) / n
    squares = _mean_squares(kernels, lam + unseen / n)
    variance = (squares - (kernels @ lam) ** 2) * (n / (n - 1))
    return np.asarray(np.sqrt(np.maximum(variance, least) / n))


def _mean_squares(kernels: Floats, weights: Floats) -> Floats:
    return np.asarray(np.einsum("...y,...y,y->...", kernels, kernels, weights))


def _covariance(mechanism: Mechanism, f: Floats, lam: Floats, model: Model) -> Floats:
    """Return n times the covariance: G C G^T, with C the covariance of one response's indicator.

    C = diag lam - lam lam^T in the sampled model, diag lam - P^T diag(f) P in the fixed one.
    """
    if isinstance(mechanism, TwoValuedMechanism):
        # G = (I - q 11^T)/kappa, and the rows of C sum to 0, so that G C G^T = C / kappa^2.
        kappa, q = float(mechanism.contraction), float(mechanism.lie)
        if model is Model.SAMPLED:
            mixed = np.outer(lam, lam)
        else:
            # P^T diag(f) P with P = kappa I + q 11^T and sum f = 1.
            mixed = kappa**2 * np.diag(f) + kappa * q * np.add.outer(f, f) + q**2
        return (np.diag(lam) - mixed) / kappa**2
    # G lam = f and, since G P^T = I, G P^T diag(f) P G^T = diag f.
    inverse = tables(mechanism).inverse
    mixed = np.outer(inverse @ lam, inverse @ lam) if model is Model.SAMPLED else np.diag(f)
    return np.asarray((inverse * lam) @ inverse.T - mixed, dtype=np.float64)


def _degrees(n: int) -> int:
    if n < 2:
        raise ValueError("one report has no standard error; wait for more")
    return n - 1
