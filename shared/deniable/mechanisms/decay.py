"""Mechanisms of distance: probabilities that fall off by a factor r a unit, in integers.

r in (0, 1) is an exact rational, which a manifest carries. All else follows from it by fixed
integer rules, so that device and collector hold the same table, and the device can recompute its
guarantee.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Final

from deniable.mechanisms.exact import (
    GridTooCoarse,
    InvalidPrivacyParameter,
    Number,
    exact_epsilon,
)
from deniable.mechanisms.exponential import ceil_div, exp_enclosure
from deniable.mechanisms.mechanism import MAX_DENSE, category_index
from deniable.mechanisms.privacy import MatrixPrivacy, Privacy
from deniable.mechanisms.randomness import Draw, os_random_word

__all__ = ["GRID", "RATIO_LIMIT", "DistanceMechanism", "calibrated_ratio", "falling_powers"]

GRID: Final = 1 << 64
"""N: what every row of a distance mechanism sums to."""

RATIO_LIMIT: Final = 1 << 63
"""Numerator and denominator of a ratio are below this, as every integer of the protocol is."""

_POINT: Final = 192
"""Binary places of a power: where r^d >= e^-40 there are more than 128 significant bits."""

_STEPS: Final = 1 << 62


class DistanceMechanism(ABC):
    """A square matrix on the 2^64 grid whose weights fall off with the distance from the answer.

    Args:
        categories: how many there are, 2 to 4,096.
        ratio: r, exact, in (0, 1), of integers below 2^63.

    Raises:
        TypeError: for a ratio that is no Fraction.
        InvalidPrivacyParameter: for a ratio outside its domain.
    """

    def __init__(self, categories: int, ratio: Fraction) -> None:
        if type(categories) is not int or not isinstance(ratio, Fraction):
            raise TypeError("categories must be an int and the ratio a Fraction: it is exact")
        if not 2 <= categories <= MAX_DENSE:
            raise ValueError(f"categories must be in [2, {MAX_DENSE}]")
        if not (0 < ratio < 1 and ratio.denominator < RATIO_LIMIT):
            raise InvalidPrivacyParameter("the ratio must be in (0, 1), of integers below 2^63")
        self._categories = categories
        self._ratio = ratio

    @property
    def categories(self) -> int:
        """Return how many categories there are, k = m + 1."""
        return self._categories

    @property
    def responses(self) -> int:
        """Return how many responses there are: every category is one."""
        return self._categories

    @property
    def grid(self) -> int:
        """Return N = 2^64, the denominator of every probability."""
        return GRID

    @property
    def ratio(self) -> Fraction:
        """Return r, by which probabilities fall off a unit of distance."""
        return self._ratio

    @cached_property
    def privacy(self) -> Privacy:
        """Return the tight guarantee of the implemented integers."""
        return MatrixPrivacy(self)

    @property
    @abstractmethod
    def truth(self) -> Fraction:
        """Return the probability of sending the answer itself, for the answer least often sent."""

    @abstractmethod
    def row(self, category: int) -> Sequence[int]:
        """Return one row's integer weights over the grid."""

    @abstractmethod
    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``.

        Raises:
            IndexError: for an answer outside the domain. Nothing is drawn then.
        """

    def probability(self, category: int, response: int) -> Fraction:
        """Return the exact probability of a response given a true category.

        Raises:
            IndexError: for a category or response outside 0 … k - 1.
        """
        return Fraction(self.row(category)[self._index(response)], GRID)

    def _index(self, value: int) -> int:
        return category_index(value, self._categories)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DistanceMechanism) or type(other) is not type(self):
            return NotImplemented
        return (self._categories, self._ratio) == (other._categories, other._ratio)

    def __hash__(self) -> int:
        return hash((type(self), self._categories, self._ratio))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._categories}, ratio={self._ratio})"


def falling_powers(ratio: Fraction, largest: int) -> list[int]:
    """Return ratio^d for d = 0 … largest, over 2^192.

    Each is the one before times the ratio, rounded up: this rule is part of the protocol.
    """
    powers = [1 << _POINT]
    for _ in range(largest):
        powers.append(ceil_div(powers[-1] * ratio.numerator, ratio.denominator))
    return powers


def calibrated_ratio(
    privacy_at: Callable[[Fraction], Privacy], epsilon: Number, largest: int
) -> Fraction:
    """Return a ratio whose implemented guarantee is not above epsilon; the next one breaks it.

    A smaller ratio lies less. Ratios are multiples of 2^-62, and "next" is one of them less. The
    guarantee falls with the ratio but for the rounding of the last places, so that a smaller ratio
    that holds by luck may exist; it would lie less by as little as these places are worth.

    Args:
        privacy_at: the tight guarantee of the implemented integers, by the ratio.
        epsilon: the most that is allowed, positive.
        largest: the largest distance, at least 1.

    Raises:
        ValueError: for less than two categories, between which there is no distance.
        InvalidPrivacyParameter: if epsilon is 0.
        GridTooCoarse: if no ratio is found that keeps the guarantee.

    Source: docs/mathematics.md, section 9.
    """
    exact = exact_epsilon(epsilon)
    if largest < 1:
        raise ValueError(f"categories must be in [2, {MAX_DENSE}]")
    if exact == 0:
        raise InvalidPrivacyParameter("epsilon is 0: the responses would say nothing; raise it")

    def holds(steps: int) -> bool:
        try:
            return privacy_at(Fraction(steps, _STEPS)).satisfies(exact, 0)
        except GridTooCoarse:
            return False

    # For every two categories x and z, whatever the normalisers,
    #   ln P(x,x)/P(z,x) + ln P(z,z)/P(x,z) = 2 d(x,z) ln 1/r,
    # so one of the two is at least d ln 1/r: in exact terms no ratio below e^(-epsilon/largest)
    # will do. Around there, rounding decides: in growing strides down to one that breaks the
    # guarantee and up to one that keeps it, then by halving.
    low, _ = exp_enclosure(exact / largest, 128)
    start = min((_STEPS << 128) // low, _STEPS - 1)
    held, broken, stride = start, start, 1
    while broken > 0 and holds(broken):
        held, broken, stride = broken, max(broken - stride, 0), 2 * stride
    if held == broken:
        stride = 1
        while not holds(held := min(broken + stride, _STEPS - 1)):
            if held == _STEPS - 1:
                raise GridTooCoarse(
                    "no ratio was found that keeps this epsilon over so many categories; raise "
                    "epsilon or use fewer"
                )
            broken, stride = held, 2 * stride
    while held - broken > 1:
        middle = (held + broken) // 2
        held, broken = (middle, broken) if holds(middle) else (held, middle)
    return Fraction(held, _STEPS)
