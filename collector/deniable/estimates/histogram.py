"""The debiased histogram: the data for analysts, and its queries."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from deniable.estimates.accuracy import Accuracy, reports_for_half_width
from deniable.estimates.answers import Answers, Range, not_together
from deniable.estimates.curve import (
    QUARTILES,
    CumulativeCurve,
    Distribution,
    Quantile,
    cumulative_curve,
    quantiles,
)
from deniable.estimates.debiased import DebiasedCounts, Standing, debiased_fields
from deniable.estimates.decoders import Counts, Floats, checked_tally, decoder_of
from deniable.estimates.estimate import Estimate, query_of, share_within
from deniable.estimates.forms import Form, Sample, Unit
from deniable.estimates.found_texts import FoundTexts
from deniable.estimates.frequencies import View, viewed
from deniable.estimates.means import margins, mean_of
from deniable.estimates.results import Tabular, Values, presented
from deniable.estimates.revealed import Group, smallest_group
from deniable.mechanisms import Mechanism
from deniable.messages import Manifest, is_simulated

if TYPE_CHECKING:
    from deniable.estimates.change import Test
    from deniable.estimates.questions import Beside, CrossTable, Leaders

End = str | float | Decimal | Fraction
"""An end of a range: an answer by its name or its number."""


@dataclass(frozen=True, slots=True, eq=False)
class Histogram(DebiasedCounts, Tabular):
    """Debiased frequencies of one survey, for one epoch or several, and their queries.

    The fields are those of :class:`deniable.estimates.debiased.DebiasedCounts`.
    """

    again: Callable[..., "Histogram"] = field(repr=False, kw_only=True)

    @classmethod
    def of_counts(
        cls,
        mechanism: Mechanism,
        counts: Counts,
        categories: Sequence[str] | None = None,
        level: float = 0.95,
        *,
        ordered: bool = False,
    ) -> "Histogram":
        """Return the histogram of counts of responses that come from no survey here.

        Categories are numbered from 0, unless they have names; ``ordered`` is whether they go from
        least to greatest.
        """
        decoder = decoder_of(mechanism)
        names = tuple(map(str, range(decoder.categories) if categories is None else categories))
        if len(set(names)) != decoder.categories:
            raise ValueError(f"{decoder.categories} different categories are expected")
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
            ordered=ordered,
            again=partial(cls.of_counts, mechanism, sample.tally, names, ordered=ordered),
            **debiased_fields(mechanism, sample, names, level, labels),
        )

    def listing(self, *names: str) -> "Histogram":
        """Return the same with further texts, of a survey whose answers are texts.

        Their intervals are as wide as those of all that were tested; ``share`` has one of its own.
        """
        if self.texts is None:
            raise ValueError(
                "candidates apply only to surveys whose answers are texts; this survey has fixed "
                "answers"
            )
        return self.again(self.level, texts=self.texts.listing(names))

    def at(self, level: float) -> "Histogram":
        """Return the histogram with intervals at a different level."""
        return self.again(level)

    def share(self, answers: Answers, *, given: Answers | None = None) -> Estimate:
        """Return the share of devices with one of these answers.

        With several questions an answer is given with its question, ``{"plan": "paid"}``. With
        ``given``, it is the share among those who gave these answers, with Fieller's interval.

        Raises:
            ValueError: for an unknown answer, or one named twice; or if the answers are not
                reported together, or none of them is among the others.
        """
        if self.texts is not None and not isinstance(answers, Mapping | Range):
            names = [answers] if isinstance(answers, str) else [*answers]
            answers = [
                name if name in self.categories else self.texts.label(self.texts.named(name))
                for name in names
            ]
            if not {*answers} <= {*self.categories}:
                return self.listing(*answers).share(answers, given=given)
        weights, label = self.weights(answers)
        if given is None:
            return self.query(weights, label=label, unit=Unit.SHARE)
        whole, among = self.weights(given)
        if not self.together:
            one, other = (text.partition(": ")[0] for text in (label, among))
            raise not_together(one, other, [name for name, *_ in self.dimensions])
        if not (weights * whole).any():
            raise ValueError(f"no answer of the group {among} is {label}")
        part = Form({self.sample: weights * whole})
        group = Form({self.sample: whole})
        return share_within(part, group, self.level, label, among)

    def beside(self, answers: Answers, *, given: Answers, than: Answers) -> "Beside":
        """Return the share of answers in one group beside that in another, or raise ValueError."""
        from deniable.estimates.questions import Beside  # few queries need more than the shares

        one, other = (self.share(answers, given=group) for group in (given, than))
        if one.group == other.group:
            raise ValueError("a group cannot be compared with itself: name two groups")
        return Beside(self, (one.group, other.group), one, other)

    def ahead(self, one: Answers, other: Answers) -> "Beside":
        """Return whether an answer, or several together, is ahead of another, and by how much."""
        from deniable.estimates.questions import Beside

        if self.texts is not None:  # both of the same list
            names = [one, other]
            listed = self.listing(*(name for name in names if isinstance(name, str)))
            if listed.categories != self.categories:
                return listed.ahead(one, other)
        shares = self.share(one), self.share(other)
        if shares[0].label == shares[1].label:
            raise ValueError("an answer cannot be compared with itself: name two answers")
        return Beside(self, (shares[0].label, shares[1].label), *shares, race=True)

    def leaders(self, count: int | None = None, question: str = "") -> "Leaders":
        """Return the ``count`` most frequent answers (3, or all but one of fewer), if certain.

        With several questions, these are answers to ``question``. ValueError if there are not so
        many, or the question is missing.
        """
        from deniable.estimates.questions import leaders_of

        return leaders_of(self, count, question)

    def cross(self, rows: str, columns: str, of: str = "rows") -> "CrossTable":
        """Return how the answers to two questions are related: shares of rows, columns or all.

        ValueError if the questions are not reported together, or do not exist.
        """
        from deniable.estimates.questions import Of, cross_table

        return cross_table(self, rows, columns, Of(of))

    def query(
        self, weights: Sequence[float] | Floats, *, label: str = "", unit: Unit = Unit.NUMBER
    ) -> Estimate:
        """Return the sum of the weighted frequencies, with one weight per category."""
        self.check_shares()
        return query_of(self.sample, weights, self.level, label=label, unit=unit)

    def mean(self) -> Estimate:
        """Return the mean of numeric categories; ValueError if they are not numbers."""
        if self.values is None:
            raise ValueError(
                'the answers have no stated numbers: pass numbers to query([…], label="mean")'
            )
        return mean_of(self.sample, self.values, self.level)

    def between(self, first: End, last: End) -> Estimate:
        """Return the share of devices whose answer is one of these two or between them.

        Answers are given by their names, or as numbers. ValueError if they do not exist, or are in
        the wrong order.
        """
        ends = (self.categories[self._place(end)] for end in (first, last))
        return self.share(Range(*ends))

    def quantile(self, probability: float) -> Quantile[Any]:
        """Return the least answer up to which at least this share of the answers lies.

        The quantile is a number if answers are numbers. ValueError if they are not ordered.
        """
        self.check_ordered()
        values = self.categories if self.values is None else self.values
        tally, mechanism = self.sample.tally, self.sample.mechanism
        (quantile,) = quantiles(mechanism, tally, values, (probability,), self.level)
        # Fakes' influence on a quantile is unknown, but is known for the share that determines it.
        return replace(quantile, share=self.between(values[0], quantile.value))

    def cumulative(self) -> CumulativeCurve:
        """Return the cumulative shares, in a band that holds for all of them at once.

        ValueError if answers are not ordered.
        """
        self.check_ordered()
        tally, mechanism = self.sample.tally, self.sample.mechanism
        return cumulative_curve(mechanism, tally, self.categories, self.level)

    def distribution(self) -> Distribution:
        """Return the quartiles as names of answers, and the curve; or raise ValueError."""
        curve, tally, mechanism = self.cumulative(), self.sample.tally, self.sample.mechanism
        names, probabilities = self.categories, tuple(QUARTILES)
        quartiles = quantiles(mechanism, tally, names, probabilities, self.level)
        return Distribution(tally.n, quartiles, curve)

    def _place(self, answer: End) -> int:
        self.check_ordered()
        with suppress(ValueError):
            if isinstance(answer, str) or self.values is None:
                return self.categories.index(str(answer))
            return self.values.index(Fraction(str(answer)))
        raise ValueError(f"{answer} is not an answer")

    def view(self, view: View | str) -> Floats:
        """Return the frequencies in a view: unbiased or projected."""
        self.check_shares()
        return viewed(View(view), self.sample.decoder, self.sample.tally)

    def changed_from(self, other: "Histogram") -> "Test":
        """Return the test whether all frequencies equal those of another epoch or survey."""
        from deniable.estimates.change import changed

        self.check_shares()
        return changed(self.sample, other.sample)

    def reports_for(self, half_width: float, level: float) -> int:
        """Return about how many reports give any share this margin of error.

        For numbers, the margin is the mean's, as a part of their range.
        """
        if self.numeric is None:
            return reports_for_half_width(self.sample.mechanism, half_width, 1.0, level)
        accuracy = Accuracy.half_width(half_width * self.numeric.span, level)
        return accuracy.reports(self.n * self.numeric.mean.standard_error**2)

    @property
    def cautions(self) -> tuple[Any, ...]:
        """Return the cautions about the figures: each has a code, a level and a text."""
        return self.cautions_of()

    def cautions_of(self, rows: Any = None, view: View = View.UNBIASED) -> tuple[Any, ...]:
        """Return the cautions about some of the rows, or about all rows in a view."""
        return tuple(presented(self, "cautions", rows, view))

    def to_dict(self, view: View | str = View.UNBIASED) -> dict[str, object]:
        """Return plain values for JSON; a standard error that does not exist is None.

        With another view, categories also have that view's values, as ``shown``.
        """
        return dict(presented(self, "map", View(view)))

    def columns(self) -> Mapping[str, Values]:
        """Return a table with a row per category; for a numeric survey, a row per statistic."""
        return dict(presented(self, "columns"))

    def metadata(self) -> Mapping[str, str]:
        """Return the fields that all rows share: survey, epochs, epsilon and so on."""
        return dict(presented(self, "metadata"))

    def plot(
        self,
        view: View | str | None = None,
        *,
        top: int | None = None,
        find: str = "",
        width: float = 720,
    ) -> Any:
        """Return a chart: estimates in a view, with intervals that hold for all rows at once.

        By default the chart is in the ``first_view``, with the ``top`` rows, the largest 50. Groups
        of a numeric survey's values have intervals that each hold by itself.
        ``find`` is a text in the rows' labels; ValueError if no label contains it.
        """
        return presented(self, "picture", view, top=top, find=find, width=width)

    def document(
        self,
        view: View | str | None = None,
        *,
        top: int | None = None,
        find: str = "",
        raw: bool = False,
        notes: Sequence[str] = (),
    ) -> Any:
        """Return the figures as a document, with rows selected as in :meth:`plot`.

        ``find`` is a text in the rows' labels; ``raw`` is whether raw counts are shown too.
        """
        return presented(self, "document", view, top=top, find=find, raw=raw, notes=notes)

    def _repr_html_(self) -> str:
        return str(presented(self, "html"))

    def __str__(self) -> str:
        """Return the document as text of 100 columns, for a terminal or a notebook."""
        return str(presented(self, "terminal"))


def estimate_histogram(
    manifest: Manifest,
    epoch: int | Sequence[int],
    counts: Counts,
    level: float = 0.95,
    distrusted: int = 0,
    standing: Standing | None = None,
    groups: Sequence[Group] = (),
    *,
    relayed: bool = False,
    texts: FoundTexts | Iterable[str] | None = None,
    hidden: Collection[str] = (),
) -> Histogram:
    """Debias the counts of one survey and epoch; or of several epochs, added up.

    Epochs are weighted by their reports, and errors allow for devices that are in all epochs.

    Of a survey of texts the categories are those that are found; with ``texts``, those of a list.
    Texts that the operator hides, ``hidden``, are among all others.

    Raises:
        ValueError: also for epochs in which devices may keep their responses.
    """
    epochs = (epoch,) if isinstance(epoch, int) else tuple(sorted(set(epoch)))
    memo = [manifest.repeat.memo_range(number) for number in epochs]
    last = manifest.schedule.epochs - 1
    kept = tuple(
        (memo_range[0], min(memo_range[-1], last)) for memo_range in memo if memo_range is not None
    )
    if len(set(kept)) < len(kept):
        raise ValueError(
            "devices keep their responses over several of these epochs, so their noise does not "
            "average out: choose one epoch of each such range"
        )
    mechanism: Mechanism = manifest.mechanism
    tally = checked_tally(counts, mechanism.responses, len(epochs))
    whole, categories, labels = tally, manifest.categories, manifest.responses
    if manifest.kind.texts:
        if not isinstance(texts, FoundTexts):
            texts = FoundTexts.of(manifest, tally, texts, hidden)
        mechanism, whole, tally = texts.listed, tally, texts.tally(tally)
        categories = labels = texts.labels
    sample = Sample(
        mechanism,
        tally,
        manifest.survey_id.hex(),
        manifest.name,
        categories,
        epochs,
        kept,
        manifest.schedule.start,
        manifest.schedule.epoch_seconds,
        manifest.sequence,
        is_simulated(manifest.name),
        distrusted,
        manifest.minimum_reports,
        final=standing is not None and standing.state not in {"open", "grace"},
        devices=whole.n if manifest.kind.texts else 0,
    )
    if type(labels) is not tuple or labels == categories:
        labels = ()
    rows = 0
    if isinstance(texts, FoundTexts):  # found among so many, so that intervals hold for them all
        rows = max(0, texts.stage.tested - len(texts.texts))
    together = len(sample.decoder.parts) == 1
    questions = margins(manifest, sample.tally, level) if manifest.dimensions else ()
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
        enrolment=manifest.enrolment,
        distrusted=distrusted,
        kept_range=kept[0] if kept else None,
        standing=standing,
        margins=questions,
        dimensions=manifest.dimensions,
        ordered=manifest.ordered,
        groups=tuple(groups) or (smallest_group(manifest, whole.n),) * len(epochs),
        blind=manifest.enrolment.mode == "blind",
        relayed=relayed,
        sequence=manifest.sequence,
        texts=texts if isinstance(texts, FoundTexts) else None,
        again=partial(
            estimate_histogram,
            manifest,
            epochs,
            whole,
            distrusted=distrusted,
            standing=standing,
            groups=groups,
            relayed=relayed,
            texts=texts,
        ),
        **debiased_fields(
            *(mechanism, sample, categories, level, labels),
            manifest.values,
            rows or (sum(len(one.answers) for one in questions) if together else 0),
        ),
    )
