"""Reports needed for an accuracy, their dates, and the epsilon that this many reports allow."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, Final

from deniable.documents import level_text, upper_text
from deniable.estimates.accuracy import Accuracy, default_largest_share, share_variance
from deniable.estimates.binomial import NotInvertible
from deniable.mechanisms import SurveyMechanism, exact_epsilon
from deniable.mechanisms.answering import combinations_of, sizes_of
from deniable.messages import RANDOMISED_RESPONSE, InvalidManifest, Manifest, Specification
from deniable.planning.calibration import calibrated
from deniable.planning.specification import AUTO, LEVELS, answered_best, specified
from deniable.planning.words import MOST_EPSILON, TOGETHER, largest_share_text
from deniable.planning.words import terms as terms_of
from deniable.reading import Pace, Step, date_text
from deniable.reading.epochs import unit_text

if TYPE_CHECKING:  # numpy: most surveys are planned without it
    from deniable.estimates.answers import Answers
    from deniable.estimates.decoders import Floats


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask.

    Attributes:
        title: its name.
        mechanism: how answers are randomised, in words.
        variance: n Var of the estimate in the worst case; infinite if there is no estimate.
    """

    title: str
    mechanism: str
    variance: float


@dataclass(frozen=True, slots=True)
class ChosenShare:
    """The share of chosen answers together, among all devices or among a group of them.

    Attributes:
        answers: the answers, as for the share of a histogram.
        group: the answers of the group; None for all devices.
        group_share: the share of devices in the group; by default, as if all answers were equally
            frequent.
    """

    answers: "Answers"
    group: "Answers | None" = None
    group_share: float | None = None

    def variance(
        self, manifest: Manifest, mechanism: SurveyMechanism, largest_share: float | None
    ) -> float:
        """Return n Var of the share, up to a largest share (by default any), in any population.

        Raises:
            ValueError: if the survey has no such answers, or they are the whole group.
        """
        from deniable.estimates.planning import chosen_variance  # needs numpy

        chosen, group = self._weights(manifest)
        largest = 1.0 if largest_share is None else largest_share
        return chosen_variance(mechanism, chosen, group, self.of_devices(manifest), largest)

    def unprotected(self, manifest: Manifest, largest_share: float | None) -> float:
        """Return n Var of the share if all devices tell the truth."""
        share = min(0.5 if largest_share is None else largest_share, 0.5)
        return share * (1 - share) / self.of_devices(manifest)

    def of_devices(self, manifest: Manifest) -> float:
        """Return the share of devices in the group; 1 without a group."""
        if self.group is None:
            return 1.0
        if self.group_share is not None:
            return self.group_share
        group = self._weights(manifest)[1]
        return float(group.sum()) / len(group)

    def name(self, manifest: Manifest) -> str:
        """Return the share in words."""
        from deniable.estimates.answers import answers_text

        text = f'the share of "{answers_text(self.answers)}"'
        if self.group is None:
            return text
        share = upper_text(Fraction(f"{100 * self.of_devices(manifest):.12g}"))
        return (
            f'{text} among those with "{answers_text(self.group)}" (if these are {share} % of all)'
        )

    def _weights(self, manifest: Manifest) -> "tuple[Floats, Floats]":
        from deniable.estimates.answers import weights_of

        if not has_shares(manifest) or manifest.kind.texts:
            raise ValueError("only shares of listed answers can be chosen")
        together = manifest.kind.name != "one-question"
        if not (together or self.group is None):
            raise ValueError("each device answers one question, so no group can be chosen")
        chosen, group = (
            weights_of(answers, manifest.categories, manifest.dimensions, together=together)
            for answers in (self.answers, self.group or manifest.categories)
        )
        if not 0 < (chosen * group).sum() < group.sum():
            raise ValueError("the answers must be some of the group's answers, but not all")
        return chosen, group


def tells_distribution(manifest: Manifest) -> bool:
    """Return whether a survey is for a distribution, whose figures are cumulative shares."""
    return manifest.kind.name == LEVELS


def has_shares(manifest: Manifest) -> bool:
    """Return whether a survey's figure is a share; if not, it is a mean."""
    return manifest.values is None or tells_distribution(manifest)


def variance_of(
    manifest: Manifest,
    mechanism: SurveyMechanism,
    largest_share: float | None,
    chosen: ChosenShare | None = None,
) -> float:
    """Return n Var of a survey's figure with this mechanism: its mean, any share, or a chosen one.

    Shares are at most ``largest_share``, by default the limit that the mechanism is chosen for. For
    a mean, answers are spread evenly, with the most noise that any answer has. The result is
    infinite if floating point cannot distinguish the answers.
    """
    try:
        if chosen is not None:
            return chosen.variance(manifest, mechanism, largest_share)
        if has_shares(manifest) and not tells_distribution(manifest):
            return share_variance(mechanism, largest_share)
        from deniable.estimates import cumulative_variance, mean_variance

        if manifest.values is None or tells_distribution(manifest):
            return cumulative_variance(mechanism, 1.0 if largest_share is None else largest_share)
        return mean_variance(mechanism, manifest.values)
    except NotInvertible:
        return inf


def ways_to_ask(
    manifest: Manifest, largest_share: float | None = None, chosen: ChosenShare | None = None
) -> Iterator[Way]:
    """Yield the survey's own way, randomised response, the best, and asking without any privacy.

    All ways have the survey's epsilon and delta. The best way is for shares up to a limit, and for
    all shares together; for a mean, the best way is the survey's own.
    """

    def way(title: str, used: Specification) -> Way:
        mechanism = used.mechanism(k, epsilon, delta)
        terms = terms_of(used.kind, used.parameters, k) or used.kind.replace("-", " ")
        terms += f" (the best for {shares})" if used == best else ""
        return Way(title, terms, variance_of(manifest, mechanism, largest_share, chosen))

    epsilon, delta, own = manifest.epsilon, manifest.delta, manifest.specification
    k = len(manifest.categories)
    shares, best = shares_text(manifest, largest_share), None
    if manifest.kind.name == "joint" and largest_share is None:
        shares = TOGETHER
    if has_shares(manifest) and not manifest.kind.texts:
        best = best_specification(manifest, largest_share=largest_share)
    yield way("as in the file", own)
    plain = own if manifest.kind.texts else _plain(manifest)
    if own != plain:
        yield way("by randomised response", plain)
    if best is not None and best not in {own, plain}:
        yield way(f"with the best for {shares}", best)
    if best is not None and not tells_distribution(manifest):
        together = best_specification(manifest, largest_share=0.0)
        if together not in {own, plain, best}:
            yield way(f"with the best for {TOGETHER}", together)
    truth = _unprotected(manifest, largest_share)
    if chosen is not None:
        truth = chosen.unprotected(manifest, largest_share)
    yield Way("without any privacy", "the truth", truth)


def republished(manifest: Manifest, epsilon: str) -> Manifest:
    """Return a survey as published at this epsilon, with the best parameters for it."""
    best = best_specification(manifest, epsilon=epsilon)
    return replace(manifest, epsilon=epsilon, specification=best)


def best_specification(
    manifest: Manifest,
    epsilon: str | None = None,
    largest_share: float | None = None,
) -> Specification:
    """Return the best specification of a survey's kind, for shares up to a limit."""
    epsilon, delta, repeat = epsilon or manifest.epsilon, manifest.delta, manifest.repeat
    if manifest.kind.texts:
        parameters = manifest.specification.parameters
        settings = {key: parameters[key] for key in ("lengths", "least")}
        return calibrated(manifest.kind.name, len(manifest.categories), epsilon, settings)
    if not manifest.dimensions:
        kind, kept = LEVELS if tells_distribution(manifest) else AUTO, None
        if manifest.kind.first_round_kept:
            kind, kept = manifest.kind.name, {"kept": manifest.kept_epsilon}
        return specified(
            kind,
            len(manifest.categories),
            epsilon,
            delta,
            kept,
            repeat,
            largest_share=largest_share,
        )
    name = manifest.kind.name
    settings = answered_best(name, manifest.dimensions, epsilon, delta, repeat, largest_share)
    return calibrated(name, 0, epsilon, settings)


def reports_together(manifest: Manifest) -> int | None:
    """Return how many reports give any share ± 5 points if all questions are asked together."""
    try:
        settings = answered_best("joint", manifest.dimensions, manifest.epsilon, manifest.delta)
        joint = calibrated("joint", 0, manifest.epsilon, settings)
    except InvalidManifest:  # too many combinations
        return None
    count = combinations_of(manifest.dimensions)
    variance = share_variance(joint.mechanism(count, manifest.epsilon, manifest.delta), None)
    return Accuracy.half_width(0.05).reports(variance) if isfinite(variance) else None


def _plain(manifest: Manifest) -> Specification:
    if not manifest.dimensions:
        return RANDOMISED_RESPONSE
    settings = {"dimensions": manifest.dimensions}
    return calibrated(manifest.kind.name, 0, manifest.epsilon, settings)


def _unprotected(manifest: Manifest, largest_share: float | None) -> float:
    """Return n Var without privacy: all devices tell the truth, to every question."""
    if not has_shares(manifest):
        from deniable.estimates.planning import even_variance  # needs numpy

        assert manifest.values is not None
        return even_variance(manifest.values)
    if largest_share is None and not tells_distribution(manifest):
        largest_share = max(map(default_largest_share, _sizes(manifest)))
    share = min(0.5 if largest_share is None else largest_share, 0.5)
    return share * (1 - share)


def _sizes(manifest: Manifest) -> set[int]:
    """Return the number of answers to each question, for questions with separate estimates."""
    if manifest.kind.name == "one-question":
        return set(sizes_of(manifest.dimensions))
    return {len(manifest.categories)}


def shares_text(manifest: Manifest, largest_share: float | None = None) -> str:
    """Return the shares that are to be exact: "shares up to 40 %"."""
    if tells_distribution(manifest) and largest_share is None:
        return "any share"
    least = {default_largest_share(size) for size in _sizes(manifest)}
    if largest_share is None and len(least) > 1:
        return "shares up to 10 % (with few answers, up to twice the average)"
    largest = max(least) if largest_share is None else largest_share
    return largest_share_text(largest)


_STEP: Final = 10
_FURTHEST: Final = 400
"""This many epsilons of three digits below a number reach down to at least 0.7 times it."""

Drafts = Callable[[str], Manifest]
"""A survey as a function of its epsilon, all else equal."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The figure that a survey is for.

    Attributes:
        unit: the unit of sizes; for shares, a percentage point.
        span: the difference between its greatest and least possible value.
    """

    name: str
    unit: float
    span: float = 1.0

    @classmethod
    def of(cls, manifest: Manifest) -> "Figure":
        """Return the figure of a survey: its mean if answers are numbers, otherwise each share."""
        if (values := manifest.values) and not has_shares(manifest):
            return cls("the mean", 1.0, float(values[-1] - values[0]))
        name = "each share"
        if tells_distribution(manifest):
            name = "the share of all answers up to a chosen one"
        if manifest.kind.texts:
            name = "the share of each text that is found"
        if manifest.dimensions:
            part = "combination" if manifest.kind.name == "joint" else "answer to each question"
            name = f"the share of each {part}"
        return cls(name, 0.01)

    def amount(self, size: float) -> str:
        """Return a size with its unit, to three digits, rounded up, so that the reports suffice."""
        number = upper_text(Fraction(f"{size / self.unit:.12g}"))
        points = "percentage point" + "s" * (number != "1")
        return number if self.unit == 1 else f"{number} {points}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The reports for a survey's figure: its mean if answers are numbers, otherwise each share.

    Attributes:
        manifest: the survey.
        accuracy: the required accuracy; for a difference, that of two groups of this many reports.
        ways: the survey's own way to ask, first, and others at the same epsilon.
        largest_share: the largest share with this accuracy; None for the mechanism's limit, or for
            any if a share is chosen.
        pace: the reports of a published survey so far, and their rate.
        chosen: the share that the plan is for instead of each one.
    """

    manifest: Manifest
    accuracy: Accuracy
    ways: tuple[Way, ...]
    largest_share: float | None = None
    pace: Pace | None = None
    chosen: ChosenShare | None = None

    @property
    def figure(self) -> Figure:
        """Return the figure with the required accuracy."""
        figure = Figure.of(self.manifest)
        return replace(figure, name=self.chosen.name(self.manifest)) if self.chosen else figure

    @property
    def sentence(self) -> str:
        """Return how many reports the survey's own way needs; for a published survey, also when."""
        reports, figure = self.reports(self.ways[0]), self.figure
        takes = "no number of reports suffices"
        if reports is not None:
            takes = f"it takes {reports:,} report{'s' * (reports != 1)}"
        largest = 1.0 if self.chosen and self.largest_share is None else self.largest_share
        shares = shares_text(self.manifest, largest)
        limit, where = "", f", for {shares}"
        if not has_shares(self.manifest):
            where = ", if answers are spread evenly"
        elif shares == "any share":
            where = ", whatever is answered"
        elif figure.name == "each share" and shares.startswith("shares up to"):
            limit, where = f" {shares.removeprefix('shares ')}", ""
        exact = _exact_text(self.accuracy, figure.amount(self.accuracy.size))
        text = (
            f"For {figure.name}{limit} {exact}, {takes} at epsilon {self.manifest.epsilon}{where}."
        )
        if self.pace is None or self.accuracy.power is not None or reports is None:
            return text + self._at_once()
        return f"{text} {self._outlook(self.pace)}"

    def _at_once(self) -> str:
        """Return how many reports give the intervals of all answers at once this width."""
        accuracy, answers, way = self.accuracy, len(self.manifest.categories), self.ways[0]
        single = self.chosen is None and self.figure.name == "each share" and answers > 2
        if not single or accuracy.level is None or not isfinite(way.variance):
            return ""
        level = 1 - (1 - accuracy.level) / answers  # Bonferroni
        reports = Accuracy.half_width(accuracy.size, level).reports(way.variance)
        return f" For all {answers:,} at once, as in Figures, it takes {reports:,}."

    def reached_at(self) -> int | None:
        """Return the Unix seconds when all epochs together reach the accuracy; None if never."""
        steps = () if self.pace is None else self.pace.steps
        return next((step.at for step in steps if self._size(step) <= self.accuracy.size), None)

    def _size(self, step: Step) -> float:
        """Return the accuracy of all epochs up to a step, even if the same devices report."""
        # As in figures of several epochs (deniable.estimates.decoders.recurring_errors), n reports
        # of E epochs have at most the variance (V + (E - 1) U)/n. V is the variance of one report,
        # and U that of the answers themselves.
        own, answers = self.ways[0].variance, self.ways[-1].variance
        return self.accuracy.scale * sqrt((own + (step.epochs - 1) * answers) / step.reports)

    def _small_sooner(self) -> bool:
        """Return whether shares up to 1 % need clearly fewer reports than the largest promised."""
        small = variance_of(self.manifest, self.manifest.mechanism, 0.01, self.chosen)
        return has_shares(self.manifest) and small < 0.8 * self.ways[0].variance

    def _outlook(self, pace: Pace) -> str:
        """Return when figures of all epochs together reach the accuracy, at this rate."""
        reached = self.reached_at()
        if not pace.steps:
            if pace.over:
                return "The survey is over, and no epoch has figures."
            schedule, least = self.manifest.schedule, max(1, self.manifest.minimum_reports)
            return (
                f"A {unit_text(schedule)} has figures once it has {least:,} report"
                f"{'s' * (least != 1)}. From {date_text(pace.final)} at the earliest, when the "
                f"{unit_text(schedule)} is final, this line shows when the goal is reached."
            )
        first, last = pace.steps[0], pace.steps[-1]
        half = "± " if self.accuracy.level is not None else "a standard error of "

        def amount(step: Step) -> str:
            return half + self.figure.amount(self._size(step))

        goal, unit = (
            half + self.figure.amount(self.accuracy.size),
            unit_text(self.manifest.schedule),
        )
        noun, *length = unit.split()  # such as "week", or "period of 3 hours"
        nouns = " ".join((f"{noun}s", *length))
        counted = f"{first.reports:,.0f} reports"
        if first.epochs > 1:
            counted = f"all closed {nouns} together"
        so_far, end = f"{counted} reach {amount(first)}", ""
        lead = f"The survey is over, with {first.reports:,.0f} reports. "
        if not pace.over and first == last:
            since = date_text(first.at - self.manifest.schedule.grace_seconds - 1)
            lead = f"There have been no new figures since {since}, so no date can be predicted. "
        elif first != last:
            lead = f"About {pace.rate:,.0f} reports arrive {pace.period}. So far, {so_far}. "
            end = f" by the end, on {date_text(last.at)}"
        if reached == first.at:
            text = f"This has already been reached: {so_far}."
        elif reached is not None:
            text = (
                f"{lead}{goal[0].upper()}{goal[1:]} will be reached on about {date_text(reached)}."
            )
        else:
            best = amount(min(pace.steps, key=self._size))
            text = (
                f"{lead}{goal[0].upper()}{goal[1:]} will not be reached{end}: the best is {best}."
            )
        if last.epochs > 1 and self.manifest.repeat.epochs is None:
            own = " and one answer" * (self.manifest.values is None)
            text += f" To see this average, choose all {nouns} together{own} in Figures."
        if reached != first.at and first != last and self._small_sooner():
            text += " Small shares are known sooner."
        if reached != first.at and first.reports >= (self.reports(self.ways[0]) or inf):
            text = f"Reports that the same devices send in several {nouns} count for less. {text}"
        if last.epochs == 1 or not pace.rate:
            return text
        alone = Step(first.at, 1, pace.rate)
        text += f" One {unit} alone ({pace.rate:,.0f} reports) reaches {amount(alone)}"
        if self._size(alone) > self.accuracy.size:
            needed = self.reports(self.ways[0])
            text += f"; for {goal}, a {unit} needs {needed:,} reports"
        return f"{text}."

    @property
    def odds(self) -> Fraction:
        """Return the greatest ratio by which a report makes one answer more likely."""
        odds = self.manifest.mechanism.privacy.odds
        assert odds is not None, "every survey's mechanism has a pure guarantee"
        return odds

    def reports(self, way: Way) -> int | None:
        """Return how many reports a way needs, whatever the answers; None if no number suffices."""
        return self.accuracy.reports(way.variance) if isfinite(way.variance) else None

    def reached(self, reports: int) -> float:
        """Return the accuracy of this many reports, in the survey's own way."""
        return self.accuracy.reached(self.ways[0].variance, reports)


def _exact_text(accuracy: Accuracy, size: str) -> str:
    if accuracy.power is not None and accuracy.significance is not None:
        return (
            f"precise enough to detect a difference of {size} between two groups or epochs of "
            f"that many reports each (a real difference is found {level_text(accuracy.power)} of "
            f"the time, and a false one {level_text(accuracy.significance)})"
        )
    if accuracy.level is not None:
        return f"within ± {size}, with {level_text(accuracy.level)} intervals"
    return f"with a standard error of {size}"


def plan(
    manifest: Manifest,
    accuracy: Accuracy,
    largest_share: float | None = None,
    pace: Pace | None = None,
    chosen: ChosenShare | None = None,
) -> Plan:
    """Return the plan for a survey's figure: a mean, or shares up to ``largest_share``.

    It may be for a chosen share instead. For a published survey, the plan states when the accuracy
    is reached at the present rate.
    """
    # Even if all shares together were to be exact, the plan is for each of them.
    largest_share = largest_share or None
    ways = tuple(ways_to_ask(manifest, largest_share, chosen))
    return Plan(manifest, accuracy, ways, largest_share, pace, chosen)


def epsilon_for(
    manifest: Manifest,
    drafts: Drafts,
    accuracy: Accuracy,
    reports: int,
    largest_share: float | None = None,
    chosen: ChosenShare | None = None,
) -> str | None:
    """Return the least epsilon, of three digits, at which this many reports suffice, or None."""

    def does(epsilon: str) -> bool:
        try:
            other = drafts(epsilon)
        except InvalidManifest:  # too small for a matrix of its own, or to distinguish answers
            return False
        variance = variance_of(other, other.mechanism, largest_share, chosen)
        return variance < inf and accuracy.reports(variance) <= reports

    grid = _epsilons(manifest)
    least = bisect_left(grid, True, key=does)
    # If a different design becomes the best by the survey's own criterion, which may differ from
    # this, the worst variance of a share may rise by up to half: then smaller epsilons may suffice.
    furthest = max(least - _FURTHEST, -1) if has_shares(manifest) else least
    for below in range(least - _STEP, furthest, -_STEP):
        if does(grid[below]):
            least = bisect_left(grid, True, max(below - _STEP, 0), below, key=does)
    return grid[least] if least < len(grid) else None


def _epsilons(manifest: Manifest) -> list[str]:
    """Return the survey's possible epsilons, rising, all below that of any kept response."""
    numbers = [
        Decimal(digits).scaleb(power) for power in range(-5, -1) for digits in range(100, 1000)
    ]
    kept = manifest.kept_epsilon if manifest.kind.first_round_kept else None
    texts = [f"{number.normalize():f}" for number in numbers if number <= MOST_EPSILON]
    return [text for text in texts if kept is None or exact_epsilon(text) < exact_epsilon(kept)]
