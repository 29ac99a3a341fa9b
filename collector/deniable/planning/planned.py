"""Reports that an accuracy takes, or the epsilon that so many reports allow."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, exp, expm1, inf, isfinite
from typing import Final

from deniable.choosing.guidance import MOST_EPSILON
from deniable.documents import level_text, upper_text
from deniable.estimates import Accuracy
from deniable.mechanisms import exact_epsilon
from deniable.messages import InvalidManifest, Manifest
from deniable.planning.ways import (
    Way,
    has_shares,
    tells_distribution,
    variance_of,
    ways_to_ask,
)

_WEEK: Final = 7 * 86_400
_STEP: Final = 10
_FURTHEST: Final = 400
"""As many epsilons of three digits below a number go at least to 0.7 times that."""

Drafts = Callable[[str], Manifest]
"""A survey by its epsilon, all else alike."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The figure that a survey is for.

    Attributes:
        unit: that which sizes are told in; of shares, a percentage point.
    """

    name: str
    unit: float

    @classmethod
    def of(cls, manifest: Manifest) -> "Figure":
        """Return the figure of a survey: its mean if answers are numbers, else each share."""
        if not has_shares(manifest):
            return cls("the mean", 1.0)
        name = "each share"
        if tells_distribution(manifest):
            name = "the share of all answers up to any one"
        if manifest.dimensions:
            part = "combination" if manifest.kind.name == "joint" else "answer to each question"
            name = f"the share of each {part}"
        return cls(name, 0.01)

    def amount(self, size: float) -> str:
        """Return a size with its unit, to three digits, rounded up: so far, reports do."""
        number = upper_text(Fraction(f"{size / self.unit:.12g}"))
        points = "percentage point" + "s" * (number != "1")
        return number if self.unit == 1 else f"{number} {points}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The reports that a survey's figure takes: its mean if answers are numbers, else each share.

    Attributes:
        manifest: the survey.
        accuracy: how exact the figure is to be; of two groups of as many reports each, if it is a
            difference.
        ways: the survey's own way to ask, first, and others at the same epsilon.
        share: about how frequent an answer is; None for the worst case.
    """

    manifest: Manifest
    accuracy: Accuracy
    ways: tuple[Way, ...]
    share: float | None = None

    @property
    def figure(self) -> Figure:
        """Return the figure that is to be so exact."""
        return Figure.of(self.manifest)

    @property
    def sentence(self) -> str:
        """Return how many reports the survey's own way takes, as a sentence to be published."""
        reports, figure = self.reports(self.ways[0]), self.figure
        takes = "no number of reports suffices"
        if reports is not None:
            takes = f"it takes {reports:,} report{'s' * (reports != 1)}"
        where = "whatever is answered"
        if self.share is not None:
            where = f"where it is about {level_text(self.share)}, of whichever answer needs most"
        exact = self.accuracy.words.format(figure.amount(self.accuracy.size))
        return f"For {figure.name} {exact}, {takes} at epsilon {self.manifest.epsilon}, {where}."

    @property
    def odds(self) -> Fraction:
        """Return how many times likelier a report makes one answer, beside another, at most."""
        odds = self.manifest.mechanism.privacy.odds
        assert odds is not None, "every mechanism of a survey is pure"
        return odds

    def reports(self, way: Way) -> int | None:
        """Return how many reports a way takes, whatever is answered; None if no number does."""
        return self.accuracy.reports(way.variance) if isfinite(way.variance) else None

    def reached(self, reports: int) -> float:
        """Return the accuracy that so many reports reach, in the survey's own way."""
        return self.accuracy.reached(self.ways[0].variance, reports)


def plan(manifest: Manifest, accuracy: Accuracy, share: float | None = None) -> Plan:
    """Return the plan of a survey's figure, in the worst case or where the share is about this."""
    return Plan(manifest, accuracy, tuple(ways_to_ask(manifest, share)), share)


def blind_devices_text(manifest: Manifest, reports: int) -> str:
    """Return how many devices a blind survey takes for so many reports, by how often apps run."""
    left = [_share_left(n * manifest.schedule.epoch_seconds / _WEEK) for n in (4, 7, 14)]
    four, seven, fourteen = (ceil(reports / share) for share in left)
    return (
        f"where apps run 4 times a week, at any moments, about {100 * (1 - left[0]):.0f} % of "
        f"reports miss their half of an epoch: {reports:,} take {four:,} devices; at 7 times "
        f"{seven:,}, at 14 {fourteen:,}"
    )


def _share_left(runs: float) -> float:
    """Return the share of reports that leave, of so many runs an epoch at any moments (Poisson)."""
    # A run in the first half asks for the token. One in the second sends, behind a time U/4 into
    # it, U uniform in [0, 1): none comes with E exp(-runs (1/2 - U/4)).
    return (1 - exp(-runs / 2)) * (1 - exp(-runs / 2) * expm1(runs / 4) / (runs / 4))


def epsilon_for(
    manifest: Manifest,
    drafts: Drafts,
    accuracy: Accuracy,
    reports: int,
    share: float | None = None,
) -> str | None:
    """Return the least epsilon, of three digits, at which so many reports do; None if none does."""

    def does(epsilon: str) -> bool:
        try:
            other = drafts(epsilon)
        except InvalidManifest:  # too small for a matrix of its own, or to tell answers apart
            return False
        variance = variance_of(other, other.mechanism, share)
        return variance < inf and accuracy.reports(variance) <= reports

    grid = _epsilons(manifest)
    least = bisect_left(grid, True, key=does)
    # Where another design becomes the best for all shares together, the worst of them may vary up
    # to half as much again: smaller epsilons may do, then.
    for below in range(least - _STEP, max(least - _FURTHEST, -1), -_STEP):
        if does(grid[below]):
            least = bisect_left(grid, True, max(below - _STEP, 0), below, key=does)
    return grid[least] if least < len(grid) else None


def _epsilons(manifest: Manifest) -> list[str]:
    """Return the epsilons a survey might have, rising; below that of a kept response, if any."""
    numbers = [
        Decimal(digits).scaleb(power) for power in range(-5, -1) for digits in range(100, 1000)
    ]
    kept = manifest.kept_epsilon if manifest.kind.first_round_kept else None
    texts = (f"{number.normalize():f}" for number in [*numbers, Decimal(MOST_EPSILON)])
    return [text for text in texts if kept is None or exact_epsilon(text) < exact_epsilon(kept)]
