"""A finding with its proof that anybody can check by hand, and the least that privacy allows.

Theorem 2 of Holohan, Leith and Mason: P(x, S) - E P(x', S) is largest on the set of the responses
that x makes more than E times as likely as x' does. So that pair and that set show, by one
subtraction, that nothing smaller holds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Final, overload

from deniable.mechanisms import Mechanism, Rows, epsilon_of_odds

_INFINITE: Final = "no finite epsilon holds with this delta"
_NOT_SQUARE: Final = "only a square matrix, whose responses are its categories, can lie"


@dataclass(frozen=True, slots=True)
class Lie:
    """The probability of a lie beside the least possible, or why either is missing."""

    value: Fraction | None
    optimum: Fraction | None
    reason: str = ""

    @property
    def ratio(self) -> float | None:
        """Return value / optimum; None if one is missing or the optimum is 0."""
        if self.value is None or not self.optimum:
            return None
        try:
            return float(self.value / self.optimum)
        except OverflowError:
            return math.inf


def largest_lie(matrix: Mechanism, odds: Fraction | None, delta: Fraction) -> Lie:
    """Compare the probability of a lie, for the category that it is largest for (Theorem 10)."""
    k = matrix.categories
    # A matrix with responses of its own has no truth to tell, even if they are as many.
    if k != matrix.responses or getattr(matrix, "truth", k) is None:
        return Lie(None, None, _NOT_SQUARE)
    truth = min(matrix.row(x)[x] for x in range(1 if matrix.privacy.apart else k))
    value = 1 - Fraction(truth) / matrix.grid
    if odds is None:
        return Lie(value, None, _INFINITE)
    # Theorem 10, as in least_lie, but for numbers of any length: q = (1-delta)/(E+m).
    return Lie(value, (k - 1) * (1 - delta) / (odds + k - 1))


class MatrixTooLarge(ValueError):
    """The matrix has more entries, or more pairs of rows, than this comparison can go through."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A category x that makes the responses S likelier than another, x', with P(x, S), P(x', S).

    S may be large: where all pairs of rows are alike, it is listed only when it is read.
    """

    category: int
    other: int
    responses: Sequence[int]
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
    responses = _likelier(one, two, odds, ties=ties)
    mass, mass_other = (Fraction(sum(row[y] for y in responses), matrix.grid) for row in (one, two))
    return Witness(category, other, responses, mass, mass_other)


def telling_witness(matrix: Mechanism, odds: Fraction) -> Witness:
    """Return the responses that are likelier in the one row than in the other, E times or more.

    For mechanisms whose guarantee says how any two rows differ.
    """
    apart = matrix.privacy.apart or ()
    parts = [part for part in apart if part.more > part.less and part.more >= odds * part.less]
    listed = _Likelier(matrix, odds, sum(part.responses for part in parts))
    mass, mass_other = (sum(part[i] for part in parts) for i in (0, 1))
    return Witness(*matrix.privacy.furthest, listed, Fraction(mass), Fraction(mass_other))


class _Likelier(Sequence[int]):
    """So many responses, likelier in the one row than in the other, E times or more."""

    def __init__(self, matrix: Mechanism, odds: Fraction, number: int) -> None:
        self._matrix, self._odds, self._number = matrix, odds, number

    @cached_property
    def _listed(self) -> tuple[int, ...]:
        one, other = map(self._matrix.row, self._matrix.privacy.furthest)
        return _likelier(one, other, self._odds, ties=self._odds > 1)

    def __len__(self) -> int:
        return self._number

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        return self._listed[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._listed == tuple(other)

    def __hash__(self) -> int:
        return hash(self._listed)


def _likelier(
    one: Sequence[int], other: Sequence[int], odds: Fraction, *, ties: bool
) -> tuple[int, ...]:
    u, v = odds.numerator, odds.denominator
    return tuple(
        y
        for y, (w, z) in enumerate(zip(one, other, strict=True))
        if w and (v * w > u * z or (ties and v * w == u * z))
    )
