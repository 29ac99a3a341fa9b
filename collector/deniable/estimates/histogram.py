"""The debiased histogram: what an analyst reads."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.documents import Caution, Document
from deniable.documents.html import document_html
from deniable.documents.terminal import document_text
from deniable.estimates.answers import (
    NOTHING_TOGETHER,
    Answers,
    Range,
    answers_text,
    weights_of,
)
from deniable.estimates.beside import Beside
from deniable.estimates.binomial import IntervalMethod
from deniable.estimates.cautions import CHANCE, DisplayedFigures
from deniable.estimates.change import Test, changed, fits
from deniable.estimates.charts import Markup, Picture, standalone
from deniable.estimates.cross import CrossTable, Of, cross_table
from deniable.estimates.curves import CumulativeCurve, cumulative_curve
from deniable.estimates.decoders import Counts, Floats, Model, decoder_of
from deniable.estimates.distribution import Distribution, curve_picture
from deniable.estimates.document import histogram_document
from deniable.estimates.estimate import (
    Estimate,
    Form,
    Sample,
    Unit,
    bias_text,
    decided_by_fakes,
    furthest,
    mean_of,
    share_within,
)
from deniable.estimates.fields import (
    category_rows,
    crossed_rows,
    histogram_columns,
    histogram_map,
    histogram_metadata,
    response_rows,
)
from deniable.estimates.frames import Tabular, Values
from deniable.estimates.frequencies import (
    Intervals,
    covariance_of,
    frequency_intervals,
    intervals_of,
    standard_errors,
)
from deniable.estimates.influence import influences
from deniable.estimates.leaders import Leaders, leaders_of
from deniable.estimates.margins import Margin, margins
from deniable.estimates.numeric import NumericSummary, numeric_summary
from deniable.estimates.pictures import WIDTH, brief_texts, histogram_picture
from deniable.estimates.planning import Accuracy, reports_for_half_width, reports_for_shares
from deniable.estimates.poisoning import Poisoning, poisoning
from deniable.estimates.quantiles import Quantile, quantiles
from deniable.estimates.revealed import Group, Revealed, smallest_group
from deniable.estimates.rows import NOT_FOUND, ShownRows, chosen_rows
from deniable.estimates.views import View, first_view, viewed
from deniable.mechanisms import Mechanism
from deniable.mechanisms.answering import Dimensions, sizes_of
from deniable.messages import Manifest, is_simulated
from deniable.reading.epochs import EpochStanding, epochs_text, reporters

End = str | float | Decimal | Fraction
"""An end of a range: an answer by its name, or the number that it is."""


@dataclass(frozen=True, slots=True, eq=False)
class Histogram(Tabular):
    """Debiased frequencies of one survey, of one epoch or several, with their uncertainty.

    Attributes:
        survey_id: histograms of different ids are never pooled.
        start, end: of the epochs, Unix seconds; None if nobody knows.
        responses: what devices send, if it has names of its own; else empty.
        raw: how many reports each of these has; or, if it is empty, each of the categories: how
            many name it, or support it.
        estimate: unbiased frequencies; they sum to 1 and may leave [0, 1].
        standard_error: of each estimate, in the model named; NaN for a single report.
        low, high: ends of each category's confidence interval, within [0, 1], about the possible
            share that is nearest to the estimate. They are about chance, and exclude manipulation.
        outside: where the estimate is further from all shares that are possible than they reach.
        level_at_once: what each of R intervals is of if all hold at once with the probability of
            the level: 1 - (1 - level)/R (Bonferroni). The R rows are the categories, and single
            questions' answers where categories are combinations.
        simultaneous: these wider intervals.
        pure_epsilon: what one report can reveal at most, whatever delta: odds of e^pure_epsilon
            to 1. Equal to epsilon, up to rounding, if delta is 0.
        reports_for_five_points: how many reports give 95 % intervals of ± 5 percentage points.
        reports_for_shares: how many give those of groups of values ± 10 percentage points, if
            answers are spread evenly; None unless the categories are numbers.
        influence: how far fake reports move each estimate for each share of them at most.
        distrusted: how many reports are by issuers that are not trusted any more.
        kept_range: first and last epoch in which the same devices may have given the same kept
            responses, so that figures of these epochs share noise: neither their average nor their
            difference has the error that independent figures would. None where all is fresh.
        margins: of several questions, the shares of each one's answers; frequencies are then the
            same, within each question, or those of combinations of answers.
        dimensions: the questions' names and answers; values: the numbers that the categories are.
        ordered: whether categories go from a least to a greatest, so that there are quantiles.
        groups: of each epoch its reports, and the least number that figures tell apart; empty of
            counts of no survey.
        sequence: the survey's place among those of its name.
        sample: the reports, of which everything is made.
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
    model: Model
    methods: tuple[IntervalMethod, ...]
    outside: NDArray[np.bool_] = field(repr=False)
    level_at_once: float = field(repr=False)
    simultaneous: Intervals = field(repr=False)
    mechanism: str
    epsilon: str
    delta: str
    pure_epsilon: str
    enrolment: str
    poisoning: Poisoning
    reports_for_five_points: int
    influence: Floats = field(repr=False)
    reports_for_shares: int | None = None
    distrusted: int = 0
    kept_range: tuple[int, int] | None = None
    standing: EpochStanding | None = None
    numeric: NumericSummary | None = None
    margins: tuple[Margin, ...] = ()
    dimensions: Dimensions = ()
    values: tuple[Fraction, ...] | None = field(default=None, repr=False)
    ordered: bool = False
    groups: tuple[Group, ...] = field(default=(), repr=False)
    blind: bool = False
    relayed: bool = False
    sequence: int = field(default=0, repr=False)
    sample: Sample = field(repr=False, kw_only=True)
    again: Callable[[float], "Histogram"] = field(repr=False, kw_only=True)

    @classmethod
    def of_counts(
        cls,
        mechanism: Mechanism,
        counts: Counts,
        categories: Sequence[str] | None = None,
        level: float = 0.95,
        model: Model = Model.SAMPLED,
        *,
        ordered: bool = False,
    ) -> "Histogram":
        """Return the histogram of counts of responses that come from no survey here.

        Categories are numbered from 0, unless they have names; ``ordered``, whether they go from a
        least to a greatest.
        """
        decoder = decoder_of(mechanism)
        names = tuple(map(str, range(decoder.categories) if categories is None else categories))
        if len(set(names)) != decoder.categories:
            raise ValueError(f"{decoder.categories} categories, all different, are expected")
        guarantee = f"{mechanism.privacy.epsilon.normalize():f}"
        numbered = len(decoder.extremes.rarest) == decoder.responses != decoder.categories
        labels = tuple(map(str, range(decoder.responses))) if numbered else ()
        sample = Sample(mechanism, decoder.tally(counts))
        return cls(
            survey="",
            survey_id="",
            question="",
            epochs=(),
            start=None,
            end=None,
            mechanism=repr(mechanism),
            epsilon=guarantee,
            delta="0",
            enrolment="not known",
            ordered=ordered,
            again=partial(
                cls.of_counts, mechanism, sample.tally, names, model=model, ordered=ordered
            ),
            **_figures(mechanism, sample, names, level, model, labels),
        )

    def at(self, level: float) -> "Histogram":
        """Return the same with intervals of another level."""
        return self.again(level)

    def share(self, answers: Answers, *, given: Answers | None = None) -> Estimate:
        """Return the share of devices with one of these answers.

        Of several questions an answer is named with its question, ``{"plan": "paid"}``. ``given``
        others, it is the share among those who gave these, with Fieller's interval.

        Raises:
            ValueError: for an answer that there is not, or one named twice; or if nothing tells of
                such answers together, or none of them is among the others.
        """
        weights, label = self._weights(answers)
        if given is None:
            return self.query(weights, label=label, unit=Unit.SHARE)
        if not self._together:
            raise ValueError(NOTHING_TOGETHER)
        whole, among = self._weights(given)
        if not (weights * whole).any():
            raise ValueError(f"no answer is both {label} and one of {among}")
        part = Form({self.sample: weights * whole}, self.model)
        group = Form({self.sample: whole}, self.model)
        return share_within(part, group, self.level, label, among)

    def beside(self, answers: Answers, *, given: Answers, than: Answers) -> Beside:
        """Return the share of answers in one group beside that in another; ValueError likewise."""
        one, other = (self.share(answers, given=group) for group in (given, than))
        if one.group == other.group:
            raise ValueError("a group does not differ from itself: name two")
        return Beside(self, (one.group, other.group), one, other)

    def ahead(self, one: Answers, other: Answers) -> Beside:
        """Return whether an answer, or several together, is ahead of another; by how much."""
        shares = self.share(one), self.share(other)
        if shares[0].label == shares[1].label:
            raise ValueError("no answer is ahead of itself: name two")
        return Beside(self, (shares[0].label, shares[1].label), *shares, race=True)

    def leaders(self, count: int = 3, question: str = "") -> Leaders:
        """Return the most frequent answers, so many, as far as they are certain, all at once.

        Of several questions, to one. ValueError if there are not so many, or it is not named.
        """
        return leaders_of(self, count, question)

    def cross(self, rows: str, columns: str, of: str = "rows") -> CrossTable:
        """Return how the answers to two questions go together: shares of rows, columns or all.

        ValueError if nothing tells of both together, or there are no such questions.
        """
        return cross_table(self, rows, columns, Of(of))

    def query(
        self, weights: Sequence[float] | Floats, *, label: str = "", unit: Unit = Unit.NUMBER
    ) -> Estimate:
        """Return the sum of the weighted frequencies, with one weight a category."""
        return self.sample.query(weights, self.level, self.model, label=label, unit=unit)

    def mean(self) -> Estimate:
        """Return the mean of the numbers that the categories are; ValueError if they are none."""
        if self.values is None:
            raise ValueError(
                'nothing says which numbers the answers are: query([…], label="mean") takes them'
            )
        return mean_of(self.sample, self.values, self.level, self.model)

    def between(self, first: End, last: End) -> Estimate:
        """Return the share of devices whose answer is one of these two or between them.

        Answers by their names, or as numbers. ValueError if there are none, or in no such order.
        """
        ends = (self.categories[self._place(end)] for end in (first, last))
        return self.share(Range(*ends))

    def quantile(self, probability: float) -> Quantile[float] | Quantile[str]:
        """Return the least answer up to which at least such a share of the answers lies.

        As a number, where answers are numbers. ValueError if they have no order.
        """
        self._check_ordered()
        values = self.categories if self.values is None else self.values
        tally, mechanism = self.sample.tally, self.sample.mechanism
        (quantile,) = quantiles(mechanism, tally, values, (probability,), self.level)
        # Nobody knows how far fakes move it, but how far the share that it goes by.
        upto = furthest([self.between(values[0], quantile.value)], "the share up to it")
        cautions = DisplayedFigures((self.sample,), *upto, level=self.level).cautions
        return replace(quantile, whom=reporters(self.sample.place), cautions=cautions)

    def cumulative(self) -> CumulativeCurve:
        """Return the shares up to each answer, in a band that holds for all of them at once.

        ValueError if answers have no order.
        """
        self._check_ordered()
        tally, mechanism = self.sample.tally, self.sample.mechanism
        return cumulative_curve(mechanism, tally, self.categories, self.level)

    def distribution(self) -> Distribution:
        """Return the quartiles by the names of answers, and the curve; ValueError likewise."""
        return Distribution.of(self)

    def plot_cumulative(self, *, width: float = WIDTH) -> Picture:
        """Return the chart of the shares up to each answer, in their band; ValueError likewise."""
        rows = chosen_rows(self)
        notes = [*brief_texts(self.cautions_of(rows)), f"The band is {CHANCE}"]
        return curve_picture(self.cumulative(), self.question, width, notes=notes)

    def _check_ordered(self) -> None:
        if not self.ordered:
            raise ValueError(
                "nothing says that the answers go from a least to a greatest; publish the survey "
                'with tells = "distribution"'
            )

    def _place(self, answer: End) -> int:
        self._check_ordered()
        with suppress(ValueError):
            if isinstance(answer, str) or self.values is None:
                return self.categories.index(str(answer))
            return self.values.index(Fraction(str(answer)))
        raise ValueError(f"{answer} is no answer")

    def revealed(self, *, honest: float = 1) -> Revealed:
        """Return the bound of what these figures reveal about a device, such a share being honest.

        Counts of no survey are taken for all that is shown of their reports. ValueError for a share
        that is not above 0 and at most 1.
        """
        return Revealed.of(
            self.sample.mechanism,
            self.groups or ((self.n, self.n),),
            step=self.sample.step,
            kept=self.kept_range is not None,
            vouched=not self.enrolment.startswith("open"),
            honest=honest,
            # Whom an issuer vouched for that is not trusted any more may be anybody.
            unlinked=self.blind and self.relayed and not self.distrusted,
        )

    @property
    def anonymity_set(self) -> int | None:
        """Return the reports among which each hides whose it is; None unless its issuer is blind.

        Those of one survey id and epoch; of several epochs the fewest.
        """
        return min(reports for reports, _ in self.groups) if self.blind else None

    def view(self, view: View | str) -> Floats:
        """Return the frequencies in a view: unbiased, projected or likelihood."""
        return viewed(View(view), self.sample.decoder, self.sample.tally)

    @property
    def first_view(self) -> View:
        """Return the view that people are shown first, which does not depend on the answers.

        Where rows are of sums (single questions of combinations, groups of numbers), unbiased.
        """
        if self.numeric is not None or self.crossed:
            return View.UNBIASED
        return first_view(self.sample.decoder, self.sample.tally)

    @property
    def covariance(self) -> Floats:
        """Return the estimated covariance of the frequencies, (categories, categories)."""
        return covariance_of(self.sample.decoder, self.sample.tally, self.model)

    def changed_from(self, other: "Histogram") -> Test:
        """Return the test whether all frequencies are those of another epoch or survey."""
        return changed(self.sample, other.sample)

    def fits(self, frequencies: Sequence[float]) -> Test:
        """Return the test whether the frequencies are these, one a category."""
        return fits(self.sample, np.asarray(frequencies, dtype=np.float64))

    def reports_for(self, half_width: float, level: float) -> int:
        """Return about how many reports give each share an interval of this half width.

        Of numbers, the mean: of this part of their range.
        """
        if self.numeric is None:
            return reports_for_half_width(self.sample.mechanism, half_width, level=level)
        accuracy = Accuracy.half_width(half_width * self.numeric.span, level)
        return accuracy.reports(self.n * self.numeric.mean.standard_error**2)

    @property
    def guarantee(self) -> str:
        """Return the epsilon of a report, with its delta if there is one, as text."""
        return self.epsilon + (f", delta {self.delta}" if self.delta != "0" else "")

    @property
    def crossed(self) -> bool:
        """Return whether categories are combinations of the answers to several questions."""
        return bool(self.margins) and self._together

    @property
    def distinguishable(self) -> NDArray[np.bool_]:
        """Return which categories' simultaneous intervals exclude 0."""
        return np.asarray(self.simultaneous.low > 0)

    @property
    def _together(self) -> bool:
        return len(self.sample.decoder.parts) == 1

    def _weights(self, answers: Answers) -> tuple[Floats, str]:
        if isinstance(answers, Range):
            self._check_ordered()
        elif not isinstance(answers, str | Mapping):
            answers = tuple(answers)  # an iterator has them once
        together = self._together
        weights = weights_of(answers, self.categories, self.dimensions, together=together)
        return weights, answers_text(answers)

    @property
    def impossible(self) -> tuple[str, ...]:
        """Return the categories, and responses, whose counts honest devices do not cause."""
        rows = [*category_rows(self), *(response_rows(self) or ())]
        return tuple(row.get("category") or row["response"] for row in rows if row["impossible"])

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Return the cautions of its figures."""
        return self.cautions_of()

    def cautions_of(
        self, rows: ShownRows | None = None, view: View = View.UNBIASED
    ) -> tuple[Caution, ...]:
        """Return the cautions of some of its rows, or of all in a view."""
        outside = int((self.outside & ~self.poisoning.impossible).sum())
        if self.numeric is not None:
            estimates = (self.numeric.mean, *(group.share for group in self.numeric.bins))
            outside = sum(estimate.outside for estimate in estimates)
        elif rows is not None:
            outside = sum(row["outside"] and not row.get("impossible") for row in rows.rows)
        return DisplayedFigures(
            (self.sample,),
            *self._biases(),
            outside=outside,
            histogram=self,
            rows=rows,
            view=view if rows is None else rows.view,
            level=self.level,
        ).cautions

    def _biases(self) -> tuple[str, bool]:
        """Return how far 1 % of fakes move the figures that are shown, and whether they decide."""
        if (numeric := self.numeric) is not None:
            kinds = [("the mean", [numeric.mean.influence], Unit.NUMBER, float(numeric.span))]
            shares = [one.share.influence for one in numeric.bins if not numeric.too_wide(one)]
            kinds += [("a share", shares, Unit.SHARE, 1.0)] if shares else []
        elif answers := [row["influence"] for row in crossed_rows(self)]:
            kinds = [
                ("a combination", self.influence.tolist(), Unit.SHARE, 1.0),
                ("an answer to one question", answers, Unit.SHARE, 1.0),
            ]
        else:
            kinds = [("a share", self.influence.tolist(), Unit.SHARE, 1.0)]
        most = [(name, max(influences), unit, widest) for name, influences, unit, widest in kinds]
        decided = [decided_by_fakes(influence, widest) for _, influence, _, widest in most]
        texts = [
            bias_text(name, influence, unit, decided=fakes_decide)
            for (name, influence, unit, _), fakes_decide in zip(most, decided, strict=True)
        ]
        sums = "; a sum has a bound of its own" * any(unit is Unit.SHARE for _, _, unit, _ in most)
        return ", ".join(texts) + sums, any(decided)

    def to_dict(self, view: View | str = View.UNBIASED) -> dict[str, object]:
        """Return plain values for JSON; a standard error that does not exist is None.

        With another view, categories have what they show in that as well, as ``shown``.
        """
        return histogram_map(self, View(view))

    def columns(self) -> Mapping[str, Values]:
        """Return a table with a row a category; of a numeric survey, a row a statistic."""
        return histogram_columns(self)

    def metadata(self) -> Mapping[str, str]:
        """Return the fields that all rows share: survey, epochs, epsilon and so on."""
        return histogram_metadata(self)

    def plot(
        self,
        view: View | str | None = None,
        *,
        top: int | None = None,
        find: str = "",
        width: float = WIDTH,
    ) -> Picture:
        """Return a chart: estimates in a view, with intervals that hold for all rows at once.

        By default it is in the ``first_view``, and has the ``top`` rows, the largest 50. Groups of
        a numeric survey's values have intervals of 50 % and of the level, each by itself.
        ``find`` is a text that is in the rows' labels; ValueError if it is in none.
        """
        rows = chosen_rows(self, view, top=top, wanted=find)
        if find and not rows.rows:
            raise ValueError(NOT_FOUND.rstrip("."))
        return histogram_picture(self, rows, width=width)

    def document(
        self,
        view: View | str | None = None,
        *,
        top: int | None = None,
        find: str = "",
        raw: bool | None = None,
        notes: Sequence[str] = (),
    ) -> Document:
        """Return the figures as a document, of rows as :meth:`plot` chooses them.

        ``find`` is a text that is in the rows' labels; ``raw``, whether raw counts are shown too.
        """
        rows = chosen_rows(self, view, top=top, wanted=find)
        return histogram_document(self, rows, raw=raw, notes=notes)

    def _repr_html_(self) -> str:
        document = self.document()
        chart = "" if document.chart is None else standalone(Markup(document.chart(WIDTH)))
        heading = f"<strong>{escape(self.question)}</strong>" * bool(self.question)
        return f"<div>{heading}{document_html(document, chart, folded=True)}</div>"

    def __str__(self) -> str:
        """Return the document as text of 100 columns, for a terminal or a notebook."""
        return document_text(self.document())


def estimate_histogram(
    manifest: Manifest,
    epoch: int | Sequence[int],
    counts: Counts,
    level: float = 0.95,
    model: Model = Model.SAMPLED,
    distrusted: int = 0,
    standing: EpochStanding | None = None,
    groups: Sequence[Group] = (),
    *,
    relayed: bool = False,
) -> Histogram:
    """Debias the counts of one survey and epoch; or of several epochs, added up.

    Then each epoch weighs by its reports, and errors allow for devices that are in all of them.

    Raises:
        ValueError: besides, for epochs in which devices may keep their responses.
    """
    epochs = (epoch,) if isinstance(epoch, int) else tuple(sorted(set(epoch)))
    memo = [manifest.repeat.memo_range(number) for number in epochs]
    last = manifest.schedule.epochs - 1
    kept = tuple(
        (memo_range[0], min(memo_range[-1], last)) for memo_range in memo if memo_range is not None
    )
    if len(set(kept)) < len(kept):
        raise ValueError(
            "devices keep their responses over several of these epochs, so that their noise does "
            "not average out: look at one epoch of each such range"
        )
    decoder = decoder_of(manifest.mechanism)
    sample = Sample(
        manifest.mechanism,
        decoder.tally(counts, len(epochs)),
        manifest.survey_id.hex(),
        manifest.name,
        manifest.categories,
        epochs,
        kept,
        f"{epochs_text(epochs)} of {manifest.name}",
        is_simulated(manifest.name),
        distrusted,
        manifest.minimum_reports,
    )
    labels = manifest.responses
    if type(labels) is not tuple or labels == manifest.categories:
        labels = ()
    return Histogram(
        survey=manifest.name,
        survey_id=sample.survey_id,
        question=manifest.question,
        epochs=epochs,
        start=manifest.schedule.epoch_start(epochs[0]),
        end=manifest.schedule.epoch_start(epochs[-1] + 1),
        mechanism=manifest.specification.kind,
        epsilon=manifest.epsilon,
        delta=manifest.delta,
        enrolment=_vouched(manifest),
        distrusted=distrusted,
        kept_range=kept[0] if kept else None,
        standing=standing,
        margins=margins(manifest, sample.tally, level, model),
        dimensions=manifest.dimensions,
        ordered=manifest.ordered,
        groups=tuple(groups) or (smallest_group(manifest, sample.tally.n),) * len(epochs),
        blind=manifest.enrolment.mode == "blind",
        relayed=relayed,
        sequence=manifest.sequence,
        again=partial(
            estimate_histogram,
            manifest,
            epochs,
            sample.tally,
            model=model,
            distrusted=distrusted,
            standing=standing,
            groups=groups,
            relayed=relayed,
        ),
        **_figures(
            *(manifest.mechanism, sample, manifest.categories, level, model, labels),
            manifest.values,
            sum(sizes_of(manifest.dimensions)) if len(decoder.parts) == 1 else 0,
        ),
    )


def _figures(
    mechanism: Mechanism,
    sample: Sample,
    categories: tuple[str, ...],
    level: float,
    model: Model,
    labels: tuple[str, ...] = (),
    values: tuple[Fraction, ...] | None = None,
    answers: int = 0,
) -> dict[str, Any]:
    """Return the fields of a histogram that follow from mechanism and counts.

    So many answers have rows beside the categories.
    """
    decoder, tally = sample.decoder, sample.tally
    estimate = decoder.frequencies(tally)
    if model is Model.SAMPLED and tally.n < 2:
        errors = np.full(decoder.categories, np.nan)
    else:
        errors = standard_errors(mechanism, tally, model)
    numeric = shares = None
    if values is not None:
        numeric = numeric_summary(mechanism, tally, categories, values, level, model)
        shares = reports_for_shares(mechanism, 0.1)
    intervals = frequency_intervals(mechanism, tally, level)
    rows = len(categories) + answers
    at_once = min(1 - (1 - level) / rows, math.nextafter(1.0, 0.0))
    return {
        "n": tally.n,
        "categories": categories,
        "responses": labels,
        "raw": tally.counts if labels else decoder.tested_counts(tally),
        "estimate": estimate,
        "standard_error": errors,
        "low": intervals.low,
        "high": intervals.high,
        "level": level,
        "model": model,
        "methods": intervals.methods,
        "outside": intervals.outside,
        "level_at_once": at_once,
        "simultaneous": intervals_of(decoder, tally, at_once),
        "pure_epsilon": str(mechanism.privacy.epsilon),
        "poisoning": poisoning(mechanism, tally, estimate, errors, same=not labels),
        "reports_for_five_points": reports_for_half_width(mechanism, 0.05),
        "influence": influences(mechanism),
        "reports_for_shares": shares,
        "numeric": numeric,
        "values": values,
        "sample": sample,
    }


def _vouched(manifest: Manifest) -> str:
    if manifest.enrolment.mode == "open":
        return "open (nobody vouches that reports come from different devices)"
    if manifest.enrolment.mode == "blind":
        issuer = manifest.enrolment.issuer
        return f"vouched for by {issuer}, who cannot tell which report is whose"
    issuers = ", ".join(issuer.hex()[:16] for issuer in manifest.enrolment.issuers)
    return f"vouched for by {issuers}"
