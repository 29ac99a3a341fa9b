"""Mechanisms of distance: probabilities that fall off by a factor r a unit, in integers.

r in (0, 1) is an exact rational, which a manifest carries. All else follows from it by fixed
integer rules, so that device and collector hold the same table, and the device can recompute its
guarantee.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Final, Self

from deniable.mechanisms.exact import GridTooCoarse, InvalidPrivacyParameter, Number, exact_epsilon
from deniable.mechanisms.exponential import ceil_div, exp_enclosure
from deniable.mechanisms.kind import RATIO_LIMIT, InvalidParameter, Parameters, at_fault, read_ratio
from deniable.mechanisms.mechanism import MAX_DENSE, category_index
from deniable.mechanisms.privacy import MatrixPrivacy, Privacy
from deniable.mechanisms.randomness import Draw, os_random_word

GRID: Final = 1 << 64
"""N: what every row of a distance mechanism sums to."""

_POINT: Final = 192
"""Binary places of a power: where r^d >= e^-40 there are more than 128 significant bits."""

_STEPS: Final = 1 << 62


class DistanceMechanism(ABC):
    """A square matrix on the 2^64 grid whose weights fall off with the distance from the answer.

    There are 2 to 4,096 categories; the ratio in (0, 1), by which probabilities fall off a unit of
    distance, is of integers below 2^63.
    """

    def __init__(self, categories: int, ratio: Fraction) -> None:
        if type(categories) is not int or not isinstance(ratio, Fraction):
            raise TypeError("categories must be an int and the ratio a Fraction: it is exact")
        if not 2 <= categories <= MAX_DENSE:
            raise ValueError(f"categories must be in [2, {MAX_DENSE}]")
        if not (0 < ratio < 1 and ratio.denominator < RATIO_LIMIT):
            raise InvalidPrivacyParameter("the ratio must be in (0, 1), of integers below 2^63")
        self.categories: Final = categories
        self.responses: Final = categories
        self.grid: Final = GRID
        self.ratio: Final = ratio
        self.rounds: Final = None
        self.hit: Final = None
        self.miss: Final = None

    @cached_property
    def privacy(self) -> Privacy:
        """Return the tight guarantee of the implemented integers."""
        return MatrixPrivacy(self, self._odds)

    def _odds(self) -> Fraction | None:
        return MatrixPrivacy(self).odds

    @property
    @abstractmethod
    def truth(self) -> Fraction:
        """Return the probability of sending the answer itself, for the answer least often sent."""

    @abstractmethod
    def row(self, category: int) -> Sequence[int]:
        """Return one row's integer weights over the grid."""

    @abstractmethod
    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``."""

    def probability(self, category: int, response: int) -> Fraction:
        """Return the exact probability of a response given a true category."""
        return Fraction(self.row(category)[self._index(response)], GRID)

    def _index(self, value: int) -> int:
        return category_index(value, self.categories)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DistanceMechanism) or type(other) is not type(self):
            return NotImplemented
        return (self.categories, self.ratio) == (other.categories, other.ratio)

    def __hash__(self) -> int:
        return hash((type(self), self.categories, self.ratio))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.categories}, ratio={self.ratio})"


class EvenlySpaced(DistanceMechanism):
    """A mechanism whose distances follow from the number of categories."""

    @staticmethod
    def largest_distance(categories: int) -> int:
        """Return the largest distance of two categories."""
        return categories - 1

    @classmethod
    def calibrated(cls, categories: int, epsilon: Number) -> Self:
        """Return the mechanism of the least noise whose tight epsilon is not above ``epsilon``."""
        largest = cls.largest_distance(categories)
        return cls(
            categories, calibrated_ratio(lambda r: cls(categories, r).privacy, epsilon, largest)
        )


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

    ``privacy_at`` gives the guarantee by the ratio, ``largest`` is the largest distance.

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


def calibrated_parameters(
    categories: int, calibrated: Callable[[], DistanceMechanism]
) -> dict[str, tuple[int, int]]:
    """Return the ratio of a calibrated mechanism as a kind's parameter."""
    if not 2 <= categories <= MAX_DENSE:
        raise InvalidParameter(
            "categories", f"of an ordinal or numeric survey are 2 to {MAX_DENSE:,}"
        )
    with at_fault("epsilon", (InvalidPrivacyParameter, GridTooCoarse)):
        return {"ratio": calibrated().ratio.as_integer_ratio()}


def certified(made: Callable[[], DistanceMechanism], epsilon: str) -> DistanceMechanism:
    """Return the mechanism that a kind made of its parameters, if it keeps epsilon."""
    with at_fault("mechanism"):
        mechanism = made()
    if not mechanism.privacy.satisfies(epsilon, "0"):
        raise InvalidParameter("mechanism", "its probabilities exceed the stated epsilon")
    return mechanism


def fall(parameters: Parameters) -> str:
    """Return in words by how much responses become less likely with the distance."""
    return f"{1 / float(read_ratio(parameters['ratio'])):.4g} times less likely a step"
