"""Private selection: the exponential mechanism of McSherry and Talwar, sampled in integers.

One of fixed outcomes r is chosen with probability proportional to m_r e^(c u_r), where the utility
u_r says how good r is for the private data, and the base measure m_r, which is public, how likely r
is where utilities say nothing; by default all are alike. Here too a mechanism is a solution matrix,
with a row for each data set and a column for each outcome; only the row of the data at hand is ever
computed.

*The factor two.* If no utility moves by more than D between neighbouring data sets, then e^(c u_r)
moves by a factor of at most e^(cD), and so does the sum of all, perhaps the other way:

    P_r/P'_r  =  e^(c (u_r - u'_r)) * sum_s m_s e^(c u'_s) / sum_s m_s e^(c u_s)  <=  e^(2cD)

so c = epsilon/(2D) is epsilon-private for every utility. If all utilities move the same way, one of
the two factors is at most 1, and c = epsilon/D is enough. Texts differ in which exponent they call
"the exponential mechanism with parameter epsilon" (also c = epsilon, regardless of D). Here epsilon
is always the guarantee; what is known about the utility decides the exponent.

Source: F. McSherry and K. Talwar, "Mechanism design via differential privacy", 2007, Theorem 6;
docs/mathematics.md, section 11.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import ceil
from operator import index
from typing import Final, Generic, TypeVar

from deniable.mechanisms import (
    Draw,
    InvalidPrivacyParameter,
    Number,
    ceil_div,
    exact_epsilon,
    exact_number,
    exp_enclosure,
    odds_floor,
    os_random_word,
)

# Exact choices, by weights that are not rational and out of infinitely many outcomes too: a uniform
# point U of [0, 1) falls into the share of one outcome. U is drawn, and the shares are computed,
# only as finely as it takes to tell which: 64 bits more at a time. Nothing is rounded, so that a
# choice that is epsilon-private on paper is epsilon-private in fact.


Bounds = tuple[Fraction | int, Fraction | int]


def exact_choice(enclose: Callable[[int], Sequence[Bounds]], draw: Draw = os_random_word) -> int:
    """Return i with probability w_i/(w_0 + w_1 + …), exactly.

    For a number of bits, raised until the choice is made, ``enclose`` gives a lower and an upper
    bound of each weight, as close as one likes with enough bits; and at the end those of all
    further weights together, (0, 0) if there are none.
    """
    word = bits = 0
    while True:
        word, bits = word << 64 | draw(), bits + 64
        below, above = (list(accumulate(ends)) for ends in zip(*enclose(bits), strict=True))
        # U is in [word, word + 1)/2^bits. Of the sums S_i = w_0 + … + w_i and their limit C, i is
        # chosen if S_(i-1) <= U C < S_i, which is certain once it holds for all U and sums within
        # their bounds.
        i = bisect_right(above, Fraction(word * below[-1]) / (1 << bits))
        if (word + 1) * above[-1] <= below[i] * (1 << bits):
            return i


class UnboundedSelection:
    """Choose one of the outcomes 0, 1, 2, …, exactly: P(r) ~ e^(-r/scale) e^(epsilon u_r/(2 D)).

    The exponential mechanism with a base measure of geometric tail, so that the range needs no end.
    The time that a choice takes may tell of the data, like that of discrete Laplace noise: choose
    on a schedule, not on demand. McSherry and Talwar 2007, Definition 2.

    Args:
        epsilon: guarantee of one choice in (0, 40].
        sensitivity: D, by which any utility moves at most between neighbouring data sets; positive.
        scale: of the base measure, positive: where utilities say nothing, outcomes are of the order
            of it.
        least, most: what any utility beyond them counts as.
    """

    __slots__ = ("_exponent", "_least", "_most", "_scale")

    def __init__(
        self, epsilon: Number, *, sensitivity: Number, scale: Number, least: Number, most: Number
    ) -> None:
        level, moves = exact_epsilon(epsilon), exact_number("sensitivity", sensitivity)
        self._scale = exact_number("scale", scale)
        self._least, self._most = exact_number("least", least), exact_number("most", most)
        if min(level, moves, self._scale, self._most - self._least) <= 0:
            raise InvalidPrivacyParameter(
                "epsilon, sensitivity and scale must be positive, and least below most"
            )
        # Utilities cut to [least, most] move by no more than before.
        self._exponent = level / (2 * moves)

    def choose(self, utility: Callable[[int], Number], draw: Draw = os_random_word) -> int:
        """Return an outcome, which may be published; errors do not repeat a utility."""
        return exact_choice(lambda bits: self._enclosures(utility, bits), draw)

    def tail(self, outcome: int) -> Fraction:
        """Return an upper bound of P(r >= outcome), whatever the data are.

        Nor does the law differ by more than that, in any event, from the one with the outcomes from
        there on left out (by an ExponentialMechanism with this base measure).
        """
        # Numerator at most e^(c most) sum_(r >= n) e^(-r/s), denominator at least e^(c least) times
        # the sum over all: together e^(c (most - least)) e^(-n/s).
        exponent = outcome / self._scale - self._exponent * (self._most - self._least)
        return 1 / odds_floor(max(Fraction(0), exponent))

    def _enclosures(self, utility: Callable[[int], Number], bits: int) -> list[Bounds]:
        # With u_r counted from most, a weight is e^-x <= 1, and all together are e^-(c span) at
        # least: 2^-places resolves them to some 2^-bits of that (1 / ln 2 < 3/2).
        span = self._exponent * (self._most - self._least)
        places = bits + ceil(3 * span / 2)
        # From n on they sum to at most e^(-n/s)/(1 - e^(-1/s)) <= (1 + s) e^(-n/s), as
        # 1 - e^-x >= x/(1 + x); which is 2^-places with ln 2 < 7/10 and 1 + s < 2^(bit length).
        enough = ceil(self._scale * 7 * (places + ceil(1 + self._scale).bit_length()) / 10)

        @lru_cache  # for this choice alone: utilities are private
        def falling(exponent: Fraction) -> tuple[int, int]:
            low, high = exp_enclosure(exponent, places)
            return (1 << 2 * places) // high, ceil_div(1 << 2 * places, low)

        bounds: list[Bounds] = []
        least, most = falling(1 / self._scale)
        low = high = 1 << places
        for r in range(enough):
            cut = min(max(exact_number("a utility", utility(r)), self._least), self._most)
            below, above = falling(self._exponent * (self._most - cut))
            bounds.append((low * below, high * above))
            low, high = low * least >> places, ceil_div(high * most, 1 << places)
        return [*bounds, (0, 1 << places)]


def exact_quantity(name: str, value: Number) -> Fraction:
    """Return a number computed from private data, exactly; it may be negative.

    No error repeats it.
    """
    if isinstance(value, str):
        # Parameters of the protocol have no sign. Decimal reads one, and keeps an exponent as it
        # is, so that the next line can refuse a monstrous one before it is expanded.
        try:
            value = Decimal(value)
        except InvalidOperation:
            raise InvalidPrivacyParameter(f'{name} must be a decimal such as "-12.5"') from None
    return exact_number(name, value)


MAX_OUTCOMES = 65_536
"""Outcomes to select from, at most."""

_WORDS: Final = 5
_GRID_BITS: Final = 64 * _WORDS
_CAP: Final = 88  # e^-88 is just above 2^-127
_LEAST: Final = Fraction(130)  # exponents in (128, 256] all cost exp_enclosure nine squarings
_WEIGHT_BITS: Final = 128
_ERROR_BITS: Final = 120
_BASE_BITS: Final = 64
_SHARE_BITS: Final = 127 + _BASE_BITS

# What the integers cost. A weight W_r stands for w_r = m_r e^(y_r) 2^128, y_r in [130, 130 + 88],
# with integers m_r >= 2^-64 sum m_s, so that
#   (1 - a) w_r <= W_r <= w_r,   a = 2^-120,   and W_r/W >= 2^-191,   W = sum W_s,
# both checked at every choice; so W_r/W lies in [1 - a, 1/(1 - a)] p_r for the ideal p_r = w_r/w.
# Rounding two boundaries down to the grid moves it by less than 2^-320, which is at most the part
# g = 2^-129 of it. Hence for any two data sets
#   P_r/P'_r  <=  p_r/p'_r * (1 + g)/((1 - g)(1 - a)^2)  <  p_r/p'_r * (1 + h)  <  e^h p_r/p'_r
# with h = 2^-110, and a choice that is (epsilon - h)-private on paper is epsilon-private in fact.
_RESERVE: Final = Fraction(1, 1 << 110)

Outcome = TypeVar("Outcome")


class Movement(StrEnum):
    """Movements of the utilities that are possible from one data set to a neighbouring one.

    ``ANY``: each by at most the sensitivity, up or down; always right.

    ``MONOTONE``: besides, never one up while another goes down. Counts of records are, if
    neighbours differ by one record more or less. They are not if a record is substituted: one count
    falls, another rises.
    """

    ANY = "any"
    MONOTONE = "monotone"


class ExponentialMechanism(Generic[Outcome]):
    """Choose one of fixed outcomes, the better ones exponentially more often; exactly, in integers.

    The object holds what is public; utilities pass through. Each further choice from related data
    costs epsilon again. McSherry and Talwar, Definition 2 and Theorem 6.

    Attributes:
        outcomes: what can be chosen, 1 to 65,536; fixed beforehand, whatever the data.
        epsilon: guarantee of one choice in (2^-110, 40].
        sensitivity: by how much any utility changes at most between neighbouring data sets.
        movement: what else is known of these changes; decides the factor two in the exponent.
        base: the base measure, in proportion: a positive int for each outcome, fixed like them, and
            none of it less than 2^-64 of their sum. By default all are alike.
        exponent: c, by which probabilities go as m e^(c u), down to e^-88 of the best utility's.
    """

    __slots__ = ("base", "epsilon", "exponent", "movement", "outcomes", "sensitivity")

    def __init__(
        self,
        outcomes: Sequence[Outcome],
        epsilon: Number,
        *,
        sensitivity: Number,
        movement: Movement = Movement.ANY,
        base: Sequence[int] | None = None,
    ) -> None:
        self.outcomes: Final = tuple(outcomes)
        if not 1 <= len(self.outcomes) <= MAX_OUTCOMES:
            raise ValueError(f"there must be 1 to {MAX_OUTCOMES} outcomes")
        self.base: Final = (1,) * len(self.outcomes) if base is None else tuple(map(index, base))
        if len(self.base) != len(self.outcomes) or not (
            0 < sum(self.base) <= min(self.base) << _BASE_BITS
        ):
            raise ValueError(
                "a base measure has a positive int for each outcome, none below 2^-64 of their sum"
            )
        self.epsilon: Final = exact_epsilon(epsilon)
        if self.epsilon <= _RESERVE:
            raise InvalidPrivacyParameter(
                "epsilon must be more than 2^-110: the choice would not depend on the data"
            )
        self.sensitivity: Final = exact_number("sensitivity", sensitivity)
        if self.sensitivity <= 0:
            raise InvalidPrivacyParameter("sensitivity must be positive")
        self.movement: Final = Movement(movement)
        # The module's docstring derives the divisors, the comment above _RESERVE what is withheld.
        moves = self.sensitivity * (2 if self.movement is Movement.ANY else 1)
        self.exponent: Final = (self.epsilon - _RESERVE) / moves

    def choose(self, utilities: Sequence[Number], draw: Draw = os_random_word) -> Outcome:
        """Return one outcome, which may be published.

        Utilities are exact, perhaps negative, in the order of ``outcomes``; only differences count.
        Five words are drawn, or none on an error; no message repeats a utility.
        """
        boundaries = self._boundaries(utilities)
        word = 0
        for _ in range(_WORDS):
            word = word << 64 | draw()
        # Draws, exponentials and comparisons are as many for all data and outcomes. (Python
        # promises no constant time, and long fractions take longer: this is what it allows.)
        return self.outcomes[sum(word >= boundary for boundary in boundaries[:-1])]

    def row(self, utilities: Sequence[Number]) -> list[Fraction]:
        """Return the exact probability of each outcome for these data: a row of the matrix.

        It tells the utilities: for audits and tests, never to be published.
        """
        boundaries = self._boundaries(utilities)
        return [Fraction(high - low, 1 << _GRID_BITS) for low, high in pairwise([0, *boundaries])]

    def _boundaries(self, utilities: Sequence[Number]) -> list[int]:
        """Return where each outcome's share of the words in [0, 2^320) ends."""
        if len(utilities) != len(self.outcomes):
            raise ValueError(f"there must be {len(self.outcomes)} utilities, one for each outcome")
        exact = [exact_quantity("a utility", utility) for utility in utilities]
        largest = max(exact)
        # Outcomes further than 88/c below the largest count as that far below, or their share would
        # be lost between two points of the grid, and with it the guarantee. It costs no privacy:
        # in t_r = max(u_r, largest - 88/c) neither term moves by more than D between neighbours
        # (the largest utility moves by no more than the utilities do), so t_r does not either; and
        # it rises with the utilities, so it is monotone where they are. A constant added to all
        # exponents cancels, so what is weighed is y_r = c (t_r - largest) + 88 + 130.
        weights = [
            mass * _weight(max(_LEAST, _LEAST + _CAP - self.exponent * (largest - utility)))
            for mass, utility in zip(self.base, exact, strict=True)
        ]
        total = sum(weights)
        # The rest of the certificate above _RESERVE. A bug must end here, not in a choice.
        if total > min(weights) << _SHARE_BITS:
            raise AssertionError("the privacy certificate failed; please report this as a bug")
        return [(part << _GRID_BITS) // total for part in accumulate(weights)]

    def __repr__(self) -> str:
        return (
            f"ExponentialMechanism({len(self.outcomes)} outcomes, epsilon={self.epsilon}, "
            f"sensitivity={self.sensitivity}, movement={self.movement})"
        )


def _weight(exponent: Fraction) -> int:
    """Return e^exponent * 2^128, rounded down by a part of at most 2^-120 of it."""
    low, high = exp_enclosure(exponent, _WEIGHT_BITS)
    if (high - low) << _ERROR_BITS > low:
        raise AssertionError("the privacy certificate failed; please report this as a bug")
    return low
