"""Why a survey has its mechanism, in words: what others need, and what reports add up to."""

from collections.abc import Iterator
from math import ceil
from typing import Final

from deniable.budget import upper_text
from deniable.choosing import COMPOSED_DELTA, DESIGNS, PLAIN, Candidate, Choice, compared, composed
from deniable.messages import FRESH, Manifest
from deniable.publishing.chosen_mechanism import most_responses

_MOST_REPORTS: Final = 1000
"""More take too long to compose."""


def choice_terms(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield labels and texts; none for what is neither randomised response nor a design."""
    choice = choice_of(manifest)
    if choice is None:
        return
    candidate, plain = choice.candidate, Candidate.of(PLAIN, len(manifest.categories), {})
    if candidate == plain:
        yield "mechanism", "randomised response"
    if text := users_text(choice):
        yield "users", text
    reports = min(manifest.schedule.epochs, _MOST_REPORTS)
    if manifest.repeat == FRESH and reports > 1:
        total, simple = (
            upper_text(composed(each, manifest.epsilon, reports, manifest.delta), 4)
            for each in (candidate, plain)
        )
        beside = "" if candidate == plain else f" (randomised response: {simple})"
        yield (
            "adds up",
            f"{reports:,} reports of a device to epsilon {total}{beside}, by exact composition at "
            f"delta {COMPOSED_DELTA}; each is charged in full, as pure epsilon",
        )


def choice_of(manifest: Manifest) -> Choice | None:
    """Return how its mechanism compares; None if it is neither randomised response nor a design."""
    kind = manifest.kind.name
    if kind not in {PLAIN, *DESIGNS}:
        return None
    parameters = manifest.specification.parameters
    return compared(
        Candidate.of(kind, len(manifest.categories), parameters),
        manifest.epsilon,
        delta=manifest.delta,
        most_responses=most_responses(manifest.repeat),
    )


def users_text(choice: Choice) -> str:
    """Return how many users a mechanism needs, beside the fewest possible and the others."""
    parts = []
    if choice.bound is not None:
        ratio = choice.cost / choice.bound
        more = ceil(1000 * (ratio - 1 - 1e-9)) / 10
        near = f"within {more:g} % of the fewest" if more else "the fewest"
        parts.append(f"{near if ratio < 1.1 else f'{ratio:.1f} times the fewest'} possible")
    parts += [
        f"{str(other.candidate).replace('-', ' ')} would take {other.users:,.2f} times as many"
        for other in choice.alternatives
        if f"{other.users:.2f}" != "1.00"
    ]
    return "; ".join(parts)
