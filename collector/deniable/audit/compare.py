"""How far a matrix is from the best that its privacy allows: by its lies and by its variance.

No single number ranks mechanisms. Randomised response lies least often (Theorem 10). Estimates
vary least with subset selection, which is randomised response itself only for few categories,
(k-1)(k-2) <= 2 E^2. So each criterion has an optimum of its own.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from deniable.audit.pair_bounds import MAX_CELLS, MatrixTooLarge
from deniable.audit.theorems import odds_above, odds_below
from deniable.audit.tight import pure_level, tight_delta, tight_epsilon
from deniable.estimates.inverse import NotInvertible, left_inverse, solution_matrix
from deniable.mechanisms import Number, Rows, TwoValuedMechanism, exact_delta

__all__ = [
    "Comparison",
    "Criterion",
    "average_lie",
    "compare",
    "largest_lie",
    "least_variance",
    "total_variance",
]

_INFINITE: Final = "no finite epsilon holds with this delta"
_NOT_SQUARE: Final = "only a square matrix, whose responses are its categories, can lie"
_SINGULAR: Final = (
    "two mixtures of categories give the same responses, or nearly: nothing can be estimated"
)
_NO_ESTIMATE: Final = "with epsilon and delta 0 responses say nothing: nothing can be estimated"


@dataclass(frozen=True, slots=True)
class Criterion:
    """A matrix beside the optimum.

    Attributes:
        name: what is compared.
        against: what it is compared with.
        value: the matrix's; smaller is better; None if it has none.
        optimum: what it is compared with; None if it does not apply.
        reason: why value or optimum is missing.
    """

    name: str
    against: str
    value: Fraction | float | None
    optimum: Fraction | float | None
    reason: str = ""

    @property
    def ratio(self) -> float | None:
        """Return value / optimum; None if one is missing or the optimum is 0."""
        if self.value is None or not self.optimum:
            return None
        try:
            return float(Fraction(self.value) / Fraction(self.optimum))
        except OverflowError:
            return math.inf


@dataclass(frozen=True, slots=True)
class Comparison:
    """A matrix beside the best that its privacy allows.

    Attributes:
        odds: e^epsilon at which it is compared; None if infinite.
        delta: likewise.
        holds: whether the matrix is (epsilon, delta)-private; otherwise it may beat an optimum.
        criteria: one after the other.
    """

    odds: Fraction | None
    delta: Fraction
    holds: bool
    criteria: tuple[Criterion, ...]


def compare(matrix: Rows, epsilon: Number | None = None, delta: Number = "0") -> Comparison:
    """Compare a matrix with the optimal mechanisms of the same privacy.

    Args:
        matrix: what is audited, of at least two categories.
        epsilon: what the optimal mechanisms are allowed; None for the matrix's own tight epsilon.
        delta: likewise.

    Raises:
        InvalidPrivacyParameter: for epsilon or delta outside their domain.
        MatrixTooLarge: for more than 2^26 entries.

    Source: docs/mathematics.md, section 14.
    """
    slack = exact_delta(delta)
    odds: Fraction | None
    if epsilon is None:
        odds, holds = tight_epsilon(matrix, slack).odds, True
    else:
        # Larger odds lower every optimum: none is claimed that a mechanism might beat.
        odds = odds_above(epsilon)
        pure = pure_level(matrix).odds
        holds = (pure is not None and pure <= odds_below(epsilon)) or (
            slack > 0 and tight_delta(matrix, epsilon).delta <= slack
        )
    return Comparison(
        odds,
        slack,
        holds,
        (
            largest_lie(matrix, odds, slack),
            average_lie(matrix, odds, slack),
            *_variances(matrix, odds, slack),
        ),
    )


def largest_lie(matrix: Rows, odds: Fraction | None, delta: Fraction) -> Criterion:
    """Compare the probability of a lie, for the category that it is largest for.

    Source: Holohan, Leith and Mason, Theorem 10; docs/mathematics.md, section 14.
    """
    return _lie("largest lie", matrix, odds, delta, average=False)


def average_lie(matrix: Rows, odds: Fraction | None, delta: Fraction) -> Criterion:
    """Compare the probability of a lie, the average over all categories.

    Source: Holohan, Leith and Mason, Theorem 10, whose bound holds for the average too;
    docs/mathematics.md, section 14.
    """
    return _lie("average lie", matrix, odds, delta, average=True)


def total_variance(matrix: Rows) -> float | None:
    """Return n times the summed variances of the estimate at uniform frequencies.

    The data are fixed; only the mechanism is random. No other unbiased estimate has less.

    Returns:
        None if nothing can be estimated.

    Raises:
        MatrixTooLarge: for more than 2^26 entries.

    Source: docs/mathematics.md, section 14.
    """
    if isinstance(matrix, TwoValuedMechanism):
        return float(_two_valued_variance(matrix.categories, matrix.truth, matrix.lie))
    if matrix.categories * matrix.responses > MAX_CELLS:
        raise MatrixTooLarge(f"at most {MAX_CELLS:,} entries have their variance computed")
    try:
        inverse = left_inverse(rows := solution_matrix(matrix))
    except NotInvertible:
        return None
    # For fixed data a response has the covariance D - P^T diag(f) P, D = diag lam, of which G makes
    # G D G^T - diag f: that of sampled data, less a constant, so that the same G is the best.
    return float(np.sum(inverse**2 @ rows.mean(axis=0))) - 1


def least_variance(categories: int, odds: Fraction) -> Fraction | None:
    """Return a lower bound of :func:`total_variance` for every matrix of these odds, delta 0.

    Attained by subset selection. None at odds 1, where nothing can be estimated.

    Source: Ye and Barg 2018; docs/mathematics.md, section 14.
    """
    k, u, v = categories, odds.numerator, odds.denominator
    if u == v:
        return None
    # At uniform f the Fisher information is largest if every column takes two values of ratio E,
    # the larger one on d categories: n E||fhat - f||^2 >= M with
    #   M = min_d (k-1)^2 (dE + k - d)^2 / (k d (k-d) (E-1)^2).
    # That is for sampled data; for fixed data it is less by sum f(1-f) = 1 - 1/k.
    least = min(Fraction((d * u + (k - d) * v) ** 2, d * (k - d)) for d in range(1, k))
    return (k - 1) ** 2 * least / (k * (u - v) ** 2) - 1 + Fraction(1, k)


def _lie(
    name: str, matrix: Rows, odds: Fraction | None, delta: Fraction, *, average: bool
) -> Criterion:
    against = "optimal mechanism"
    k = matrix.categories
    if k != matrix.responses:
        return Criterion(name, against, None, None, _NOT_SQUARE)
    truths = _truths(matrix)
    value = 1 - (sum(truths) / k if average else min(truths))
    if odds is None:
        return Criterion(name, against, value, None, _INFINITE)
    return Criterion(name, against, value, (k - 1) * _least_lie(k, odds, delta))


def _truths(matrix: Rows) -> list[Fraction]:
    if isinstance(matrix, TwoValuedMechanism):
        return [matrix.truth] * matrix.categories
    return [Fraction(matrix.row(x)[x], matrix.grid) for x in range(matrix.categories)]


def _variances(matrix: Rows, odds: Fraction | None, delta: Fraction) -> tuple[Criterion, Criterion]:
    name, k = "total variance", matrix.categories
    value = total_variance(matrix)
    response, bound, why, why_not = None, None, _INFINITE, _INFINITE
    if odds is not None:
        lie = _least_lie(k, odds, delta)
        response = _two_valued_variance(k, 1 - (k - 1) * lie, lie) if k * lie < 1 else None
        why = _NO_ESTIMATE
    # The bound is for delta 0. With a delta, what the matrix guarantees without one stands in.
    pure = odds if delta == 0 else pure_level(matrix).odds
    if pure is not None:
        bound, why_not = least_variance(k, pure), _NO_ESTIMATE
    elif delta:
        why_not = "the bound is for delta 0, and with it no finite epsilon holds"

    def criterion(against: str, optimum: Fraction | None, reason: str) -> Criterion:
        if value is None:
            return Criterion(name, against, None, optimum, _SINGULAR)
        return Criterion(name, against, value, optimum, reason if optimum is None else "")

    return (
        criterion("randomised response", response, why),
        criterion("any mechanism", bound, why_not),
    )


def _two_valued_variance(k: int, truth: Fraction, lie: Fraction) -> Fraction:
    # [d(1-d) + (k-1) q(1-q)] / (d-q)^2, whatever the frequencies are.
    return (truth * (1 - truth) + (k - 1) * lie * (1 - lie)) / (truth - lie) ** 2


def _least_lie(k: int, odds: Fraction, delta: Fraction) -> Fraction:
    # Theorem 10, as in least_lie, but for numbers of any length: q = (1-delta)/(E+m).
    return (1 - delta) / (odds + k - 1)
