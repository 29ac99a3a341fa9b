"""Figures of one question over time: a line for each survey that asks it, epoch by epoch."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby
from typing import Final

from deniable.documents import Caution, Column, Document, Table, caution_codes, caution_maps
from deniable.documents.csv import rows_csv
from deniable.documents.json import (
    COUNT,
    ID,
    TEXT,
    Field,
    Json,
    array_of,
    object_of,
    or_null,
    plain,
)
from deniable.estimates.answers import Answers, Range, answers_text
from deniable.estimates.cautions import DisplayedFigures
from deniable.estimates.charts import Picture
from deniable.estimates.comparison import compare
from deniable.estimates.document import estimate_columns, estimate_row
from deniable.estimates.estimate import Estimate, Unit, furthest, share_of_row
from deniable.estimates.fields import CAUTIONS_SCHEMA, ESTIMATE, TIME
from deniable.estimates.frames import Tabular, Values
from deniable.estimates.histogram import Histogram
from deniable.estimates.pictures import WIDTH, SeriesFigures, series_panels, series_picture
from deniable.estimates.quantiles import QUARTILES
from deniable.estimates.rows import ShownRows
from deniable.mechanisms import Levels
from deniable.reading.epochs import instant_text, iso_time
from deniable.reading.notes import NOTES_SCHEMA, note_maps, numbered_notes
from deniable.stores import Note


@dataclass(frozen=True, slots=True)
class Point:
    """One epoch of a series, from ``start`` to ``end`` in Unix seconds.

    Without a histogram it is a gap: too few reports came.
    """

    survey_id: str
    epoch: int
    start: int
    end: int
    histogram: Histogram | None = None

    @property
    def n(self) -> int:
        """Return the number of reports that its figures are made of."""
        return 0 if self.histogram is None else self.histogram.n

    @property
    def fewest_fakes(self) -> int:
        """Return how many of the reports are fake at least; then its figures are not to be used."""
        return 0 if self.histogram is None else self.histogram.poisoning.fewest_fakes


@dataclass(frozen=True, slots=True)
class Series(Tabular):
    """The epochs of one question, of surveys of one name.

    Surveys may run side by side, and do not mix: no difference is taken between two of them.

    Attributes:
        points: survey after survey, the newest last; of each its epochs in their order.
        apart: the ids of surveys of the name that ask something else.
    """

    survey: str
    points: tuple[Point, ...]
    notes: tuple[Note, ...] = ()
    apart: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the name and the number of epochs."""
        with_figures = sum(point.histogram is not None for point in self.points)
        return f"<Series {self.survey}: {len(self.points)} epochs, {with_figures} with figures>"

    @property
    def lines(self) -> tuple[tuple[Point, ...], ...]:
        """Return the epochs of each survey, the newest survey last."""
        grouped = groupby(self.points, key=lambda point: point.survey_id)
        return tuple(tuple(points) for _, points in grouped)

    @property
    def histograms(self) -> list[Histogram]:
        """Return the figures of the epochs that have any."""
        return [point.histogram for point in self.points if point.histogram]

    @property
    def categories(self) -> tuple[str, ...]:
        """Return the texts of all categories, which are the same in all epochs."""
        return self.histograms[0].categories if self.histograms else ()

    @property
    def numeric(self) -> bool:
        """Return whether the series is of numbers."""
        return bool(self.histograms) and self.histograms[0].values is not None

    def at(self, level: float) -> "Series":
        """Return the same with intervals of another level."""
        points = (
            replace(point, histogram=point.histogram and point.histogram.at(level))
            for point in self.points
        )
        return replace(self, points=tuple(points))

    def share(self, answers: Answers) -> tuple[Estimate | None, ...]:
        """Return the share of answers in each epoch.

        None is a gap: where there are no figures of it. ValueError if there are none in any epoch.
        """
        if not isinstance(answers, str | Mapping | Range):
            answers = tuple(answers)
        shares = tuple(_share(point.histogram, answers) for point in self.points)
        if self.histograms and shares.count(None) == len(shares):
            self.histograms[-1].share(answers)  # says why
        return shares

    def holds_at_once(self, *groups: Answers) -> bool:
        """Return whether intervals hold for all answers of an epoch: those of each category do."""
        return not groups and not self.numeric

    def figures(self, *groups: Answers) -> Iterator[tuple[str, tuple[Estimate | None, ...]]]:
        """Yield a label for each group of answers, and their share in each epoch.

        Without groups, each category is one, as its histogram has it: nothing can be made of these
        estimates. Of a numeric survey there is the mean instead, and the quartiles, if it tells the
        distribution. Intervals of categories hold for all those of an epoch at once.
        """
        if not groups and self.numeric:
            histograms = [point.histogram for point in self.points]
            yield "mean", tuple(None if one is None else one.mean() for one in histograms)
            if any(one and _tells_distribution(one) for one in histograms):
                for probability, name in QUARTILES.items():
                    yield name, tuple(_quartile(one, probability, name) for one in histograms)
            return
        for answers in groups:
            yield answers_text(answers), self.share(answers)
        if not groups:
            # Not by share(): a query of each of 65,536 categories would take an hour.
            by_category = [_shares(point.histogram) for point in self.points]
            for category in self.categories:
                yield category, tuple(shares.get(category) for shares in by_category)

    def rows(self, *groups: Answers) -> Iterator[Json]:
        """Return a row for each epoch and group, as :meth:`figures` has them.

        Its figures are None where there is a gap.
        """
        return self._rows(list(self.figures(*groups)))

    def _rows(self, figures: SeriesFigures) -> Iterator[Json]:
        heads = [plain(point, _POINT) for point in self.points]
        for place, head in enumerate(heads):
            for label, estimates in figures:
                yield {**head, "category": label} | plain(estimates[place], ESTIMATE)

    def columns(self) -> Mapping[str, Values]:
        """Return a table with a row for each epoch and category."""
        rows = [*self.rows()]
        names = [field.name for field in (*_POINT, *_CATEGORY, *ESTIMATE)]
        return {name: [row[name] for row in rows] for name in names}

    def metadata(self) -> Mapping[str, str]:
        """Return the fields that all rows share."""
        return {"survey": self.survey}

    def plot(self, width: float = WIDTH) -> Picture:
        """Return a chart: bands over the epochs, a panel for each category or for the mean."""
        return series_picture(self, width)

    def document(
        self,
        figures: SeriesFigures,
        *groups: Answers,
        chosen: ShownRows | None = None,
        notes: Sequence[str] = (),
    ) -> Document:
        """Return figures of the series, of groups of answers or of categories, as a document.

        ``chosen`` are the categories, if they are those with the largest shares.
        """
        simultaneous = self.holds_at_once(*groups)
        held = "hold for all answers of an epoch at once" if simultaneous else "stand by themselves"
        levels = {histogram.level for histogram in self.histograms}
        panels = cache(partial(series_panels, self, *groups, figures=figures))

        def drawing(width: float) -> str:
            return series_picture(self, width, *groups, heading=False, panels=panels()).svg

        return Document(
            tables=[
                *(
                    self._table(label, estimates, min(levels, default=0.95), simultaneous)
                    for label, estimates in figures
                ),
                *([numbered_notes(self.notes)] if self.notes else []),
            ],
            notes=[f"Intervals {held}. Dates are in UTC.", *self._apart(), *notes],
            cautions=self.cautions_of(figures, chosen),
            heading=f"{self.survey}, epoch by epoch",
            sentence=self.sentence(*groups, among=[label for label, _ in figures]),
            chart=drawing if levels else None,
        )

    def _apart(self) -> Iterator[str]:
        """Yield which surveys of the name are left out."""
        if self.apart:
            ids = ", ".join(survey_id[:12] for survey_id in self.apart)
            yield f"Not shown is what asks something else under this name: survey {ids}."

    def _table(
        self, label: str, estimates: Sequence[Estimate | None], level: float, simultaneous: bool
    ) -> Table:
        daily = all(point.end - point.start >= _DAY for point in self.points)
        several = len(self.lines) > 1
        shares = any(estimate and estimate.unit is Unit.SHARE for estimate in estimates)
        columns = [
            Column("epoch", "epoch", "number"),
            *([Column("survey", "survey")] if several else []),
            Column("begins", "begins"),
            Column("n", "reports", "number"),
            *estimate_columns(level, "share" if shares else "number", simultaneous=simultaneous),
            *map(Column, ("category", "survey_id")),
        ]
        rows = [
            estimate_row(
                plain(point, _POINT)
                | plain(estimate, ESTIMATE)
                | {
                    "survey": point.survey_id[:12],
                    "category": label,
                    "begins": instant_text(point.start).partition(" " if daily else " UTC")[0],
                    "n": point.n or None,
                }
            )
            for point, estimate in zip(self.points, estimates, strict=True)
        ]
        return Table(columns, rows, title=label)

    def sentence(self, *groups: Answers, among: Sequence[str] | None = None) -> str:
        """Return the change from the first figures to the last, and what was noted, in words.

        Of answers, or of categories ``among`` all; "" if these figures cannot be compared. Both are
        of one survey: of several, of the newest that has two epochs with figures.
        """
        pairs = [
            (known[0], known[-1])
            for line in self.lines
            if len(known := [point for point in line if point.histogram]) > 1
        ]
        if not pairs:
            return ""
        first, last = pairs[-1]
        assert first.histogram is not None
        assert last.histogram is not None
        answers, names = (groups or (None,))[0], None if groups or self.numeric else among
        try:
            change = compare(last.histogram, answers, first.histogram, names)
        except ValueError:  # such as kept responses, or other answers
            return ""
        noted = "; ".join(
            f"{note.text} ({instant_text(note.at).removesuffix(' 00:00 UTC')})"
            for note in self.notes
            if first.start <= note.at < last.end
        )
        texts = [change.sentence]
        if len(self.lines) > 1:
            texts.append(f"Both epochs are of survey {last.survey_id[:12]}.")
        return " ".join([*texts, f"Noted: {noted}."] if noted else texts)

    def cautions(self, *groups: Answers) -> tuple[Caution, ...]:
        """Return the cautions of the figures of groups of answers, or of all answers."""
        return self.cautions_of(list(self.figures(*groups)))

    def cautions_of(
        self, figures: SeriesFigures, chosen: ShownRows | None = None
    ) -> tuple[Caution, ...]:
        """Return the cautions of some of its figures, which may be chosen by their size."""
        histograms = self.histograms
        estimates = [estimate for _, row in figures for estimate in row if estimate is not None]
        means = any(estimate.unit is Unit.NUMBER for estimate in estimates)
        name = "the mean" if means else "a share"
        return DisplayedFigures(
            tuple(histogram.sample for histogram in histograms),
            *furthest(estimates, name),
            "an epoch's reports",
            outside=sum(estimate.outside for estimate in estimates),
            rows=chosen,
            level=histograms[0].level if histograms else 0.95,
        ).cautions

    def to_dict(self, *groups: Answers) -> Json:
        """Return plain values for JSON."""
        figures = list(self.figures(*groups))
        cautions = caution_maps(self.cautions_of(figures))
        return {
            "survey": self.survey,
            "apart": list(self.apart),
            "sentence": self.sentence(*groups, among=[label for label, _ in figures]),
            "rows": list(self._rows(figures)),
            "notes": note_maps(self.notes),
            "cautions": cautions,
        }

    def to_csv(self, *groups: Answers) -> str:
        """Return a row for each epoch and group as CSV."""
        columns = [field.name for field in (*_POINT, *_CATEGORY, *ESTIMATE)]
        figures = list(self.figures(*groups))
        shared = {"survey": self.survey, "cautions": caution_codes(self.cautions_of(figures))}
        return rows_csv(("survey", *columns, "cautions"), self._rows(figures), shared)


def _tells_distribution(histogram: Histogram) -> bool:
    """Return whether quartiles are what the survey asks for: of others they are mostly noise."""
    return isinstance(histogram.sample.mechanism, Levels)


def _quartile(histogram: Histogram | None, probability: float, name: str) -> Estimate | None:
    """Return a quartile of numbers as an estimate, of which nothing can be made."""
    if histogram is None or histogram.numeric is None or not _tells_distribution(histogram):
        return None
    (own,) = (one for one in histogram.numeric.quartiles if one.probability == probability)
    ends = (own.low, own.high, own.level)
    return Estimate(own.value, math.nan, *ends, label=name, samples=(histogram.sample,))


def _shares(histogram: Histogram | None) -> dict[str, Estimate]:
    """Return each category's share, but of questions that no report is about."""
    if histogram is None:
        return {}
    h, tally = histogram, histogram.sample.tally
    ends = h.simultaneous
    columns = (h.estimate, h.standard_error, ends.low, ends.high, ends.outside, h.influence)
    rows = [
        *zip(h.categories, zip(*(column.tolist() for column in columns), strict=True), strict=True)
    ]
    return {
        category: share_of_row(figures, h.level, category, (h.sample,), at_once=True)
        for part in h.sample.decoder.parts
        if part.tally(tally).n
        for category, figures in rows[part.categories]
    }


def _share(histogram: Histogram | None, answers: Answers) -> Estimate | None:
    if histogram is None:
        return None
    try:
        return histogram.share(answers)
    except ValueError:
        return None


_DAY: Final = 86_400
_POINT: Final = (
    Field("survey_id", ID),
    Field("epoch", COUNT),
    Field("start", TIME, lambda point: iso_time(point.start)),
    Field("end", TIME, lambda point: iso_time(point.end)),
    Field("n", COUNT),
    Field("fewest_fakes", COUNT),
)
_CATEGORY: Final = (Field("category", TEXT),)
_GAPS: Final = tuple(field._replace(schema=or_null(field.schema)) for field in ESTIMATE)

SERIES_SCHEMA: Final[Json] = object_of(
    Field("survey", TEXT),
    Field("apart", array_of(ID, description="surveys of the name that ask something else")),
    Field("sentence", TEXT),
    Field("rows", array_of(object_of(*_POINT, *_CATEGORY, *_GAPS))),
    Field("notes", NOTES_SCHEMA),
    Field("cautions", CAUTIONS_SCHEMA),
)
"""Of a series as JSON; figures are null where there is a gap."""
