"""Reports that an accuracy takes, or the epsilon that so many allow; and a survey's first year."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil, exp, expm1, inf, isfinite
from typing import Final

from deniable.budget import NANO, RangeCost, pure_cost
from deniable.documents import level_text, upper_text
from deniable.estimates.accuracy import Accuracy, share_variance
from deniable.estimates.binomial import NotInvertible
from deniable.mechanisms import SurveyMechanism, exact_epsilon
from deniable.messages import (
    FRESH,
    MAX_EPOCHS,
    RANDOMISED_RESPONSE,
    InvalidManifest,
    Manifest,
    Specification,
)
from deniable.planning.calibration import calibrated
from deniable.planning.candidates import DESIGNS, PLAIN, Candidate
from deniable.planning.choice import unlikely_level
from deniable.planning.specification import AUTO, LEVELS, answered_best, specified
from deniable.planning.words import MOST_EPSILON
from deniable.planning.words import terms as terms_of


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
        if has_shares(manifest) and not tells_distribution(manifest):
            return share_variance(mechanism, share)
        from deniable.estimates import cumulative_variance, mean_variance  # numpy

        if manifest.values is None or tells_distribution(manifest):
            return cumulative_variance(mechanism, share)
        return mean_variance(mechanism, manifest.values)
    except NotInvertible:
        return inf


def ways_to_ask(manifest: Manifest, share: float | None = None) -> Iterator[Way]:
    """Yield the survey's own way, randomised response, the best, and to ask without any privacy.

    At the survey's epsilon and delta. The best is known for shares, and so not told of a mean.
    """

    def way(title: str, used: Specification) -> Way:
        mechanism = used.mechanism(k, epsilon, delta)
        terms = terms_of(used.kind, used.parameters, k) or used.kind.replace("-", " ")
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
    return calibrated(name, 0, epsilon, settings)


def _plain(manifest: Manifest) -> Specification:
    if not manifest.dimensions:
        return RANDOMISED_RESPONSE
    settings = {"dimensions": manifest.dimensions}
    return calibrated(manifest.kind.name, 0, manifest.epsilon, settings)


def _unprotected(manifest: Manifest, share: float | None) -> float:
    """Return n Var of what devices say if they tell the truth: all of them, to every question."""
    if not has_shares(manifest):
        assert manifest.values is not None
        reach: Fraction = (manifest.values[-1] - manifest.values[0]) / 2
        return float(reach**2)
    return 0.25 if share is None else share * (1 - share)


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
        exact = _exact_text(self.accuracy, figure.amount(self.accuracy.size))
        return f"For {figure.name} {exact}, {takes} at epsilon {self.manifest.epsilon}, {where}."

    @property
    def odds(self) -> Fraction:
        """Return how many times as likely a report makes one answer, beside another, at most."""
        odds = self.manifest.mechanism.privacy.odds
        assert odds is not None, "every mechanism of a survey is pure"
        return odds

    def reports(self, way: Way) -> int | None:
        """Return how many reports a way takes, whatever is answered; None if no number does."""
        return self.accuracy.reports(way.variance) if isfinite(way.variance) else None

    def reached(self, reports: int) -> float:
        """Return the accuracy that so many reports reach, in the survey's own way."""
        return self.accuracy.reached(self.ways[0].variance, reports)


def _exact_text(accuracy: Accuracy, size: str) -> str:
    if accuracy.power is not None and accuracy.significance is not None:
        return (
            "so exact that between two groups or epochs, of so many reports each, a difference of "
            f"{size}, looked at by itself, is found {level_text(accuracy.power)} of the time, and "
            f"one where there is none {level_text(accuracy.significance)}"
        )
    if accuracy.level is not None:
        return f"within ± {size}, by intervals of {level_text(accuracy.level)}"
    return f"with a standard error of {size}"


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


_YEAR: Final = 365 * 86_400

_MOST_COMPOSED: Final = 1000
"""More reports take too long to compose."""


@dataclass(frozen=True, slots=True)
class Year:
    """A device's reports in the first 365 days of a survey, one in every epoch.

    Attributes:
        epochs: how many a year has, at least 1, though the survey may have fewer.
        reports: in how many of them the survey asks.
        charged: what a device is charged for these, in units of 1e-9 epsilon.
        level: what they favour the device's answers by, at most, except with a chance of 1 in a
            million; rounded up. None for kinds whose reports are not composed here, and for
            responses that are kept.
        lifetime: what the app lets a device spend in all, in units of 1e-9 epsilon.
        affordable: how many reports that does for; as many as a survey may have epochs, or more.
        epsilon: that at which it does for a report in every epoch of the year, rounded down to
            two digits; None for responses that are kept.
    """

    epochs: int
    reports: int
    charged: int
    level: Decimal | None
    lifetime: int
    affordable: int
    epsilon: Decimal | None


def year_of(manifest: Manifest, lifetime: int) -> Year:
    """Return a survey's year, of a lifetime budget in units of 1e-9 epsilon."""
    schedule, fresh = manifest.schedule, manifest.repeat == FRESH
    cost = RangeCost.of(manifest.mechanism)
    kept = manifest.repeat.epochs or 1

    def charged(reports: int) -> int:
        return cost.most(reports, kept)

    epochs = max(1, _YEAR // schedule.epoch_seconds)
    reports = min(schedule.epochs, epochs)
    epsilon = Context(prec=2, rounding=ROUND_FLOOR).divide(
        Decimal(lifetime), Decimal(NANO * epochs)
    )
    return Year(
        epochs,
        reports,
        charged(reports),
        _level(manifest, reports) if fresh else None,
        lifetime,
        bisect_right(range(MAX_EPOCHS + 1), lifetime, key=charged) - 1,
        epsilon if fresh else None,
    )


def _level(manifest: Manifest, reports: int) -> Decimal | None:
    kind = manifest.kind.name
    if kind not in {PLAIN, *DESIGNS} or reports > _MOST_COMPOSED:
        return None
    candidate = Candidate.of(kind, len(manifest.categories), manifest.specification.parameters)
    level = unlikely_level(candidate, manifest.epsilon, reports, manifest.delta)
    # It is rounded up further than the plain sum, which holds as well.
    return min(level, Decimal(reports * pure_cost(manifest.mechanism)) / NANO)
