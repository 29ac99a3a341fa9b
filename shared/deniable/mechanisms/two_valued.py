"""Matrices with one value on and one off the diagonal: what all forms of randomised response share.

With d on and q off the diagonal, P = kappa I + q 11^T, kappa = d - q = 1 - k q: sampling, guarantee
and inverse all have closed forms. Products of such matrices are such matrices, and their kappas
multiply.
"""

from fractions import Fraction
from typing import ClassVar, Final

from deniable.mechanisms.exact import GridTooCoarse
from deniable.mechanisms.mechanism import Rounds, category_index
from deniable.mechanisms.privacy import TwoValuedPrivacy
from deniable.mechanisms.randomness import Draw, os_random_word

MAX_CATEGORIES: Final = 65_536
"""Categories of one survey, at most."""


class TwoValuedMechanism:
    """Tell the truth with probability d, else name each other category with probability q.

    Args:
        categories: how many there are, 2 to 65,536.
        lies: a, the weight of each lie over the grid N: q = a/N.
        bits: the grid is 2^bits, 1 to 64.

    Raises GridTooCoarse if the truth is no likelier than a lie.

    Source: docs/mathematics.md, sections 1 and 2.
    """

    __slots__ = ("categories", "grid", "lies", "responses")

    hit: Final = None
    miss: Final = None
    most: ClassVar[int] = MAX_CATEGORIES

    def __init__(self, categories: int, lies: int, *, bits: int = 64) -> None:
        check_size(categories, bits, self.most)
        if type(lies) is not int:
            raise TypeError("lies must be an int")
        if lies < 1:
            raise ValueError("a lie must have some weight, or the answer would be sent as it is")
        self._place(categories, 1 << bits, lies)

    def _place(self, categories: int, grid: int, lies: int) -> None:
        # d > q strictly, or the matrix could not be inverted.
        if categories * lies >= grid:
            raise GridTooCoarse(
                f"2^{grid.bit_length() - 1} does not resolve {categories} categories at this "
                "epsilon; raise epsilon or merge categories"
            )
        self.categories = self.responses = categories
        self.grid, self.lies = grid, lies

    @property
    def truth(self) -> Fraction:
        """Return d, the exact probability that the response is the answer."""
        return Fraction(self.grid - (self.categories - 1) * self.lies, self.grid)

    @property
    def lie(self) -> Fraction:
        """Return q, the exact probability of each particular lie."""
        return Fraction(self.lies, self.grid)

    @property
    def contraction(self) -> Fraction:
        """Return kappa = d - q = 1 - k q, by which frequencies shrink towards uniform."""
        return self.truth - self.lie

    @property
    def privacy(self) -> TwoValuedPrivacy:
        """Return the tight guarantee of the implemented integers."""
        return TwoValuedPrivacy(self.truth, self.lie)

    @property
    def rounds(self) -> Rounds | None:
        """Return the two rounds that it is made of, if it is."""
        return None

    def row(self, category: int) -> list[int]:
        """Return one row's integer weights over the grid."""
        weights = [self.lies] * self.categories
        weights[self._index(category)] = self.grid - (self.categories - 1) * self.lies
        return weights

    def probability(self, category: int, response: int) -> Fraction:
        """Return the exact probability of a response given a true category."""
        category, response = self._index(category), self._index(response)
        return self.truth if category == response else self.lie

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``.

        Any ``draw`` but the default is for tests, and for responses that are kept.
        """
        answer = self._index(answer)
        # A uniform word r in [0, N) falls into block r // a. The first k blocks of a words each
        # name a category; the N - k a words behind them tell the truth. So each lie has
        # probability a/N and the truth (N - k a)/N + a/N = d.
        # Both outcomes are computed and one is selected: a branch would time the one thing that a
        # public response hides. (Python promises no constant time; this is what it allows.)
        named = (draw() & (self.grid - 1)) // self.lies
        return (answer, named)[named < self.categories]

    def _index(self, value: int) -> int:
        return category_index(value, self.categories)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self.categories, self.grid, self.lies) == (other.categories, other.grid, other.lies)

    def __hash__(self) -> int:
        return hash((self.categories, self.grid, self.lies))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.categories}, lies={self.lies})"


def check_size(categories: int, bits: int, most: int = MAX_CATEGORIES) -> None:
    """Check a number of categories and the places of a grid."""
    if type(categories) is not int or type(bits) is not int:
        raise TypeError("categories and bits must be ints")
    if not 2 <= categories <= most:
        raise ValueError(f"categories must be in [2, {most}]")
    if not 1 <= bits <= 64:
        raise ValueError("bits must be in [1, 64]")
