"""The privacy curve: delta as a function of epsilon, whole and exact for small matrices.

A pair of categories and a set S of responses bound delta from below by P(x, S) - E P(x', S), a line
in E = e^epsilon. The curve is the highest of all these lines: convex, piecewise linear, with
rational breakpoints.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

from deniable.audit.pair_bounds import MatrixTooLarge
from deniable.audit.theorems import odds_below
from deniable.audit.tight import tight_delta_at_odds
from deniable.budget import PrivacyLoss
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Number,
    Rows,
    TwoValuedMechanism,
    exact_epsilon,
    exact_number,
)

__all__ = ["PrivacyCurve", "privacy_curve"]

_MOST_EXACT: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class PrivacyCurve:
    """Delta as a function of e^epsilon, linear between its points.

    Attributes:
        points: (odds, delta), odds rising from 1; behind the last, delta does not fall any more.
        exact: whether they are all the breakpoints, exact. Otherwise they are some points; the true
            curve is convex, so that it lies nowhere above the lines between them.
    """

    points: tuple[tuple[Fraction, Fraction], ...]
    exact: bool

    def delta_at_odds(self, odds: Number) -> Fraction:
        """Return a delta that holds with these odds, the smallest if the curve is exact.

        Raises:
            InvalidPrivacyParameter: for odds below 1.
        """
        exact = exact_number("odds", odds)
        if exact < 1:
            raise InvalidPrivacyParameter("odds are e^epsilon, at least 1")
        for (left, above), (right, below) in pairwise(self.points):
            if exact <= right:
                return above + (below - above) * (exact - left) / (right - left)
        return self.points[-1][1]


def privacy_curve(matrix: Rows, epsilons: Iterable[Number] | None = None) -> PrivacyCurve:
    """Return the whole privacy curve, or for larger matrices its points at some epsilons.

    Args:
        matrix: what is audited.
        epsilons: where to evaluate it, besides 0; None for all breakpoints, exactly, which takes
            k^2 |Y| of at most 2^20.

    Raises:
        MatrixTooLarge: if there are more entries to compare, and no epsilons are given.
        InvalidPrivacyParameter: for an epsilon outside [0, 40].

    Source: docs/mathematics.md, section 7.
    """
    if epsilons is not None:
        levels = sorted({Fraction(0), *map(exact_epsilon, epsilons)})
        found = [tight_delta_at_odds(matrix, odds_below(level)) for level in levels]
        return PrivacyCurve(
            tuple((odds_below(level), f.delta) for level, f in zip(levels, found, strict=True)),
            exact=False,
        )
    large = matrix.categories**2 * matrix.responses > _MOST_EXACT
    if large and not isinstance(matrix, TwoValuedMechanism):
        raise MatrixTooLarge("so many pairs have no exact curve; give the epsilons of interest")
    # The loss that dominates those of all pairs has this very curve, and its atoms' ratios are
    # where it bends.
    loss = PrivacyLoss.of_mechanism(matrix)
    bends = {odds for p, q in loss.atoms if (odds := Fraction(p, q)) > 1} | {Fraction(1)}
    return PrivacyCurve(
        tuple((odds, loss.delta_at_odds(odds)) for odds in sorted(bends)), exact=True
    )
