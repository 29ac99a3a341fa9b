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
from typing import ClassVar, Final

from deniable.mechanisms.exact import GridTooCoarse, InvalidPrivacyParameter, Number, exact_epsilon
from deniable.mechanisms.exponential import ceil_div, exp_enclosure
from deniable.mechanisms.kind import InvalidParameter, Kind, Parameters, Settings, at_fault
from deniable.mechanisms.randomised_response import RandomisedResponse
from deniable.mechanisms.randomness import Draw, os_random_word
from deniable.mechanisms.two_valued import TwoValuedMechanism


class TwoRound(TwoValuedMechanism):
    """The matrix of one report of two rounds, and the rounds.

    Args:
        categories: how many there are, 2 to 65,536.
        epsilon: of one report, positive.
        kept_epsilon: of any number of reports that share one kept response, in (epsilon, 40].
        bits: each round's grid is 2^bits, 1 to 64. Surveys use 64; smaller grids are for exhaustive
            tests.

    Raises GridTooCoarse if the grid does not separate truth from lie, or the two levels.
    """

    __slots__ = ("epsilon", "fresh", "kept")

    def __init__(
        self, categories: int, epsilon: Number, kept_epsilon: Number, *, bits: int = 64
    ) -> None:
        self.epsilon: Final = exact_epsilon(epsilon)
        if not 0 < self.epsilon < exact_epsilon(kept_epsilon):
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
            low, high = exp_enclosure(self.epsilon, precision)
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
    def rounds(self) -> "TwoRound":
        """Return the mechanism itself: it has two rounds."""
        return self

    def constant_odds(self, reports: int) -> Fraction:
        """Return the odds of so many reports about an answer that never changes.

        They rise from those of one report to those of the kept response.
        """
        # The most telling reports all name x. Under x: the kept response is x (d_inf) and every
        # report true to it (d_2^t), or it is one of m = k-1 others and every report lies. Under x':
        # kept x by a lie, x' by the truth, or one of k-2 others. Over q_inf q_2^t this is
        #   (E_inf E_2^t + k - 1) / (E_2^t + E_inf + k - 2).
        k, kept = self.categories, self.kept.privacy.odds
        growth = self.fresh.privacy.odds**reports
        return (kept * growth + k - 1) / (growth + kept + k - 2)

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return one report's response, of both rounds; nothing is kept.

        A device that keeps the first round's response asks ``kept`` once and ``fresh`` each time.
        """
        return self.fresh.randomise(self.kept.randomise(answer, draw), draw)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TwoRound):
            return NotImplemented
        return (self.kept, self.fresh) == (other.kept, other.fresh)

    def __hash__(self) -> int:
        return hash((self.kept, self.fresh))

    def __repr__(self) -> str:
        levels = f"epsilon={self.epsilon}, kept_epsilon={self.kept.epsilon}"
        return f"TwoRound({self.categories}, {levels})"


class _Kind(Kind):
    name = "two-round"
    summary = "whose first round is kept and whose second is fresh for each report"
    fields = ("kept",)
    keys: ClassVar = {
        "kept_epsilon": "of a two-round survey: privacy of any number of reports about an answer "
        "that stays the same, as a string; above epsilon",
    }
    symmetric = True
    first_round_kept = True

    def check(self, parameters: Parameters) -> None:
        if type(parameters["kept"]) is not str:
            raise InvalidParameter("mechanism", "text is expected")
        try:
            exact_epsilon(parameters["kept"])
        except InvalidPrivacyParameter as error:
            raise InvalidParameter("mechanism", f"of what is kept, {error}") from error

    def calibrated(
        self, settings: Settings, categories: int, epsilon: str, delta: str
    ) -> Parameters:
        parameters = {"kept": self.setting(settings, "kept_epsilon")}
        with at_fault("kept_epsilon"):
            self.check(parameters)
        return parameters

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> TwoRound:
        self.check_pure(delta)
        with at_fault("epsilon"):
            return TwoRound(categories, epsilon, parameters["kept"])

    def kept_epsilon(self, parameters: Parameters) -> str:
        kept: str = parameters["kept"]
        return kept

    def described(self, parameters: Parameters) -> dict[str, str]:
        return {"kept_epsilon": self.kept_epsilon(parameters)}


KIND: Final = _Kind()
