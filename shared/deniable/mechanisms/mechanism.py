"""What every mechanism is: a solution matrix with enough structure to sample from it."""

from fractions import Fraction
from typing import Protocol

from deniable.mechanisms.privacy import Privacy
from deniable.mechanisms.randomness import Draw, os_random_word

__all__ = ["Mechanism"]


class Mechanism(Protocol):
    """A stochastic matrix from true categories (rows) to responses (columns).

    Device, auditor, collector and analyst each need one thing of it; these are they.
    """

    @property
    def categories(self) -> int:
        """Return the number of rows."""

    @property
    def responses(self) -> int:
        """Return the number of columns."""

    @property
    def privacy(self) -> Privacy:
        """Return the tight guarantee of the implemented integers."""

    def probability(self, category: int, response: int) -> Fraction:
        """Return one entry of the matrix, exactly."""

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response, drawn from the answer's row."""
