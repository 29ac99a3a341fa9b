"""How many reports a survey's figures take, at an accuracy and an epsilon that sliders choose."""

from dataclasses import dataclass
from math import isfinite

from deniable.budget import odds_text
from deniable.choosing import PLAIN, Candidate, best
from deniable.estimates import Accuracy, mean_variance, share_variance
from deniable.mechanisms import Mechanism
from deniable.messages import Manifest


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask, and the reports that it takes; None if none suffice."""

    title: str
    mechanism: str
    reports: int | None


@dataclass(frozen=True, slots=True)
class Planned:
    """What is planned: of each share, or of the mean in percent of its range."""

    of: str
    odds: str
    ways: tuple[Way, ...]


def planned(manifest: Manifest, width: float, epsilon: str) -> Planned:
    """Return what 95 % intervals of half that width take: of the survey, and at an epsilon.

    Raises:
        ValueError: if there is no such mechanism.
    """
    values = manifest.values
    size = width if values is None else width * float(values[-1] - values[0])
    accuracy = Accuracy.half_width(size)

    def way(title: str, words: str, mechanism: Mechanism) -> Way:
        variance = share_variance(mechanism) if values is None else mean_variance(mechanism, values)
        return Way(title, words, accuracy.reports(variance) if isfinite(variance) else None)

    own = manifest.specification
    words = manifest.kind.terms(own.parameters, len(manifest.categories)) or own.kind
    ways = [way(f"this survey, at its epsilon {manifest.epsilon}", words, manifest.mechanism)]
    odds = manifest.mechanism.privacy.odds
    if free_epsilon(manifest):
        k = len(manifest.categories)
        choice, plain = best(k, epsilon), Candidate.of(PLAIN, k, {})
        mechanism = choice.mechanism()
        ways.append(way(f"the best, at epsilon {epsilon}", str(choice.candidate), mechanism))
        if choice.candidate != plain:
            ways.append(
                way(f"the plainest, at epsilon {epsilon}", str(plain), plain.mechanism(epsilon))
            )
        odds = mechanism.privacy.odds
    unprotected = 0.25 if values is None else float((values[-1] - values[0]) / 2) ** 2
    ways.append(Way("without any privacy", "the truth", accuracy.reports(unprotected)))
    assert odds is not None, "every mechanism of a survey is pure"
    return Planned("each share" if values is None else "the mean", odds_text(odds), tuple(ways))


def free_epsilon(manifest: Manifest) -> bool:
    """Return whether another epsilon can be planned: for answers to one question, by themselves."""
    return manifest.values is None and not manifest.dimensions
