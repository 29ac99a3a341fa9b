"""The ways to ask what a survey asks, and what an estimate from each varies by."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

from deniable.choosing import kinds
from deniable.choosing.chosen_mechanism import AUTO, LEVELS, answered_best, specified
from deniable.estimates import (
    NotInvertible,
    cumulative_variance,
    mean_variance,
    share_variance,
)
from deniable.mechanisms import SurveyMechanism
from deniable.messages import RANDOMISED_RESPONSE, Manifest, Specification


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask.

    Attributes:
        title: which of them it is.
        mechanism: how answers are randomised, in words.
        variance: n Var of the estimate in the worst case; infinite if there is no estimate.
    """

    title: str
    mechanism: str
    variance: float


def tells_distribution(manifest: Manifest) -> bool:
    """Return whether a survey is for a distribution: its figure is any share up to an answer."""
    return manifest.kind.name == LEVELS


def has_shares(manifest: Manifest) -> bool:
    """Return whether a survey's figure is a share; if not, it is a mean."""
    return manifest.values is None or tells_distribution(manifest)


def variance_of(manifest: Manifest, mechanism: SurveyMechanism, share: float | None) -> float:
    """Return n Var of a survey's figure, if this mechanism answers it: its mean, or any share.

    Infinite if floating point cannot tell the answers apart.
    """
    try:
        if tells_distribution(manifest):
            return cumulative_variance(mechanism, share)
        if manifest.values is not None:
            return mean_variance(mechanism, manifest.values)
        return share_variance(mechanism, share)
    except NotInvertible:
        return inf


def ways_to_ask(manifest: Manifest, share: float | None = None) -> Iterator[Way]:
    """Yield the survey's own way, randomised response, the best, and to ask without any privacy.

    At the survey's epsilon and delta. The best is known for shares, and so not told of a mean.
    """

    def way(title: str, used: Specification) -> Way:
        mechanism = used.mechanism(k, epsilon, delta)
        terms = kinds.terms(used.kind, used.parameters, k) or used.kind.replace("-", " ")
        terms += " (the best for all shares together)" if used == best else ""
        return Way(title, terms, variance_of(manifest, mechanism, share))

    epsilon, delta, own = manifest.epsilon, manifest.delta, manifest.specification
    k = len(manifest.categories)
    best = best_specification(manifest) if has_shares(manifest) else None
    yield way("as in the file", own)
    if own != (plain := _plain(manifest)):
        yield way("by randomised response", plain)
    if best is not None and plain != best != own:
        yield way("by the best for all shares together", best)
    yield Way("without any privacy", "the truth", _unprotected(manifest, share))


def republished(manifest: Manifest, epsilon: str) -> Manifest:
    """Return a survey as publishing it at this epsilon makes it, by whatever is best there."""
    best = best_specification(manifest, epsilon=epsilon)
    return replace(manifest, epsilon=epsilon, specification=best)


def best_specification(
    manifest: Manifest, kind: str | None = None, epsilon: str | None = None
) -> Specification:
    """Return the best specification for all shares together; of several questions, by kind."""
    epsilon, delta, repeat = epsilon or manifest.epsilon, manifest.delta, manifest.repeat
    if not manifest.dimensions:
        kind, kept = LEVELS if tells_distribution(manifest) else AUTO, None
        if manifest.kind.first_round_kept:
            kind, kept = manifest.kind.name, {"kept": manifest.kept_epsilon}
        return specified(kind, len(manifest.categories), epsilon, delta, kept, repeat)
    name = kind or manifest.kind.name
    settings = answered_best(name, manifest.dimensions, epsilon, delta, repeat)
    return Specification.calibrated(name, 0, epsilon, delta, settings)


def _plain(manifest: Manifest) -> Specification:
    if not manifest.dimensions:
        return RANDOMISED_RESPONSE
    settings = {"dimensions": manifest.dimensions}
    return Specification.calibrated(
        manifest.kind.name, 0, manifest.epsilon, manifest.delta, settings
    )


def _unprotected(manifest: Manifest, share: float | None) -> float:
    """Return n Var of what devices say if they tell the truth: all of them, to every question."""
    if not has_shares(manifest):
        assert manifest.values is not None
        reach: Fraction = (manifest.values[-1] - manifest.values[0]) / 2
        return float(reach**2)
    return 0.25 if share is None else share * (1 - share)
