"""How many reports a survey of several questions takes, by either kind, in words."""

from typing import Final

from deniable.estimates import reports_for_half_width, reports_for_share
from deniable.mechanisms import MAX_CATEGORIES, SurveyMechanism
from deniable.mechanisms.dimensions import Dimensions, combinations_of, separated, sizes_of
from deniable.messages import Manifest
from deniable.planning import best_specification

_POINTS: Final = 0.05
_WITHIN: Final = "within ± 5 percentage points takes at most"


def questions_text(manifest: Manifest) -> str:
    """Return how many reports give figures of some use, and how many by the other kind."""
    dimensions = manifest.dimensions
    reports = reports_for_half_width(manifest.mechanism, _POINTS)
    if manifest.kind.name == "joint":
        single = _for_single_questions(manifest.mechanism, dimensions)
        other = reports_for_half_width(_made("one-question", manifest), _POINTS)
        return (
            f"each combination {_WITHIN}\n          {reports:,} reports, each share of a single "
            f"question {single:,}; by one-question {other:,}"
        )
    text = f"each share of each question {_WITHIN}\n          {reports:,} reports"
    if combinations_of(dimensions) > MAX_CATEGORIES:
        return text
    return f"{text}; by joint {_for_single_questions(_made('joint', manifest), dimensions):,}"


def _made(kind: str, manifest: Manifest) -> SurveyMechanism:
    """Return the best mechanism of another kind for the same questions."""
    specification = best_specification(manifest, kind)
    labels = specification.labels(manifest.dimensions)
    return specification.mechanism(len(labels), manifest.epsilon, manifest.delta)


def _for_single_questions(joint: SurveyMechanism, dimensions: Dimensions) -> int:
    """Return what the share of an answer takes, of the question that takes most."""
    sizes = sizes_of(dimensions)
    first = [separated(x, sizes) for x in range(joint.categories)]
    return max(
        reports_for_share(joint, [answers[at] == 0 for answers in first], _POINTS)
        for at in range(len(sizes))
    )
