"""The distribution of ordered answers, as every surface shows it: quartiles, and the curve."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable.documents.json import Json
from deniable.estimates.charts import SHARES, Dot, Panel, Picture, series_chart
from deniable.estimates.curves import CumulativeCurve
from deniable.estimates.pictures import WIDTH, simultaneous_levels
from deniable.estimates.quantiles import QUARTILES, Quantile, quantiles

if TYPE_CHECKING:
    from deniable.estimates.histogram import Histogram

_WORTH: Final = 0.5
"""A band over more than this, on average, says too little to be shown."""
_LARGE: Final = 1000
"""Of fewer reports the band may hold less often than it says: at epsilon 6, of 100 in 78 %."""
_HIGH: Final = 220
WITHHELD: Final = (
    "Shares up to each answer are not shown: of so few reports, a band for all of them says too "
    "little, or does not hold as often as it should."
)


@dataclass(frozen=True, slots=True)
class Distribution:
    """Quartiles by the names of answers, and the cumulative curve, of so many reports."""

    reports: int
    quartiles: tuple[Quantile[str], ...]
    curve: CumulativeCurve

    @classmethod
    def of(cls, histogram: "Histogram") -> "Distribution":
        """Return the distribution of a histogram whose answers have an order."""
        sample, names, numeric = histogram.sample, histogram.categories, histogram.numeric
        if numeric is None or histogram.values is None:
            probabilities = tuple(QUARTILES)
            quartiles = quantiles(
                sample.mechanism, sample.tally, names, probabilities, histogram.level
            )
        else:  # they are known, as numbers
            named = dict(zip(map(float, histogram.values), names, strict=True))
            quartiles = tuple(
                Quantile(
                    one.probability, named[one.value], named[one.low], named[one.high], one.level
                )
                for one in numeric.quartiles
            )
        return cls(sample.tally.n, quartiles, histogram.cumulative())

    @property
    def withheld(self) -> bool:
        """Return whether the band says too little, or holds too seldom, to be shown to people."""
        return self.curve.width > _WORTH or self.reports < _LARGE

    @property
    def rows(self) -> list[Json]:
        """Return a row for each share of the curve, with its part of the band."""
        curve = self.curve
        columns = (curve.estimate, curve.rising, curve.low, curve.high)
        return [
            {"category": name, "estimate": value, "rising": rising, "low": low, "high": high}
            for name, value, rising, low, high in zip(
                curve.categories, *(column.tolist() for column in columns), strict=True
            )
        ]


def curve_picture(
    curve: CumulativeCurve,
    title: str = "",
    width: float = WIDTH,
    *,
    heading: bool = True,
    notes: Sequence[str] = (),
) -> Picture:
    """Return the chart of a curve in its band; steps, since answers are single values."""
    rows = zip(curve.rising.tolist(), curve.low.tolist(), curve.high.tolist(), strict=True)
    dots = tuple(Dot("", value, None, (low, high)) for value, low, high in rows)
    svg = series_chart(
        [Panel("share up to each answer", dots)],
        curve.categories,
        width=width,
        title=title or "Shares up to each answer",
        heading=heading,
        notes=notes,
        scale=SHARES,
        levels=simultaneous_levels(curve.level),
        high=_HIGH,
    )
    return Picture(svg)
