"""How far a matrix is from the best that its privacy allows: by its lies and by its variance.

No single number ranks mechanisms. Randomised response lies least often (Theorem 10). Estimates
vary least with subset selection, which is randomised response itself only for few categories,
(k-1)(k-2) <= 2 E^2. So each criterion has an optimum of its own.

Source: docs/mathematics.md, section 14.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Final, TypeVar

from deniable.audit.findings import MAX_CELLS, MatrixTooLarge
from deniable.audit.theorems import odds_above, odds_below
from deniable.audit.tight import pure_level, tight_delta, tight_epsilon
from deniable.mechanisms import Mechanism, Number, TwoValuedMechanism, exact_delta
from deniable.mechanisms.design import BlockMechanism
from deniable.mechanisms.one_question import OneQuestion

_INFINITE: Final = "no finite epsilon holds with this delta"
_NOT_SQUARE: Final = "only a square matrix, whose responses are its categories, can lie"
_SINGULAR: Final = (
    "two mixtures of categories give the same responses, or nearly: nothing can be estimated"
)
_NO_ESTIMATE: Final = "with epsilon and delta 0 responses say nothing: nothing can be estimated"

_Real = TypeVar("_Real", float, Fraction)


@dataclass(frozen=True, slots=True)
class Criterion:
    """A matrix's value beside the optimum, the smaller the better, or why either is missing."""

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
class Optimality:
    """A matrix beside the best that its privacy allows, at odds of e^epsilon; None if infinite.

    If (epsilon, delta)-privacy does not hold, the matrix may beat an optimum.
    """

    odds: Fraction | None
    delta: Fraction
    holds: bool
    criteria: tuple[Criterion, ...]


def compare(matrix: Mechanism, epsilon: Number | None = None, delta: Number = "0") -> Optimality:
    """Compare a matrix of at least two categories with the optimal mechanisms of its privacy.

    Without an epsilon these are allowed the matrix's own tight one. More than 2^26 entries are
    MatrixTooLarge.
    """
    slack, holds = exact_delta(delta), True
    if epsilon is None:
        odds = tight_epsilon(matrix, slack).odds
    else:
        # Larger odds lower every optimum: none is claimed that a mechanism might beat.
        odds = odds_above(epsilon)
        pure = pure_level(matrix).odds
        holds = (pure is not None and pure <= odds_below(epsilon)) or (
            slack > 0 and tight_delta(matrix, epsilon).delta <= slack
        )
    lies = largest_lie(matrix, odds, slack), average_lie(matrix, odds, slack)
    return Optimality(odds, slack, holds, (*lies, *_variances(matrix, odds, slack)))


def largest_lie(matrix: Mechanism, odds: Fraction | None, delta: Fraction) -> Criterion:
    """Compare the probability of a lie, for the category that it is largest for (Theorem 10)."""
    return _lie("largest lie", matrix, odds, delta)


def average_lie(matrix: Mechanism, odds: Fraction | None, delta: Fraction) -> Criterion:
    """Compare the average probability of a lie, for which the bound of Theorem 10 holds too."""
    return _lie("average lie", matrix, odds, delta)


@singledispatch
def total_variance(matrix: Mechanism) -> float | None:
    """Return n times the summed variances of the estimate at uniform frequencies.

    The data are fixed; only the mechanism is random. No other unbiased estimate has less; but for
    designs that leave points out, whose estimate is that of histograms. None if nothing can be
    estimated. More than 2^26 entries are MatrixTooLarge, unless all rows are alike.
    """
    if matrix.categories * matrix.responses > MAX_CELLS:
        raise MatrixTooLarge(f"at most {MAX_CELLS:,} entries have their variance computed")
    import numpy as np  # only where a variance is asked for

    from deniable.estimates.decoders import NotInvertible, left_inverse, solution_matrix

    try:
        inverse = left_inverse(rows := solution_matrix(matrix))
    except NotInvertible:
        return None
    # For fixed data a response has the covariance D - P^T diag(f) P, D = diag lam, of which G makes
    # G D G^T - diag f: that of sampled data, less a constant, so that the same G is the best.
    return float(np.sum(inverse**2 @ rows.mean(axis=0))) - 1


@total_variance.register
def _(matrix: TwoValuedMechanism) -> float | None:
    k = matrix.categories
    return float(design_variance(k, k, 1, 0, matrix.privacy.odds - 1))


@total_variance.register
def _(matrix: BlockMechanism) -> float | None:
    design = matrix.design
    numbers = design.responses, design.replication, design.together
    variance = design_variance(matrix.categories, *numbers, matrix.privacy.odds - 1)
    return float(variance) - _regained(matrix)


@total_variance.register
def _(_: OneQuestion) -> float | None:
    # No response tells of two questions, so that of combinations nothing is known.
    return None


def least_variance(categories: int, odds: Fraction) -> Fraction | None:
    """Return a lower bound of :func:`total_variance` for every matrix of these odds, delta 0.

    Attained by subset selection. None at odds 1, where nothing can be estimated. Ye and Barg 2018.
    """
    if odds == 1:
        return None
    # At uniform f the Fisher information is largest if every column takes two values of ratio E,
    # the larger one on d categories: n E||fhat - f||^2 >= M with
    #   M = min_d (k-1)^2 (dE + k - d)^2 / (k d (k-d) (E-1)^2),
    # which falls up to d = k/(E + 1) and then rises. That is for sampled data; for fixed data it is
    # less by sum f(1-f) = 1 - 1/k, and what the design of all subsets of d categories has.
    k, below = categories, int(categories / (odds + 1))
    return min(
        design_variance(k, k * (k - 1), d * (k - 1), d * (d - 1), odds - 1)
        for d in (max(1, below), below + 1)
    )


def design_variance(
    categories: int, responses: int, replication: int, together: int, excess: _Real
) -> _Real:
    """Return n times the summed variances of estimates from support counts, of fixed data.

    Of K responses r support a category, t any two; ``excess`` is E - 1, E the odds of a response
    that supports the answer to one that does not. Other numbers in the same proportions do as well.
    Source: docs/mathematics.md, section 17.
    """
    # (p (1 - p) + (k - 1) q (1 - q))/(p - q)^2, with Z = r E + K - r, p = r E/Z and
    # q = (t E + r - t)/Z. Floats do for any epsilon, as nothing is subtracted from 1.
    odds, order = 1 + excess, replication - together
    own = replication * odds * (responses - replication)
    others = (together * odds + order) * (order * odds + responses - replication - order)
    return (own + (categories - 1) * others) / (order * excess) ** 2


def _lie(name: str, matrix: Mechanism, odds: Fraction | None, delta: Fraction) -> Criterion:
    against = "optimal mechanism"
    k = matrix.categories
    # A matrix with responses of its own has no truth to tell, even if they are as many.
    if k != matrix.responses or getattr(matrix, "truth", k) is None:
        return Criterion(name, against, None, None, _NOT_SQUARE)
    truths = [matrix.row(x)[x] for x in range(1 if matrix.privacy.apart else k)]
    truth = Fraction(sum(truths), len(truths)) if name == "average lie" else min(truths)
    value = 1 - Fraction(truth) / matrix.grid
    if odds is None:
        return Criterion(name, against, value, None, _INFINITE)
    return Criterion(name, against, value, (k - 1) * _least_lie(k, odds, delta))


def _variances(
    matrix: Mechanism, odds: Fraction | None, delta: Fraction
) -> tuple[Criterion, Criterion]:
    name, k = "total variance", matrix.categories
    value = total_variance(matrix)
    response, bound, why, why_not = None, None, _INFINITE, _INFINITE
    if odds is not None:
        lie, why = _least_lie(k, odds, delta), _NO_ESTIMATE
        if k * lie < 1:
            response = design_variance(k, k, 1, 0, 1 / lie - k)
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


def _regained(mechanism: BlockMechanism) -> float:
    """Return the fall of n sum Var where estimates f^ of some points get (1 - sum f^)/k each."""
    # It takes Var(sum f^)/k away. The sum is G(y) = (b_y - k q)/kappa, b_y the categories that the
    # response supports, of mean 1 whatever the answer is.
    import numpy as np

    from deniable.estimates.decoders.designs import design_decoder

    k, hit, miss = mechanism.categories, float(mechanism.hit), float(mechanism.miss)
    decoder = design_decoder(mechanism)
    held = np.rint(decoder.supported(np.ones(k)))
    sums = (held - k * miss) / (hit - miss)
    shares = decoder.response_shares(np.full(k, 1 / k))
    return (float(shares @ sums**2) - 1) / k


def _least_lie(k: int, odds: Fraction, delta: Fraction) -> Fraction:
    # Theorem 10, as in least_lie, but for numbers of any length: q = (1-delta)/(E+m).
    return (1 - delta) / (odds + k - 1)
