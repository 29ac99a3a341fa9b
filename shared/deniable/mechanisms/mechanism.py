"""What every mechanism is: a solution matrix with enough structure to sample from it."""

import operator
from fractions import Fraction
from typing import Final, Protocol

from deniable.mechanisms.privacy import Privacy, Rows
from deniable.mechanisms.randomness import Draw, os_random_word

__all__ = ["MAX_DENSE", "Mechanism", "SurveyMechanism", "category_index"]

MAX_DENSE: Final = 4096
"""Most rows, and most columns, of a matrix that is held entry by entry."""


def category_index(value: int, categories: int) -> int:
    """Return the index of a category as an int.

    Raises:
        IndexError: unless it is in 0 … categories - 1.
    """
    index = operator.index(value)
    if not 0 <= index < categories:
        # Never the value itself: it may be an answer.
        raise IndexError(f"a category index must be in [0, {categories})")
    return index


class Mechanism(Rows, Protocol):
    """A stochastic matrix from true categories (rows) to responses (columns).

    Device, auditor, collector and analyst each need one thing of it; these are they.
    """

    @property
    def privacy(self) -> Privacy:
        """Return the tight guarantee of the implemented integers."""

    def probability(self, category: int, response: int) -> Fraction:
        """Return one entry of the matrix, exactly."""

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response, drawn from the answer's row."""


class SurveyMechanism(Mechanism, Protocol):
    """A mechanism whose responses are the categories themselves, sampled with 64-bit words."""

    @property
    def truth(self) -> Fraction:
        """Return the probability of sending the answer itself, for the answer least often sent."""
