"""Two shares beside each other: their difference, their ratio, and which is ahead."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deniable.documents import Caution, Column, Document, Table
from deniable.estimates.cautions import DisplayedFigures
from deniable.estimates.document import estimate_columns, estimate_row, histogram_facts
from deniable.estimates.estimate import Estimate, Unit, furthest
from deniable.estimates.fields import estimate_map, sentence_map

if TYPE_CHECKING:
    from deniable.estimates.histogram import Histogram


@dataclass(frozen=True)
class Beside:
    """A share and another of the same histogram: of two groups, or of two answers.

    Attributes:
        names: what tells them apart.
        race: whether the question is which of them is ahead; the ratio is left to programs then.
    """

    histogram: "Histogram"
    names: tuple[str, str]
    one: Estimate
    other: Estimate
    race: bool = False

    @cached_property
    def difference(self) -> Estimate:
        """Return one less the other."""
        return self.one - self.other

    @cached_property
    def ratio(self) -> Estimate:
        """Return one as a multiple of the other."""
        return self.one / self.other

    @property
    def conclusion(self) -> str:
        """Return the leader in words, if the interval of the difference tells."""
        first, second = self.names
        if not self.difference.distinguishable or any(
            sample.fewest_fakes for sample in self.difference.samples
        ):
            return f"nobody can tell whether {first} or {second} is ahead"
        if self.difference.low > 0:
            return f"{first} is ahead of {second}"
        return f"{second} is ahead of {first}"

    @property
    def sentence(self) -> str:
        """Return the result as it can be published."""
        place = self.histogram.sample.place
        where = f"In {place}: " * bool(place)
        if self.race:
            return where + self.difference.worded(self.conclusion)
        cautions = (caution.text for caution in self.cautions if caution.brief)
        return where + " ".join((self.difference.statement(), self.ratio.statement(), *cautions))

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Return the cautions of its figures."""
        figures = (self.difference,) if self.race else (self.difference, self.ratio)
        texts = [furthest([one], name) for one, name in zip(figures, _NAMES, strict=False)]
        return DisplayedFigures(
            self.difference.samples,
            ", ".join(text for text, _ in texts if text),
            any(decided for _, decided in texts),
            outside=sum(one.outside for one in (self.one, self.other, *figures)),
            level=self.histogram.level,
            too_small=self.difference.too_small,
        ).cautions

    def document(self) -> Document:
        """Return both shares, their difference and their ratio as a document."""
        histogram, (first, second) = self.histogram, self.names
        rows = [
            _row(first, "share", self.one),
            _row(second, "share", self.other),
            _row("difference", "points", self.difference),
            _row("ratio", "number", self.ratio),
        ]
        columns = estimate_columns(histogram.level)
        return Document(
            facts=[*histogram_facts(histogram)],
            tables=[Table([Column("figure", "figure"), *columns, *_MORE], rows, key="figures")],
            notes=["The difference is in percentage points."],
            cautions=self.cautions,
            heading=histogram.question,
            sentence=self.sentence,
            values=sentence_map(histogram, self.sentence),
        )


_NAMES = ("the difference", "the ratio")
_MORE = [
    Column(key) for key in ("high", "standard_error", "outside", "influence", "distinguishable")
]


def _row(name: str, kind: str, estimate: Estimate) -> dict[str, Any]:
    fields = {"figure": name, "kind": kind, **estimate_map(estimate)}
    if estimate.too_small:
        fields |= {"low": None, "high": None}
    apart = None if estimate.unit is Unit.SHARE else estimate.distinguishable
    return estimate_row(fields) | {"distinguishable": apart}
