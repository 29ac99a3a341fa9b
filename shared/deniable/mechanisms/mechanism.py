"""A mechanism: a solution matrix with enough structure to sample from it, and its random draws.

Privacy noise comes from 64-bit words of the operating system's generator.
"""

import operator
import os
from collections.abc import Callable
from fractions import Fraction
from typing import Final, Protocol

from deniable.mechanisms.privacy import Privacy, Rows, TwoValuedPrivacy

MAX_DENSE: Final = 4096
"""The most rows, and the most columns, of a matrix that is stored entry by entry."""
_WORD: Final = 64

Draw = Callable[[], int]
"""One uniform integer in [0, 2^64) per call; only :func:`os_random_word` makes answers private."""


def os_random_word() -> int:
    """Return 64 uniform bits from the operating system's CSPRNG."""
    return int.from_bytes(os.urandom(8))


def uniform_below(bound: int, draw: Draw = os_random_word) -> int:
    """Return an integer uniform in [0, bound), exactly."""
    # A power of two below 2 * bound: every attempt succeeds with a probability above 1/2, and all
    # successful values are equally likely.
    bits = (bound - 1).bit_length()
    while True:
        value = 0
        for _ in range(-(-bits // _WORD)):
            value = value << _WORD | draw()
        value &= (1 << bits) - 1
        if value < bound:
            return value


def category_index(value: int, size: int) -> int:
    """Return the index of a category as an int."""
    index = operator.index(value)
    if not 0 <= index < size:
        # Never the value itself, which may be an answer.
        raise IndexError(f"a category index must be in [0, {size})")
    return index


class Compared:
    """An object that equals others of its class with the same ``identity``."""

    identity: tuple[object, ...]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.identity == self.identity

    def __hash__(self) -> int:
        return hash(self.identity)


class Rounds(Protocol):
    """Two rounds, one after the other; the first can be kept."""

    @property
    def kept(self) -> "Round":
        """Return the round whose response is kept."""

    @property
    def fresh(self) -> "Round":
        """Return the round whose noise each report adds to the kept response."""

    def constant_odds(self, reports: int) -> Fraction:
        """Return an upper bound on the odds of this many reports about one kept response."""

    def __hash__(self) -> int: ...


class Mechanism(Rows, Protocol):
    """A stochastic matrix from true categories (rows) to responses (columns).

    Its methods are those that device, auditor, collector and analyst need.
    """

    @property
    def privacy(self) -> Privacy:
        """Return the tight guarantee of the implemented integers."""

    @property
    def rounds(self) -> Rounds | None:
        """Return the mechanism's two rounds, if it has two."""

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response, drawn from the answer's row."""

    def __hash__(self) -> int: ...


class Round(Mechanism, Protocol):
    """One of two rounds, whose responses are either likely or unlikely."""

    @property
    def privacy(self) -> TwoValuedPrivacy:
        """Return the tight guarantee of the implemented integers."""


class SurveyMechanism(Mechanism, Protocol):
    """A mechanism that is sampled with 64-bit words, as for surveys."""

    @property
    def truth(self) -> Fraction | None:
        """Return the probability of sending the answer itself, for the answer least often sent.

        None if the responses are not the categories.
        """

    @property
    def hit(self) -> Fraction | None:
        """Return the probability that the response supports the answer.

        None if responses are not sets of categories.
        """

    @property
    def miss(self) -> Fraction | None:
        """Return the probability that a response supports another category; None if it varies."""
