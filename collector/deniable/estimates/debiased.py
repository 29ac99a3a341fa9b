"""The debiased counts of a survey: the data of a histogram, before any queries."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import compress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.answers import Answers, Range, answers_text, not_together, weights_of
from deniable.estimates.binomial import IntervalMethod
from deniable.estimates.decoders import Floats
from deniable.estimates.decoders.decoder import MEAN_ALONE
from deniable.estimates.forms import Sample
from deniable.estimates.found_texts import FoundTexts
from deniable.estimates.frequencies import (
    Intervals,
    View,
    errors_of,
    first_view,
    intervals_of,
)
from deniable.estimates.influences import influences
from deniable.estimates.means import Margin
from deniable.estimates.numeric import NumericSummary, numeric_summary
from deniable.estimates.poisoning import Poisoning, poisoning
from deniable.estimates.results import presented
from deniable.estimates.revealed import Group, Revealed
from deniable.mechanisms import Mechanism
from deniable.mechanisms.answering import Dimensions, answer_labels
from deniable.messages import Enrolment


class Standing(Protocol):
    """The finality of an epoch's counts, as in :class:`deniable.reading.EpochStanding`."""

    @property
    def state(self) -> str:
        """The state of the epoch."""

    @property
    def seal(self) -> str | None:
        """The digest of its seal."""


@dataclass(frozen=True, slots=True, eq=False)
class DebiasedCounts:
    """Debiased frequencies of one survey, for one epoch or several, with their uncertainty.

    Attributes:
        survey_id: histograms with different ids are never pooled.
        start, end: the start and end of the epochs, in Unix seconds; None if unknown.
        categories: the answers; none if reports reveal only the mean.
        responses: the responses, if they have their own names; otherwise empty.
        raw: the number of reports with each response; if that is empty, supporting each category.
        estimate: unbiased frequencies; they sum to 1 and may leave [0, 1].
        standard_error: the error of each estimate; NaN for a single report.
        low, high: ends of each category's confidence interval, within [0, 1], about the possible
            share nearest to the estimate. They cover chance, not manipulation.
        outside: whether the estimate is further from all possible shares than the interval reaches.
        level_at_once: the level of each of R intervals if all hold at once with the probability of
            the level: 1 - (1 - level)/R (Bonferroni). The R rows are the categories, and single
            questions' answers if categories are combinations. Of two, both or neither hold.
        simultaneous: these wider intervals.
        pure_epsilon: the most that one report can reveal, whatever delta: odds of e^pure_epsilon to
            1. It equals epsilon, up to rounding, if delta is 0.
        enrolment: the party that vouches that devices are distinct; None if unknown.
        influence: the most that fake reports move each estimate, relative to their share.
        distrusted: the number of reports from issuers that are no longer trusted.
        kept_range: first and last epoch in which the same devices may have given the same kept
            responses. Figures of these epochs share noise: neither their average nor their
            difference has the error that independent figures would. None if all responses are
            fresh.
        margins: for several questions, the shares of each question's answers; frequencies are then
            the same, within each question, or those of combinations of answers.
        dimensions: the questions' names and answers; values: the categories as numbers.
        ordered: whether categories are ordered from least to greatest, and so have quantiles.
        groups: for each epoch its reports, and the least number that figures distinguish; empty for
            counts without a survey.
        sequence: the survey's number among those of its name.
        texts: what was found, if answers are texts; then the reports are those about one length.
        sample: the reports, from which everything is computed.
    """

    survey: str
    survey_id: str
    question: str
    epochs: tuple[int, ...]
    start: int | None
    end: int | None
    n: int
    categories: tuple[str, ...]
    responses: tuple[str, ...]
    raw: NDArray[np.int64]
    estimate: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    level: float
    methods: tuple[IntervalMethod, ...]
    outside: NDArray[np.bool_] = field(repr=False)
    level_at_once: float = field(repr=False)
    simultaneous: Intervals = field(repr=False)
    mechanism: str
    epsilon: str
    delta: str
    pure_epsilon: str
    poisoning: Poisoning
    influence: Floats = field(repr=False)
    enrolment: Enrolment | None = None
    distrusted: int = 0
    kept_range: tuple[int, int] | None = None
    standing: Standing | None = None
    numeric: NumericSummary | None = None
    margins: tuple[Margin, ...] = ()
    dimensions: Dimensions = ()
    values: tuple[Fraction, ...] | None = field(default=None, repr=False)
    ordered: bool = False
    groups: tuple[Group, ...] = field(default=(), repr=False)
    blind: bool = False
    relayed: bool = False
    sequence: int = field(default=0, repr=False)
    texts: FoundTexts | None = field(default=None, repr=False)
    sample: Sample = field(repr=False, kw_only=True)

    @property
    def together(self) -> bool:
        """Return whether each device answers all questions, of one or several."""
        return len(self.sample.decoder.parts) == 1

    @property
    def turnout(self) -> str:
        """Return in words how many answered, and who is not among them."""
        return str(presented(self, "turnout"))

    @property
    def anonymity_set(self) -> int | None:
        """Return the number of reports among which each is hidden; None unless the issuer is blind.

        The reports are from one survey id and epoch; for several epochs, the least number counts.
        """
        return min(reports for reports, _ in self.groups) if self.blind else None

    @property
    def first_view(self) -> View:
        """Return the view that people are shown first, which does not depend on the answers.

        If rows are sums (single questions of combinations, groups of numbers), it is unbiased.
        """
        if self.numeric is not None or self.crossed:
            return View.UNBIASED
        return first_view(self.sample.decoder, self.sample.tally)

    @property
    def guarantee(self) -> str:
        """Return the epsilon of a report, with its delta if there is one, as text."""
        return self.epsilon + (f", delta {self.delta}" if self.delta != "0" else "")

    @property
    def crossed(self) -> bool:
        """Return whether categories are combinations of the answers to several questions."""
        return bool(self.margins) and self.together

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the categories; for combinations, each question's answers come first."""
        return (*(answer_labels(self.dimensions) if self.crossed else ()), *self.categories)

    def question_of(self, label: str) -> str:
        """Return the question to which an answer such as "plan: free" belongs; otherwise ""."""
        names = (margin.question for margin in self.margins)
        return next((name for name in names if label.startswith(f"{name}: ")), "")

    @property
    def distinguishable(self) -> NDArray[np.bool_]:
        """Return which categories' simultaneous intervals exclude 0."""
        return np.asarray(self.simultaneous.low > 0)

    @property
    def impossible(self) -> tuple[str, ...]:
        """Return the categories and responses with counts that honest devices cannot cause."""
        marks = self.poisoning
        return (
            *compress(self.categories, marks.impossible),
            *compress(self.responses, marks.impossible_responses),
        )

    def revealed(self, *, honest: float = 1) -> Revealed:
        """Return the limit of what these figures reveal about a device, given the honest share.

        Counts without a survey are treated as everything that is shown of their reports. ValueError
        for a share that is not above 0 and at most 1.
        """
        return Revealed.of(
            self.sample.mechanism,
            self.groups or ((self.n, self.n),),
            step=self.sample.step,
            kept=self.kept_range is not None,
            vouched=self.enrolment is None or self.enrolment.mode != "open",
            honest=honest,
            # A distrusted issuer may have vouched for anybody.
            unlinked=self.blind and self.relayed and not self.distrusted,
        )

    def check_shares(self) -> None:
        """Raise ValueError if the reports reveal only the mean."""
        if not self.sample.decoder.tells_shares:
            raise ValueError(MEAN_ALONE)

    def check_ordered(self) -> None:
        """Raise ValueError unless the answers are ordered."""
        if not self.ordered:
            why = "the answers have no stated order"
            if self.values is not None:
                why = "only a mean can be estimated from this survey, not a median or shares"
            raise ValueError(f'{why}; publish a survey with tells = "distribution"')

    def weights(self, answers: Answers) -> tuple[Floats, str]:
        """Return 1 for the selected categories, 0 for the others, and the selection's name."""
        self.check_shares()
        if isinstance(answers, Range):
            self.check_ordered()
        elif isinstance(answers, Mapping) and answers and not self.dimensions:
            raise not_together(self.survey or "this question", next(iter(answers)))
        elif not isinstance(answers, str | Mapping):
            answers = tuple(answers)  # an iterator yields them only once
        weights = weights_of(answers, self.categories, self.dimensions, together=self.together)
        return weights, answers_text(answers)


def debiased_fields(
    mechanism: Mechanism,
    sample: Sample,
    categories: tuple[str, ...],
    level: float,
    labels: tuple[str, ...] = (),
    values: tuple[Fraction, ...] | None = None,
    answers: int = 0,
) -> dict[str, Any]:
    """Return the fields of a histogram that follow from mechanism and counts.

    This many answers have rows in addition to the categories.
    """
    decoder, tally = sample.decoder, sample.tally
    common = {
        "n": tally.n,
        "responses": labels,
        "level": level,
        "pure_epsilon": str(mechanism.privacy.epsilon),
        "values": values,
        "sample": sample,
    }
    if not decoder.tells_shares:
        return common | _fields_of_mean(mechanism, sample, level, values)
    estimate = decoder.frequencies(tally)
    errors = np.full(decoder.categories, np.nan)
    if tally.n > 1:
        errors = errors_of(decoder, tally)
    numeric = None
    if values is not None:
        numeric = numeric_summary(mechanism, tally, categories, values, level)
    intervals = intervals_of(decoder, tally, level)
    rows = len(categories) + answers
    rows -= rows == 2  # the shares sum to 1, so one interval follows from the other
    at_once = min(1 - (1 - level) / rows, math.nextafter(1.0, 0.0))
    return common | {
        "categories": categories,
        "raw": tally.counts if labels else decoder.tested_counts(tally),
        "estimate": estimate,
        "standard_error": errors,
        "low": intervals.low,
        "high": intervals.high,
        "methods": intervals.methods,
        "outside": intervals.outside,
        "level_at_once": at_once,
        "simultaneous": intervals_of(decoder, tally, at_once),
        "poisoning": poisoning(mechanism, tally, same=not labels),
        "influence": influences(mechanism),
        "numeric": numeric,
    }


def _fields_of_mean(
    mechanism: Mechanism,
    sample: Sample,
    level: float,
    values: tuple[Fraction, ...] | None,
) -> dict[str, Any]:
    """Return the fields of a histogram with only a mean, and no categories."""
    if values is None:
        raise ValueError(MEAN_ALONE)
    tally = sample.tally
    summary = numeric_summary(mechanism, tally, (), values, level)
    signs = poisoning(mechanism, tally, same=False)
    none, never = np.zeros(0), np.zeros(0, dtype=np.bool_)
    return {
        **dict.fromkeys(("estimate", "standard_error", "low", "high", "influence"), none),
        "categories": (),
        "raw": tally.counts,
        "methods": (),
        "outside": never,
        "level_at_once": level,
        "simultaneous": Intervals(none, none, (), never),
        "poisoning": replace(signs, impossible=never),
        "numeric": summary,
    }
