"""A finding with its proof: two categories and a set of responses that anybody can check by hand.

Theorem 2 of Holohan, Leith and Mason: P(x, S) - E P(x', S) is largest on the set of the responses
that x makes more than E times as likely as x' does. So that pair and that set show, by one
subtraction, that nothing smaller holds.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from deniable.mechanisms import Rows, epsilon_of_odds

__all__ = ["Finding", "Witness", "witness_of"]


@dataclass(frozen=True, slots=True)
class Witness:
    """Two categories that a set of responses tells apart.

    Attributes:
        category: x, the one that makes the responses likelier.
        other: x', the one that makes them less likely.
        responses: the set S, in increasing order.
        probability: P(x, S), exactly.
        other_probability: P(x', S), exactly.
    """

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
        odds: e^epsilon; None if no finite epsilon holds with this delta (or, if not exact, none
            could be shown to).
        delta: what holds with these odds.
        witness: what shows that nothing smaller holds; None where there is nothing to show, as odds
            1 or delta 0 cannot be improved.
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

    Args:
        matrix: what is audited.
        category: x.
        other: x'.
        odds: E = e^epsilon.
        ties: whether responses belong to it that x makes exactly E times as likely. They change
            nothing at these odds, and show that smaller ones do not hold.
    """
    one, two = matrix.row(category), matrix.row(other)
    u, v = odds.numerator, odds.denominator
    responses = tuple(
        y
        for y, (w, z) in enumerate(zip(one, two, strict=True))
        if w and (v * w > u * z or (ties and v * w == u * z))
    )
    return Witness(
        category=category,
        other=other,
        responses=responses,
        probability=Fraction(sum(one[y] for y in responses), matrix.grid),
        other_probability=Fraction(sum(two[y] for y in responses), matrix.grid),
    )
