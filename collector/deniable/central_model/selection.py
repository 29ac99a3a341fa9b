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

import math
from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate, pairwise
from operator import index
from typing import Final, Generic, TypeVar

from deniable.central_model.exact_choice import exact_quantity
from deniable.mechanisms.exact import (
    InvalidPrivacyParameter,
    Number,
    exact_epsilon,
    exact_number,
    exp_enclosure,
)
from deniable.mechanisms.mechanism import Draw, os_random_word

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

    @property
    def unconditional_epsilon(self) -> Fraction:
        """Return the guarantee of one choice if utilities move in any direction after all.

        Twice epsilon for a monotone utility, as when a record is substituted; else epsilon itself.
        """
        return self.epsilon * (1 if self.movement is Movement.ANY else 2)

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

    def shortfall(self, level: float = 0.95, best: int = 1) -> float:
        """Return how far below the largest utility the chosen one is at most, with a probability.

        A float: a statement about accuracy, which no privacy rests on. It follows from public
        numbers alone, unless ``best``, how many outcomes share the largest utility, is looked up in
        the data. McSherry and Talwar, Theorem 7.
        """
        if not 0 < level < 1:
            raise ValueError("level must be in (0, 1)")
        if not 1 <= best <= len(self.outcomes):
            raise ValueError(f"best must be in [1, {len(self.outcomes)}]")
        # Outcomes that are x or more below the largest utility have a probability of m/b e^(-cx)
        # at most, m being the base measure of all and b the least of as many outcomes as are best:
        # e^-t = 1 - level at x = (ln(m/b) + t)/c. t < 37 in floats and ln(m/b) < 45, so the cap of
        # 88 is not in play.
        t = -math.log1p(-level)
        share = sum(self.base) / sum(sorted(self.base)[:best])
        return float(Fraction(math.log(share) + t) / self.exponent)

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
