"""``deniable hist``: the debiased histogram of a survey, as a table, JSON or CSV."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from deniable.cli.bars import bar
from deniable.cli.options import directory_option
from deniable.cli.screen import console
from deniable.cli.workplace import find_survey, with_store
from deniable.estimates import Histogram, estimate_histogram
from deniable.server import Config
from deniable.stores import SqliteStore, shown_figures

__all__ = ["hist"]

_FORMULA_SIGNS = tuple("=+-@\t\r")
_CSV_COLUMNS = (
    "survey",
    "survey_id",
    "epoch",
    "n",
    "category",
    "raw",
    "estimate",
    "standard_error",
    "low",
    "high",
    "level",
    "method",
)


class _Level(click.FloatRange):
    """A number in (0, 1); NaN, which every comparison lets through, is not."""

    def __init__(self) -> None:
        super().__init__(0, 1, min_open=True, max_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        level = float(super().convert(value, param, ctx))
        if math.isnan(level):
            self.fail("must be in (0, 1), such as 0.95", param, ctx)
        return level


@click.command(short_help="Show the debiased histogram of a survey.")
@click.argument("name")
@directory_option
@click.option("--survey", "survey_id", help="Its id, or how it begins.  [default: newest]")
@click.option("--epoch", type=click.IntRange(0), help="Which epoch.  [default: newest with data]")
@click.option(
    "--level",
    type=_Level(),
    default=0.95,
    show_default=True,
    help="Confidence level of each interval.",
)
@click.option("--json", "form", flag_value="json", help="Print JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print CSV.")
def hist(
    name: str,
    directory: Path,
    survey_id: str | None,
    epoch: int | None,
    level: float,
    form: str | None,
) -> None:
    """Show the debiased histogram of the newest survey of NAME, with intervals.

    Surveys of one name but different ids are never pooled.
    """
    histogram = _read(Config.load(directory), name, survey_id, epoch, level)
    if form == "json":
        click.echo(json.dumps(histogram.to_dict(), indent=2, ensure_ascii=False))
    elif form == "csv":
        click.echo(_csv(histogram), nl=False)
    else:
        _show(histogram)


def _read(
    config: Config, name: str, survey_id: str | None, epoch: int | None, level: float
) -> Histogram:
    async def work(store: SqliteStore) -> Histogram:
        manifest = await find_survey(store, config, name, survey_id)
        epochs = manifest.schedule.epochs
        if epoch is not None and epoch >= epochs:
            raise click.ClickException(f"{name} has epochs 0 to {epochs - 1}")
        figures = await shown_figures(store, manifest, epoch)
        if figures is None:
            where = "yet" if epoch is None else f"for epoch {epoch}"
            raise click.ClickException(
                f"no figures {where}: they appear from {max(1, manifest.minimum_reports)} reports "
                "of an epoch on"
            )
        return estimate_histogram(manifest, figures.epoch, figures.counts, level)

    return with_store(config, work)


def _show(histogram: Histogram) -> None:
    screen = console()
    screen.print(Text(histogram.question, style="bold"))
    screen.print(
        f"{histogram.survey}, epoch {histogram.epochs[0]}; reports: {histogram.n:,}; epsilon "
        f"{histogram.epsilon}"
        + ("" if histogram.delta == "0" else f", delta {histogram.delta}")
        + "\n"
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("category", overflow="fold")
    for heading in ("raw", "estimate", "std error", f"{100 * histogram.level:.4g} % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for i, category in enumerate(histogram.categories):
        error = float(histogram.standard_error[i])
        table.add_row(
            Text(category),
            f"{int(histogram.raw[i]):,}",
            f"{float(histogram.estimate[i]):.1%}",
            "-" if math.isnan(error) else f"{error:.1%}",
            f"{float(histogram.low[i]):.1%} – {float(histogram.high[i]):.1%}"
            + ("!" if histogram.outside[i] else ""),
            bar(float(histogram.estimate[i]), float(histogram.low[i]), float(histogram.high[i])),
        )
    screen.print(table)
    screen.print(
        f"\nEstimates are unbiased and may leave [0 %, 100 %]; each interval stands by itself. "
        f"Raw counts contain the noise. One false report moves an estimate by up to "
        f"{histogram.influence / histogram.n:.2%}. Devices: {histogram.enrolment}.",
        style="dim",
    )
    if histogram.outside.any():
        screen.print("! the whole interval lay outside [0, 1]: chance, or false reports")


def _csv(histogram: Histogram) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for i, category in enumerate(histogram.categories):
        writer.writerow(
            {
                "survey": histogram.survey,
                "survey_id": histogram.survey_id,
                "epoch": histogram.epochs[0],
                "n": histogram.n,
                # A spreadsheet would run a cell that looks like a formula.
                "category": f"'{category}" if category.startswith(_FORMULA_SIGNS) else category,
                "raw": int(histogram.raw[i]),
                "estimate": float(histogram.estimate[i]),
                "standard_error": _number(float(histogram.standard_error[i])),
                "low": float(histogram.low[i]),
                "high": float(histogram.high[i]),
                "level": histogram.level,
                "method": histogram.methods[i].value,
            }
        )
    return stream.getvalue()


def _number(value: float) -> float | str:
    return "" if math.isnan(value) else value
