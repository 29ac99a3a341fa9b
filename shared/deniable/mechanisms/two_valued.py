"""Matrices with one value on and one off the diagonal: what all forms of randomised response share.

With d on and q off the diagonal, P = kappa I + q 11^T, kappa = d - q = 1 - k q: sampling, guarantee
and inverse all have closed forms. Products of such matrices are such matrices, and their kappas
multiply.
"""

from fractions import Fraction
from typing import Final

from deniable.mechanisms.exact import GridTooCoarse
from deniable.mechanisms.mechanism import category_index
from deniable.mechanisms.privacy import TwoValuedPrivacy
from deniable.mechanisms.randomness import Draw, os_random_word

__all__ = ["MAX_CATEGORIES", "TwoValuedMechanism"]

MAX_CATEGORIES: Final = 65_536


class TwoValuedMechanism:
    """Tell the truth with probability d, else name each other category with probability q.

    Args:
        categories: how many categories there are, 2 to 65,536.
        lies: a, the weight of each lie over the grid N: q = a/N.
        bits: the grid is 2^bits, 1 to 64.

    Raises:
        TypeError: for anything but ints.
        ValueError: for a number of categories, lies or bits outside its domain.
        GridTooCoarse: if the truth is no likelier than a lie.

    Source: docs/mathematics.md, sections 1 and 2.
    """

    __slots__ = ("_categories", "_grid", "_lies")

    def __init__(self, categories: int, lies: int, *, bits: int = 64) -> None:
        check_size(categories, bits)
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
        self._categories, self._grid, self._lies = categories, grid, lies

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
        """Return N, the denominator of every probability."""
        return self._grid

    @property
    def lies(self) -> int:
        """Return a, the weight of each lie over the grid N: q = a/N."""
        return self._lies

    @property
    def truth(self) -> Fraction:
        """Return d, the exact probability that the response is the answer."""
        return Fraction(self._grid - (self._categories - 1) * self._lies, self._grid)

    @property
    def lie(self) -> Fraction:
        """Return q, the exact probability of each particular lie."""
        return Fraction(self._lies, self._grid)

    @property
    def contraction(self) -> Fraction:
        """Return kappa = d - q = 1 - k q, by which frequencies shrink towards uniform."""
        return self.truth - self.lie

    @property
    def privacy(self) -> TwoValuedPrivacy:
        """Return the tight guarantee of the implemented integers."""
        return TwoValuedPrivacy(self.truth, self.lie)

    def row(self, category: int) -> list[int]:
        """Return one row's integer weights over the grid."""
        weights = [self._lies] * self._categories
        weights[self._index(category)] = self._grid - (self._categories - 1) * self._lies
        return weights

    def probability(self, category: int, response: int) -> Fraction:
        """Return the exact probability of a response given a true category.

        Raises:
            IndexError: for a category or response outside 0 … k - 1.
        """
        category, response = self._index(category), self._index(response)
        return self.truth if category == response else self.lie

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``.

        Args:
            answer: index of the true category, 0 … k - 1.
            draw: where the uniform 64-bit word comes from. Anything but the default is for tests,
                and for responses that are kept.

        Raises:
            IndexError: for an answer outside the domain. Nothing is drawn then.
        """
        answer = self._index(answer)
        # A uniform word r in [0, N) falls into block r // a. The first k blocks of a words each
        # name a category; the N - k a words behind them tell the truth. So each lie has
        # probability a/N and the truth (N - k a)/N + a/N = d.
        # Both outcomes are computed and one is selected: a branch would time the one thing that a
        # public response hides. (Python promises no constant time; this is what it allows.)
        named = (draw() & (self._grid - 1)) // self._lies
        return (answer, named)[named < self._categories]

    def _index(self, value: int) -> int:
        return category_index(value, self._categories)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self._categories, self._grid, self._lies) == (
            other._categories,
            other._grid,
            other._lies,
        )

    def __hash__(self) -> int:
        return hash((self._categories, self._grid, self._lies))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._categories}, lies={self._lies})"


def check_size(categories: int, bits: int) -> None:
    """Check a number of categories and the places of a grid.

    Raises:
        TypeError, ValueError: unless they are ints in [2, 65,536] and [1, 64].
    """
    if type(categories) is not int or type(bits) is not int:
        raise TypeError("categories and bits must be ints")
    if not 2 <= categories <= MAX_CATEGORIES:
        raise ValueError(f"categories must be in [2, {MAX_CATEGORIES}]")
    if not 1 <= bits <= 64:
        raise ValueError("bits must be in [1, 64]")
