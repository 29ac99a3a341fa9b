"""Facts about the number of reports that a survey needs for useful figures."""

from collections.abc import Iterator
from math import ceil, exp, expm1
from typing import Final

from deniable import estimates
from deniable.documents import Fact
from deniable.estimates.accuracy import Accuracy, reports_for_half_width
from deniable.mechanisms import (
    Strings,
)
from deniable.messages import Manifest
from deniable.planning.plans import shares_text, tells_distribution
from deniable.planning.words import found_fact
from deniable.presenting.revealed import revealed_at_worst

_POINTS: Final = 0.05
"""The margin of error below which shares are useful."""

_FEW: Final = 20
"""With more categories, most shares are so small that ± 5 percentage points is uninformative."""

_WEEK: Final = 7 * 86_400
_WITHIN: Final = "estimated by itself within ± 5 percentage points needs at most"


def accuracy_facts(manifest: Manifest, largest_share: float | None = None) -> Iterator[Fact]:
    """Yield the number of reports for useful figures, and what these figures reveal."""
    yield Fact("figures", revealed_at_worst(manifest))
    if tells_distribution(manifest):
        yield from _distribution(manifest)
        return
    if isinstance(manifest.mechanism, Strings):
        yield found_fact(manifest.mechanism, manifest.specification.parameters["least"])
        return
    if manifest.values is not None:
        half = (manifest.values[-1] - manifest.values[0]) / 50
        reports = estimates.reports_for_mean(manifest.mechanism, manifest.values, float(half))
        yield Fact(
            "accuracy",
            f"the mean within ± {float(half):.15g}, 2 % of the range, needs about {reports:,} "
            "reports, if answers are spread evenly",
        )
        return
    reports = reports_for_half_width(manifest.mechanism, _POINTS, largest_share)
    if manifest.dimensions:
        what = "combination" if manifest.kind.name == "joint" else "share of each question"
        yield Fact("accuracy", f"each {what} {_WITHIN} {reports:,} reports")
        return
    text = f"each share {_WITHIN} {reports:,} reports"
    if len(manifest.categories) > _FEW:
        finer = reports_for_half_width(manifest.mechanism, _POINTS / 10, largest_share)
        text += f"; to within ± 0.5, for many small shares, at most {finer:,}"
    yield Fact("accuracy", f"{text}; for {shares_text(manifest, largest_share)}")


def _distribution(manifest: Manifest) -> Iterator[Fact]:
    """Yield how many reports cumulative shares, the quartiles and the mean need."""
    mechanism, values = manifest.mechanism, manifest.values
    reports = Accuracy.half_width(_POINTS).reports(estimates.cumulative_variance(mechanism))
    yield Fact(
        "accuracy",
        "the share of all answers up to a chosen one, estimated by itself within ± "
        f"{100 * _POINTS:g} percentage points, needs at most {reports:,} reports",
    )
    if values is None or len(values) == 2:
        return
    step, half = values[1] - values[0], (values[-1] - values[0]) / 50
    reach = ceil(half / step) * step
    needed = estimates.reports_for_quartiles(mechanism, values, reach)
    yield Fact(
        "quartiles",
        f"an accuracy of ± {float(reach):.15g} needs about {needed:,} reports, if answers are "
        "spread evenly",
    )
    wanted = estimates.reports_for_mean(mechanism, values, float(half))
    yield Fact(
        "mean",
        f"an accuracy of ± {float(half):.15g}, 2 % of the range, needs about {wanted:,} reports",
    )


def blind_devices_text(manifest: Manifest, reports: int) -> str:
    """Return how many devices a blind survey needs for these reports, by how often apps run."""
    left = [_share_left(n * manifest.schedule.epoch_seconds / _WEEK) for n in (4, 7, 14)]
    four, seven, fourteen = (ceil(reports / share) for share in left)
    return (
        f"if apps run 4 times a week, about {100 * (1 - left[0]):.0f} % of reports miss their "
        f"half of an epoch: {reports:,} reports need {four:,} devices. With 7 runs, they need "
        f"{seven:,} devices; with 14 runs, {fourteen:,}"
    )


def _share_left(runs: float) -> float:
    """Return the share of reports that leave, at this many random runs per epoch (Poisson)."""
    # A run in the first half requests the token. A run in the second half sends, after a time U/4
    # into it, U uniform in [0, 1): there is none with probability E exp(-runs (1/2 - U/4)).
    return (1 - exp(-runs / 2)) * (1 - exp(-runs / 2) * expm1(runs / 4) / (runs / 4))
