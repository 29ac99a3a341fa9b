"""The reasons for a survey's mechanism: what others need, and what reports add up to, as facts."""

from collections.abc import Iterator
from math import ceil, inf
from typing import Final

from deniable.budget import NANO, format_nano, pure_cost
from deniable.choosing.candidates import DESIGNS, PLAIN, Candidate
from deniable.choosing.choice import UNLIKELY, Choice, compared, unlikely_level
from deniable.choosing.chosen_mechanism import most_responses
from deniable.choosing.fresh_round import SUFFICIENT, sufficient_kept
from deniable.documents import Fact
from deniable.mechanisms import exact_epsilon
from deniable.messages import FRESH, Manifest

TOGETHER: Final = "all shares together:"

_MOST_REPORTS: Final = 1000
"""More take too long to compose."""

_MOST_TIMES: Final = 1_000_000
"""More times as many users are one thing to whoever chooses."""


def choice_facts(manifest: Manifest) -> Iterator[Fact]:
    """Yield the reasons for a mechanism; none unless it is randomised response or a design."""
    choice = choice_of(manifest)
    if choice is None:
        return
    candidate, plain = choice.candidate, Candidate.of(PLAIN, len(manifest.categories), {})
    if candidate == plain:
        yield Fact("mechanism", "randomised response")
    if text := users_text(choice):
        yield Fact("users", f"{TOGETHER} {text}")
    if manifest.kind.first_round_kept and choice.cost > SUFFICIENT * (choice.bound or inf):
        least = sufficient_kept(len(manifest.categories), manifest.epsilon)
        if least is not None:
            low = exact_epsilon(manifest.kept_epsilon or "0") < exact_epsilon(least)
            better = f'kept = "{least}" or more' if low else "another fresh round (leave it out)"
            yield Fact("", f"{better} comes within 5 % of the fewest possible")
    reports = min(manifest.schedule.epochs, _MOST_REPORTS)
    if manifest.repeat == FRESH and reports > 1:
        total, simple = (
            ceil(NANO * unlikely_level(mechanism, manifest.epsilon, reports, manifest.delta))
            for mechanism in (candidate, plain)
        )
        charged = reports * pure_cost(manifest.mechanism)
        beside = "".join(
            f" (randomised response: {format_nano(simple)}, with {_times(other.users)} users)"
            for other in choice.alternatives
            if other.candidate == plain
        )
        yield Fact(
            "adds up",
            f"{adds_up_text(reports, format_nano(min(total, charged)))}{beside}; devices charge "
            f"the plain sum, {format_nano(charged)}",
        )


def adds_up_text(reports: int, level: str) -> str:
    """Return the level that so many reports of a device favour its answers by, in words."""
    return (
        f"{reports:,} reports of a device favour its answers over any one alternative by at most "
        f"epsilon {level}, except with a chance of 1 in {UNLIKELY.denominator:,}"
    )


def choice_of(manifest: Manifest) -> Choice | None:
    """Return how its mechanism compares; None if it is neither randomised response nor a design."""
    kind, parameters = manifest.kind.name, manifest.specification.parameters
    k, most = len(manifest.categories), most_responses(manifest.repeat)
    if manifest.kind.first_round_kept:
        # One report is the fresh round's design at its own level; others cannot be kept.
        candidate, most = Candidate.of_answering(k, parameters["fresh"]), 0
    elif kind in {PLAIN, *DESIGNS}:
        candidate = Candidate.of(kind, k, parameters)
    else:
        return None
    return compared(candidate, manifest.epsilon, delta=manifest.delta, most_responses=most)


def users_text(choice: Choice) -> str:
    """Return how many users a mechanism needs, beside the fewest possible and the others."""
    parts = []
    if choice.bound is not None:
        ratio = choice.cost / choice.bound
        more = ceil(1000 * (ratio - 1 - 1e-9)) / 10
        near = f"within {more:g} % of the fewest" if more else "the fewest"
        parts.append(
            f"{near if ratio < 1.1 else f'{ratio:.1f} times the fewest'} possible in the worst case"
        )
    parts += [
        f"{str(other.candidate).replace('-', ' ')} would take {_times(other.users)}"
        for other in choice.alternatives
        if f"{other.users:.2f}" != "1.00"
    ]
    return "; ".join(parts)


def _times(users: float) -> str:
    if users > _MOST_TIMES:
        return f"over {_MOST_TIMES:,} times as many"
    if users <= 0.5:
        return f"{1 / users:,.1f} times fewer"
    return f"{users:,.{2 if users < 100 else 0}f} times as many"
