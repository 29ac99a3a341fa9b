"""Two rounds: randomise an answer once and keep the response, then randomise that for each report.

What is kept protects an answer that stays the same, however many reports there are; the fresh noise
of each report hides that it stays the same. Both rounds are randomised response on the same k
categories, and so is what they make together: with a1 and a2 the lies of the rounds over N = 2^bits

    kappa = kappa1 kappa2,   q = (1 - kappa)/k = L / N^2,   L = a1 N + a2 (N - k a1),

integers over N^2. The kept round follows from its level as any randomised response. a2 is the least
integer with which one report is epsilon-private: L (E + m) >= N^2.

Source: Erlingsson, Pihur and Korolova 2014 (k = 2); docs/mathematics.md, section 16.
"""

from fractions import Fraction

from deniable.mechanisms.exact import (
    GridTooCoarse,
    InvalidPrivacyParameter,
    Number,
    exact_epsilon,
)
from deniable.mechanisms.exponential import ceil_div, exp_enclosure
from deniable.mechanisms.randomised_response import RandomisedResponse
from deniable.mechanisms.randomness import Draw, os_random_word
from deniable.mechanisms.two_valued import TwoValuedMechanism

__all__ = ["TwoRound"]


class TwoRound(TwoValuedMechanism):
    """The matrix of one report of two rounds, and the rounds.

    Args:
        categories: how many categories there are, 2 to 65,536.
        epsilon: of one report: a decimal string, Decimal, Fraction or int.
        kept_epsilon: of any number of reports that share one kept response, likewise; in
            (epsilon, 40].
        bits: each round's grid is 2^bits, 1 to 64. Surveys use 64; smaller grids are for exhaustive
            tests.

    Attributes:
        kept: the round whose response is kept.
        fresh: the noise that each report adds to it.

    Raises:
        TypeError: for a float or another type that does not hold the number exactly.
        InvalidPrivacyParameter: unless 0 < epsilon < kept_epsilon <= 40.
        ValueError: for a number of categories or bits outside its domain.
        GridTooCoarse: if the grid does not separate truth from lie, or the two levels.
    """

    __slots__ = ("_epsilon", "fresh", "kept")

    def __init__(
        self, categories: int, epsilon: Number, kept_epsilon: Number, *, bits: int = 64
    ) -> None:
        self._epsilon = exact_epsilon(epsilon)
        if not 0 < self._epsilon < exact_epsilon(kept_epsilon):
            raise InvalidPrivacyParameter(
                "one report's epsilon must be positive and less than that of the kept response"
            )
        self.kept = RandomisedResponse(categories, kept_epsilon, bits=bits)
        n, a1 = self.kept.grid, self.kept.lies
        a2 = self._certified_lies(categories, n, a1)
        if a2 < 1:
            raise GridTooCoarse(
                f"2^{bits} does not tell the two levels apart: a report would need no noise of its "
                "own; raise the kept epsilon, or publish a memoised survey"
            )
        self.fresh = TwoValuedMechanism(categories, a2, bits=bits)
        self._place(categories, n * n, a1 * n + a2 * (n - categories * a1))

    def _certified_lies(self, categories: int, n: int, a1: int) -> int:
        m, rest = categories - 1, n - categories * a1
        precision = 256
        while True:
            low, high = exp_enclosure(self._epsilon, precision)
            v = 1 << precision
            # a2 = ceil( (N^2/(E + m) - a1 N) / (N - k a1) ). Never an integer before it is rounded,
            # since e^epsilon is transcendental: so the loop ends.
            a2 = ceil_div(n * (n * v - a1 * (low + m * v)), (low + m * v) * rest)
            if a2 == ceil_div(n * (n * v - a1 * (high + m * v)), (high + m * v) * rest):
                break
            precision *= 2
        # The certificate of one report, d <= e^epsilon q, with u/v <= e^epsilon.
        lies = a1 * n + a2 * rest
        if v * (n * n - m * lies) > low * lies:
            raise AssertionError("the privacy certificate failed; please report this as a bug")
        return a2

    @property
    def epsilon(self) -> Fraction:
        """Return the epsilon of one report that was asked for."""
        return self._epsilon

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return one report's response, of both rounds; nothing is kept.

        A device that keeps the first round's response asks ``kept`` once and ``fresh`` each time.

        Raises:
            IndexError: for an answer outside the domain. Nothing is drawn then.
        """
        return self.fresh.randomise(self.kept.randomise(answer, draw), draw)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TwoRound):
            return NotImplemented
        return (self.kept, self.fresh) == (other.kept, other.fresh)

    def __hash__(self) -> int:
        return hash((self.kept, self.fresh))

    def __repr__(self) -> str:
        return (
            f"TwoRound({self._categories}, epsilon={self._epsilon}, "
            f"kept_epsilon={self.kept.epsilon})"
        )
