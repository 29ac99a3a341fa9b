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

from deniable.accounting import PrivacyLoss
from deniable.audit.findings import MatrixTooLarge
from deniable.audit.theorems import odds_below
from deniable.audit.tight import tight_delta_at_odds
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Mechanism,
    Number,
    exact_epsilon,
    exact_number,
)

_MOST_EXACT: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class PrivacyCurve:
    """Delta as a function of e^epsilon, linear between its points (odds, delta), odds from 1 on.

    They are all the breakpoints if it is exact, else some; the true curve is convex, so that it
    lies nowhere above the lines between them. Behind the last, delta does not fall any more.
    """

    points: tuple[tuple[Fraction, Fraction], ...]
    exact: bool

    def delta_at_odds(self, odds: Number) -> Fraction:
        """Return a delta that holds with these odds, the smallest if the curve is exact."""
        exact = exact_number("odds", odds)
        if exact < 1:
            raise InvalidPrivacyParameter("odds are e^epsilon, at least 1")
        for (left, above), (right, below) in pairwise(self.points):
            if exact <= right:
                return above + (below - above) * (exact - left) / (right - left)
        return self.points[-1][1]


def privacy_curve(matrix: Mechanism, epsilons: Iterable[Number] | None = None) -> PrivacyCurve:
    """Return the whole privacy curve, or for larger matrices its points at 0 and these epsilons.

    Without epsilons it has all its breakpoints, exactly; ``k^2 |Y|`` above 2^20 is MatrixTooLarge
    then, where the rows have to be compared.
    """
    if epsilons is not None:
        levels = map(odds_below, sorted({Fraction(0), *map(exact_epsilon, epsilons)}))
        points = tuple((odds, tight_delta_at_odds(matrix, odds).delta) for odds in levels)
        return PrivacyCurve(points, exact=False)
    if matrix.privacy.apart is None and matrix.categories**2 * matrix.responses > _MOST_EXACT:
        raise MatrixTooLarge("so many pairs have no exact curve; give the epsilons of interest")
    # The loss that dominates those of all pairs has this very curve, and its atoms' ratios are
    # where it bends.
    loss = PrivacyLoss.of_mechanism(matrix)
    bends = {odds for p, q in loss.atoms if (odds := Fraction(p, q)) > 1} | {Fraction(1)}
    points = tuple((odds, loss.delta_at_odds(odds)) for odds in sorted(bends))
    return PrivacyCurve(points, exact=True)
