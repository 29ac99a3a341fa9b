"""Facts about a planned survey: its mechanism, its plan, and the total of its reports."""

from bisect import bisect_right
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from math import ceil, isfinite
from typing import Final

from deniable.accounting import Guarantee, PrivacyLoss, basic_composition
from deniable.budget import DEFAULT_LIFETIME_EPSILON, NANO, RangeCost, format_nano
from deniable.documents import Column, Document, Fact, Table, upper_text
from deniable.estimates.accuracy import checked_largest_share
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    RandomisedResponse,
    Strings,
    exact_epsilon,
    exact_number,
    odds_ceiling,
    odds_text,
)
from deniable.messages import Manifest
from deniable.messages.schedule import MAX_EPOCHS
from deniable.planning.accuracy import blind_devices_text
from deniable.planning.candidates import DESIGNS, PLAIN, Candidate, lower_bound
from deniable.planning.choice import best, composed
from deniable.planning.plans import (
    Drafts,
    Plan,
    epsilon_for,
)
from deniable.planning.words import (
    MOST_EPSILON,
    found_fact,
    largest_share_text,
    promise_text,
    strength_fact,
    strength_warnings,
)
from deniable.presenting.revealed import revealed_at_worst
from deniable.reading import duration_text
from deniable.reading.epochs import iso_time


def choice_facts(manifest: Manifest, largest_share: float | None = None) -> Iterator[Fact]:
    """Yield the reasons for a mechanism that is randomised response or a design; otherwise none."""
    if candidate_of(manifest) == Candidate.of(PLAIN, len(manifest.categories), {}):
        yield Fact("mechanism", "randomised response")
    yield from users_facts(manifest, largest_share)


def candidate_of(manifest: Manifest) -> Candidate | None:
    """Return a survey's randomised response or design; None for other mechanisms."""
    kind, parameters = manifest.kind.name, manifest.specification.parameters
    if manifest.kind.first_round_kept:
        # One report is the fresh round's design at its own level.
        return Candidate.of_answering(len(manifest.categories), parameters["fresh"])
    if kind in {PLAIN, *DESIGNS}:
        return Candidate.of(kind, len(manifest.categories), parameters)
    return None


def users_facts(manifest: Manifest, largest_share: float | None) -> Iterator[Fact]:
    """Yield how many users a mechanism needs, compared with the fewest, which delta 0 has."""
    if (candidate := candidate_of(manifest)) is None or manifest.delta != "0":
        return
    k, epsilon = len(manifest.categories), float(exact_epsilon(manifest.epsilon))
    share = checked_largest_share(largest_share, k)
    cost = candidate.cost(epsilon, 0.0, share)
    ratio = cost / lower_bound(k, epsilon, share)
    more = ceil(1000 * (ratio - 1 - 1e-9)) / 10
    known = "possible" if share * k <= 1 else "known"
    if ratio >= 1.1:
        text = f"{ratio:.1f} times as many reports as the fewest {known}"
    elif more:
        text = f"at most {more:g} % more reports than the fewest {known}"
    else:
        text = f"the fewest reports {known}"
    text += f" in the worst case, for {largest_share_text(share)}"
    yield Fact("users", text, "cost", cost)


_COLUMNS = (
    Column("way", "how"),
    Column("mechanism", "by"),
    Column("reports", "reports", "number"),
    Column("times", "times", "number"),
)


def plan_document(made: Plan, drafts: Drafts, reports: int | None) -> Document:
    """Return the document of a plan, for this many reports and the default lifetime budget.

    For a survey that is specified by its epsilon, it shows the effects of other epsilons.
    """
    manifest = made.manifest
    delta = "" if manifest.delta == "0" else f", delta {manifest.delta}"
    odds = odds_text(made.odds)
    private = f"epsilon {manifest.epsilon}{delta}: {promise_text(made.odds)}"
    facts = [
        Fact("asked", manifest.question, "survey", manifest.name),
        Fact(key="figure", value=made.figure.name),
        Fact("privacy", private, "epsilon", manifest.epsilon),
        strength_fact(manifest),
        Fact("figures", revealed := revealed_at_worst(manifest), "figures_reveal", revealed),
    ]
    values = {
        "size": made.accuracy.size,
        "standard_errors": made.accuracy.scale,
        "odds": odds,
    }
    if made.pace is not None and made.accuracy.power is None:
        values |= {"reports_an_epoch": made.pace.rate, "reached_at": iso_time(made.reached_at())}
    if reports is not None:
        allowed = epsilon_for(
            manifest, drafts, made.accuracy, reports, made.largest_share, made.chosen
        )
        reached = made.reached(reports)
        wanted = (
            f"the requested precision needs more reports, at any epsilon up to {MOST_EPSILON}"
            if allowed is None
            else f"the smallest epsilon at which they reach the requested precision is {allowed}"
        )
        text = f"{reports:,} reach a precision of {made.figure.amount(reached)}; {wanted}"
        facts.append(Fact("reports", text, "with_reports", reports))
        values |= {"reached": reached, "least_epsilon": allowed}
    facts += budget_facts(manifest)
    if isinstance(manifest.mechanism, Strings):
        facts.append(found_fact(manifest.mechanism, manifest.specification.parameters["least"]))
    if made.chosen is None:
        facts += users_facts(manifest, made.largest_share)
    least = made.reports(made.ways[0])
    if manifest.enrolment.mode == "blind" and least is not None:
        facts.append(Fact("lost", blind_devices_text(manifest, least)))
    facts += [Fact("warning", warning) for warning in strength_warnings(manifest)]
    table = Table(_COLUMNS, [*_rows(made)], "ways")
    return Document(facts, [table], sentence=made.sentence, values=values)


def _rows(made: Plan) -> Iterator[dict[str, object]]:
    first = made.ways[0].variance
    for way in made.ways:
        yield {
            "way": way.title,
            "mechanism": way.mechanism,
            "reports": made.reports(way),
            "times": float(f"{way.variance / first:.3g}") if isfinite(way.variance) else None,
        }


def budget_facts(manifest: Manifest) -> Iterator[Fact]:
    """Yield a survey's cost for a device, and the reports that its default budget allows."""
    schedule, cost = manifest.schedule, RangeCost.of(manifest.mechanism)
    length, kept = schedule.epoch_seconds, manifest.repeat.epochs or 1
    charged = cost.most(schedule.epochs, kept)
    affordable = bisect_right(
        range(MAX_EPOCHS + 1),
        DEFAULT_LIFETIME_EPSILON * NANO,
        key=lambda reports: cost.most(reports, kept),
    )
    yield Fact(
        "costs",
        f"reports in all {schedule.epochs:,} epochs of {duration_text(length)} cost a device "
        f"epsilon {format_nano(charged)}",
        "charged",
        charged / NANO,
    )
    yield Fact(
        "budget",
        f"a lifetime_epsilon of {DEFAULT_LIFETIME_EPSILON} allows {affordable - 1:,} reports, over "
        f"{duration_text((affordable - 1) * length)}",
        "affordable_reports",
        affordable - 1,
    )


_MOST_EPSILON: Final = 2_000
_UNIT: Final = 10**18
_DIGITS: Final = 7
_ANY: Final = "any mechanism of this epsilon and delta"


def composition_document(
    epsilon: str, delta: str, times: int, slack: str, categories: int
) -> Document:
    """Return the document of a sum of reports, which also mentions a device's lifetime budget."""
    extra = exact_number("slack", slack)
    if extra >= 1:
        raise InvalidPrivacyParameter("slack must be in [0, 1)")
    mechanism = RandomisedResponse(categories, epsilon, delta)
    if mechanism.epsilon * times > _MOST_EPSILON:
        raise InvalidPrivacyParameter(
            f"{times:,} reports of epsilon {epsilon} protect nothing; the sum must be at most "
            f"{_MOST_EPSILON:,}"
        )
    rows = [
        {
            "name": name,
            "epsilon": upper_text(guarantee.epsilon, _DIGITS),
            "delta": upper_text(guarantee.delta, _DIGITS),
            "holds_for": held,
        }
        for name, guarantee, held in _compositions(mechanism, times, extra)
    ]
    columns = (
        Column("name", "composition"),
        Column("epsilon", "epsilon", "number"),
        Column("delta", "delta", "number"),
        Column("holds_for", "holds for"),
    )
    note = (
        "Every line is a proven bound; of those that hold for your mechanism, use the one with the "
        "smallest epsilon. Any event is at most e^epsilon times as likely as with other answers, "
        "plus delta. Delta is not the probability of exceeding epsilon. Devices add up as in the "
        "first line, the plain sum, and stop at their app's lifetime_epsilon, by default "
        f"{DEFAULT_LIFETIME_EPSILON}."
    )
    slacks = f", delta {delta}" * (delta != "0") + f", each randomised afresh; slack {slack}:"
    return Document(
        tables=[Table(columns, rows, "compositions")],
        notes=[note],
        heading=f"{times:,} reports of epsilon {epsilon}{slacks}",
        values={"times": times},
    )


def _compositions(
    mechanism: RandomisedResponse, times: int, extra: Fraction
) -> Iterator[tuple[str, Guarantee, str]]:
    """Yield all compositions: their names, the guarantee of all reports, and their scope."""
    level, delta, categories = mechanism.epsilon, mechanism.delta, mechanism.categories
    basic = basic_composition([(level, delta)] * times)
    yield "basic", basic, _ANY
    # One slack for all following compositions, rounded up to a plain decimal.
    together = Fraction(ceil((1 - (1 - delta) ** times * (1 - extra)) * _UNIT), _UNIT)
    if together >= 1:
        raise InvalidPrivacyParameter(
            f"{times:,} reports of this delta and slack protect nothing; lower delta or slack"
        )

    def guarantee(epsilon: Decimal) -> Guarantee:
        # Rounded up, the optimum can exceed the plain sum by a digit in the twelfth place.
        return Guarantee(epsilon if delta else min(epsilon, basic.epsilon), together)

    optimal = PrivacyLoss.of_guarantee(odds_ceiling(level), delta, times)
    yield "optimal", guarantee(optimal.epsilon_at(together)), _ANY
    exact = PrivacyLoss.of_design(categories, 1, 1, mechanism.privacy.odds, times)
    scope = f"randomised response, {categories:,} categories"
    yield "exact", guarantee(exact.epsilon_at(together)), scope
    candidate = best(categories, level, delta=delta).candidate
    if candidate.kind != PLAIN:
        epsilon = composed(candidate, level, times, delta, together)
        yield "exact, auto", guarantee(epsilon), str(candidate)
