"""Linear forms: weights over the categories of samples, with their values, errors and intervals."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Final

import numpy as np

from deniable.estimates.binomial import binomial_intervals, normal_quantile
from deniable.estimates.decoders import Decoder, Floats, Tally, decoder_of
from deniable.estimates.influences import furthest_shifts
from deniable.estimates.poisoning import FALSE_ALARM, Tests
from deniable.estimates.queries import cautious_values, query_values, widening
from deniable.estimates.results import presented
from deniable.mechanisms import Mechanism

ALIKE: Final = 1e-9
"""Relative to their range, kernel values that differ by less count as equal."""


FAKES: Final = 0.01
"""The share of fake reports whose bias is stated with every figure."""


class Unit(Enum):
    """The unit of an estimate, for its sentence."""

    SHARE = "share"
    DIFFERENCE = "difference of shares"
    RATIO = "ratio"
    NUMBER = "number"
    CHANGE = "difference of numbers"

    @property
    def of_shares(self) -> bool:
        """Return whether values are percentages or percentage points."""
        return self in {Unit.SHARE, Unit.DIFFERENCE}


def decided_by_fakes(influence: float, widest: float = 1.0) -> bool:
    """Return whether 1 % of fake reports move a figure over its whole possible range."""
    return influence != 0 and not FAKES * influence < widest


@dataclass(frozen=True, eq=False)
class Sample:
    """The reports of one survey in some epochs, and the evaluation of their counts.

    Attributes:
        mechanism: the mechanism of the counted responses.
        survey_id: the survey's id; if unknown, empty, and the sample is independent of any other.
        epochs: the epochs' numbers; the tally adds up their reports.
        name: the survey's name; successors ask the same devices; categories: the survey's answers.
        kept: ranges of epochs, first and last, in which devices keep their responses.
        start, seconds: the schedule's start and the length of an epoch; 0 if unknown.
        sequence: the survey's number among those of its name.
        simulated: whether no device sent the reports.
        distrusted: the number of reports from issuers that are no longer trusted.
        step: the number of additional reports after which the survey's figures are renewed.
        final: whether no more reports are accepted.
        devices: how many devices answered, if the tally contains only some of their reports.
    """

    mechanism: Mechanism
    tally: Tally
    survey_id: str = ""
    name: str = ""
    categories: tuple[str, ...] = ()
    epochs: tuple[int, ...] = ()
    kept: tuple[tuple[int, int], ...] = ()
    start: int = 0
    seconds: int = 0
    sequence: int = 0
    simulated: bool = False
    distrusted: int = 0
    step: int = 1
    final: bool = False
    devices: int = 0
    _ends: dict[tuple[int, float, bool], tuple[Floats, Floats]] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def period(self) -> str:
        """Return the days or hours in which the reports arrived, for people."""
        return str(presented(self, "period")) if self.seconds else ""

    @property
    def place(self) -> str:
        """Return the survey and the period of the reports, for people."""
        return str(presented(self, "place")) if self.seconds else ""

    @property
    def version(self) -> str:
        """Return the sample's version among the surveys of its name, for people."""
        return str(presented(self, "version")) if self.seconds else self.survey_id[:12]

    @cached_property
    def fewest_fakes(self) -> int:
        """Return the least number of fake reports; 0 if honest devices can explain all."""
        return Tests(self.decoder, FALSE_ALARM).fewest_fakes(self.tally)

    @cached_property
    def decoder(self) -> Decoder:
        """Return the decoder of the counts."""
        return decoder_of(self.mechanism)

    def answered(self, weights: Floats) -> int:
        """Return how many devices answered the questions of the categories with a weight."""
        if self.devices:
            return self.devices
        parts = (part for part in self.decoder.parts if weights[part.categories].any())
        return sum(part.tally(self.tally).n for part in parts)

    def intervals(self, question: int, level: float, *, possible: bool) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of a question's categories, computed once for all."""
        if (key := (question, level, possible)) not in self._ends:
            part = self.decoder.parts[question]
            own = part.tally(self.tally)
            low, high, _ = part.decoder.intervals(own, level, possible=possible)
            self._ends[key] = low, high
        return self._ends[key]

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes to be pickled; decoders are recreated."""
        return {name: value for name, value in vars(self).items() if name != "decoder"}

    def same_as(self, other: "Sample") -> bool:
        """Return whether the samples are the same; ValueError if they share reports, or noise."""
        if self.tally is other.tally:
            return True
        if self.simulated != other.simulated:
            raise ValueError("one side is simulated, so it shows nothing about real devices")
        if not self.survey_id or self.survey_id != other.survey_id:
            return False
        if self.epochs == other.epochs:
            if np.array_equal(self.tally.counts, other.tally.counts):
                return True
            raise ValueError(
                "these figures of the same epochs were read at different times: read both at the "
                "same time"
            )
        if set(self.epochs) & set(other.epochs):
            raise ValueError(
                "the two sides share some epochs: choose sides with no epoch in common"
            )
        if set(self.kept) & set(other.kept):
            raise ValueError(
                "devices kept their responses over these epochs, so the same noise is in both "
                "figures: the error of their difference or sum is unknown"
            )
        return False


@dataclass(frozen=True, eq=False)
class Form:
    """Weights over the categories of samples whose noise is independent, and a constant.

    Samples of one name may have devices in common.
    """

    terms: Mapping[Sample, Floats]
    constant: float = 0.0

    def plus(self, other: "Form", factor: float = 1.0) -> "Form":
        """Return the sum with ``factor`` times another form."""
        terms = dict(self.terms)
        for sample, weights in other.terms.items():
            ours = next((one for one in self.terms if one.same_as(sample)), sample)
            terms[ours] = terms.get(ours, 0.0) + factor * weights
        return Form(terms, self.constant + factor * other.constant)

    def times(self, factor: float) -> "Form":
        """Return ``factor`` times the form."""
        terms = {sample: factor * weights for sample, weights in self.terms.items()}
        return Form(terms, factor * self.constant)

    def figures(self) -> tuple[float, float]:
        """Return the value and its standard error."""
        value, variance = self.apart()
        return value, math.sqrt(variance + self.recurring)

    def apart(self) -> tuple[float, float]:
        """Return the value, and its variance if no device is in two of the samples."""
        figures = [
            query_values(sample.decoder, sample.tally, weights)
            for sample, weights in self.terms.items()
        ]
        value = self.constant + sum(float(value) for value, _ in figures)
        return value, sum(float(error) ** 2 for _, error in figures)

    @cached_property
    def recurring(self) -> float:
        """Return the most that devices in several samples of a name add to the variance.

        A device in two samples, with equal answers, adds the covariance of v and w over the
        answers, as often as it may be in both. docs/mathematics.md, section 19.
        """
        named: dict[str, list[Sample]] = {}
        for sample in self.terms:
            named.setdefault(sample.name, []).append(sample)
        return sum(
            _shared_variance(samples, [self.terms[one] for one in samples])
            for name, samples in named.items()
            if name and len(samples) > 1
        )

    @property
    def influence(self) -> float:
        """Return the influence of fakes with the same share in all samples."""
        shifts = [furthest_shifts(sample.mechanism, w) for sample, w in self.terms.items()]
        return max(math.fsum(side) for side in zip(*shifts, strict=True)) if shifts else 0.0

    @property
    def widest(self) -> float:
        """Return the greatest range of the weights within one sample."""
        return max((float(np.ptp(w)) for w in self.terms.values()), default=math.inf)

    @property
    def possible(self) -> tuple[float, float]:
        """Return the least and the greatest value in any population."""
        parts = [
            weights[part.categories]
            for sample, weights in self.terms.items()
            for part in sample.decoder.parts
        ]
        return (
            self.constant + sum(float(part.min()) for part in parts),
            self.constant + sum(float(part.max()) for part in parts),
        )

    def ends(self, value: float, level: float, *, possible: bool = False) -> tuple[float, float]:
        """Return the ends of the interval about the value, or the nearest possible one."""
        # The squared distance from a sample's estimate to the end of its own interval is z^2 times
        # the variance near that end, and variances add up (Newcombe 1998; Zou and Donner 2008). For
        # one sample this is its own interval, and for normal ones the normal one. With few reports
        # beside many, it is as skewed as the interval of the few.
        if len(self.terms) == 1 and not self.constant:
            ((sample, weights),) = self.terms.items()
            low, _, high = _own_ends(sample, weights, level, self.possible if possible else None)
            return low, high
        own = [_own_ends(sample, weights, level) for sample, weights in self.terms.items()]
        again = normal_quantile(level) * math.sqrt(self.recurring)
        below = math.hypot(again, *(estimate - low for low, estimate, _ in own))
        above = math.hypot(again, *(high - estimate for _, estimate, high in own))
        if possible:
            value = nearest(value, *self.possible)
        return value - below, value + above


def _shared_variance(samples: Sequence[Sample], weights: Sequence[Floats]) -> float:
    """Return the most that devices in several samples add to the variance of the weighted sum."""
    # For the same answers, the covariance of v and w over the frequencies in both samples. For
    # others, the product of the standard deviations, however they are related (Cauchy, Schwarz).
    n = np.array([float(sample.tally.n) for sample in samples])
    often = np.array([sample.tally.epochs for sample in samples]) / n
    deviations = np.zeros(len(samples))
    alike = np.zeros((len(samples), len(samples)))
    for categories in {sample.categories for sample in samples}:
        own = [at for at, sample in enumerate(samples) if sample.categories == categories]
        # Of both samples' devices, this share is from the sample in the row.
        first = n[own, None] / np.add.outer(n[own], n[own])
        decoders = [samples[at].decoder for at in own]
        for part in decoders[0].parts:
            w = np.stack([weights[at][part.categories] for at in own])
            f = np.stack(
                [
                    decoder.frequencies(samples[at].tally)[part.categories]
                    for at, decoder in zip(own, decoders, strict=True)
                ]
            )
            # f_i w_j, and f_i (w_i w_j), in row i and column j.
            means, products = f @ w.T, (f * w) @ w.T
            mean = np.diag(means)
            ours = first * mean[:, None] + first.T * means.T
            theirs = first * means + first.T * mean
            spread = np.sqrt(np.maximum(np.diag(products) - mean**2, 0.0))
            both = first * products + first.T * products.T - ours * theirs
            alike[np.ix_(own, own)] += both - np.outer(spread, spread)
            deviations[own] += spread
    shared = np.maximum(np.outer(deviations, deviations) + alike, 0.0)
    added = np.minimum.outer(often, often) * shared
    return float(added.sum() - np.trace(added))


def _own_ends(
    sample: Sample, weights: Floats, level: float, possible: tuple[float, float] | None = None
) -> tuple[float, float, float]:
    """Return the low end of one sample's interval, its estimate or ``possible`` one, the high."""
    within = possible or (-math.inf, math.inf)
    ends = _counted(sample, weights, level, within)
    if ends is None:
        z = normal_quantile(level)
        values, errors = cautious_values(sample.decoder, sample.tally, weights, z * z / 2)
        value, half = nearest(float(values), *within), z * float(errors)
        return value - half, value, value + half
    value = float(query_values(sample.decoder, sample.tally, weights)[0])
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
    # A kernel of two values counts the reports with the larger one: a binomial number.
    kernel = decoder.kernels(w)
    least, most = kernel.min(), kernel.max()
    larger = kernel - least > ALIKE * (most - least)
    if not most > least or (most - kernel[larger] > ALIKE * (most - least)).any():
        return None
    value = nearest(float(least + (most - least) * tally.shares[larger].sum()), *within)
    count = np.array([tally.n * (value - least) / (most - least)])
    starts, stops, _ = binomial_intervals(count, tally.n, level)
    return float(least + (most - least) * starts[0]), float(least + (most - least) * stops[0])


def nearest(value: float, least: float, most: float) -> float:
    """Return the possible value in [least, most] that is nearest to a given one."""
    return min(max(value, least), most)


def places_text(one: Collection[Sample], word: str, other: Collection[Sample]) -> str:
    """Return the places of samples on two sides in words, mentioning common parts once."""
    ours, theirs = ([sample.place for sample in samples] for samples in (one, other))
    first, second = (" and ".join(dict.fromkeys(places)) for places in (ours, theirs))
    if not first and not second:  # counts of unknown origin
        return f"one {word} the other"
    ids = [{sample.survey_id[:12] for sample in samples} for samples in (one, other)]
    names = {sample.name for sample in (*one, *other)}
    if len(names) == 1 and ids[0] != ids[1]:  # a survey and its successor
        versions = ({sample.version for sample in samples} for samples in (one, other))
        own, others = (" and ".join(sorted(names)) for names in versions)
        return f"{first} ({own}) {word} {second} ({others})"
    if len(names) == 1:
        second = " and ".join(dict.fromkeys(sample.period for sample in other))
    return f"{first} {word} {second}"
