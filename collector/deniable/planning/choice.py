"""The choice among the candidates, with the costs of the others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, takewhile
from typing import Final, NamedTuple

from deniable.accounting import PrivacyLoss, epsilon_each
from deniable.accounting.privacy_loss import epsilon_ceiling
from deniable.estimates.accuracy import checked_largest_share
from deniable.mechanisms import (
    InvalidParameter,
    Number,
    exact_delta,
    exact_epsilon,
    log_ceiling,
    odds_ceiling,
)
from deniable.mechanisms.answering import Answered
from deniable.mechanisms.block_design import MAX_RESPONSES
from deniable.mechanisms.randomised_response import check_size
from deniable.planning.candidates import PLAIN, SMALLEST_WITHIN, Candidate, candidates, lower_bound
from deniable.planning.several_reports import Total, cheapest

COMPOSED_DELTA: Final = "0.000001"
"""The slack of all reports together: an event may be so much more likely than by epsilon."""

UNLIKELY: Final = Fraction(1, 10**6)
"""The chance that all reports together exceed the level that people are shown."""

_ROUNDED: Final = 1 + 1e-9
"""More than the rounding, as a factor, of a thousand additions of positive floats."""

_SIMPLEST_WITHIN: Final = 1.02
"""Randomised response is chosen unless another mechanism needs over 2 % fewer users."""

_UNIT: Final = 10**18
"""An epsilon has at most 18 decimal places."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A mechanism that was not chosen, or not this time.

    Attributes:
        candidate: the mechanism.
        epsilon: the epsilon of one report.
        users: the factor by which the mechanism needs more users for the same accuracy.
    """

    candidate: Candidate
    epsilon: Decimal
    users: float


@dataclass(frozen=True, slots=True)
class Choice:
    """A mechanism, and its comparison with others.

    Attributes:
        candidate: the mechanism.
        epsilon: the epsilon of one report.
        delta: the delta of one report.
        largest_share: the largest share to be exact; up to 1/k it means all shares together.
        cost: k n times its addition to the greatest variance of shares up to that share.
        bound: the bound for the best design of all subsets, at delta 0. For all shares together no
            unbiased estimates cost less in the worst case, in which all categories are equally
            frequent.
        composed: the epsilon of all planned reports, at the composed delta; None without plans.
        alternatives: the best mechanism of each kind, except the chosen one; the best first.
    """

    candidate: Candidate
    epsilon: Decimal
    delta: Fraction
    largest_share: float
    cost: float
    bound: float | None
    composed: Decimal | None
    alternatives: tuple[Alternative, ...]

    def mechanism(self) -> Answered:
        """Return the solution matrix: ``choice.mechanism().randomise(answer)`` is a response."""
        return self.candidate.mechanism(self.epsilon, self.delta)

    def __str__(self) -> str:
        """Return the reasons, one per line."""
        responses = f"{self.candidate.responses:,} responses"
        lines = [f"{self.candidate} at epsilon {self.epsilon}: {responses}"]
        if self.bound is not None:
            lines[0] += f", {self.cost / self.bound:.4f} of the best subsets' variance"
        lines += [
            f"{other.candidate} would need {other.users:,.2f} times as many users"
            + ("" if other.epsilon == self.epsilon else f", at epsilon {other.epsilon}")
            for other in self.alternatives
        ]
        if self.composed is not None:
            lines.append(
                f"all reports from a device together: epsilon {self.composed} at their delta"
            )
        return "\n".join(lines)


def best(
    categories: int,
    epsilon: Number,
    *,
    delta: Number = "0",
    kind: str | None = None,
    most_responses: int = MAX_RESPONSES,
    reports: int | None = None,
    composed_delta: Number = COMPOSED_DELTA,
    largest_share: float | None = None,
) -> Choice:
    """Return the mechanism that needs the fewest users for a given accuracy of each share.

    Randomised response and the designs are compared by their exact variances at equal privacy of
    one report. With ``reports``, they are compared at equal privacy of this many reports of one
    device. The privacy loss of designs adds up faster than that of randomised response, and usually
    faster with large blocks than with small ones. So designs with any smaller block size compete.
    Each has the epsilon of one report at which all reports together keep the total of the winner
    for one report. This is the best of a search, without proof: of sizes within half a percent of
    one another it considers one.

    Args:
        categories: k, 2 to 65,536.
        epsilon: the epsilon of one report.
        delta: the slack of one report; 0 unless a mechanism is not purely private.
        kind: the only kind to choose from.
        most_responses: the limit on a design's responses; randomised response is always included.
        reports: the planned number of reports per device, each randomised afresh.
        composed_delta: the slack of their total, whatever the delta of each; ignored without
            ``reports``.
        largest_share: the largest share that is to be exact; by default 10 %, or 2/k for few
            categories. 0 means all shares together, by the sum of their variances.

    Raises:
        InvalidPrivacyParameter: for an epsilon or a delta outside its domain.
        InvalidParameter: if the kind has no such mechanism.
        ValueError: if epsilon and delta are both 0, no report is planned, or no survey has as
            many categories.
    """
    level, slack = _checked(categories, epsilon, delta)
    terms = _Terms.of(categories, slack, largest_share)
    those = terms.candidates(level, most_responses)
    ranked = terms.ranked((one, level) for one in those if kind in {None, one.kind})
    if not ranked:
        other = terms.ranked((one, level) for one in those)[0].candidate
        raise InvalidParameter(
            "mechanism",
            f"no {kind} design of about the best size has at most {most_responses:,} responses "
            f"for {categories:,} categories; omit it to get {other}",
        )
    if reports is None:
        return terms.choice(ranked)
    if reports < 1:
        raise ValueError("reports must be at least 1, or omitted")
    total = composed(ranked[0].candidate, level, reports, slack, composed_delta)

    def alike(candidate: Candidate, guess: Fraction) -> Fraction:
        """Return the epsilon of one report at which all reports add up to the same total."""

        def adds_up(one: Fraction) -> Decimal:
            return composed(candidate, one, reports, slack, composed_delta)

        return Fraction(epsilon_each(total, adds_up, guess=guess))

    shared = Total(reports, float(total), float(exact_delta(composed_delta)))
    designs, most = [one.candidate for one in ranked], min(most_responses, MAX_RESPONSES)
    rivals = cheapest(designs, shared, float(slack), SMALLEST_WITHIN, most, terms.largest_share)
    ranked = terms.ranked((one, alike(one, Fraction(near))) for one, near in rivals.items())
    return terms.choice(ranked, total)


def compared(
    candidate: Candidate,
    epsilon: Number,
    *,
    delta: Number = "0",
    most_responses: int = MAX_RESPONSES,
    largest_share: float | None = None,
) -> Choice:
    """Return a mechanism as if it had been chosen, compared with the candidates of :func:`best`.

    Raises:
        InvalidPrivacyParameter, ValueError: as for ``best``.
    """
    level, slack = _checked(candidate.categories, epsilon, delta)
    terms = _Terms.of(candidate.categories, slack, largest_share)
    others = terms.ranked((one, level) for one in terms.candidates(level, most_responses))
    return terms.choice([terms.entry(candidate, level), *others])


def composed(
    candidate: Candidate,
    epsilon: Number,
    reports: int,
    delta: Number = "0",
    composed_delta: Number = COMPOSED_DELTA,
) -> Decimal:
    """Return the epsilon of this many reports of one device, at the composed delta; rounded up."""
    loss = PrivacyLoss.of_design(
        candidate.responses,
        candidate.replication,
        candidate.separating,
        _odds(candidate, epsilon, delta),
    )
    return loss.repeat(reports).epsilon_at(composed_delta)


def unlikely_level(
    candidate: Candidate, epsilon: Number, reports: int, delta: Number = "0"
) -> Decimal:
    """Return the level that reports of one device exceed with at most the chance ``UNLIKELY``.

    Reports are at most e^level times as likely for any answers as for any one other row of answers;
    rounded up. It is not an epsilon with a delta, which does not limit such a chance.
    """
    # A report distinguishes two answers by ln E with the chance E a, by -ln E with a, otherwise
    # not. Rows of answers may differ in fewer reports, and those are not always less likely to
    # exceed a level: with two responses an odd number of them is an odd number of steps apart.
    odds = _odds(candidate, epsilon, delta)
    mass = candidate.separating / (
        candidate.replication * odds + candidate.responses - candidate.replication
    )
    up, down, none = float(odds * mass), float(mass), float(1 - (1 + odds) * mass)
    law, steps, times = [1.0], 0, reports
    if up**reports > UNLIKELY:  # all reports may be one step apart
        steps, times = reports, 0
    for n in range(1, times + 1):  # the distribution of the sum by falling steps, from n on
        law = [
            up * one + none * two + down * three
            for one, two, three in zip(
                [*law, 0.0, 0.0], [0.0, *law, 0.0], [0.0, 0.0, *law], strict=True
            )
        ]
        unlikely = (above * _ROUNDED <= UNLIKELY for above in accumulate(law))
        steps = max(steps, n - sum(takewhile(bool, unlikely)))
    # The odds are rounded up, and those of a mechanism never exceed its epsilon.
    step = exact_epsilon(epsilon)
    if exact_delta(delta):
        step = Fraction(log_ceiling(odds, _UNIT), _UNIT)
    return epsilon_ceiling(steps * step)


def _odds(candidate: Candidate, epsilon: Number, delta: Number) -> Fraction:
    pure = odds_ceiling(exact_epsilon(epsilon), 64) - 1
    return 1 + candidate.excess(pure, exact_delta(delta))


class _Entry(NamedTuple):
    candidate: Candidate
    epsilon: Fraction
    cost: float


def _checked(categories: int, epsilon: Number, delta: Number) -> tuple[Fraction, Fraction]:
    check_size(categories, 64)
    level, slack = exact_epsilon(epsilon), exact_delta(delta)
    if level == slack == 0:
        raise ValueError("epsilon and delta are both 0")
    return level, slack


@dataclass(frozen=True, slots=True)
class _Terms:
    """The terms on which candidates for this many categories compete."""

    categories: int
    slack: Fraction
    largest_share: float

    @classmethod
    def of(cls, categories: int, slack: Fraction, largest_share: float | None) -> "_Terms":
        return cls(categories, slack, checked_largest_share(largest_share, categories))

    def candidates(self, level: Fraction, most_responses: int) -> tuple[Candidate, ...]:
        terms = float(level), float(self.slack)
        return candidates(self.categories, *terms, most_responses, self.largest_share)

    def entry(self, candidate: Candidate, epsilon: Fraction) -> _Entry:
        cost = candidate.cost(float(epsilon), float(self.slack), self.largest_share)
        return _Entry(candidate, epsilon, cost)

    def ranked(self, those: Iterable[tuple[Candidate, Fraction]]) -> list[_Entry]:
        """Return the candidates at their epsilons, the chosen one first, then by cost."""
        entries = sorted((self.entry(*one) for one in those), key=lambda entry: entry.cost)
        if entries:
            chosen = _chosen(entries, entries[0].cost)
            entries.remove(chosen)
            entries.insert(0, chosen)
        return entries

    def choice(self, ranked: Sequence[_Entry], total: Decimal | None = None) -> Choice:
        """Return the first candidate, and the best of each kind among the others."""
        (candidate, epsilon, cost), *others = ranked
        # A different candidate of the same kind counts unless it is equally good.
        alternatives = (
            other
            for other in sorted(_firsts(others), key=lambda entry: entry.cost)
            if other.candidate.kind != candidate.kind or other.cost * SMALLEST_WITHIN < cost
        )
        return Choice(
            candidate,
            _decimal(epsilon),
            self.slack,
            self.largest_share,
            cost,
            None
            if self.slack
            else lower_bound(self.categories, float(epsilon), self.largest_share),
            total,
            tuple(
                Alternative(one.candidate, _decimal(one.epsilon), one.cost / cost)
                for one in alternatives
            ),
        )


def _chosen(entries: Sequence[_Entry], least: float) -> _Entry:
    for entry in entries:
        if entry.candidate.kind == PLAIN and entry.cost <= least * _SIMPLEST_WITHIN:
            return entry
    near = [entry for entry in entries if entry.cost <= least * SMALLEST_WITHIN]
    return min(near, key=lambda entry: entry.candidate.responses)


def _firsts(entries: Iterable[_Entry]) -> list[_Entry]:
    """Return the first entry of each kind."""
    firsts: dict[str, _Entry] = {}
    for entry in entries:
        firsts.setdefault(entry.candidate.kind, entry)
    return list(firsts.values())


def _decimal(epsilon: Fraction) -> Decimal:
    # Rounded down, towards privacy.
    return Decimal(epsilon * _UNIT // 1) / _UNIT
