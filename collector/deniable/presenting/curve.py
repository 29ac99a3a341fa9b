"""Quantiles in words, and the distribution of ordered answers: its rows and its chart."""

from collections.abc import Sequence
from typing import Any, Final

from deniable.documents import Caution, Column, Table, level_text
from deniable.documents.programs import Json
from deniable.estimates.curve import QUARTILES, CumulativeCurve, Distribution, Quantile
from deniable.presenting.cautions import DisplayedFigures, furthest, with_cautions
from deniable.presenting.charts import SHARES, Dot, Panel, Picture, series_chart
from deniable.presenting.pictures import WIDTH, simultaneous_levels
from deniable.reading.epochs import reporters

_HIGH: Final = 220
WITHHELD: Final = (
    "Shares up to each answer are not shown: of so few reports, a band for all of them says too "
    "little, or does not hold as often as it should."
)


def quantile_name(quantile: Quantile[Any]) -> str:
    """Return which quantile it is, for people."""
    return QUARTILES.get(quantile.probability, f"{level_text(quantile.probability)} quantile")


def quantile_sentence(quantile: Quantile[Any]) -> str:
    """Return the quantile in words, as it can be published."""
    value, low, high = map(answer_text, (quantile.value, quantile.low, quantile.high))
    interval = f"{level_text(quantile.level)} interval {low} to {high}"
    whom = reporters(quantile.share.samples[0].place if quantile.share else "")
    statement = f"The {quantile_name(quantile)} of what {whom} answered: {value} ({interval})."
    return with_cautions(statement, quantile_cautions(quantile))


def quantile_cautions(quantile: Quantile[Any]) -> tuple[Caution, ...]:
    """Return the cautions of its use: of fakes nobody knows more than how far the share moves."""
    if (share := quantile.share) is None:
        return ()
    moved = furthest([share], "the share up to it")
    return DisplayedFigures(share.samples, *moved, level=quantile.level).cautions


def answer_text(answer: str | float) -> str:
    """Return an answer, a name or a number, as it is written in a sentence."""
    return answer if isinstance(answer, str) else f"{answer:.12g}"


def quantile_table(quantiles: Sequence[Quantile[Any]], title: str = "") -> Table:
    """Return a row a quantile, for people and programs."""
    numbers = any(not isinstance(one.value, str) for one in quantiles)
    columns = [
        Column("name", "figure"),
        Column("value", "answer", "exact" if numbers else "text"),
        Column("reach", "from – to"),
        *(Column(key) for key in ("probability", "low", "high", "level")),
    ]
    rows = [
        {
            "name": quantile_name(one),
            "value": one.value,
            "reach": " – ".join(dict.fromkeys(map(answer_text, (one.low, one.high)))),
            "probability": one.probability,
            "low": one.low,
            "high": one.high,
            "level": one.level,
        }
        for one in quantiles
    ]
    return Table(columns, rows, title=title)


def curve_rows(distribution: Distribution) -> list[Json]:
    """Return a row for each share of the curve, with its part of the band."""
    curve = distribution.curve
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
