"""Tight privacy of any matrix, exactly, with a witness.

A matrix is (epsilon, delta)-private if P(x, S) <= E P(x', S) + delta for all categories x, x' and
all sets S of responses, E = e^epsilon. Theorem 2 leaves one set per pair: with

    phi(E) = sum_y (P_xy - E P_x'y)_+          (convex, decreasing, piecewise linear in E),

the tight delta at E is the largest phi(E) over all ordered pairs, and the tight E at delta is the
smallest at which no phi exceeds delta. The witness is that pair, with the set of responses that x
makes more than E times as likely as x' does: one subtraction shows that no smaller value holds.

Integers decide which pair is the worst. Floats (:mod:`deniable.audit.all_pairs`) only exclude pairs
that provably are not. If too many pairs are equally bad within float accuracy for integers to
compare (2^22 entries; never while k^2 |Y| is below that), the result is an upper bound, larger by
some 10^-12 of itself, and is marked as such. Of equally bad pairs the first is reported.

If all pairs are alike, as in randomised response and block designs, none is compared.

Source: Holohan, Leith and Mason (2016), Theorem 2; docs/mathematics.md, sections 7 and 13.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import TYPE_CHECKING, Final, overload

from deniable.accounting.lattice import furthest_rows, rows_apart
from deniable.accounting.privacy_loss import odds_of_masses
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Mechanism,
    Number,
    Rows,
    column_extremes,
    epsilon_of_odds,
    exact_delta,
    exact_epsilon,
    exact_number,
    odds_floor,
)
from deniable.mechanisms.privacy import pair_excess

if TYPE_CHECKING:
    from deniable.audit.all_pairs import PairBounds


@dataclass(frozen=True, slots=True)
class Witness:
    """A category x that favours the responses S over another, x', with P(x, S) and P(x', S).

    S may be large: if all pairs of rows are alike, it is listed only when it is read.
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
    """A guarantee of a matrix, and the reason why it is not better.

    Attributes:
        odds: e^epsilon; None if no finite one holds with this delta (or, if not exact, is shown).
        witness: shows that no smaller value holds; None at odds 1 or delta 0, the smallest values.
        exact: whether the guarantee is tight. Otherwise it still holds, and the witness limits how
            much smaller it might be.
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

    With ``ties`` it includes responses that x makes exactly E times as likely: they change nothing
    at these odds, and show that smaller ones do not hold.
    """
    one, two = matrix.row(category), matrix.row(other)
    responses = _favoured(one, two, odds, ties=ties)
    mass, mass_other = (Fraction(sum(row[y] for y in responses), matrix.grid) for row in (one, two))
    return Witness(category, other, responses, mass, mass_other)


def telling_witness(matrix: Mechanism, odds: Fraction) -> Witness:
    """Return the responses that are at least E times as likely in the one row as in the other.

    It is for mechanisms whose guarantee includes how any two rows differ.
    """
    apart = rows_apart(matrix.privacy) or ()
    parts = [part for part in apart if part.more > part.less and part.more >= odds * part.less]
    listed = _FavouredResponses(matrix, odds, sum(part.responses for part in parts))
    mass, mass_other = (sum(part[i] for part in parts) for i in (0, 1))
    return Witness(*furthest_rows(matrix), listed, Fraction(mass), Fraction(mass_other))


class _FavouredResponses(Sequence[int]):
    """Responses that are at least E times as likely in the one row as in the other."""

    def __init__(self, matrix: Mechanism, odds: Fraction, number: int) -> None:
        self._matrix, self._odds, self._number = matrix, odds, number

    @cached_property
    def _listed(self) -> tuple[int, ...]:
        one, other = map(self._matrix.row, furthest_rows(self._matrix))
        return _favoured(one, other, self._odds, ties=self._odds > 1)

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


def _favoured(
    one: Sequence[int], other: Sequence[int], odds: Fraction, *, ties: bool
) -> tuple[int, ...]:
    u, v = odds.numerator, odds.denominator
    return tuple(
        y
        for y, (w, z) in enumerate(zip(one, other, strict=True))
        if w and (v * w > u * z or (ties and v * w == u * z))
    )


_Pair = tuple[int, int]

_MOST_EXACT: Final = 1 << 22
"""The most entries compared in integers, at about a quarter of a microsecond each."""


def pure_level(matrix: Mechanism) -> Finding:
    """Return the tight epsilon at delta = 0, with two categories and a response that prove it.

    It needs one pass over the entries, in integers; none if all pairs of rows are alike.
    """
    if rows_apart(matrix.privacy) is not None:
        return _told_epsilon(matrix, Fraction(0))
    # P(x, S) <= E P(x', S) for all S if and only if it holds for single responses.
    most, least = column_extremes(matrix)
    seen = {extremes for extremes in zip(most, least, strict=True) if extremes[0]}
    if not all(low for _, low in seen):
        excluding = [y for y in range(matrix.responses) if most[y] and not least[y]]
        return _first_pair(matrix, None, excluding, [1] * matrix.responses, least)
    odds = max(Fraction(high, low) for high, low in seen)
    if odds == 1:
        return Finding(odds, Fraction(0), None)
    u, v = odds.as_integer_ratio()
    worst = [y for y in range(matrix.responses) if most[y] and v * most[y] == u * least[y]]
    return _first_pair(matrix, odds, worst, most, least)


def odds_below(epsilon: Number) -> Fraction:
    """Return e^epsilon, too small by less than 2^-126 of it, exact at 0; for a *requirement*."""
    return odds_floor(exact_epsilon(epsilon))


def tight_delta(matrix: Mechanism, epsilon: Number) -> Finding:
    """Return the smallest delta that holds with this epsilon, at most 2^-128 too large."""
    # A lower bound of e^epsilon makes delta larger, never smaller.
    return tight_delta_at_odds(matrix, odds_below(epsilon))


def tight_delta_at_odds(matrix: Mechanism, odds: Number) -> Finding:
    """Return the smallest delta that holds with e^epsilon = ``odds`` (Theorem 2).

    Its witness is the set S = {y: P_xy > E P_x'y} with P(x, S) = E P(x', S) + delta. More than 2^26
    entries raise MatrixTooLarge, here and below.
    """
    exact = exact_number("odds", odds)
    if exact < 1:
        raise InvalidPrivacyParameter("odds must be e^epsilon, at least 1")
    pure, privacy = pure_level(matrix), matrix.privacy
    if pure.witness is None or (pure.odds is not None and pure.odds <= exact):
        return Finding(exact, Fraction(0), None)
    if rows_apart(privacy) is not None:
        return Finding(exact, privacy.delta_at_odds(exact), telling_witness(matrix, exact))
    bad = pure.witness.category, pure.witness.other
    return _delta_above_zero(matrix, exact, bad)


def tight_epsilon(matrix: Mechanism, delta: Number) -> Finding:
    """Return the smallest epsilon that holds with this delta.

    Its witness is the set S = {y: P_xy >= E P_x'y} with P(x, S) = E P(x', S) + delta, which
    excludes smaller E; or, if no E suffices, a set with P(x, S) > delta and P(x', S) = 0.
    """
    slack = exact_delta(delta)
    pure = pure_level(matrix)
    if slack == 0 or pure.witness is None:
        return Finding(pure.odds, slack, pure.witness)
    if rows_apart(matrix.privacy) is not None:
        return _told_epsilon(matrix, slack)
    bad = pure.witness.category, pure.witness.other
    if pure.odds is None:
        # Beyond every finite ratio, which is at most the grid, phi is P(x, {y: P_x'y = 0}).
        beyond = _delta_above_zero(matrix, Fraction(matrix.grid + 1), bad)
        assert beyond.witness is not None
        if beyond.delta > slack:
            certain = beyond.witness.probability > slack
            return Finding(None, slack, beyond.witness if certain else None, exact=certain)
    return _odds_above_one(matrix, slack, bad)


def _told_epsilon(matrix: Mechanism, slack: Fraction) -> Finding:
    """Return the smallest odds if all pairs of rows are alike, from their differing parts."""
    apart = rows_apart(matrix.privacy) or ()
    falling = sorted(apart, key=lambda part: part.more / part.less, reverse=True)
    grid = lcm(*(mass.denominator for part in falling for mass in part[:2]))
    masses = ((int(part.more * grid), int(part.less * grid)) for part in falling)
    odds = odds_of_masses(0, masses, slack * grid)
    assert odds is not None  # any two rows have some factor between them
    return Finding(odds, slack, telling_witness(matrix, odds) if odds > 1 else None)


def _first_pair(
    matrix: Rows,
    odds: Fraction | None,
    columns: Sequence[int],
    high: Sequence[int],
    low: Sequence[int],
) -> Finding:
    """Return the first pair, with its first column, where x is this high and x' this low."""
    for category in range(matrix.categories):
        one = matrix.row(category)
        if there := [y for y in columns if one[y] >= high[y]]:
            break
    for other in range(matrix.categories):
        two = matrix.row(other)
        if both := [y for y in there if two[y] <= low[y]]:
            break
    y, grid = both[0], matrix.grid
    witness = Witness(category, other, (y,), Fraction(one[y], grid), Fraction(two[y], grid))
    return Finding(odds, Fraction(0), witness)


def _bounds(matrix: Rows) -> "PairBounds":
    from deniable.audit.all_pairs import PairBounds  # numpy is needed only to compare pairs

    return PairBounds(matrix)


def _delta_above_zero(matrix: Rows, odds: Fraction, bad: _Pair) -> Finding:
    """Return the tight delta at odds at which the pair ``bad`` needs some."""
    bounds = _bounds(matrix).at(odds)
    # The delta that a likely pair needs excludes others; the rest are compared in order.
    known = max((_excess(matrix, pair, odds), pair) for pair in (bad, bounds.likely()))
    best: tuple[Fraction, _Pair] | None = None
    judged = 0
    for pair in bounds.possible(known[0]):
        judged += matrix.responses
        if judged > _MOST_EXACT:
            best = max(known, best or known)
            above = min(Fraction(1), max(best[0], bounds.most))
            return Finding(odds, above, witness_of(matrix, *best[1], odds), above == best[0])
        excess = _excess(matrix, pair, odds)
        if best is None or excess > best[0]:
            best = (excess, pair)
    assert best is not None
    return Finding(odds, best[0], witness_of(matrix, *best[1], odds))


def _odds_above_one(matrix: Mechanism, slack: Fraction, bad: _Pair) -> Finding:
    """Return the tight odds at a delta > 0 with which finite ones hold."""
    bounds = _bounds(matrix)
    # From below: solve phi = delta for one bad pair, find a pair that is bad there, and so on until
    # there is none. Every pair is solved at most once, since phi decreases; a row without a bad
    # pair never has one again.
    pair, odds, judged, rows = bad, Fraction(1), 0, None
    while True:
        odds = _pair_odds(matrix, pair, slack)
        here = bounds.at(odds, rows)
        rows = here.rows(slack)
        if not len(rows):
            return Finding(odds, slack, None)
        pair = here.likely()
        if _excess(matrix, pair, odds) > slack:
            continue
        witness = None
        for candidate in here.possible(slack):
            judged += matrix.responses
            if judged > _MOST_EXACT:
                return _odds_enough(matrix, bounds, odds, slack, pair)
            excess = _excess(matrix, candidate, odds)
            if excess > slack:
                pair = candidate
                break
            if excess == slack and witness is None and odds > 1:
                tie = witness_of(matrix, *candidate, odds, ties=True)
                # If x' never gives these responses, smaller odds also hold.
                witness = tie if tie.other_probability else None
        else:
            return Finding(odds, slack, witness)


def _odds_enough(
    matrix: Mechanism, bounds: "PairBounds", odds: Fraction, slack: Fraction, pair: _Pair
) -> Finding:
    """Return slightly larger odds that certainly hold if too many pairs are near the worst."""
    witness = witness_of(matrix, *pair, odds, ties=True)
    for bits in range(36, 0, -4):
        # If this pair needs slightly less than delta, floats may show that no other needs more.
        less = slack - slack / (1 << bits)
        if _excess(matrix, pair, Fraction(matrix.grid + 1)) >= less:
            break
        enough = max(odds, _pair_odds(matrix, pair, less))
        if bounds.at(enough).most <= slack:
            return Finding(enough, slack, witness, exact=False)
    return Finding(pure_level(matrix).odds, slack, witness, exact=False)


def _pair_odds(matrix: Rows, pair: _Pair, slack: Fraction) -> Fraction:
    """Return the smallest odds at which this pair needs at most the slack, or None."""
    one, other = map(matrix.row, pair)
    certain = sum(w for w, z in zip(one, other, strict=True) if z == 0)
    # Ratios of 1 and below never enter: E >= 1.
    rest = [(w, z) for w, z in zip(one, other, strict=True) if w > z > 0]
    falling = sorted(rest, key=lambda masses: Fraction(*masses), reverse=True)
    odds = odds_of_masses(certain, falling, slack * matrix.grid)
    assert odds is not None
    return odds


def _excess(matrix: Rows, pair: _Pair, odds: Fraction) -> Fraction:
    """Return phi at these odds."""
    excess = pair_excess(matrix.row(pair[0]), matrix.row(pair[1]), odds)
    return Fraction(excess, odds.denominator * matrix.grid)
