"""Budget: the privacy cost of a device's reports, and its spending limit, in exact integers.

A report costs its pure level, in billionths of epsilon, always rounded up. Pure levels add up
exactly (basic composition), whatever the answers were and however they changed from epoch to epoch.
A ledger of integers does not drift, and rounds only in the user's favour.

The reports of a range, a run of epochs, may share kept responses. The charge for j of them covers
two histories whose answers change *at the same times*: groups of j_1 + … + j_c = j, one for each of
c <= min(j, k) answers, cost sum_i f(j_i), where f(t) is the level of t reports about one answer.

* Memoised: f(t) is the level of the matrix, once; together at most c times it.
* Two rounds: f(t) = ln :meth:`Rounds.constant_odds`. Together it is at most c eps_inf, and at most
  j max_(t <= j) f(t)/t. For k > 2 it may *exceed* j f(1).
* Fresh: every epoch is a range of its own, and costs f(1).

Different ranges share nothing, so their costs add up. NOT covered are two histories that change at
different times.

Source: docs/mathematics.md, section 16.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Mechanism,
    Number,
    exact_number,
    log_ceiling,
)
from deniable.mechanisms.mechanism import Rounds

NANO: Final = 10**9
"""Units of cost in one epsilon."""

DEFAULT_LIFETIME_EPSILON: Final = 20
"""The most that a device spends on all surveys together unless the app sets another limit."""

_LONGEST: Final = 64
"""The number of reports up to which f(t) is computed; above, it is bounded."""


def pure_cost(mechanism: Mechanism) -> int:
    """Return the cost of one response: epsilon' = ln(pure odds), rounded up to 1e-9."""
    odds = mechanism.privacy.odds
    if odds is None:
        raise InvalidPrivacyParameter(
            "the mechanism has no pure guarantee: a response rules out a category"
        )
    return log_ceiling(odds, NANO)


def epsilon_to_nano(name: str, epsilon: Number) -> int:
    """Return a ceiling in units of 1e-9 epsilon, rounded down; errors use ``name``."""
    exact = exact_number(name, epsilon)
    if exact < 0:
        raise InvalidPrivacyParameter(f"{name} must not be negative")
    return int(exact * NANO)


def format_nano(cost: int) -> str:
    """Return a cost for people: epsilon rounded up to three decimal places."""
    thousandths = -(-cost // (NANO // 1000))
    return f"{thousandths // 1000}.{thousandths % 1000:03d}"


@dataclass(frozen=True, slots=True)
class RangeCost:
    """The total cost of reports within one range, in units of 1e-9 epsilon.

    ``kept`` is the cost of one kept response, however many reports share it; ``slopes`` are the (t,
    f(t)) by rising t, from (1, f(1)) on, wherever f(t)/t exceeds all earlier ones.
    """

    categories: int
    kept: int
    slopes: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, mechanism: Mechanism) -> "RangeCost":
        """Return the cost of reports that this mechanism draws or keeps."""
        one, rounds = pure_cost(mechanism), mechanism.rounds
        if rounds is None:
            return cls(mechanism.categories, one, ((1, one),))
        return cls(mechanism.categories, pure_cost(rounds.kept), _slopes(rounds, one))

    def cumulative(self, reports: int) -> int:
        """Return the total cost of this many reports within one range."""
        if reports < 0:
            raise ValueError("the number of reports must not be negative")
        if reports == 0:
            return 0
        t, cost = next(slope for slope in reversed(self.slopes) if slope[0] <= reports)
        return min(-(-reports * cost // t), min(reports, self.categories) * self.kept)

    def next(self, reports_before: int) -> int:
        """Return the cost that one more report adds to this many within the same range."""
        return self.cumulative(reports_before + 1) - self.cumulative(reports_before)

    def most(self, epochs: int, epochs_per_range: int) -> int:
        """Return the cost of a report in each of this many epochs, from epoch 0 on.

        If every response is fresh, each epoch is a range.
        """
        if epochs < 0 or epochs_per_range < 1:
            raise ValueError(
                "the number of epochs must not be negative, and a range must not be empty"
            )
        ranges, rest = divmod(epochs, epochs_per_range)
        return ranges * self.cumulative(epochs_per_range) + self.cumulative(rest)


def constant_cost(rounds: Rounds, reports: int) -> int:
    """Return f(t), the cost of this many reports about an answer that never changes.

    It rises from the level of one report to that of the kept response, its upper limit; t times the
    fresh round's level is another upper limit.
    """
    if reports > _LONGEST:
        return min(reports * pure_cost(rounds.fresh), pure_cost(rounds.kept))
    return log_ceiling(rounds.constant_odds(reports), NANO)


@lru_cache(maxsize=32)
def _slopes(rounds: Rounds, one: int) -> tuple[tuple[int, int], ...]:
    """Return the slopes of two rounds, which takes tens of ms if the levels are far apart."""
    kept = pure_cost(rounds.kept)
    slopes = [(1, one)]
    for t in range(2, _LONGEST + 2):
        best_t, best = slopes[-1]
        # From here on f(t)/t cannot exceed kept/t, and so cannot exceed the best.
        if kept * best_t <= best * t:
            break
        # Later f(t)/t do not exceed the bound at the first t that has one.
        cost = constant_cost(rounds, t)
        if cost * best_t > best * t:
            slopes.append((t, cost))
    return tuple(slopes)
