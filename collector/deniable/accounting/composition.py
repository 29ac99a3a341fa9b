"""Composition: the total of several guarantees, from their epsilon and delta alone.

Reports of one person add up, and so do the rows of a group: one person's answers to several
questions, or people whose answers depend on one another. If you know the mechanisms and not only
their guarantees, compose a :class:`~deniable.accounting.PrivacyLoss` instead: it is never worse,
and for more than two categories better.

Every returned epsilon is rounded up to 12 decimal places, and no delta is too small.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import exp, log
from typing import Final

from deniable.accounting.privacy_loss import PrivacyLoss, epsilon_ceiling, total_epsilon
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Number,
    exact_delta,
    exact_number,
    odds_ceiling,
)
from deniable.mechanisms.exact import MAX_EPSILON

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


def epsilon_each(
    total: Number, together: Callable[[Fraction], Decimal], *, guess: Number = 0
) -> Decimal:
    """Return the largest epsilon of one report, in millionths, that keeps the total in bounds.

    It is rounded down: the composition of the result was computed, and is at most the total. The
    composition at a millionth more was computed too, and exceeds it, unless a report's epsilon
    would exceed 40. ``together`` returns the epsilon of all reports for that of one; it is
    increasing. The search starts at the guess, such as the total divided by the number of reports.
    """
    most = total_epsilon(total)
    most_each = MAX_EPSILON * _STEPS
    low, high = 0, most_each + 1
    below = above = 0.0  # the totals for low and high, as shares of the total; 0 if unknown
    middle, tried = max(1, int(exact_number("guess", guess) * _STEPS)), 0
    while high - low > 1:
        middle, tried = min(max(middle, low + 1), high - 1), tried + 1
        composition = together(Fraction(middle, _STEPS))
        share = float(Fraction(composition) / most) if most and composition.is_finite() else 0.0
        if composition <= most:
            low, below = middle, share
        else:
            high, above = middle, share
        if tried > _MOST_GUESSES or not share:
            middle = 2 * middle if low == middle and high > most_each else (low + high) // 2
        elif below and above:
            # Compositions are nearly powers of epsilon.
            slope = log(above / below) / log(high / low)
            middle = int(exp(log(low) - log(below) / slope)) if slope else low + 1
        else:
            # They rise faster than epsilon, so this is on the other side.
            middle = int(middle / max(share, 1 / 64))
    if low == 0:
        raise InvalidPrivacyParameter(
            "no epsilon of a report keeps the total within this limit; allow a larger epsilon or "
            "delta, or fewer reports"
        )
    # Assembled from digits: arithmetic would round in the decimal context, even up.
    return Decimal((0, tuple(map(int, str(low))), -_PLACES))
