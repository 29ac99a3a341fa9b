"""Shares, and what changed between epochs, or differs between surveys."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final

from deniable.documents import (
    Caution,
    Column,
    ColumnKind,
    Document,
    Fact,
    Table,
    caution_codes,
    caution_maps,
    level_text,
)
from deniable.documents.csv import rows_csv
from deniable.documents.html import document_html
from deniable.documents.json import (
    BOOLEAN,
    COUNT,
    NUMBER,
    TEXT,
    Field,
    Json,
    array_of,
    object_of,
    or_null,
    plain,
)
from deniable.documents.terminal import document_text
from deniable.estimates.answers import Answers, answers_text
from deniable.estimates.cautions import DisplayedFigures
from deniable.estimates.change import Test
from deniable.estimates.charts import Markup, Picture, standalone
from deniable.estimates.decoders import Model
from deniable.estimates.document import estimate_columns, estimate_row
from deniable.estimates.estimate import AT_ONCE, Estimate, Sample, Unit, furthest, places_text
from deniable.estimates.fields import CAUTIONS_SCHEMA, ESTIMATE
from deniable.estimates.histogram import Histogram
from deniable.estimates.pictures import WIDTH, difference_dots, plot_differences
from deniable.reading.epochs import epochs_text

_MOST_COMPARED: Final = 1024
"""One by one: of a design's 65,536 it would take hours."""


@dataclass(frozen=True, slots=True)
class Row:
    """One share or mean; or, against others, both and their difference."""

    label: str
    estimate: Estimate
    now: Estimate
    before: Estimate | None

    @property
    def distinguishable(self) -> bool | None:
        """Return whether the difference is told apart from none; None where there is none."""
        return None if self.before is None else self.estimate.distinguishable


@dataclass(frozen=True, slots=True)
class Comparison:
    """Shares or means of a histogram, alone or against another.

    ``test`` is whether anything changed at all, where all answers are compared.
    """

    histogram: Histogram
    against: Histogram | None
    rows: tuple[Row, ...]
    test: Test | None = None

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Return the cautions of its figures."""
        figure = "a share" if self._of_shares else "the mean"
        samples: tuple[Sample, ...] = (self.histogram.sample,)
        reports = "the reports"
        if self.against is not None:
            figure = f"a difference{' of means' * (not self._of_shares)}"
            samples = (self.against.sample, *samples)
            reports = "the reports on each side"
        return DisplayedFigures(
            samples,
            *furthest((row.estimate for row in self.rows), figure),
            reports,
            wider=self._wider,
            disjoint=self.histogram.model is Model.FIXED,
            outside=sum(row.estimate.outside for row in self.rows),
            level=self.histogram.level,
            compared=self.against is not None,
            too_small=any(row.estimate.too_small for row in self.rows),
        ).cautions

    def document(self, notes: Sequence[str] = ()) -> Document:
        """Return the shares or differences as a document."""
        histogram, against = self.histogram, self.against
        places = [Fact("epochs", self._place(histogram))]
        if against is not None:
            heads = zip(self._heads, (against, histogram), strict=True)
            places = [Fact(head, self._place(side)) for head, side in heads][::-1]
        return Document(
            facts=[
                Fact("survey", histogram.survey),
                *places,
                Fact("epsilon", self._guarantees),
                Fact("devices", histogram.enrolment),
            ],
            tables=[Table(self._columns(), [*map(self._row, self.rows)], title=self._title)],
            notes=[*self._notes(), *notes],
            cautions=self.cautions,
            heading=histogram.question,
            sentence=self.sentence,
            chart=self._chart() if against is not None else None,
        )

    def __str__(self) -> str:
        """Return the document as text of 100 columns, for a terminal or a notebook."""
        return document_text(self.document())

    def _repr_html_(self) -> str:
        document = self.document()
        chart = "" if document.chart is None else standalone(Markup(document.chart(WIDTH)))
        return f"<div>{document_html(document, chart)}</div>"

    def plot(self, width: float = WIDTH) -> Picture:
        """Return the chart of the differences; ValueError if there are none."""
        if self.against is None:
            raise ValueError("this is compared with nothing, and has no chart")
        differences = {row.label: row.estimate for row in self.rows}
        places = self._differences(self.rows[0])
        return plot_differences(differences, title=f"Differences, {places}", width=width)

    @property
    def sentence(self) -> str:
        """Return the result in words, as it can be published: what changed most, if anything did.

        Of several answers, by intervals that hold for all of them at once.
        """
        if not self._at_once:
            return self.rows[0].estimate.sentence
        rows = self.rows
        known = [row for row in rows if row.distinguishable]
        row = max(known or rows, key=lambda row: abs(row.estimate.value))
        most = row.estimate
        if self._one_survey:
            verb, nothing = ("changed" if known else "have changed"), "nothing changed"
        else:
            verb, nothing = f"differ{'s' * (len(known) == 1)}", "nothing differs"
        head = f"{len(known):,} of {len(rows):,} answers" if known else "No answer is known to"
        if not known and self.test is not None and self.test.p_value < 1 - self.histogram.level:
            some = "changed" if self._one_survey else "differs"
            head = f"Something {some}, but no answer by itself is known to"
        ends = f"{most.text(most.low)} to {most.text(most.high)}"
        texts = [
            f"{head} {verb} ({self._differences(row)}): {row.label} the most, by "
            f"{most.text(most.value)} percentage points ({level_text(self.histogram.level)} "
            f"interval {ends}{AT_ONCE})."
        ]
        if not known and self.test is not None:
            texts.append(f"All answers together: p {self.test.p_value:.2g} if {nothing}.")
        return " ".join([*texts, *(one.text for one in self.cautions if one.brief)])

    @property
    def _at_once(self) -> bool:
        """Return whether the intervals of the rows hold for all answers at once."""
        return any(row.estimate.at_once for row in self.rows)

    @property
    def _one_survey(self) -> bool:
        return self.against is None or self.against.survey_id == self.histogram.survey_id

    @property
    def _heads(self) -> tuple[str, str]:
        """Return the names of the sides, that of the one that is subtracted first."""
        if self.against is None or self._one_survey:
            return "before", "now"
        one, other = self.against, self.histogram
        if one.survey != other.survey:
            return one.survey, other.survey
        return f"{one.survey} {one.survey_id[:12]}", f"{other.survey} {other.survey_id[:12]}"

    def _differences(self, row: Row) -> str:
        """Return in words which side is subtracted from which."""
        assert row.before is not None
        return places_text(row.now.slope, "less", row.before.slope)

    @staticmethod
    def _place(side: Histogram) -> str:
        reports = f"{side.n:,} report{'s' * (side.n != 1)}"
        return f"{epochs_text(side.epochs)} ({reports})"

    @property
    def _guarantees(self) -> str:
        ours = self.histogram.guarantee
        theirs = ours if self.against is None else self.against.guarantee
        return ours if ours == theirs else f"{ours}; {self._heads[0]} {theirs}"

    @property
    def _wider(self) -> float:
        """Return how much wider intervals are than noise alone makes them, as a factor, at most."""
        return max((_wider(row.estimate) for row in self.rows), default=1.0)

    @property
    def _of_shares(self) -> bool:
        return self.rows[0].now.unit is Unit.SHARE

    @property
    def _title(self) -> str:
        figures = "Shares" if self._of_shares else "Means"
        if self.against is None:
            return figures
        own = "" if self._one_survey else ": {1} less {0}".format(*self._heads)
        return f"{figures}, and their differences{own}"

    def _columns(self) -> list[Column]:
        kind: ColumnKind = "share" if self._of_shares else "number"
        columns = estimate_columns(self.histogram.level, kind)
        if self.against is None:
            error = Column("standard_error", "std error", kind, "standard_error")
            return [Column("answers", "answer"), columns[0], error, *columns[1:]]
        kind_of_difference: ColumnKind = "points" if self._of_shares else "number"
        return [
            Column("answers", "answer"),
            Column("before", self._heads[0], kind, "width_before"),
            Column("now", self._heads[1], kind, "width_now"),
            *(
                replace(column, signed=True)
                for column in estimate_columns(
                    self.histogram.level,
                    kind_of_difference,
                    "difference",
                    simultaneous=self._at_once,
                )[:2]
            ),
            Column("mark", ""),
            Column("distinguishable"),
        ]

    def _row(self, row: Row) -> dict[str, Any]:
        fields = estimate_row(plain(row, _ROW))
        before = row.before
        if before is None:
            return fields
        return fields | {
            "before": before.stated,
            "now": row.now.stated,
            "width_before": (before.high - before.low) or fields["width"],
            "width_now": (row.now.high - row.now.low) or fields["width"],
            "mark": "" if row.estimate.distinguishable else "not distinguishable",
        }

    def _notes(self) -> Iterator[str]:
        if self.against is not None and self._of_shares:
            yield (
                "Differences are in percentage points. Whether the intervals of the two shares "
                "overlap tells less than those of the differences."
            )
        if self._at_once:
            yield "Intervals hold for all answers at once."
        if self.histogram.model is Model.FIXED:
            yield (
                "Intervals are about the devices that reported, of noise alone: not about others "
                "that they may stand for."
            )
        if self.test is not None:
            differs = "changed" if self._one_survey else "differs"
            yield f"Whether anything {differs} at all: {self.test}."

    def _chart(self) -> Callable[[float], str]:
        differences = {row.label: row.estimate for row in self.rows}
        dots = cache(partial(difference_dots, differences))

        def drawing(width: float) -> str:
            return plot_differences(differences, width=width, heading=False, dots=dots()).svg

        return drawing

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return plain(self, _FIELDS)

    def to_csv(self) -> str:
        """Return a row an answer as CSV."""
        shared = plain(self, _SHARED)
        for key in ("epochs", "against_epochs"):
            shared[key] = " ".join(map(str, shared[key] or ()))
        shared["cautions"] = caution_codes(self.cautions)
        names = [field.name for field in (*_SHARED, *_ROW)]
        return rows_csv((*names, "cautions"), (plain(row, _ROW) for row in self.rows), shared)


def _wider(estimate: Estimate) -> float:
    if estimate.form is None:  # shares within groups
        return math.inf
    try:
        noise = replace(estimate.linear, model=Model.FIXED).figures()[1]
    except ValueError:  # of sums over several questions nobody knows
        return math.inf
    return estimate.standard_error / noise if noise else math.inf


_SHARED: Final = (
    *(Field(name, TEXT, f"histogram.{name}") for name in ("survey", "survey_id")),
    Field("epochs", array_of(COUNT), "histogram.epochs"),
    Field("n", COUNT, "histogram.n"),
    *(
        Field(f"against_{name}", or_null(TEXT), f"against.{name}")
        for name in ("survey", "survey_id")
    ),
    Field("against_epochs", or_null(array_of(COUNT)), "against.epochs"),
    Field("against_n", or_null(COUNT), "against.n"),
    Field("level", NUMBER, "histogram.level"),
)
_ROW: Final = (
    Field("answers", TEXT, "label"),
    Field("now", NUMBER, "now.stated"),
    Field("before", or_null(NUMBER), "before.stated"),
    *(field._replace(source=f"estimate.{field.source or field.name}") for field in ESTIMATE),
    Field("distinguishable", or_null(BOOLEAN)),
    Field("sentence", TEXT, "estimate.sentence"),
)
_TEST: Final = (
    Field("statistic", NUMBER),
    Field("degrees", COUNT),
    Field("p_value", NUMBER),
)
_FIELDS: Final = (
    *_SHARED,
    Field("sentence", TEXT),
    Field("rows", array_of(object_of(*_ROW)), lambda it: [plain(row, _ROW) for row in it.rows]),
    Field("test", object_of(*_TEST), lambda it: it.test and plain(it.test, _TEST), optional=True),
    Field("cautions", CAUTIONS_SCHEMA, lambda it: caution_maps(it.cautions)),
)
COMPARISON_SCHEMA: Final[Json] = object_of(*_FIELDS)
"""Of a comparison as JSON: its two sides, and of each answer the difference."""


def _is_later(one: Histogram, other: Histogram) -> bool:
    """Return whether figures are of a newer survey of the name, or of later epochs of one."""
    ours, theirs = ((side.sequence, side.start or 0) for side in (one, other))
    return one.survey == other.survey and ours > theirs


def compare(
    histogram: Histogram,
    answers: Answers | None,
    against: Histogram | None,
    among: Sequence[str] | None = None,
    given: Answers | None = None,
) -> Comparison:
    """Return a share, or the difference of one or all of them, or of means, from another's.

    Of one survey the earlier epochs are subtracted from the later ones, and of one name the older
    survey from the newer, in whatever order they are given.

    Args:
        histogram: what is compared, or told of.
        answers: one share, of these together; None for each category's, or the mean.
        against: what it is compared with: other epochs, another version, or another survey.
        among: of each category's share, for these only.
        given: of one share: among those who gave these answers.

    Raises:
        ValueError: if they cannot be compared, or there are no such answers.
    """
    if against is not None and against.epochs and against.sample.same_as(histogram.sample):
        raise ValueError("an epoch is not compared with itself")
    if against is not None and _is_later(against, histogram):
        histogram, against = against, histogram

    def row(label: str, now: Estimate, before: Estimate | None) -> Row:
        return Row(label, now if before is None else now - before, now, before)

    if answers is not None:
        before = None if against is None else against.share(answers, given=given)
        label = answers_text(answers)
        if given is not None:
            label += f", among those with {answers_text(given)}"
        share = row(label, histogram.share(answers, given=given), before)
        return Comparison(histogram, against, (share,))
    assert against is not None
    if histogram.values is not None:
        return Comparison(histogram, against, (row("mean", histogram.mean(), against.mean()),))
    if histogram.categories != against.categories:
        raise ValueError(
            "they do not have the same answers: compare the share of some that both have"
        )
    if among is None and (count := len(histogram.categories)) > _MOST_COMPARED:
        raise ValueError(f"{count:,} answers are too many to compare: name some with --share")
    # Of two answers one rises as the other falls: their intervals hold at once as they are.
    two = len(histogram.categories) == 2
    level = histogram.level if two else histogram.level_at_once

    def at_once(row: Row) -> Row:
        estimate = replace(row.estimate.at(level), level=histogram.level, at_once=True)
        return replace(row, estimate=estimate)

    rows = tuple(
        at_once(row(category, histogram.share(category), against.share(category)))
        for category in among or histogram.categories
    )
    try:
        test = histogram.changed_from(against)
    except ValueError:  # of several epochs, few reports, or thousands of categories, there is none
        test = None
    return Comparison(histogram, against, rows, test)
