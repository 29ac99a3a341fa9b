"""Randomised response: the optimal parent mechanism of Holohan, Leith and Mason (2016).

Its solution matrix has ``d`` on and ``q`` off the diagonal. Theorem 10: among all
(epsilon, delta)-private mechanisms on k = m + 1 categories,

    q = (1 - delta) / (e^epsilon + m),        d = 1 - m q

has the smallest probability of a lie, whichever category is true.

In integers over N = 2^bits, a = ceil(N q): lies are rounded *up*, towards privacy, and one
inequality between integers proves a private (docs/mathematics.md, section 2).
"""

from fractions import Fraction
from typing import ClassVar, Final

from deniable.mechanisms.exact import (
    GridTooCoarse,
    InvalidPrivacyParameter,
    Number,
    ceil_div,
    exact_delta,
    exact_epsilon,
    exp_enclosure,
)
from deniable.mechanisms.kind import Kind, Parameters, at_fault
from deniable.mechanisms.mechanism import Compared, Draw, Rounds, category_index, os_random_word
from deniable.mechanisms.privacy import TwoValuedPrivacy

MAX_CATEGORIES: Final = 65_536
"""The most categories of one survey."""


class RandomisedResponse(Compared):
    """Tell the truth with probability d, or name each other category with probability q.

    Args:
        categories: the number of categories, 2 to 65,536.
        epsilon: in [0, 40].
        delta: in [0, 1); not both may be 0. Use the default: delta gains nothing unless it is of
            the order of e^epsilon / categories.
        bits: the grid is 2^bits, 1 to 64. Surveys use 64; smaller grids are for exhaustive tests.

    Raises GridTooCoarse if 2^bits does not separate truth from lie at this epsilon.

    Source: Theorems 8 and 10 of the paper; docs/mathematics.md, sections 1 and 2.
    """

    hit: Final = None
    miss: Final = None
    most: ClassVar[int] = MAX_CATEGORIES

    def __init__(
        self, categories: int, epsilon: Number, delta: Number = "0", *, bits: int = 64
    ) -> None:
        check_size(categories, bits, self.most)
        self.epsilon: Final = exact_epsilon(epsilon)
        self.delta: Final = exact_delta(delta)
        if self.epsilon == 0 and self.delta == 0:
            raise InvalidPrivacyParameter(
                "if epsilon and delta are 0, responses carry no information; raise epsilon"
            )
        self.categories = self.responses = categories
        self.grid = 1 << bits
        self.lies = self._certified_lies(categories, self.grid)
        self.identity = categories, self.grid, self.lies
        # d > q strictly, otherwise the matrix could not be inverted.
        if categories * self.lies >= self.grid:
            raise GridTooCoarse(
                f"probabilities in units of 2^-{bits} are too coarse for {categories} categories "
                "at this epsilon; raise epsilon or merge categories"
            )

    @property
    def truth(self) -> Fraction:
        """Return d, the exact probability that the response is the answer."""
        return Fraction(self.grid - (self.categories - 1) * self.lies, self.grid)

    @property
    def lie(self) -> Fraction:
        """Return q, the exact probability of each particular lie."""
        return Fraction(self.lies, self.grid)

    @property
    def privacy(self) -> TwoValuedPrivacy:
        """Return the tight guarantee of the implemented integers."""
        return TwoValuedPrivacy(self.truth, self.lie)

    @property
    def rounds(self) -> Rounds | None:
        """Return the mechanism's two rounds, if it has two."""
        return None

    def row(self, category: int) -> list[int]:
        """Return one row's integer weights over the grid."""
        weights = [self.lies] * self.categories
        weights[category_index(category, self.categories)] = (
            self.grid - (self.categories - 1) * self.lies
        )
        return weights

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``.

        A ``draw`` other than the default is for tests and for kept responses.
        """
        answer = category_index(answer, self.categories)
        # A uniform word r in [0, N) falls into block r // a. The first k blocks of a words each
        # name a category; the remaining N - k a words tell the truth. So each lie has probability
        # a/N and the truth (N - k a)/N + a/N = d. Both outcomes are computed and one is selected:
        # the timing of a branch would reveal the one thing that a public response hides. (Python
        # guarantees no constant time; this is the best available.)
        named = (draw() & (self.grid - 1)) // self.lies
        return (answer, named)[named < self.categories]

    def _certified_lies(self, categories: int, n: int) -> int:
        m = categories - 1
        s, t = self.delta.as_integer_ratio()
        precision = 128
        while True:
            low, high = exp_enclosure(self.epsilon, precision)
            v = 1 << precision
            # a = ceil(N q) = ceil( N (t-s)/t / (u/v + m) ) with u/v an end of the enclosure. N q is
            # not an integer (e^epsilon is transcendental for rational epsilon != 0, and exact at
            # 0), so the loop ends.
            a = ceil_div(n * (t - s) * v, t * (low + m * v))
            if a == ceil_div(n * (t - s) * v, t * (high + m * v)):
                break
            precision *= 2
        # The certificate, d <= e^epsilon q + delta, as v t (N - m a) <= u t a + v s N with u/v <=
        # e^epsilon. A bug above must stop here, before it affects an answer.
        if v * t * (n - m * a) > low * t * a + v * s * n:
            raise AssertionError("the privacy certificate failed; please report this as a bug")
        return a

    def __repr__(self) -> str:
        return f"RandomisedResponse({self.categories}, epsilon={self.epsilon}, delta={self.delta})"


def check_size(categories: int, bits: int, most: int = MAX_CATEGORIES) -> None:
    """Check a number of categories and the bits of a grid."""
    if type(categories) is not int or type(bits) is not int:
        raise TypeError("categories and bits must be ints")
    if not 2 <= categories <= most:
        raise ValueError(f"categories must be in [2, {most}]")
    if not 1 <= bits <= 64:
        raise ValueError("bits must be in [1, 64]")


class _Kind(Kind):
    name = "randomised-response"

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> RandomisedResponse:
        with at_fault("epsilon"):
            return RandomisedResponse(categories, epsilon, delta)


KIND: Final = _Kind()
