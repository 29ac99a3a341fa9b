"""Shares, and what changed between epochs."""

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
)
from deniable.documents.csv import rows_csv
from deniable.estimates.answers import Answers, answers_text
from deniable.estimates.cautions import DisplayedFigures
from deniable.estimates.change import Test
from deniable.estimates.document import estimate_columns, estimate_row
from deniable.estimates.estimate import Estimate, Sample, Unit, furthest
from deniable.estimates.fields import estimate_map
from deniable.estimates.histogram import Histogram
from deniable.estimates.pictures import difference_dots, plot_differences
from deniable.reading.epochs import epochs_text

_COLUMNS: Final = (
    *("survey", "survey_id", "epochs", "n", "against_epochs", "against_n", "answers"),
    *("estimate", "standard_error", "low", "high", "outside", "influence", "fakes_decide"),
    *("level", "distinguishable", "cautions"),
)

_MOST_COMPARED: Final = 1024
"""One by one: of a design's 65,536 it would take hours."""


@dataclass(frozen=True, slots=True)
class Row:
    """One share or mean; or, against another epoch, both and their difference."""

    label: str
    estimate: Estimate
    now: Estimate
    before: Estimate | None


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
            outside=sum(row.estimate.outside for row in self.rows),
            level=self.histogram.level,
            compared=0 if self.against is None else len(self.rows),
        ).cautions

    def document(self, notes: Sequence[str] = ()) -> Document:
        """Return the shares or differences as a document."""
        histogram, against = self.histogram, self.against
        places = [Fact("epochs", _place(histogram))]
        if against is not None:
            places = [Fact("now", _place(histogram)), Fact("before", _place(against))]
        return Document(
            facts=[
                Fact("survey", histogram.survey),
                *places,
                Fact("epsilon", histogram.guarantee),
                Fact("devices", histogram.enrolment),
            ],
            tables=[Table(self._columns(), [*map(self._row, self.rows)], title=self._title)],
            notes=[*self._notes(), *notes],
            cautions=self.cautions,
            heading=histogram.question,
            sentence=self.rows[0].estimate.sentence if len(self.rows) == 1 else "",
            chart=self._chart() if self._of_shares and against is not None else None,
        )

    @property
    def _of_shares(self) -> bool:
        return self.rows[0].now.unit is Unit.SHARE

    @property
    def _title(self) -> str:
        figures = "Shares" if self._of_shares else "Means"
        return figures if self.against is None else f"{figures}, and their differences"

    def _columns(self) -> list[Column]:
        kind: ColumnKind = "share" if self._of_shares else "number"
        columns = estimate_columns(self.histogram.level, kind)
        if self.against is None:
            error = Column("standard_error", "std error", kind, "standard_error")
            return [Column("answers", "answer"), columns[0], error, *columns[1:]]
        kind_of_difference: ColumnKind = "points" if self._of_shares else "number"
        return [
            Column("answers", "answer"),
            Column("before", "before", kind, "width_before"),
            Column("now", "now", kind, "width_now"),
            *(
                replace(column, signed=True)
                for column in estimate_columns(
                    self.histogram.level, kind_of_difference, "difference"
                )[:2]
            ),
            Column("mark", ""),
            Column("distinguishable"),
        ]

    def _row(self, row: Row) -> dict[str, Any]:
        fields = estimate_row(self._plain(row))
        before = row.before
        if before is None:
            return fields
        return fields | {
            "before": before.value,
            "now": row.now.value,
            "width_before": (before.high - before.low) or fields["width"],
            "width_now": (row.now.high - row.now.low) or fields["width"],
            "mark": "" if row.estimate.distinguishable else "not distinguishable",
        }

    def _notes(self) -> Iterator[str]:
        if self.against is not None and self._of_shares:
            yield (
                "Differences are in percentage points, with intervals of their own: whether those "
                "of the two shares overlap tells less."
            )
        if self.test is not None:
            yield f"Whether anything changed at all: {self.test}."

    def _chart(self) -> Callable[[float], str]:
        differences = {row.label: row.estimate for row in self.rows}
        dots = cache(partial(difference_dots, differences))

        def drawing(width: float) -> str:
            return plot_differences(differences, width=width, heading=False, dots=dots()).svg

        return drawing

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        fields = self._shared() | {"rows": [self._plain(row) for row in self.rows]}
        if self.test is not None:
            test = self.test
            names = ("statistic", "degrees", "p_value")
            fields["test"] = {name: getattr(test, name) for name in names}
        return fields | {"cautions": caution_maps(self.cautions)}

    def to_csv(self) -> str:
        """Return a row an answer as CSV."""
        shared = self._shared()
        for key in ("epochs", "against_epochs"):
            shared[key] = " ".join(map(str, shared[key] or ()))
        shared["cautions"] = caution_codes(self.cautions)
        return rows_csv(_COLUMNS, map(self._plain, self.rows), shared)

    def _shared(self) -> dict[str, Any]:
        histogram, against = self.histogram, self.against
        return {
            "survey": histogram.survey,
            "survey_id": histogram.survey_id,
            "epochs": list(histogram.epochs),
            "n": histogram.n,
            "against_epochs": None if against is None else list(against.epochs),
            "against_n": None if against is None else against.n,
            "level": histogram.level,
        }

    def _plain(self, row: Row) -> dict[str, Any]:
        different = None if self.against is None else row.estimate.distinguishable
        sentence = row.estimate.sentence
        fields = {"answers": row.label, **estimate_map(row.estimate)}
        return fields | {"distinguishable": different, "sentence": sentence}


def _place(histogram: Histogram) -> str:
    return f"{epochs_text(histogram.epochs)} ({histogram.n:,} report{'s' * (histogram.n != 1)})"


def compare(
    histogram: Histogram,
    answers: Answers | None,
    against: Histogram | None,
    among: Sequence[str] | None = None,
) -> Comparison:
    """Return a share, or the difference of one or all of them, or of means, from another epoch.

    Args:
        histogram: what is compared, or told of.
        answers: one share, of these together; None for each category's, or the mean.
        against: what it is compared with.
        among: of each category's share, for these only.

    Raises:
        ValueError: if they cannot be compared, or there are no such answers.
    """
    if against is not None and against.epochs and against.sample.same_as(histogram.sample):
        raise ValueError("an epoch is not compared with itself")

    def row(label: str, now: Estimate, before: Estimate | None) -> Row:
        return Row(label, now if before is None else now - before, now, before)

    if answers is not None:
        before = None if against is None else against.share(answers)
        share = row(answers_text(answers), histogram.share(answers), before)
        return Comparison(histogram, against, (share,))
    assert against is not None
    if histogram.values is not None:
        return Comparison(histogram, against, (row("mean", histogram.mean(), against.mean()),))
    if among is None and (count := len(histogram.categories)) > _MOST_COMPARED:
        raise ValueError(f"{count:,} answers are too many to compare: name some with --share")
    rows = tuple(
        row(category, histogram.share(category), against.share(category))
        for category in among or histogram.categories
    )
    try:
        test = histogram.changed_from(against)
    except ValueError:  # of several epochs, few reports, or thousands of categories, there is none
        test = None
    return Comparison(histogram, against, rows, test)
