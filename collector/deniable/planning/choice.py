"""The choice among the candidates, with the costs of the others."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from deniable.accounting import PrivacyLoss
from deniable.estimates.accuracy import checked_largest_share
from deniable.mechanisms import (
    Number,
    exact_delta,
    exact_epsilon,
    odds_ceiling,
)
from deniable.mechanisms.answering import Answered
from deniable.mechanisms.block_design import MAX_RESPONSES
from deniable.mechanisms.kind import InvalidManifest
from deniable.mechanisms.randomised_response import check_size
from deniable.planning.candidates import PLAIN, SMALLEST_WITHIN, Candidate, candidates, lower_bound

_SIMPLEST_WITHIN: Final = 1.02
"""Randomised response is chosen unless another mechanism needs over 2 % fewer users."""

_UNIT: Final = 10**18
"""An epsilon has at most 18 decimal places."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A mechanism, and its cost beside that of the best.

    Attributes:
        candidate: the mechanism.
        epsilon: the epsilon of one report.
        delta: the delta of one report.
        largest_share: the largest share to be exact; up to 1/k it means all shares together.
        cost: k n times its addition to the greatest variance of shares up to that share.
        bound: the bound for the best design of all subsets, at delta 0. For all shares together no
            unbiased estimates cost less in the worst case, in which all categories are equally
            frequent.
    """

    candidate: Candidate
    epsilon: Decimal
    delta: Fraction
    largest_share: float
    cost: float
    bound: float | None

    def mechanism(self) -> Answered:
        """Return the solution matrix: ``choice.mechanism().randomise(answer)`` is a response."""
        return self.candidate.mechanism(self.epsilon, self.delta)


def best(
    categories: int,
    epsilon: Number,
    *,
    delta: Number = "0",
    kind: str | None = None,
    most_responses: int = MAX_RESPONSES,
    largest_share: float | None = None,
) -> Choice:
    """Return the mechanism that needs the fewest users for a given accuracy of each share.

    Randomised response and the designs are compared by their exact variances at equal privacy of
    one report. The privacy loss of designs adds up faster over several reports of a device than
    that of randomised response: see :func:`composed`.

    Args:
        categories: k, 2 to 65,536.
        epsilon: the epsilon of one report.
        delta: the slack of one report; 0 unless a mechanism is not purely private.
        kind: the only kind to choose from.
        most_responses: the limit on a design's responses; randomised response is always included.
        largest_share: the largest share that is to be exact; by default 10 %, or 2/k for few
            categories. 0 means all shares together, by the sum of their variances.

    Raises:
        InvalidPrivacyParameter: for an epsilon or a delta outside its domain.
        InvalidManifest: if the kind has no such mechanism.
        ValueError: if epsilon and delta are both 0, or no survey has as many categories.
    """
    check_size(categories, 64)
    level, slack = exact_epsilon(epsilon), exact_delta(delta)
    if level == slack == 0:
        raise ValueError("epsilon and delta are both 0")
    share = checked_largest_share(largest_share, categories)
    terms = float(level), float(slack)
    costs = {
        one: one.cost(*terms, share)
        for one in candidates(categories, *terms, most_responses, share)
    }
    those = {one: cost for one, cost in costs.items() if kind in {None, one.kind}}
    if not those:
        raise InvalidManifest(
            "mechanism",
            f"no {kind} design of about the best size has at most {most_responses:,} responses "
            f"for {categories:,} categories; omit the mechanism to get {_simplest(costs)}",
        )
    candidate = _simplest(those)
    return Choice(
        candidate,
        # Rounded down, towards privacy.
        Decimal(level * _UNIT // 1) / _UNIT,
        slack,
        share,
        costs[candidate],
        None if slack else lower_bound(categories, terms[0], share),
    )


def _simplest(costs: Mapping[Candidate, float]) -> Candidate:
    """Return the simplest of the candidates that are nearly as cheap as the cheapest."""
    least = min(costs.values())
    for one, cost in costs.items():
        if one.kind == PLAIN and cost <= least * _SIMPLEST_WITHIN:
            return one
    near = (one for one, cost in costs.items() if cost <= least * SMALLEST_WITHIN)
    return min(near, key=lambda one: (one.responses, costs[one]))


def composed(
    candidate: Candidate,
    epsilon: Number,
    reports: int,
    delta: Number,
    composed_delta: Number,
) -> Decimal:
    """Return the epsilon of this many reports of one device, at the composed delta; rounded up."""
    pure = odds_ceiling(exact_epsilon(epsilon), 64) - 1
    loss = PrivacyLoss.of_design(
        candidate.responses,
        candidate.replication,
        candidate.separating,
        1 + candidate.excess(pure, exact_delta(delta)),
        reports,
    )
    return loss.epsilon_at(composed_delta)
