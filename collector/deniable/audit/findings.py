"""A finding with its proof: two categories and a set of responses that anybody can check by hand.

Theorem 2 of Holohan, Leith and Mason: P(x, S) - E P(x', S) is largest on the set of the responses
that x makes more than E times as likely as x' does. So that pair and that set show, by one
subtraction, that nothing smaller holds.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from deniable.mechanisms import Rows, epsilon_of_odds

MAX_CELLS: Final = 1 << 26
"""Most entries of a matrix whose rows are compared in pairs."""


class MatrixTooLarge(ValueError):
    """The matrix has more entries, or more pairs of rows, than this comparison can go through."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A category x that makes the responses S likelier than another, x', with P(x, S), P(x', S)."""

    category: int
    other: int
    responses: tuple[int, ...]
    probability: Fraction
    other_probability: Fraction

    def excess(self, odds: Fraction) -> Fraction:
        """Return P(x, S) - E P(x', S): no smaller delta holds with e^epsilon = ``odds``."""
        return self.probability - odds * self.other_probability


@dataclass(frozen=True, slots=True)
class Finding:
    """A guarantee that a matrix gives, and why it gives no better one.

    Attributes:
        odds: e^epsilon; None if no finite one holds with this delta (or, if not exact, is shown).
        witness: shows that nothing smaller holds; None where nothing can be, at odds 1 or delta 0.
        exact: whether the guarantee is tight. Otherwise it holds all the same, and the witness
            bounds from below how much smaller it might be.
    """

    odds: Fraction | None
    delta: Fraction
    witness: Witness | None
    exact: bool = True

    @property
    def epsilon(self) -> Decimal:
        """Return ln(odds), rounded up to 12 decimal places, or infinity."""
        return epsilon_of_odds(self.odds)


def witness_of(
    matrix: Rows, category: int, other: int, odds: Fraction, *, ties: bool = False
) -> Witness:
    """Return the set of responses on which x exceeds E times x', with both its probabilities.

    With ``ties`` those that x makes exactly E times as likely belong to it: they change nothing at
    these odds, and show that smaller ones do not hold.
    """
    one, two = matrix.row(category), matrix.row(other)
    u, v = odds.numerator, odds.denominator
    responses = tuple(
        y
        for y, (w, z) in enumerate(zip(one, two, strict=True))
        if w and (v * w > u * z or (ties and v * w == u * z))
    )
    mass, mass_other = (Fraction(sum(row[y] for y in responses), matrix.grid) for row in (one, two))
    return Witness(category, other, responses, mass, mass_other)
