"""Composition: what several guarantees amount to together, from their epsilon and delta alone.

Four answers, from the simplest to the best. Whoever knows the mechanisms and not only their
guarantees composes a :class:`~deniable.budget.PrivacyLoss` instead: never worse, and for more
than two categories better.

Every epsilon that is returned is rounded up to 12 decimal places, and no delta is too small.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isqrt
from typing import Final

from deniable.budget.cost import epsilon_ceiling
from deniable.budget.privacy_loss import PrivacyLoss, total_epsilon
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Number,
    ceil_div,
    exact_delta,
    log_ceiling,
    odds_ceiling,
)

__all__ = [
    "Guarantee",
    "advanced_composition",
    "basic_composition",
    "kairouz_oh_viswanath_composition",
    "optimal_composition",
    "optimal_guarantees",
]

_UNIT: Final = 10**12
_BITS: Final = 128


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A claim of (epsilon, delta)-privacy.

    Attributes:
        epsilon: at least 0, with 12 decimal places.
        delta: in [0, 1]; 1 claims nothing.
    """

    epsilon: Decimal
    delta: Fraction


def basic_composition(parts: Iterable[tuple[Number, Number]]) -> Guarantee:
    """Return the guarantee of independent reports together: epsilons add up, and so do deltas.

    Args:
        parts: epsilon and delta of each report.

    Raises:
        TypeError: for a float or another type that does not hold the number exactly.
        InvalidPrivacyParameter: for an epsilon or delta outside its domain.

    Source: docs/mathematics.md, section 12.
    """
    epsilon = delta = Fraction(0)
    for level, slack in parts:
        epsilon += total_epsilon(level)
        delta += exact_delta(slack)
    return Guarantee(epsilon_ceiling(epsilon), min(Fraction(1), delta))


def advanced_composition(epsilon: Number, delta: Number, times: int, slack: Number) -> Guarantee:
    """Return the guarantee of ``times`` reports for ``slack`` more of delta.

    Args:
        epsilon: guarantee of each report.
        delta: likewise.
        times: how many reports, at least 1.
        slack: the additional delta, in (0, 1).

    Raises:
        TypeError: for a float or another type that does not hold the number exactly.
        InvalidPrivacyParameter: for a parameter outside its domain.
        ValueError: for less than one report.

    Source: Dwork, Rothblum and Vadhan 2010, Theorem III.3; docs/mathematics.md, section 12.
    """
    level, each, extra = _parameters(epsilon, delta, times, slack)
    # epsilon sqrt(2 T ln(1/d')) + T epsilon (E - 1)
    drift = times * level * (odds_ceiling(level) - 1)
    return Guarantee(
        epsilon_ceiling(drift + _deviation(level, times, extra)),
        min(Fraction(1), times * each + extra),
    )


def kairouz_oh_viswanath_composition(
    epsilon: Number, delta: Number, times: int, slack: Number
) -> Guarantee:
    """Return Kairouz, Oh and Viswanath's bound in closed form, never worse than the advanced one.

    Arguments and errors are those of :func:`advanced_composition`.

    Source: Kairouz, Oh and Viswanath 2015, Theorem 3.4; docs/mathematics.md, section 12.
    """
    level, each, extra = _parameters(epsilon, delta, times, slack)
    # T epsilon (E - 1)/(E + 1) + epsilon sqrt(2 T ln(1/d')); the first grows with E.
    odds = odds_ceiling(level)
    drift = times * level * (odds - 1) / (odds + 1)
    return Guarantee(
        epsilon_ceiling(drift + _deviation(level, times, extra)),
        1 - (1 - each) ** times * (1 - extra),
    )


def optimal_composition(epsilon: Number, delta: Number, times: int) -> PrivacyLoss:
    """Return the loss of ``times`` reports of which nothing but epsilon and delta is known.

    Its curve is the optimum: no other statement about all such mechanisms is both true and better.

    Raises:
        TypeError: for a float or another type that does not hold the number exactly.
        InvalidPrivacyParameter: for an epsilon or delta outside its domain.
        ValueError: for less than one report.

    Source: Kairouz, Oh and Viswanath 2015, Theorem 3.3; docs/mathematics.md, section 12.
    """
    level, each = total_epsilon(epsilon), exact_delta(delta)
    return PrivacyLoss.of_guarantee(odds_ceiling(level), each).repeat(_count(times))


def optimal_guarantees(epsilon: Number, delta: Number, times: int) -> tuple[Guarantee, ...]:
    """Return the corners of that optimum, ((T - 2i) epsilon, delta_i) for i = 0, …, floor(T/2).

    Each delta is rounded up by less than T 2^-120. Between corners it is linear in e^epsilon.

    Raises:
        TypeError, InvalidPrivacyParameter, ValueError: like :func:`optimal_composition`.

    Source: Kairouz, Oh and Viswanath 2015, Theorem 3.3; docs/mathematics.md, section 12.
    """
    loss = optimal_composition(epsilon, delta, times)
    level = total_epsilon(epsilon)
    # delta_i is an expectation of (1 - E^-2(i - L))_+ over the number of lies L, each of which has
    # probability 1/(1 + E): it grows with E, so an upper bound of E gives one of delta_i.
    odds = odds_ceiling(level)
    corners = []
    for multiple in range(times, -1, -2):
        slack = loss.delta_at_odds(odds**multiple)
        units = ceil_div(slack.numerator << _BITS, slack.denominator)
        corners.append(Guarantee(epsilon_ceiling(multiple * level), Fraction(units, 1 << _BITS)))
    return tuple(corners)


def _parameters(
    epsilon: Number, delta: Number, times: int, slack: Number
) -> tuple[Fraction, Fraction, Fraction]:
    extra = exact_delta(slack)
    if extra == 0:
        raise InvalidPrivacyParameter("the slack must be positive; with none, epsilons add up")
    _count(times)
    return total_epsilon(epsilon), exact_delta(delta), extra


def _count(times: int) -> int:
    if times < 1:
        raise ValueError("there must be at least one report to compose")
    return times


def _deviation(epsilon: Fraction, times: int, slack: Fraction) -> Fraction:
    """Return epsilon sqrt(2 T ln(1/d')), rounded up by at most a few units of 10^-12 of itself."""
    logarithm = Fraction(log_ceiling(1 / slack, _UNIT), _UNIT)
    square = 2 * times * logarithm * epsilon**2
    scaled = ceil_div(square.numerator << 2 * _BITS, square.denominator)
    # isqrt rounds down.
    root = isqrt(scaled - 1) + 1 if scaled else 0
    return Fraction(root, 1 << _BITS)
