"""The tight guarantee of any matrix, by exact comparison of its rows, with a proof.

A matrix is (epsilon, delta)-private if P(x, S) <= E P(x', S) + delta for all categories x, x' and
all sets S of responses, E = e^epsilon. Theorem 2 leaves one set per pair: with

    phi(E) = sum_y (P_xy - E P_x'y)_+          (convex, decreasing, piecewise linear in E),

the tight delta at E is the largest phi(E) over all ordered pairs, and the tight E at delta is the
smallest at which no phi exceeds delta. The witness is the first pair that needs it, with the set of
responses that x makes more than E times as likely as x' does: one subtraction shows that no smaller
value holds.

Two rows are compared if all pairs are alike, as in randomised response and block designs, or if
their places are known.

Source: Holohan, Leith and Mason (2016), Theorem 2; docs/mathematics.md, sections 7, 13 and 15.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Final

from deniable.accounting.privacy_loss import odds_of_masses
from deniable.audit.solution_matrix import InvalidMatrix
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Levels,
    Mechanism,
    Number,
    OneQuestion,
    exact_delta,
    exact_epsilon,
    exact_number,
    odds_floor,
)
from deniable.mechanisms.answering import combined
from deniable.mechanisms.privacy import epsilon_of_odds, pair_excess

_MOST_COMPARED: Final = 1 << 26
"""The most entries compared in pairs, at about a quarter of a microsecond each."""

_Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Witness:
    """A category x that favours the responses S over another, x', with P(x, S) and P(x', S)."""

    category: int
    other: int
    responses: Sequence[int]
    probability: Fraction
    other_probability: Fraction


@dataclass(frozen=True, slots=True)
class Finding:
    """A guarantee of a matrix, and the reason why it is not better.

    Attributes:
        odds: e^epsilon; None if no finite one holds with this delta.
        witness: shows that no smaller value holds; None at odds 1 or delta 0, the smallest values.
    """

    odds: Fraction | None
    delta: Fraction
    witness: Witness | None

    @property
    def epsilon(self) -> Decimal:
        """Return ln(odds), rounded up to 12 decimal places, or infinity."""
        return epsilon_of_odds(self.odds)


def _furthest_rows(mechanism: Mechanism) -> _Pair | None:
    """Return two categories whose rows differ as much as any two do; None if that is unknown."""
    if isinstance(mechanism, Levels):
        return 0, mechanism.categories - 1
    if isinstance(mechanism, OneQuestion):
        parts = mechanism.parts
        return 0, combined([1] * len(parts), [part.categories for part in parts])
    return (0, 1) if mechanism.privacy.alike else None


class _Rows:
    """The rows of a matrix that are compared."""

    def __init__(self, matrix: Mechanism) -> None:
        furthest = _furthest_rows(matrix)
        self.grid: Final = matrix.grid
        self.rows: Final[Mapping[int, Sequence[int]]] = {
            x: matrix.row(x) for x in furthest or range(matrix.categories)
        }
        # The two furthest differ by the same in both directions.
        self._furthest = furthest and [furthest]

    def pairs(self) -> Iterable[_Pair]:
        """Return the pairs that are compared."""
        if self._furthest:
            return self._furthest
        k = len(self.rows)
        if k**2 * len(self.rows[0]) > _MOST_COMPARED:
            raise InvalidMatrix(
                f"with a delta, at most {_MOST_COMPARED:,} entries can be compared in pairs of "
                "rows, as for 400 categories with 400 responses"
            )
        return permutations(self.rows, 2)

    def excess(self, pair: _Pair, odds: Fraction) -> Fraction:
        """Return phi at these odds."""
        excess = pair_excess(self.rows[pair[0]], self.rows[pair[1]], odds)
        return Fraction(excess, odds.denominator * self.grid)

    def odds(self, pair: _Pair, slack: Fraction) -> Fraction | None:
        """Return the smallest odds at which this pair needs at most the slack, or None."""
        masses = list(zip(self.rows[pair[0]], self.rows[pair[1]], strict=True))
        # Ratios of 1 and below never enter: E >= 1.
        rest = [(w, z) for w, z in masses if w > z > 0]
        falling = sorted(rest, key=lambda masses: Fraction(*masses), reverse=True)
        certain = sum(w for w, z in masses if z == 0)
        return odds_of_masses(certain, falling, slack * self.grid)

    def witness(self, pair: _Pair, odds: Fraction | None, *, ties: bool = False) -> Witness:
        """Return the set of responses on which x exceeds E times x', with both its probabilities.

        With ``ties`` it includes responses that x makes exactly E times as likely: they change
        nothing at these odds, and show that smaller ones do not hold.
        """
        one, other = (self.rows[x] for x in pair)
        u, v = (1, 0) if odds is None else odds.as_integer_ratio()
        apart = [v * w - u * z for w, z in zip(one, other, strict=True)]
        least = 0 if ties or odds is None else 1
        responses = tuple(y for y, more in enumerate(apart) if more >= least and one[y])
        masses = (Fraction(sum(row[y] for y in responses), self.grid) for row in (one, other))
        return Witness(*pair, responses, *masses)


_rows = lru_cache(maxsize=1)(_Rows)


def pure_level(matrix: Mechanism) -> Finding:
    """Return the tight epsilon at delta = 0, with two categories and responses that prove it.

    It needs one pass over the entries.
    """
    rows = _rows(matrix)
    # P(x, S) <= E P(x', S) for all S if and only if it holds for single responses.
    extremes = [(max(column), min(column)) for column in zip(*rows.rows.values(), strict=True)]
    seen = {(most, least) for most, least in extremes if most}
    odds = None
    if all(least for _, least in seen):
        odds = max(Fraction(most, least) for most, least in seen)
        if odds == 1:
            return Finding(odds, Fraction(0), None)
    u, v = (1, 0) if odds is None else odds.as_integer_ratio()
    worst = [
        (y, most if odds else 1, least)
        for y, (most, least) in enumerate(extremes)
        if most and v * most == u * least
    ]
    # The first pair with a response that one row gives this often, and the other this seldom.
    category, there = next(
        (x, there)
        for x, row in rows.rows.items()
        if (there := [(y, least) for y, most, least in worst if row[y] >= most])
    )
    other = next(x for x, row in rows.rows.items() if any(row[y] <= least for y, least in there))
    return Finding(odds, Fraction(0), rows.witness((category, other), odds, ties=True))


def tight_delta(matrix: Mechanism, epsilon: Number) -> Finding:
    """Return the smallest delta that holds with this epsilon, at most 2^-128 too large."""
    # A lower bound of e^epsilon makes delta larger, never smaller.
    return tight_delta_at_odds(matrix, odds_floor(exact_epsilon(epsilon)))


def tight_delta_at_odds(matrix: Mechanism, odds: Number) -> Finding:
    """Return the smallest delta that holds with e^epsilon = ``odds`` (Theorem 2).

    Its witness is the set S = {y: P_xy > E P_x'y} with P(x, S) = E P(x', S) + delta. Matrices with
    too many entries to compare in pairs raise InvalidMatrix, here and below.
    """
    exact = exact_number("odds", odds)
    if exact < 1:
        raise InvalidPrivacyParameter("odds must be e^epsilon, at least 1")
    pure, rows = pure_level(matrix), _rows(matrix)
    if pure.odds is not None and pure.odds <= exact:
        return Finding(exact, Fraction(0), None)
    worst = max(rows.pairs(), key=lambda pair: rows.excess(pair, exact))
    return Finding(exact, rows.excess(worst, exact), rows.witness(worst, exact))


def tight_epsilon(matrix: Mechanism, delta: Number) -> Finding:
    """Return the smallest epsilon that holds with this delta.

    Its witness is the set S = {y: P_xy >= E P_x'y} with P(x, S) = E P(x', S) + delta, which
    excludes smaller E; or, if no E suffices, a set with P(x, S) > delta and P(x', S) = 0.
    """
    slack = exact_delta(delta)
    pure, rows = pure_level(matrix), _rows(matrix)
    if slack == 0 or pure.witness is None:
        return Finding(pure.odds, slack, pure.witness)
    odds, worst = Fraction(1), None
    for pair in rows.pairs():
        if rows.excess(pair, odds) > slack:
            needed, worst = rows.odds(pair, slack), pair
            if needed is None:
                return Finding(None, slack, rows.witness(pair, None))
            odds = needed
    witness = worst and rows.witness(worst, odds, ties=True)
    return Finding(odds, slack, witness)
