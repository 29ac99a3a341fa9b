"""How many reports a survey takes to give figures of some use, in words."""

import json
import textwrap
from typing import Final

from deniable.choosing.chosen_mechanism import AUTO, specified
from deniable.cli.questions_accuracy import questions_text
from deniable.estimates import (
    quantiles,
    reports_for_half_width,
    reports_for_mean,
    reports_for_shares,
)
from deniable.estimates.cumulative import blur_of
from deniable.estimates.numeric import group_labels
from deniable.estimates.planning import even_counts
from deniable.mechanisms import RandomisedResponse
from deniable.messages import Manifest

_POINTS: Final = 0.1
"""Half the width of an interval of which a numeric survey's shares are of some use."""

_FEW: Final = 20
"""Of more categories, most shares are so small that ± 5 percentage points says nothing."""


def accuracy_text(manifest: Manifest) -> str:
    """Return how many reports give figures of some use."""
    if manifest.values is not None:
        half = (manifest.values[-1] - manifest.values[0]) / 50
        reports = reports_for_mean(manifest.mechanism, manifest.values, float(half))
        return (
            f"the mean within ± {float(half):.15g}, 2 % of the range, takes at most\n"
            f"          {reports:,} reports"
        )
    if manifest.dimensions:
        return questions_text(manifest)
    reports = reports_for_half_width(manifest.mechanism, 0.05)
    text = f"each share within ± 5 percentage points takes at most {reports:,} reports"
    if manifest.kind.symmetric:
        if len(manifest.categories) <= _FEW:
            return text
        finer = reports_for_half_width(manifest.mechanism, 0.005)
        return (
            f"{text},\n          whatever the share; within ± 0.5, as many small shares need, "
            f"{finer:,}"
        )
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
    chosen = specified(AUTO, len(groups), manifest.epsilon, repeat=manifest.repeat)
    asked = reports_for_half_width(chosen.mechanism(len(groups), manifest.epsilon, "0"), _POINTS)
    text = (
        f"of {len(groups)} groups within ± {100 * _POINTS:.0f} percentage points take about "
        f"{reports:,} reports, quartiles within ± {reach:.15g} as well, if answers are spread "
        "evenly; `hist` leaves out what is too wide. Asked for as categories these shares take at "
        f"most {asked:,}: publish another survey, whose file has instead of mechanism, low, high "
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
