"""A manifest's terms in words, for whoever publishes it or looks at it."""

import json
import textwrap
from typing import Final

from deniable.budget import format_nano, pure_cost
from deniable.cli.life_terms import instant_text
from deniable.estimates import (
    quantiles,
    reports_for_half_width,
    reports_for_mean,
    reports_for_shares,
)
from deniable.estimates.cumulative import blur_of
from deniable.estimates.numeric import group_labels
from deniable.estimates.planning import even_counts
from deniable.mechanisms import RandomisedResponse, TwoValuedMechanism, exact_epsilon, odds_floor
from deniable.messages import Manifest, format_value
from deniable.publishing.following import epochs_left, reserved
from deniable.publishing.survey_file import duration_text

_POINTS: Final = 0.1
"""Half the width of an interval of which a numeric survey's shares are of some use."""


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
        return manifest.categories
    low, high = manifest.categories[0], manifest.categories[-1]
    step = format_value(manifest.values[1] - manifest.values[0])
    return (f"{low} to {high} in steps of {step}",)


def mechanism_text(manifest: Manifest) -> str | None:
    """Return a mechanism's terms, with what its tight guarantee leaves of epsilon.

    None where epsilon says it all.
    """
    terms = manifest.kind.terms(manifest.specification.parameters)
    odds = manifest.mechanism.privacy.odds
    if terms is None or odds is None:
        return None
    if manifest.delta != "0":
        return f"{terms}\n          pure epsilon {manifest.mechanism.privacy.epsilon}"
    # ln(E/odds) = E/odds - 1 for two numbers that agree to many places.
    gap = float(odds_floor(exact_epsilon(manifest.epsilon)) / odds - 1)
    return f"{terms}\n          tight epsilon below {manifest.epsilon} by {gap:.1g}"


def accuracy_text(manifest: Manifest) -> str:
    """Return how many reports give figures of some use."""
    if manifest.values is not None:
        half = (manifest.values[-1] - manifest.values[0]) / 50
        reports = reports_for_mean(manifest.mechanism, manifest.values, float(half))
        return (
            f"the mean within ± {float(half):.15g}, 2 % of the range, takes at most\n"
            f"          {reports:,} reports"
        )
    reports = reports_for_half_width(manifest.mechanism, 0.05)
    text = f"each share within ± 5 percentage points takes at most {reports:,} reports"
    if isinstance(manifest.mechanism, TwoValuedMechanism):
        return text
    plain = RandomisedResponse(len(manifest.categories), manifest.epsilon)
    return text + (f",\n          with randomised response {reports_for_half_width(plain, 0.05):,}")


def shares_text(manifest: Manifest) -> str | None:
    """Return what shares and quartiles of a numeric survey take, and what would take less.

    None of other surveys. The last lines are those of another survey's file.
    """
    mechanism, values = manifest.mechanism, manifest.values
    if values is None:
        return None
    reports = reports_for_shares(mechanism, _POINTS)
    groups = group_labels(manifest.categories, blur_of(mechanism, reports))
    reach = max(
        max(each.high - each.value, each.value - each.low)
        for each in quantiles(mechanism, even_counts(mechanism, reports), values)
    )
    plain = reports_for_half_width(RandomisedResponse(len(groups), manifest.epsilon), _POINTS)
    text = (
        f"of {len(groups)} groups within ± {100 * _POINTS:.0f} percentage points take about "
        f"{reports:,} reports, quartiles within ± {reach:.15g} as well, if answers are spread "
        "evenly; `hist` leaves out what is too wide. By randomised response these shares take at "
        f"most {plain:,}: publish another survey, whose file has instead of mechanism, low, high "
        "and step"
    )
    # A text of TOML must not be broken, so that its spaces are none until the lines are made.
    whole = [group.replace(" ", "\N{NO-BREAK SPACE}") for group in groups]
    lines = f"categories = {json.dumps(whole, ensure_ascii=False)}"
    return "\n          ".join(
        line.replace("\N{NO-BREAK SPACE}", " ")
        for part in (text, lines)
        for line in textwrap.wrap(part, 70)
    )


def cost_text(manifest: Manifest, now: float) -> str:
    """Return what a device that accepts it at that time spends on it at most."""
    epochs, kept = epochs_left(manifest, now), manifest.repeat.epochs
    each = (
        f"{epochs} epochs of {format_nano(pure_cost(manifest.mechanism))}"
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
