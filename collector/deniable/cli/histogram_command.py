"""``deniable hist``: the debiased histogram of a survey, as a table, JSON or CSV."""

import json
import math
from pathlib import Path
from typing import Any

import click

from deniable.cli.histogram_forms import histogram_csv, show_histogram
from deniable.cli.options import directory_option
from deniable.cli.screen import console
from deniable.cli.workplace import find_survey, published, with_store
from deniable.estimates import Histogram, estimate_histogram
from deniable.messages import Manifest
from deniable.server import Config
from deniable.stores import Store, shown_figures

__all__ = ["hist"]


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
    histogram, step = _read(Config.load(directory), name, survey_id, epoch, level)
    if form == "json":
        click.echo(json.dumps(histogram.to_dict(), indent=2, ensure_ascii=False))
    elif form == "csv":
        click.echo(histogram_csv(histogram), nl=False)
    else:
        show_histogram(histogram, console(), step)


def _read(
    config: Config, name: str, survey_id: str | None, epoch: int | None, level: float
) -> tuple[Histogram, int]:
    """Return the histogram, and in steps of how many reports figures appear."""

    async def work(store: Store) -> tuple[Histogram, int]:
        manifest = await find_survey(store, config, name, survey_id)
        epochs = manifest.schedule.epochs
        if epoch is not None and epoch >= epochs:
            raise click.ClickException(f"{name} has epochs 0 to {epochs - 1}")
        figures = await shown_figures(store, manifest, epoch)
        if figures is None:
            where = "yet" if epoch is None else f"for epoch {epoch}"
            older = await _older_with_figures(store, config, manifest)
            hint = f"; an older survey has some: --survey {older}" if older else ""
            raise click.ClickException(
                f"no figures {where}: they appear from {max(1, manifest.minimum_reports)} reports "
                f"of an epoch on{hint}"
            )
        histogram = estimate_histogram(
            manifest, figures.epoch, figures.counts, level, distrusted=figures.distrusted
        )
        return histogram, manifest.minimum_reports

    return with_store(config, work)


async def _older_with_figures(store: Store, config: Config, newest: Manifest) -> str | None:
    """Return how the id of the newest older survey with figures begins, if there is one."""
    for manifest in await published(store, config):
        older = manifest.name == newest.name and manifest.sequence < newest.sequence
        if older and await store.newest_epoch(manifest.survey_id) is not None:
            return manifest.survey_id.hex()[:12]
    return None
