"""Composition: the total of several guarantees, from their epsilon and delta alone.

Reports of one person add up, and so do the rows of a group: one person's answers to several
questions, or people whose answers depend on one another. If you know the mechanisms and not only
their guarantees, compose a :class:`~deniable.accounting.PrivacyLoss` instead: it is never worse,
and for more than two categories better.

Every returned epsilon is rounded up to 12 decimal places, and no delta is too small.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from deniable.accounting.privacy_loss import PrivacyLoss, epsilon_ceiling, total_epsilon
from deniable.mechanisms import (
    Number,
    exact_delta,
    odds_ceiling,
)

_PLACES: Final = 6
_STEPS: Final = 10**_PLACES
_MOST_GUESSES: Final = 20


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A claim of (epsilon, delta)-privacy, epsilon with 12 places; delta 1 claims nothing."""

    epsilon: Decimal
    delta: Fraction


def basic_composition(parts: Iterable[tuple[Number, Number]]) -> Guarantee:
    """Return the guarantee of independent reports together: epsilons add up, and so do deltas."""
    epsilon = delta = Fraction(0)
    for level, slack in parts:
        epsilon += total_epsilon(level)
        delta += exact_delta(slack)
    return Guarantee(epsilon_ceiling(epsilon), min(Fraction(1), delta))


def optimal_composition(epsilon: Number, delta: Number, times: int) -> PrivacyLoss:
    """Return the loss of ``times`` reports of which only epsilon and delta are known.

    Its curve is the optimum: no better statement holds for all such mechanisms. Kairouz, Oh and
    Viswanath 2015, Theorem 3.3.
    """
    level, report_delta = total_epsilon(epsilon), exact_delta(delta)
    return PrivacyLoss.of_guarantee(odds_ceiling(level), report_delta, times)
