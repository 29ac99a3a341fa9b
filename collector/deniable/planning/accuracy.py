"""Facts about the number of reports that a survey needs for useful figures."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, exp, expm1
from typing import Final

from deniable import estimates
from deniable.documents import Fact
from deniable.estimates.accuracy import Accuracy, checked_largest_share, reports_for_half_width
from deniable.mechanisms import (
    MAX_CATEGORIES,
    MatrixPrivacy,
    RandomisedResponse,
    Strings,
    SurveyMechanism,
)
from deniable.mechanisms.answering import Dimensions, combinations_of, separated, sizes_of
from deniable.messages import Manifest
from deniable.planning.plans import best_specification, shares_text, tells_distribution
from deniable.planning.specification import AUTO, LEVELS, specified
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
        if len(manifest.values) > 2:  # for two values, the mean suffices
            yield from _beside_mean(manifest, manifest.values)
        return
    reports = reports_for_half_width(manifest.mechanism, _POINTS, largest_share)
    if manifest.dimensions:
        yield Fact("accuracy", _of_questions(manifest, reports, largest_share))
        return
    text = f"each share {_WITHIN} {reports:,} reports"
    if isinstance(manifest.mechanism.privacy, MatrixPrivacy):
        plain = RandomisedResponse(len(manifest.categories), manifest.epsilon)
        needed = reports_for_half_width(plain, _POINTS, largest_share)
        text += f", with randomised response {needed:,}"
    elif len(manifest.categories) > _FEW:
        finer = reports_for_half_width(manifest.mechanism, _POINTS / 10, largest_share)
        text += f"; to within ± 0.5, for many small shares, at most {finer:,}"
    yield Fact("accuracy", f"{text}; for {shares_text(manifest, largest_share)}")


def _distribution(manifest: Manifest) -> Iterator[Fact]:
    """Yield how many reports shares up to an answer need, and the accuracy of quartiles."""
    mechanism, points = manifest.mechanism, 100 * _POINTS
    reports = Accuracy.half_width(_POINTS).reports(estimates.cumulative_variance(mechanism))
    one = specified(AUTO, len(manifest.categories), manifest.epsilon, manifest.delta)
    design = one.mechanism(len(manifest.categories), manifest.epsilon, manifest.delta)
    other = Accuracy.half_width(_POINTS).reports(estimates.cumulative_variance(design))
    yield Fact(
        "accuracy",
        f"the share of all answers up to a chosen one, estimated by itself within ± {points:g} "
        f"percentage points, needs at most {reports:,} reports; the mechanism for single shares "
        f"needs {other:,}",
    )
    if manifest.values is None or len(manifest.values) == 2:
        return
    values = manifest.values
    step, half = values[1] - values[0], (values[-1] - values[0]) / 50
    reach = ceil(half / step) * step
    wanted = estimates.reports_for_mean(mechanism, values, float(half))
    alone = specified("mean", len(values), manifest.epsilon, repeat=manifest.repeat)
    best = alone.mechanism(len(values), manifest.epsilon, "0")
    mean = estimates.reports_for_mean(best, values, float(half))
    needed = estimates.reports_for_quartiles(mechanism, values, reach)
    yield Fact(
        "quartiles",
        f"an accuracy of ± {float(reach):.15g} needs about {needed:,} reports, if answers are "
        "spread evenly",
    )
    yield Fact(
        "mean",
        f"an accuracy of ± {float(half):.15g}, 2 % of the range, needs about {wanted:,} reports; "
        f'with tells = "mean", {mean:,}',
    )


def _of_questions(manifest: Manifest, reports: int, largest_share: float | None) -> str:
    """Return the number of reports for useful figures, and the number for the other kind."""
    dimensions = manifest.dimensions
    if manifest.kind.name == "joint":
        single = _for_single_questions(manifest.mechanism, dimensions, largest_share)
        one = _made("one-question", manifest, largest_share)
        other = reports_for_half_width(one, _POINTS, largest_share)
        return (
            f"each combination {_WITHIN} {reports:,} reports, each share of a single question "
            f'{single:,}; with mechanism = "one-question", {other:,}'
        )
    text = f"each share of each question {_WITHIN} {reports:,} reports"
    if combinations_of(dimensions) > MAX_CATEGORIES:
        return text
    joint = _made("joint", manifest, largest_share)
    needed = _for_single_questions(joint, dimensions, largest_share)
    return f'{text}; with mechanism = "joint", {needed:,}'


def _made(kind: str, manifest: Manifest, largest_share: float | None) -> SurveyMechanism:
    """Return the best mechanism of another kind for the same questions."""
    specification = best_specification(manifest, kind, largest_share=largest_share)
    labels = specification.of_kind.labels(manifest.dimensions)
    return specification.mechanism(len(labels), manifest.epsilon, manifest.delta)


def _for_single_questions(
    joint: SurveyMechanism, dimensions: Dimensions, largest_share: float | None
) -> int:
    """Return how many reports an answer's share needs, for the question that needs the most."""
    sizes = sizes_of(dimensions)
    first = [separated(x, sizes) for x in range(joint.categories)]
    return max(
        estimates.reports_for_share(
            joint,
            [answers[at] == 0 for answers in first],
            _POINTS,
            largest_share=checked_largest_share(largest_share, size),
        )
        for at, size in enumerate(sizes)
    )


def _beside_mean(manifest: Manifest, values: Sequence[Fraction]) -> Iterator[Fact]:
    """Yield how many reports the mean and quartiles need in a survey of the distribution."""
    step, half = values[1] - values[0], (values[-1] - values[0]) / 50
    levels = specified(LEVELS, len(values), manifest.epsilon, repeat=manifest.repeat)
    tree = levels.mechanism(len(values), manifest.epsilon, "0")
    mean = estimates.reports_for_mean(tree, values, float(half))
    reach = ceil(half / step) * step
    needed = estimates.reports_for_quartiles(tree, values, reach)
    yield Fact(
        "quartiles",
        f'quartiles and shares require tells = "distribution": '
        f"quartiles within ± {float(reach):.15g} then need about {needed:,} reports, and the mean "
        f"within ± {float(half):.15g} about {mean:,}",
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
