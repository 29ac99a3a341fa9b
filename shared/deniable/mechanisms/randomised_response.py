"""Randomised response: the optimal parent mechanism of Holohan, Leith and Mason (2016).

Its solution matrix has ``d`` on and ``q`` off the diagonal. Theorem 10: among all
(epsilon, delta)-private mechanisms on k = m + 1 categories,

    q = (1 - delta) / (e^epsilon + m),        d = 1 - m q

lies least often, whichever category is true.

In integers over N = 2^bits (docs/mathematics.md, section 2): a = ceil(N q), so that lies are
rounded *up*, towards privacy. e^epsilon enters as a certified enclosure, refined until both of its
ends give the same a; a is therefore the best integer on the grid, and one inequality between
integers proves it private.
"""

from fractions import Fraction

from deniable.mechanisms.exact import (
    GridTooCoarse,
    InvalidPrivacyParameter,
    Number,
    exact_delta,
    exact_epsilon,
)
from deniable.mechanisms.exponential import ceil_div, exp_enclosure
from deniable.mechanisms.mechanism import category_index
from deniable.mechanisms.privacy import TwoValuedPrivacy
from deniable.mechanisms.randomness import Draw, os_random_word

__all__ = ["MAX_CATEGORIES", "RandomisedResponse"]

MAX_CATEGORIES = 65_536


class RandomisedResponse:
    """Tell the truth with probability d, else name each other category with probability q.

    Args:
        categories: how many categories there are, 2 to 65,536.
        epsilon: privacy level in [0, 40]: a decimal string, Decimal, Fraction or int.
        delta: slack in [0, 1), likewise. Not both may be zero. The default 0 is the one to use:
            delta buys nothing unless it is of the order of e^epsilon / categories.
        bits: the grid is 2^bits, 1 to 64. Surveys use 64; smaller grids are for exhaustive tests.

    Raises:
        TypeError: for a float or another type that does not hold the number exactly.
        InvalidPrivacyParameter: for epsilon or delta outside their domain, or both 0.
        ValueError: for a number of categories or bits outside its domain.
        GridTooCoarse: if 2^bits does not separate truth from lie at this epsilon.

    Source: Theorems 8 and 10 of the paper; docs/mathematics.md, sections 1 and 2.
    """

    __slots__ = ("_categories", "_delta", "_epsilon", "_grid", "_lies")

    def __init__(
        self, categories: int, epsilon: Number, delta: Number = "0", *, bits: int = 64
    ) -> None:
        if type(categories) is not int or type(bits) is not int:
            raise TypeError("categories and bits must be ints")
        if not 2 <= categories <= MAX_CATEGORIES:
            raise ValueError(f"categories must be in [2, {MAX_CATEGORIES}]")
        if not 1 <= bits <= 64:
            raise ValueError("bits must be in [1, 64]")
        self._categories = categories
        self._epsilon = exact_epsilon(epsilon)
        self._delta = exact_delta(delta)
        if self._epsilon == 0 and self._delta == 0:
            raise InvalidPrivacyParameter(
                "epsilon and delta are both 0: the responses would say nothing; raise epsilon"
            )
        self._grid = 1 << bits
        self._lies = self._certified_lies()

    def _certified_lies(self) -> int:
        n, m = self._grid, self._categories - 1
        s, t = self._delta.numerator, self._delta.denominator
        precision = 128
        while True:
            low, high = exp_enclosure(self._epsilon, precision)
            v = 1 << precision
            # a = ceil(N q) = ceil( N (t-s)/t / (u/v + m) ) with u/v an end of the enclosure.
            # N q is no integer (e^epsilon is transcendental for rational epsilon != 0, and exact
            # at 0), so the loop ends.
            a = ceil_div(n * (t - s) * v, t * (low + m * v))
            if a == ceil_div(n * (t - s) * v, t * (high + m * v)):
                break
            precision *= 2
        # d > q strictly, or the matrix could not be inverted.
        if (m + 1) * a >= n:
            raise GridTooCoarse(
                f"2^{n.bit_length() - 1} does not resolve {m + 1} categories at this epsilon; "
                "raise epsilon or merge categories"
            )
        # The certificate, d <= e^epsilon q + delta, as v t (N - m a) <= u t a + v s N with
        # u/v <= e^epsilon. A bug above must end here, not in somebody's answer.
        if v * t * (n - m * a) > low * t * a + v * s * n:
            raise AssertionError("the privacy certificate failed; please report this as a bug")
        return a

    @property
    def categories(self) -> int:
        """Return how many categories there are, k = m + 1."""
        return self._categories

    @property
    def responses(self) -> int:
        """Return how many responses there are: every category is one."""
        return self._categories

    @property
    def epsilon(self) -> Fraction:
        """Return the epsilon that was asked for."""
        return self._epsilon

    @property
    def delta(self) -> Fraction:
        """Return the delta that was asked for."""
        return self._delta

    @property
    def grid(self) -> int:
        """Return N, the denominator of every probability."""
        return self._grid

    @property
    def lies(self) -> int:
        """Return a, the numerator of each lie's probability over the grid."""
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
        """Return kappa = d - q, by which frequencies shrink towards uniform."""
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
            draw: where the uniform 64-bit word comes from. Anything but the default is for tests.

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
        if not isinstance(other, RandomisedResponse):
            return NotImplemented
        return (self._categories, self._grid, self._lies) == (
            other._categories,
            other._grid,
            other._lies,
        )

    def __hash__(self) -> int:
        return hash((self._categories, self._grid, self._lies))

    def __repr__(self) -> str:
        return (
            f"RandomisedResponse({self._categories}, epsilon={self._epsilon}, delta={self._delta})"
        )
