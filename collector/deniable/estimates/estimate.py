"""One number with its uncertainty, and what can be made of several: differences and ratios.

Every estimate is a linear form: weights over the categories of samples. So the sum of two that are
of the same sample has the error of the summed weights, covariances and all; and samples of
different epochs or surveys are independent.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Final, SupportsFloat

import numpy as np
from scipy import optimize

from deniable.estimates.binomial import binomial_intervals, check_level, normal_quantile
from deniable.estimates.contrasts import Ends, difference_ends, multiple_ends
from deniable.estimates.decoders import Counts, Decoder, Floats, Model, Tally, decoder_of
from deniable.estimates.frequencies import beyond
from deniable.estimates.influence import furthest_shifts, ratio_shift, report_shifts
from deniable.estimates.poisoning import fewest_fakes
from deniable.estimates.queries import (
    cautious_values,
    contrast_variance,
    query_values,
    widening,
)
from deniable.estimates.results import Documented, Worded, presented
from deniable.mechanisms import Mechanism

_ALIKE: Final = 1e-9
"""Values of a kernel that differ by less, of their whole range, are the same number."""


_FEW: Final = 5
"""A sum of fewer moves of a kernel is not normal: whether 0 or 1 was drawn decides it."""

_IN_GROUP: Final = 3.0
"""A group has a share of its own if its size is as many standard errors above 0 (benchmarks)."""


class Unit(Enum):
    """The unit of an estimate, for its sentence."""

    SHARE = "share"
    DIFFERENCE = "difference of shares"
    RATIO = "ratio"
    NUMBER = "number"
    CHANGE = "difference of numbers"

    @property
    def of_shares(self) -> bool:
        """Return whether values are in per cent, or percentage points."""
        return self in {Unit.SHARE, Unit.DIFFERENCE}


FAKES: Final = 0.01
"""The share of fake reports whose bias is told beside every figure."""


def decided_by_fakes(influence: float, widest: float = 1.0) -> bool:
    """Return whether 1 % of fake reports move a figure over all that is possible of it."""
    return influence != 0 and not FAKES * influence < widest


@dataclass(frozen=True, slots=True)
class Estimate(Worded):
    """One unbiased number with its uncertainty.

    Sums, differences, multiples and quotients of estimates are estimates, with exact variances.

    Attributes:
        value: the estimate; it may leave the range of what is possible.
        standard_error: of the value; NaN for a single report in the sampled model.
        low, high: ends of the confidence interval, within what is possible; about the possible
            value that is nearest.
        outside: whether the value is further from all that is possible than the interval about the
            nearest possible value reaches: chance, or false reports.
        influence: how far fake reports move the value for each share of them at most, by its own
            weights: a share beta in each of the samples by beta times this. A ratio, which does not
            move in proportion, has a hundred times how far off it is if the worst 1 % of what was
            counted are fakes. NaN if nobody knows.
        fakes_decide: whether 1 % of fakes move it by all that is possible, shares and differences
            of shares by 100 percentage points, or a ratio of any size by itself.
        label: what it is of, for people.
        samples: the reports that it is made of.
        nothing: what it is if there is nothing to tell: 0; 1 of the ratio of two figures, which are
            the same then. A part of a whole is a share of it, and may be none: 0.
        group: among whom it is a share, by their answers; empty if among all.
        parts: of a share within a group, the share of all that is in both, and that of the group.
        at_once: whether the interval is one of those that hold for all answers at once.
        too_small: whether a group's own share may be 0: the value may be anything, and the interval
            is all that is possible.
    """

    value: float
    standard_error: float
    low: float
    high: float
    level: float
    outside: bool = False
    influence: float = field(default=math.nan, compare=False)
    fakes_decide: bool = field(default=False, compare=False)
    label: str = field(default="", compare=False)
    unit: Unit = field(default=Unit.NUMBER, repr=False, compare=False)
    samples: "tuple[Sample, ...]" = field(default=(), repr=False, compare=False)
    form: "Form | None" = field(default=None, repr=False, compare=False)
    nothing: float = field(default=0.0, repr=False, compare=False)
    group: str = field(default="", compare=False)
    parts: "tuple[Form, Form] | None" = field(default=None, repr=False, compare=False)
    too_small: bool = field(default=False, compare=False)
    at_once: bool = field(default=False, compare=False)

    @property
    def distinguishable(self) -> bool:
        """Return whether the interval excludes no difference: 0, or 1 of a ratio of two figures."""
        return not self.low <= self.nothing <= self.high

    @property
    def stated(self) -> float | None:
        """Return the value; None where a group is too small for it to mean anything."""
        return None if self.too_small else self.value

    def above(self, limit: float) -> "Verdict":
        """Return the verdict of a limit, a share in [0, 1]: whether the interval lies above it."""
        return Verdict(self, limit, Side.ABOVE)

    def below(self, limit: float) -> "Verdict":
        """Return the verdict of a limit: whether the interval lies below it."""
        return Verdict(self, limit, Side.BELOW)

    def at(self, level: float) -> "Estimate":
        """Return the same with an interval of another level; of shares and linear estimates."""
        if self.parts is not None:
            return share_within(*self.parts, level, self.label, self.group)
        return self.linear.estimate(level, self.label, self.unit)

    @property
    def linear(self) -> "Form":
        """Return the weights that it is made of; TypeError of a ratio, or of none."""
        if self.form is None:
            raise TypeError(
                "this is a ratio, or was made by hand: only shares and other linear estimates are "
                "added up or compared; compare the parts first, and divide last"
            )
        return self.form

    def __add__(self, other: "Estimate") -> "Estimate":
        if not isinstance(other, Estimate):
            return NotImplemented
        unit = self._mixed(other)
        if self.unit is other.unit is Unit.SHARE:
            # Of devices, as long as each counts once.
            terms = self.linear.plus(other.linear).terms
            once = len(terms) == 1 and all(weights.max() <= 1 for weights in terms.values())
            unit = Unit.SHARE if once else Unit.NUMBER
        return self._with(other, 1.0, "plus", unit)

    def __sub__(self, other: "Estimate") -> "Estimate":
        if not isinstance(other, Estimate):
            return NotImplemented
        if self.parts or other.parts:
            return _less(self, other, self._and("less", other), self._mixed(other))
        unit = self._mixed(other)
        if self.unit is other.unit is Unit.NUMBER and self.label == other.label:
            unit = Unit.CHANGE
        return self._with(other, -1.0, "less", unit)

    def _mixed(self, other: "Estimate") -> Unit:
        shares = {Unit.SHARE, Unit.DIFFERENCE}
        return Unit.DIFFERENCE if {self.unit, other.unit} <= shares else Unit.NUMBER

    def _with(self, other: "Estimate", factor: float, word: str, unit: Unit) -> "Estimate":
        form = self.linear.plus(other.linear, factor)
        return form.estimate(min(self.level, other.level), self._and(word, other), unit)

    def _and(self, word: str, other: "Estimate") -> str:
        if self.label != other.label or bool(self.group) != bool(other.group):
            return f"{self._name} {word} {other._name}"
        if self.group != other.group:
            return f"{self._of_group} {word} those with {other.group}"
        return f"{self._of_group}, {places_text(self.slope, word, other.slope)}"

    @property
    def _of_group(self) -> str:
        return self.label + f", among those with {self.group}" * bool(self.group)

    @property
    def _name(self) -> str:
        name = self._of_group
        return name if " " not in name else f"({name})"

    @property
    def _possible(self) -> tuple[float, float]:
        return self.linear.possible if self.parts is None else (0.0, 1.0)

    @property
    def slope(self) -> "Form":
        """Return the linear form that has the error of the estimate, near its value."""
        if self.parts is None:
            return self.linear
        above, below = self.parts
        return above.plus(below, -self.value).times(1 / below.apart()[0])

    def _uncut(self, level: float) -> Ends[float]:
        """Return the ends of its interval of a level, before they are cut to what is possible."""
        if self.parts is None:
            low, high = self.linear._ends(self.value, level)
        else:
            a, b = (form.apart()[0] for form in self.parts)
            low, high = _fieller(a, b, *self.parts, normal_quantile(level))
        return Ends(low, self.value, high)

    def __mul__(self, factor: "SupportsFloat | Estimate") -> "Estimate":
        if isinstance(factor, Estimate):
            raise TypeError("the product of two estimates has no exact variance here")
        factor = float(factor)
        if not math.isfinite(factor):
            raise ValueError("an estimate is multiplied by a finite number")
        return self.linear.times(factor).estimate(
            self.level, f"{factor:g} times {self._name}", Unit.NUMBER
        )

    __rmul__ = __mul__

    def __truediv__(self, other: "Estimate | float") -> "Estimate":
        if not isinstance(other, Estimate):
            return self * (1 / other)
        label = self._and("as a multiple of", other)
        if self.parts or other.parts:
            return _multiple(self, other, label)
        made = ratio(self.linear, other.linear, min(self.level, other.level), label)
        # Of a share that is estimated at 0 or below there is no multiple, but a lower end.
        return replace(made, value=math.nan) if other.value <= 0 <= other._possible[0] else made


def places_text(one: "Form", word: str, other: "Form") -> str:
    """Return two places in words, and what they have in common once."""
    ours, theirs = ([sample.place for sample in form.terms] for form in (one, other))
    first, second = (" and ".join(dict.fromkeys(places)) for places in (ours, theirs))
    if not first and not second:  # counts of nobody knows what
        return f"one {word} the other"
    ids = [{sample.survey_id[:12] for sample in form.terms} for form in (one, other)]
    names = {sample.name for form in (one, other) for sample in form.terms}
    if len(names) == 1 and ids[0] != ids[1]:  # a survey and its successor
        own, others = (" and ".join(sorted(names)) for names in ids)
        return f"{first} ({own}) {word} {second} ({others})"
    epoch, _, survey = first.partition(" of ")
    return (
        f"{epoch} {word} {second}"
        if second.endswith(f" of {survey}")
        else f"{first} {word} {second}"
    )


class Side(StrEnum):
    """Sides of a limit on which a whole interval can lie."""

    ABOVE = "above"
    BELOW = "below"
    NEITHER = "neither"
    """The limit is in the interval, or some of the reports are fake: nobody can tell."""


@dataclass(frozen=True, slots=True)
class Verdict(Documented):
    """The answer to whether a figure is beyond a limit.

    Attributes:
        estimate: the figure, with its interval.
        limit: a share is in [0, 1], as the estimate is.
        beyond: the side that was in question, above or below.
    """

    estimate: "Estimate"
    limit: float
    beyond: Side

    @property
    def side(self) -> Side:
        """Return on which side the whole interval lies."""
        if any(sample.fewest_fakes for sample in self.estimate.samples):
            return Side.NEITHER
        if self.estimate.low > self.limit:
            return Side.ABOVE
        return Side.BELOW if self.estimate.high < self.limit else Side.NEITHER

    @property
    def holds(self) -> bool | None:
        """Return whether the figure is beyond the limit; None if that cannot be told."""
        return None if self.side is Side.NEITHER else self.side is self.beyond

    @property
    def note(self) -> str:
        """Return how often chance alone gives the alarm, for who asks again and again."""
        return str(presented(self, "note"))


@dataclass(frozen=True, eq=False)
class Sample:
    """The reports of one survey in some epochs, and how their counts are read.

    Attributes:
        mechanism: whose responses were counted.
        survey_id: of its survey; empty if nobody knows, and then it is independent of any other.
        epochs: which ones; the tally has their reports added up.
        name: of its survey, whose successors ask the same devices; categories: its answers.
        kept: ranges of epochs, first and last, in which devices keep their responses.
        place: the epochs, and the survey if need be, for people.
        simulated: whether no device sent them.
        distrusted: how many of the reports are by issuers that are not trusted any more.
        step: figures of its survey are renewed when so many more reports have come.
    """

    mechanism: Mechanism
    tally: Tally
    survey_id: str = ""
    name: str = ""
    categories: tuple[str, ...] = ()
    epochs: tuple[int, ...] = ()
    kept: tuple[tuple[int, int], ...] = ()
    place: str = ""
    simulated: bool = False
    distrusted: int = 0
    step: int = 1
    _ends: dict[tuple[int, float, bool], tuple[Floats, Floats]] = field(
        default_factory=dict, init=False, repr=False
    )

    @cached_property
    def fewest_fakes(self) -> int:
        """Return how many of the reports are fake at least; 0 where honest devices explain all."""
        return fewest_fakes(self.mechanism, self.tally)

    @cached_property
    def decoder(self) -> Decoder:
        """Return the decoder of the counts."""
        return decoder_of(self.mechanism)

    def intervals(self, question: int, level: float, *, possible: bool) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of a question's categories, made once for them all."""
        if (key := (question, level, possible)) not in self._ends:
            part = self.decoder.parts[question]
            own = part.tally(self.tally)
            low, high, _ = part.decoder.intervals(own, level, possible=possible)
            self._ends[key] = low, high
        return self._ends[key]

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes to be pickled; decoders are made again."""
        return {name: value for name, value in vars(self).items() if name != "decoder"}

    def query(
        self,
        weights: Sequence[float] | Floats,
        level: float = 0.95,
        model: Model = Model.SAMPLED,
        *,
        label: str = "",
        unit: Unit = Unit.NUMBER,
    ) -> Estimate:
        """Estimate the sum of the weighted frequencies; one weight a category."""
        w = np.asarray(weights, dtype=np.float64)
        if w.shape != (self.decoder.categories,):
            raise ValueError(f"{self.decoder.categories} weights are expected, one a category")
        if not np.isfinite(w).all():
            raise ValueError("weights are finite numbers")
        return Form({self: w}, model).estimate(level, label, unit)

    def same_as(self, other: "Sample") -> bool:
        """Return whether the samples are the same; ValueError if they share reports, or noise."""
        if self.tally is other.tally:
            return True
        if self.simulated != other.simulated:
            raise ValueError("one is simulated, and tells nothing of devices")
        if not self.survey_id or self.survey_id != other.survey_id:
            return False
        if self.epochs == other.epochs:
            if np.array_equal(self.tally.counts, other.tally.counts):
                return True
            raise ValueError(
                "these are figures of the same epochs, read at different moments: read both at once"
            )
        if set(self.epochs) & set(other.epochs):
            raise ValueError("some epochs are on both sides: compare epochs that do not overlap")
        if set(self.kept) & set(other.kept):
            raise ValueError(
                "devices kept their responses over these epochs, so that figures share their "
                "noise: neither their difference nor their sum has a known error"
            )
        return False


@dataclass(frozen=True, eq=False)
class Form:
    """Weights over the categories of samples whose noise is independent, and a constant.

    Samples of one name may have devices in common, unless somebody knows that they are disjoint.
    """

    terms: Mapping[Sample, Floats]
    model: Model = Model.SAMPLED
    constant: float = 0.0
    disjoint: bool = False

    def plus(self, other: "Form", factor: float = 1.0) -> "Form":
        """Return the sum with so many times another form."""
        if self.model is not other.model:
            raise ValueError("one is of a population, the other of fixed devices")
        terms = dict(self.terms)
        for sample, weights in other.terms.items():
            ours = next((one for one in self.terms if one.same_as(sample)), sample)
            terms[ours] = terms.get(ours, 0.0) + factor * weights
        # Of samples that are all in one form, nobody knows less than of that.
        disjoint = any(form.disjoint and len(terms) == len(form.terms) for form in (self, other))
        return Form(terms, self.model, self.constant + factor * other.constant, disjoint)

    def times(self, factor: float) -> "Form":
        """Return so many times the form."""
        terms = {sample: factor * weights for sample, weights in self.terms.items()}
        return Form(terms, self.model, factor * self.constant, self.disjoint)

    def figures(self) -> tuple[float, float]:
        """Return the value, and its standard error."""
        value, variance = self.apart()
        return value, math.sqrt(variance + self.recurring)

    def apart(self) -> tuple[float, float]:
        """Return the value, and its variance if no device is in two of the samples."""
        figures = [
            query_values(sample.decoder, sample.tally, weights, self.model)
            for sample, weights in self.terms.items()
        ]
        value = self.constant + sum(float(value) for value, _ in figures)
        return value, sum(float(error) ** 2 for _, error in figures)

    @property
    def recurring(self) -> float:
        """Return the most that devices in several samples of a name add to the variance.

        A device that is in two, and answers alike, adds the covariance of v and w over the answers,
        as often as it may be in both. docs/mathematics.md, section 19.
        """
        if self.model is Model.FIXED or self.disjoint:
            return 0.0
        added = 0.0
        for (one, v), (other, w) in combinations(self.terms.items(), 2):
            if one.name and one.name == other.name:
                first, second = one.tally, other.tally
                often = min(first.epochs / first.n, second.epochs / second.n)
                added += 2 * often * _shared_variance(one, v, other, w)
        return added

    @property
    def _expected_variance(self) -> float:
        """Return the variance if all answers are as frequent, whatever was counted."""
        return sum(
            float(g**2 @ shares - (g @ shares) ** 2) * len(parts) / sample.tally.n
            for sample, weights in self.terms.items()
            for parts in [sample.decoder.parts]
            for part in parts
            for g, shares in [
                (part.decoder.kernels(weights[part.categories]), part.decoder.even_shares)
            ]
        )

    def estimate(self, level: float, label: str, unit: Unit) -> Estimate:
        """Return the estimate with its interval, cut to what is possible."""
        check_level(level)
        value, error = self.figures()
        least, most = self.possible
        low, high = self._ends(value, level, possible=True)
        influence = self._influence
        uncut = Estimate(
            *(value, error, low, high, level),
            influence=influence,
            fakes_decide=decided_by_fakes(influence, 1.0 if unit.of_shares else self._widest),
            label=label,
            unit=unit,
            samples=tuple(self.terms),
            form=self,
        )
        return _cut(uncut, least, most)

    @property
    def _influence(self) -> float:
        """Return the influence of fakes that are the same share of all samples."""
        shifts = [furthest_shifts(sample.mechanism, w) for sample, w in self.terms.items()]
        return max(math.fsum(side) for side in zip(*shifts, strict=True)) if shifts else 0.0

    @property
    def _widest(self) -> float:
        """Return over how much the part of one sample ranges."""
        return max((float(np.ptp(w)) for w in self.terms.values()), default=math.inf)

    @property
    def possible(self) -> tuple[float, float]:
        """Return the least and the greatest value that populations have."""
        parts = [
            weights[part.categories]
            for sample, weights in self.terms.items()
            for part in sample.decoder.parts
        ]
        return (
            self.constant + sum(float(part.min()) for part in parts),
            self.constant + sum(float(part.max()) for part in parts),
        )

    def _ends(self, value: float, level: float, *, possible: bool = False) -> tuple[float, float]:
        """Return the ends of the interval about the value, or the nearest possible one."""
        # Squares of the distances from each sample's estimate to the end of its own interval are
        # variances by z^2, those that hold near that end, and variances add up (Newcombe 1998; Zou
        # and Donner 2008). Of one sample that is its own interval, and of normal ones the normal
        # one; of few reports beside many, it is as skewed as what is known of the few.
        if len(self.terms) == 1 and not self.constant:
            ((sample, weights),) = self.terms.items()
            low, _, high = _own_ends(sample, weights, level, self.possible if possible else None)
            return low, high
        own = [_own_ends(sample, weights, level) for sample, weights in self.terms.items()]
        if self.model is Model.FIXED:
            parts = [_noise_part(sample, weights) for sample, weights in self.terms.items()]
            own = [
                (at + part * (low - at), at, at + part * (high - at))
                for (low, at, high), part in zip(own, parts, strict=True)
            ]
        again = normal_quantile(level) * math.sqrt(self.recurring)
        below = math.hypot(again, *(estimate - low for low, estimate, _ in own))
        above = math.hypot(again, *(high - estimate for _, estimate, high in own))
        if possible:
            value = nearest(value, *self.possible)
        return value - below, value + above


def _shared_variance(one: Sample, v: Floats, other: Sample, w: Floats) -> float:
    """Return the most that a device in both adds to the covariance of v and w.

    Of the same answers, if it answers alike, the covariance over their frequencies in both samples,
    if that is positive. Of others, and of answers to two questions, in whatever way its two answers
    go together, the product of the standard deviations (Cauchy and Schwarz).
    """
    f, g = (sample.decoder.frequencies(sample.tally) for sample in (one, other))
    slices, others = ([part.categories for part in sample.decoder.parts] for sample in (one, other))
    first, second = (
        [math.sqrt(max(_covariance(h[at], u[at], u[at]), 0.0)) for at in parts]
        for h, u, parts in ((f, v, slices), (g, w, others))
    )
    shared = sum(first) * sum(second)
    if one.categories == other.categories:
        n, m = one.tally.n, other.tally.n
        both = (n * f + m * g) / (n + m)
        for at, a, b in zip(slices, first, second, strict=True):
            shared += _covariance(both[at], v[at], w[at]) - a * b
    return max(shared, 0.0)


def _covariance(frequencies: Floats, v: Floats, w: Floats) -> float:
    return float(frequencies @ (v * w) - (frequencies @ v) * (frequencies @ w))


def _noise_part(sample: Sample, weights: Floats) -> float:
    """Return how much of a sample's interval is due to noise alone, at most all of it.

    All of it, where so few devices' responses move the estimate that it is no sum of many.
    """
    alone, error = (
        float(query_values(sample.decoder, sample.tally, weights, model)[1])
        for model in (Model.FIXED, Model.SAMPLED)
    )
    parts = sample.decoder.parts
    part = next((part for part in parts if weights[part.categories].any()), parts[0])
    jump = float(np.ptp(part.decoder.kernels(weights[part.categories])))
    # In units of the longest jump of a kernel, about as many as were moved by it.
    moved = (part.tally(sample.tally).n * alone) ** 2
    return min(alone / error, 1.0) if error > 0 and moved >= _FEW * jump**2 else 1.0


def _own_ends(
    sample: Sample, weights: Floats, level: float, possible: tuple[float, float] | None = None
) -> tuple[float, float, float]:
    """Return the low end of one sample's interval, its estimate, and the high end.

    About the nearest of the values that are ``possible``, if they are said.
    """
    within = possible or (-math.inf, math.inf)
    ends = _counted(sample, weights, level, within)
    if ends is None:
        z = normal_quantile(level)
        values, errors = cautious_values(sample.decoder, sample.tally, weights, z * z / 2)
        value, half = nearest(float(values), *within), z * float(errors)
        return value - half, value, value + half
    value = float(query_values(sample.decoder, sample.tally, weights, Model.SAMPLED)[0])
    value = nearest(value, *within)
    if sample.tally.epochs == 1:
        return ends[0], value, ends[1]
    wider = float(widening(sample.decoder, sample.tally, weights))
    return value + wider * (ends[0] - value), value, value + wider * (ends[1] - value)


def _counted(
    sample: Sample, weights: Floats, level: float, within: tuple[float, float]
) -> tuple[float, float] | None:
    """Return the ends of a category's own interval, or of a count's; None if it is neither."""
    parts = [part for part in sample.decoder.parts if weights[part.categories].any()]
    if len(parts) != 1:
        return None
    (part,) = parts
    decoder, w = part.decoder, weights[part.categories]
    tally = part.tally(sample.tally)
    chosen = np.flatnonzero(w)
    if len(chosen) == 1:
        (at,) = chosen
        possible = math.isfinite(within[0])
        own = sample.intervals(sample.decoder.parts.index(part), level, possible=possible)
        low, high = sorted(float(w[at] * end[at]) for end in own)
        return low, high
    # A kernel of two values counts the reports that have the larger one: a binomial number.
    kernel = decoder.kernels(w)
    least, most = kernel.min(), kernel.max()
    larger = kernel - least > _ALIKE * (most - least)
    if not most > least or (most - kernel[larger] > _ALIKE * (most - least)).any():
        return None
    value = nearest(float(least + (most - least) * tally.shares[larger].sum()), *within)
    count = np.array([tally.n * (value - least) / (most - least)])
    starts, stops, _ = binomial_intervals(count, tally.n, level)
    return float(least + (most - least) * starts[0]), float(least + (most - least) * stops[0])


def ratio(above: Form, below: Form, level: float, label: str) -> Estimate:
    """Return the ratio of two linear estimates, a/b, with Fieller's interval.

    All r for which a - r b, a linear estimate, is not too far from 0 by its own normal interval.
    The standard error is the linear one, that of a - (a/b) b by b. Of a part of a whole, a share of
    a share, ``distinguishable`` is from 0; of two figures that are compared, from 1. Of few reports
    b may be as good as 0: then the interval is all that is possible, and the value may be anything.

    Source: Fieller 1954; docs/mathematics.md, section 19.
    """
    check_level(level)
    a, b = above.apart()[0], below.apart()[0]
    value = a / b if b else math.nan
    spread = above.plus(below, -value).figures()[1] / abs(b) if b else math.nan
    low, high = _fieller(a, b, above, below, normal_quantile(level))
    least, most = _range_of_ratio(above, below)
    influence = _moved_ratio((a, above), (b, below), FAKES) / FAKES
    widest = most - least if math.isfinite(most - least) else abs(value)
    uncut = Estimate(
        *(value, spread, low, high, level),
        influence=influence,
        fakes_decide=decided_by_fakes(influence, widest),
        label=label,
        nothing=0.0 if most == 1 else 1.0,
        unit=Unit.RATIO,
        samples=tuple(dict.fromkeys((*above.terms, *below.terms))),
    )
    return within(uncut, least, most)


def share_within(above: Form, below: Form, level: float, label: str, group: str) -> Estimate:
    """Return the share of a group with an answer: of those in both, and of the group, of all.

    With Fieller's interval, or, of a group whose own share is not clearly above 0, none: it is all
    that is possible.
    """
    made = ratio(above, below, level, label)
    share = replace(made, unit=Unit.SHARE, group=group, parts=(above, below), nothing=0.0)
    size, error = below.figures()
    if size > max(_IN_GROUP, normal_quantile(level)) * error:
        return share
    return replace(share, standard_error=math.nan, low=0.0, high=1.0, outside=False, too_small=True)


def _less(one: Estimate, other: Estimate, label: str, unit: Unit) -> Estimate:
    """Return the difference of two figures, of which one at least is a share within a group."""
    level, decided = min(one.level, other.level), one.fakes_decide or other.fakes_decide
    value, error, low, high = one.value - other.value, math.nan, -math.inf, math.inf
    too_small = one.too_small or other.too_small
    if not too_small:
        error, correlation = _errors_together(one, other)
        low, high = map(float, difference_ends(one._uncut(level), other._uncut(level), correlation))
    influence = one.influence + other.influence
    decided = decided or decided_by_fakes(influence)
    samples = tuple(dict.fromkeys((*one.samples, *other.samples)))
    uncut = Estimate(
        *(value, error, low, high, level, False, influence, decided),
        *(label, unit, samples),
        too_small=too_small,
    )
    least, most = (one._possible[end] - other._possible[1 - end] for end in (0, 1))
    return within(uncut, least, most)


def _multiple(one: Estimate, other: Estimate, label: str) -> Estimate:
    """Return how many times as large a figure is, of which one at least is within a group."""
    level, high = min(one.level, other.level), math.inf
    # By what is estimated at 0 or below, it has no estimate, but a lower end.
    value = one.value / other.value if other.value > 0 else math.nan
    error, low, moved = math.nan, 0.0, math.inf
    too_small = one.too_small or other.too_small
    if not too_small and (below := other._uncut(level)).high > 0:
        _, correlation = _errors_together(one, other)
        low, high = multiple_ends(one._uncut(level), below, correlation)
    if other.value > 0 and not too_small:
        slope = one.slope.plus(other.slope, -value)
        error = slope.figures()[1] / other.value
        up, down = (FAKES * estimate.influence for estimate in (one, other))
        if down < other.value:
            moved = (one.value + up) / (other.value - down) - value
    influence = moved / FAKES
    samples = tuple(dict.fromkeys((*one.samples, *other.samples)))
    uncut = Estimate(
        *(value, error, low, high, level, False, influence),
        *(decided_by_fakes(influence, abs(value)), label, Unit.RATIO, samples),
        nothing=1.0,
        too_small=too_small,
    )
    return within(uncut, 0.0, math.inf)


def _errors_together(one: Estimate, other: Estimate) -> tuple[float, float]:
    """Return the standard error of the difference of two figures, and their correlation."""
    slopes = one.slope, other.slope
    first, second = (slope.figures()[1] for slope in slopes)
    both = slopes[0].plus(slopes[1], -1.0).figures()[1]
    if not first * second > 0:
        return both, 0.0
    # With what devices in both samples add, which the difference's error has.
    correlation = (first**2 + second**2 - both**2) / (2 * first * second)
    return both, min(max(correlation, -1.0), 1.0)


def _moved_ratio(above: tuple[float, Form], below: tuple[float, Form], share: float) -> float:
    """Return how far off a ratio of values is at most if this share of each sample is fake."""
    forms = _same_samples(above[1], below[1])
    upper, lower = (
        [report_shifts(one.mechanism, w, one.decoder.frequencies(one.tally)) for one, w in terms]
        for terms in (form.terms.items() for form in forms)
    )
    counted = [one.tally.counts / one.tally.n for one in forms[0].terms]
    return ratio_shift((above[0], upper), (below[0], lower), counted, share)


def _same_samples(above: Form, below: Form) -> tuple[Form, Form]:
    """Return the two forms over the samples of either, in the same order."""
    return above.plus(below, 0.0), above.times(0.0).plus(below)


def _fieller(a: float, b: float, above: Form, below: Form, z: float) -> tuple[float, float]:
    """Return the ends of all r with (a - r b)^2 <= z^2 Var(a - r b)."""
    upper, lower = _same_samples(above, below)
    made = [
        contrast_variance(sample.decoder, sample.tally, weights, lower.terms[sample], z * z / 2)
        for sample, weights in upper.terms.items()
    ]
    seen = [z * z * math.fsum(terms) for terms in zip(*(one for one, _ in made), strict=True)]

    def error(r: float) -> float:
        once = sum(variance(r) for _, variance in made)
        return z * math.sqrt(once + above.plus(below, -r).recurring)

    def beyond(r: float) -> float:
        return (a - r * b) ** 2 - error(r) ** 2

    def end(direction: float) -> float:
        # By the variance of the reports alone it is the root of a quadratic; and by any that is
        # more in between, as long as it is that one there.
        square, half = b * b - seen[2], a * b + seen[1] / 2
        spread = math.sqrt(max(half * half - square * (a * a - seen[0]), 0.0))
        if abs(beyond(root := (half + direction * spread) / square)) <= _ALIKE * error(root) ** 2:
            return root
        step = direction * error(value) / abs(b)
        while step and beyond(value + step) <= 0:
            step *= 2
        # Of sums of all answers, which are certain, rounding alone is left.
        certain = not step or beyond(value) >= 0
        return value if certain else float(optimize.brentq(beyond, value, value + step))

    # The interval is of the r about a/b up to one on either side that is excluded. If b is
    # within its own interval of 0, no far r is, and nothing is excluded; nor if a is of one report
    # alone, which has no error.
    far = z * z * (sum(own**2 for own in _cautious_errors(below, z * z / 2)) + below.recurring)
    if not b * b > far or not math.isfinite(error(value := a / b)):
        return -math.inf, math.inf
    return end(-1.0), end(1.0)


def _cautious_errors(form: Form, unseen: float) -> list[float]:
    return [
        float(cautious_values(sample.decoder, sample.tally, weights, unseen)[1])
        for sample, weights in form.terms.items()
    ]


def _range_of_ratio(above: Form, below: Form) -> tuple[float, float]:
    """Return the range of a ratio: that of a part in the whole, of shares, or any."""
    if above.constant or below.constant:
        return -math.inf, math.inf
    weights = [w for form in (above, below) for w in form.terms.values()]
    if any((row < 0).any() for row in weights):
        return -math.inf, math.inf
    part = len(above.terms) == 1 and list(above.terms) == list(below.terms)
    return 0.0, 1.0 if part and (weights[0] <= weights[1]).all() else math.inf


def share_of_row(
    figures: tuple[float, float, float, float, bool, float],
    level: float,
    label: str = "",
    samples: tuple[Sample, ...] = (),
    *,
    at_once: bool = False,
) -> Estimate:
    """Return a category's share from its row of a histogram, of which nothing can be made.

    The figures are estimate, standard error, both ends of its interval, whether that lay outside
    of what is possible, and influence.
    """
    value, error, low, high, outside, influence = figures
    decided = decided_by_fakes(influence)
    return Estimate(
        *(value, error, low, high, level, bool(outside), influence, decided),
        *(label, Unit.SHARE, samples),
        at_once=at_once,
    )


def within(estimate: Estimate, least: float, most: float) -> Estimate:
    """Return the estimate with its interval moved to the nearest possible value, and cut."""
    if math.isfinite(estimate.value):
        moved = nearest(estimate.value, least, most) - estimate.value
        estimate = replace(estimate, low=estimate.low + moved, high=estimate.high + moved)
    return _cut(estimate, least, most)


def nearest(value: float, least: float, most: float) -> float:
    """Return the possible value that is nearest to one, of all in [least, most]."""
    return min(max(value, least), most)


def _cut(estimate: Estimate, least: float, most: float) -> Estimate:
    """Return the estimate with its interval, about the nearest possible value, cut to these."""
    low, high = (nearest(end, least, most) for end in (estimate.low, estimate.high))
    # About a limit it begins there, whatever rounding says.
    low = least if estimate.value <= least else low
    high = most if estimate.value >= most else high
    outside = bool(beyond(estimate.value, low, high, least, most))
    return replace(estimate, low=low, high=high, outside=outside)


def combined(estimates: Sequence[Estimate], *, disjoint: bool = False) -> Estimate:
    """Return the unbiased mean of estimates of one number, those weighing most that tell most.

    Of groups of devices that are samples of the same population, with whatever epsilon each. The
    weights are inverse variances as mechanisms and numbers of reports have them, if all answers are
    equally frequent: estimated ones go with the counts, and would bias the mean. Epochs and surveys
    of one name may have the same devices, for which the error allows, unless they are ``disjoint``.

    Raises:
        ValueError: if there are none, they are made of the same reports, are numbers that nothing
            was reported of, or are not of the same number.
    """
    forms = [estimate.linear for estimate in estimates]
    if not forms:
        raise ValueError("there is nothing to combine")
    if len({id(sample) for form in forms for sample in form.terms}) < len(forms):
        raise ValueError("only independent estimates are combined: of different epochs or surveys")
    numbers = {
        (estimate.unit, estimate.unit is Unit.SHARE and estimate.label) for estimate in estimates
    }
    if len(numbers) > 1:
        labels = ", ".join(dict.fromkeys(estimate.label for estimate in estimates))
        raise ValueError(f"only estimates of the same number are combined, not of {labels}")
    variances = [form._expected_variance for form in forms]
    if not all(variance > 0 for variance in variances):
        raise ValueError("a number without any variance cannot be weighted")
    total = sum(1 / variance for variance in variances)
    mean = Form({}, forms[0].model)
    for form, variance in zip(forms, variances, strict=True):
        mean = mean.plus(form, 1 / (variance * total))
    first = estimates[0]
    level = min(estimate.level for estimate in estimates)
    return replace(mean, disjoint=disjoint).estimate(level, first.label, first.unit)


def linear_query(
    mechanism: Mechanism,
    counts: Counts,
    weights: Sequence[float | Fraction],
    level: float = 0.95,
    model: Model = Model.SAMPLED,
) -> Estimate:
    """Estimate the sum of weighted frequencies, sum_x w_x f_x (docs/mathematics.md, section 10).

    The interval is a category's own; or the binomial one, if the query counts reports; or else the
    normal one of the sampled model. It is cut to [min w, max w].
    """
    sample = Sample(mechanism, decoder_of(mechanism).tally(counts))
    return sample.query([float(weight) for weight in weights], level, model)


def mean(
    mechanism: Mechanism,
    counts: Counts,
    values: Sequence[Fraction],
    level: float = 0.95,
    model: Model = Model.SAMPLED,
) -> Estimate:
    """Estimate the mean of the numbers that the categories are."""
    sample = Sample(mechanism, decoder_of(mechanism).tally(counts))
    return mean_of(sample, values, level, model)


def mean_of(
    sample: Sample, values: Sequence[Fraction], level: float = 0.95, model: Model = Model.SAMPLED
) -> Estimate:
    """Estimate the mean of the numbers that the categories of a sample are."""
    if len(values) != sample.decoder.categories:
        raise ValueError(f"{sample.decoder.categories} weights are expected, one a category")
    # From the first value on: floats resolve the steps of a range better than numbers far from 0.
    above = np.array([float(value - values[0]) for value in values])
    form = Form({sample: above}, model, float(values[0]))
    return form.estimate(level, "mean", Unit.NUMBER)
