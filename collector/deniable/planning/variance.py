"""The variance of estimates by a design, and the least that privacy allows.

No single number ranks mechanisms. Randomised response lies least often (Theorem 10). Estimates
vary least with subset selection, which is randomised response itself only for few categories,
(k-1)(k-2) <= 2 E^2. So each criterion has an optimum of its own: docs/mathematics.md, section 14.
"""

from fractions import Fraction
from typing import TypeVar

_Real = TypeVar("_Real", float, Fraction)


def least_variance(categories: int, odds: Fraction) -> Fraction | None:
    """Return the least of n times the summed variances of estimates, at these odds and delta 0.

    No matrix of these odds has less, for fixed data of equal frequencies.
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
