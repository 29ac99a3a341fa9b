"""A manifest's terms in words, for whoever publishes it or looks at it."""

import textwrap
from typing import Final

from deniable.budget import format_nano, pure_cost
from deniable.mechanisms import exact_epsilon, odds_floor
from deniable.messages import Manifest, format_value
from deniable.publishing.following import epochs_left, reserved
from deniable.publishing.survey_file import duration_text
from deniable.reading import instant_text

_EXACT: Final = 1e-12
"""A design meets its epsilon exactly but for less than this."""


def figures_text(step: int) -> str:
    """Return when its figures appear and are renewed, which is by so many reports."""
    if step == 1:
        return "are renewed with each report"
    first = f"appear from {step:,} reports on,"
    return f"{first} and are renewed when\n          at least {step:,} more have come"


def devices_text(manifest: Manifest) -> str:
    """Return who may report; with their issuers, one a line."""
    issuers = manifest.enrolment.issuers
    if not issuers:
        return "open: nobody vouches that each report comes from another device"
    listed = ",\n          then ".join(issuer.hex() for issuer in issuers)
    return f"certificate: only those for which an issuer vouches:\n          {listed}"


def answers_of(manifest: Manifest) -> tuple[str, ...]:
    """Return what can be answered; a range of numbers in one line."""
    if manifest.values is None:
        return manifest.all_answers
    low, high = manifest.categories[0], manifest.categories[-1]
    step = format_value(manifest.values[1] - manifest.values[0])
    return (f"{low} to {high} in steps of {step}",)


def mechanism_text(manifest: Manifest) -> str | None:
    """Return a mechanism's terms, with what its tight guarantee leaves of epsilon.

    None where epsilon says it all.
    """
    terms = manifest.kind.terms(manifest.specification.parameters, len(manifest.categories))
    odds = manifest.mechanism.privacy.odds
    if terms is None or odds is None:
        return None
    terms = "\n          ".join(textwrap.wrap(terms, 70))
    if manifest.delta != "0":
        return f"{terms}\n          pure epsilon {manifest.mechanism.privacy.epsilon}"
    # ln(E/odds) = E/odds - 1 for two numbers that agree to many places.
    gap = float(odds_floor(exact_epsilon(manifest.epsilon)) / odds - 1)
    if manifest.kind.symmetric and gap < _EXACT:
        return f"{terms}\n          guarantee: epsilon {manifest.epsilon} exactly"
    return f"{terms}\n          tight epsilon below {manifest.epsilon} by {gap:.1g}"


def cost_text(manifest: Manifest, now: float) -> str:
    """Return what a device that accepts it at that time spends on it at most."""
    epochs, kept = epochs_left(manifest, now), manifest.repeat.epochs
    each = (
        f"{epochs} epoch{'s' * (epochs != 1)} of {format_nano(pure_cost(manifest.mechanism))}"
        if kept is None
        else f"{epochs} epochs in ranges of {kept}"
    )
    return f"epsilon {format_nano(reserved([manifest], now))} in all ({each})"


def epochs_text(manifest: Manifest) -> str:
    """Return how many epochs there are, and when."""
    schedule = manifest.schedule
    return (
        f"{schedule.epochs} of {duration_text(schedule.epoch_seconds)}, "
        f"{instant_text(schedule.start)} to {instant_text(schedule.end)}"
    )
