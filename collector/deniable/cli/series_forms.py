"""A series for people: an epoch a line."""

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable.documents import level_text, number_text
from deniable.documents.bars import NOWHERE, bar
from deniable.documents.terminal import print_alerts, print_notes
from deniable.estimates import Answers, Estimate, Series
from deniable.estimates.estimate import Unit
from deniable.reading import instant_text

_BAR_WIDTH = 20
_MOST_TABLES = 12
_DAY = 86_400


def show_series(series: Series, groups: tuple[Answers, ...], level: float, screen: Console) -> None:
    """Print a table for each group of answers, or each category.

    Raises:
        click.ClickException: if there are too many for people.
    """
    figures = list(series.figures(*groups))
    if len(figures) > _MOST_TABLES:
        raise click.ClickException(
            f"{len(figures):,} answers are too many to show: name some with --share, or take "
            "--json or --csv"
        )
    cautions = series.cautions_of(figures)
    print_alerts(cautions, screen)
    daily = all(point.end - point.start >= _DAY for point in series.points)
    several = len({point.survey_id for point in series.points}) > 1
    for label, shares in figures:
        screen.print(Text(label, style="bold"))
        table = Table(box=None, pad_edge=False)
        interval = f"{level_text(level)} interval"
        headings = ("epoch", "begins", "reports", "estimate", interval)
        for heading in (*(("survey",) if several else ()), *headings, ""):
            numbers = heading in headings and heading != "begins"
            table.add_column(heading, justify="right" if numbers else "left", no_wrap=True)
        for point, share in zip(series.points, shares, strict=True):
            table.add_row(
                *((point.survey_id[:6],) if several else ()),
                str(point.epoch),
                instant_text(point.start).partition(" " if daily else " UTC")[0],
                f"{point.n:,}" if point.n else "-",
                *_cells(share),
            )
        screen.print(table)
        screen.print()
    print_notes(cautions, screen, "Each epoch stands by itself.")


def _cells(share: Estimate | None) -> tuple[str, ...]:
    if share is None:
        return "-", "", ""
    if share.unit is not Unit.SHARE:
        value, low, high = (
            number_text(number, share.high - share.low)
            for number in (share.value, share.low, share.high)
        )
        return value, f"{low} – {high}", ""
    drawn = bar(share.value, share.low, share.high, _BAR_WIDTH)
    interval = NOWHERE if share.outside else f"{share.low:.1%} – {share.high:.1%}"
    return f"{share.value:.1%}", interval, drawn
