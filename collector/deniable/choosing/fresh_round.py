"""The design of a second round, fresh for each report, of which the first round is kept.

One report of two rounds is again a design mechanism on the same blocks, so that it costs what the
design costs, whatever is kept. Larger blocks need a fresh round that says more about the kept
response: reports that share one reveal more together, and a changed answer shows more.
"""

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from itertools import takewhile
from math import exp, expm1, log, log1p
from typing import Final

from deniable.choosing.candidates import (
    PLAIN,
    Candidate,
    candidates_of_blocks,
    lower_bound,
)
from deniable.mechanisms import InvalidPrivacyParameter, Number, exact_epsilon
from deniable.mechanisms.answering import Answering
from deniable.mechanisms.design import MAX_RESPONSES
from deniable.mechanisms.exact import MAX_EPSILON
from deniable.mechanisms.two_round import MAX_POINTS, SINGLE

_NEAR: Final = 1.02
"""Of designs that need no more than 2 % more users than the best, the one that reveals least."""

SUFFICIENT: Final = 1.05
"""Users over the fewest possible, at most, where a kept level suffices."""

_FLOATS: Final = 700.0
"""Above, e^x is no float."""


def best_fresh(categories: int, epsilon: Number, kept: Number, reports: int) -> Answering:
    """Return the design for a second round that needs the fewest users.

    Of designs whose second round alone does not exceed the epsilon that is kept, so that a changed
    answer shows no more in a report than the kept response would, and of sets of one category,
    which there are for any level: that of the least variance, and of those within 2 % of it the one
    that devices charge least for so many reports. The best of a search over all designs here, not
    by proof.

    Raises InvalidPrivacyParameter if the levels are none, or the kept one is not the greater.
    """
    one, most = float(exact_epsilon(epsilon)), float(exact_epsilon(kept))
    if not 0 < one < most:
        raise InvalidPrivacyParameter("epsilon must be positive and less than that of the kept")
    pure, all_kept = expm1(one), expm1(most)

    # z = E_2 - 1 is (E_1 - 1)/(q b + kappa - E_1 q b), kappa = q (E_inf - 1); with q = 1/(E_inf - 1
    # + v) it is at most E_inf - 1 if and only if b is at most this.
    def largest(points: int) -> float:
        return all_kept / pure - (all_kept + points) / all_kept if points <= MAX_POINTS else 0.0

    fitting = list(candidates_of_blocks(categories, one, 0.0, MAX_RESPONSES, largest))
    limit = _NEAR * min(candidate.cost(one) for candidate in fitting)

    def near(candidate: Candidate) -> bool:
        fits = candidate.kind == PLAIN or candidate.block <= largest(candidate.points)
        return fits and candidate.cost(one) <= limit

    chosen = min(
        (
            other
            for candidate in fitting
            for step in (-1, 1)
            for other in takewhile(near, _resized(candidate, step))
        ),
        key=lambda candidate: (
            round(_charge(candidate, pure, all_kept, reports), 9),
            candidate.responses,
        ),
    )
    return SINGLE if chosen.kind == PLAIN else chosen.answering


def sufficient_kept(categories: int, epsilon: Number) -> str | None:
    """Return the least kept level, in tenths, that takes 5 % more users than possible at most."""
    one = float(exact_epsilon(epsilon))
    limit = SUFFICIENT * lower_bound(categories, one)

    def suffices(level: str) -> bool:
        fresh = best_fresh(categories, epsilon, level, 1)
        return Candidate.of_answering(categories, fresh).cost(one) <= limit

    tenths = range(int(10 * one) + 1, 10 * MAX_EPSILON + 1)
    levels = [f"{Decimal(count).scaleb(-1).normalize():f}" for count in tenths]
    least = bisect_left(levels, True, key=suffices)
    return levels[least] if least < len(levels) else None


def _resized(candidate: Candidate, step: int) -> Iterator[Candidate]:
    """Yield a design, and those with smaller or larger blocks; they cost more and more."""
    yield candidate
    for size in candidate.sizes(MAX_RESPONSES)[::step]:
        if (size - candidate.size) * step > 0:
            with suppress(ValueError):  # of some sizes there are too many sets
                yield candidate.of_size(size)


def _charge(candidate: Candidate, pure: float, kept: float, reports: int) -> float:
    """Return about the charge of each of so many reports, the most that each of t of them costs."""
    charge = 0.0
    for t in range(1, reports + 1):
        if log1p(kept) <= charge * t:  # no more than the kept response costs is split by t
            break
        charge = max(charge, _level(candidate, pure, kept, t) / t)
    return charge


def _level(candidate: Candidate, pure: float, kept: float, reports: int) -> float:
    """Return about the epsilon of so many reports of a constant answer."""
    points, block = candidate.points, candidate.block
    growth = reports * log1p(pure * (kept + points) / (kept - pure * block))
    if growth > _FLOATS:
        return log1p(kept)
    # As TwoRound.constant_odds, with the others' shares of the blocks alike.
    others = (points - 2) * exp(growth * (block - 1) / max(1, points - 2))
    total = exp(growth) + 1 + others
    return log(total + kept * exp(growth)) - log(total + kept)
