"""Two rounds: randomise an answer once and keep the response, then randomise that for each report.

The kept response protects an unchanging answer, however many reports there are. Each report's fresh
noise hides that it does not change. The kept response u is randomised response on the v points of a
block design, and each report is a block, drawn by that design for u. Let a1 be the lies of the kept
round over N = 2^64, and W the weight over K N of a block that supports u, or does not. Then u is
the answer with probability kappa = 1 - v a1/N and otherwise uniform over the points, and a uniform
point makes all blocks equally likely. So one report is *again a design mechanism on the same
blocks*,

    P(x, y) = ((N - v a1) W(x, y) + a1 v N) / (K N^2),

and estimates as well as any mechanism at its level: for one report the kept round costs nothing.
With sets of one category, both rounds are randomised response.

Source: Erlingsson, Pihur and Korolova 2014 (k = 2); docs/mathematics.md, section 16.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from deniable.mechanisms.answering import (
    RANDOMISED_RESPONSE,
    Answering,
    answering_kind,
    answering_labels,
    answering_parameters,
    check_answering,
)
from deniable.mechanisms.block_design import (
    BlockMechanism,
    Design,
    DesignKind,
    TurnedDesign,
    least_outside,
)
from deniable.mechanisms.exact import (
    InvalidPrivacyParameter,
    Number,
    exact_epsilon,
    odds_ceiling,
    odds_floor,
)
from deniable.mechanisms.kind import InvalidManifest, Kind, Parameters, at_fault
from deniable.mechanisms.mechanism import Draw, category_index, os_random_word
from deniable.mechanisms.randomised_response import RandomisedResponse

MAX_POINTS: Final = 1 << 17
"""The most points of a design, which is also the limit of affine designs' primes."""

SINGLE: Final[Answering] = ("subset", 1)
"""The design of single categories: randomised response."""


class KeptRound(RandomisedResponse):
    """The kept round: randomised response on the points of a design, some of which are answers."""

    most = MAX_POINTS

    def __init__(self, design: Design, epsilon: Number) -> None:
        self.answers: Final = design.categories
        super().__init__(design.points, epsilon)

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return the point that is kept for the true category ``answer``."""
        return super().randomise(category_index(answer, self.answers), draw)


class TwoRound(BlockMechanism):
    """The matrix of one report after two rounds, and the rounds.

    Args:
        design: the design of the fresh round; ``Subset(k, 1)`` is randomised response.
        epsilon: the epsilon of one report, positive.
        kept_epsilon: the epsilon of all reports that share a kept response, in (epsilon, 40].

    ``kept`` is the first round, a point of the design; ``fresh`` is the second.

    Raises:
        InvalidPrivacyParameter: if (e^epsilon - 1) b >= e^kept_epsilon - 1, where b is the number
            of points of a block: then the kept response is not sharp enough for one report.
        GridTooCoarse: if 2^64 does not separate the two levels.
        ValueError: if the design has more than 2^17 points.
    """

    def __init__(self, design: Design, epsilon: Number, kept_epsilon: Number) -> None:
        self.epsilon: Final = exact_epsilon(epsilon)
        if not 0 < self.epsilon < exact_epsilon(kept_epsilon):
            raise InvalidPrivacyParameter(
                "one report's epsilon must be positive and below the kept response's epsilon"
            )
        complete = design.complete()
        self.kept = KeptRound(design, kept_epsilon)
        self.fresh = TurnedDesign(complete, self._least_outside(complete))
        n, even = self.kept.grid, self._even
        super().__init__(
            design,
            design.responses * n**2,
            supporting=self._true * self.fresh.supporting + even * n,
            other=self._true * self.fresh.other + even * n,
        )
        self.identity = design, self.kept, self.fresh
        # A bug above must stop here, before it affects an answer.
        if self.privacy.odds > odds_floor(self.epsilon):
            raise AssertionError("the privacy certificate failed; please report this as a bug")

    @property
    def _even(self) -> int:
        """Return v a1, the weight over N with which the kept response is uniform."""
        return self.kept.categories * self.kept.lies

    @property
    def _true(self) -> int:
        return self.kept.grid - self._even

    def _least_outside(self, design: Design) -> int:
        # For blocks of b points, W inside is E_2 times W outside, and b of the former plus v - b of
        # the latter sum to v N: W outside = v N/(b E_2 + v - b). One report has the odds E_1 if (N
        # - v a1)(E_2 - E_1) W outside = (E_1 - 1) a1 v N, hence E_2 = (E_1 (N - v a1) + (E_1 - 1)
        # a1 (v - b)) / ((N - v a1) - (E_1 - 1) a1 b).
        true, lies, b = self._true, self.kept.lies, design.block
        if (odds_ceiling(self.epsilon, 192) - 1) * lies * b >= true:
            raise InvalidPrivacyParameter(
                f"the kept response is too noisy for blocks of {b:,} points: (e^epsilon - 1) "
                "times their size must be below e^kept - 1. Use smaller blocks, a larger kept "
                "epsilon or a smaller epsilon"
            )

        def odds(one: Fraction) -> Fraction:
            rest = (one - 1) * lies
            return (one * true + rest * (design.points - b)) / (true - rest * b)

        return least_outside(design, self.epsilon, odds)

    @property
    def rounds(self) -> "TwoRound":
        """Return the mechanism itself, which has two rounds."""
        return self

    @property
    def truth(self) -> Fraction | None:
        """Return the probability of sending the answer itself if a block is one category."""
        return self.hit if self.design.block == 1 else None

    def constant_odds(self, reports: int) -> Fraction:
        """Return the odds of this many reports about an answer that never changes.

        They are exact if any set of b points is a block, and never too low otherwise. They rise
        from those of one report to those of the kept response.
        """
        # The reports are y_1 .. y_j; L_u is the product of W(u, y_i), S = sum_u L_u. Under x they
        # have the weight a1 S + (N - v a1) L_x. Its ratio to that under x' rises with L_x, and
        # falls with L_x' and the sum R of all others: each derivative has one sign. If c_u blocks
        # contain u, L_u is W inside^c_u W outside^(j - c_u), and all c_u sum to j b. c_x may be j,
        # the maximum. For c_x' each value up to the mean of the rest is tried (more raises both
        # L_x' and S). R is least if the others' c_u are as equal as possible, since L_u is convex
        # in c_u. Sets of b points can have any such c_u <= j.
        inside, outside = self.fresh.supporting, self.fresh.other
        lies, true, others = self.kept.lies, self._true, self.kept.categories - 2
        held = reports * (self.design.block - 1)

        def power(count: int) -> int:
            weight: int = inside**count * outside ** (reports - count)
            return weight

        def odds(least: int) -> Fraction:
            even, more = divmod(held - least, others) if others else (0, 0)
            rest = (others - more) * power(even) + (more * power(even + 1) if more else 0)
            total = lies * (power(reports) + power(least) + rest)
            return Fraction(total + true * power(reports), total + true * power(least))

        return max(map(odds, range(held // (others + 1) + 1)))

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return one report's response, of both rounds; nothing is kept.

        A device that keeps the first round's response calls ``kept`` once and ``fresh`` each time.
        """
        return self.fresh.randomise(self.kept.randomise(answer, draw), draw)

    def __repr__(self) -> str:
        levels = f"epsilon={self.epsilon}, kept_epsilon={self.kept.epsilon}"
        return f"TwoRound({self.design}, {levels})"


class _Kind(Kind):
    name = "two-round"
    fields = ("kept", "fresh")
    first_round_kept = True

    def check(self, parameters: Parameters) -> None:
        kept, fresh = (parameters[name] for name in self.fields)
        with at_fault("mechanism"):
            check_kept(kept)
            check_fresh(fresh)

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> TwoRound:
        self.check_pure(delta)
        kind, fresh = _design(parameters["fresh"])
        with at_fault("categories"):
            design = kind.design(fresh, categories)
        if design.points > MAX_POINTS:
            text = f"fresh has {design.points:,} points; at most {MAX_POINTS:,} are allowed"
            raise InvalidManifest("mechanism", text)
        with at_fault("epsilon"):
            return TwoRound(design, epsilon, parameters["kept"])

    def responses(self, parameters: Parameters, categories: tuple[str, ...]) -> Sequence[str]:
        if parameters["fresh"] == SINGLE:
            return categories
        return answering_labels(parameters["fresh"], categories)

    def kept_epsilon(self, parameters: Parameters) -> str:
        kept: str = parameters["kept"]
        return kept


def _design(fresh: Answering) -> tuple[DesignKind, Parameters]:
    """Return the kind of a design, and its parameters."""
    kind = answering_kind(fresh)
    assert isinstance(kind, DesignKind)
    return kind, answering_parameters(fresh)


def check_kept(kept: object) -> None:
    """Check the epsilon of a kept response."""
    if type(kept) is not str:
        raise InvalidManifest("kept", "text is expected")
    exact_epsilon(kept)


def check_fresh(fresh: object) -> None:
    """Check the design of the fresh round."""
    check_answering(fresh)
    if fresh == RANDOMISED_RESPONSE:
        raise InvalidManifest("fresh", 'must be a design; ["subset", 1] is randomised response')


KIND: Final = _Kind()
