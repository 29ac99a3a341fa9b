"""``deniable hist``: the debiased histogram of a survey, or its epochs; as table, JSON or CSV."""

import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable.cli.options import directory_option, json_option
from deniable.cli.screen import console
from deniable.cli.survey_terms import appear_text, supporting_text
from deniable.cli.surveys import find_survey, published
from deniable.messages import Manifest
from deniable.publishing.collector_directory import with_store
from deniable.server import Config
from deniable.stores import Store, shown_figures

if TYPE_CHECKING:  # numpy: --help does not wait for it
    from deniable.estimates import Histogram


class _Level(click.FloatRange):
    """A number in (0, 1), in ASCII; NaN, which every comparison lets through, is not."""

    def __init__(self) -> None:
        super().__init__(0, 1, min_open=True, max_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        level = float(super().convert(value, param, ctx))
        if math.isnan(level) or not str(value).isascii():
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
@click.option("--epochs", "listing", is_flag=True, help="List the epochs that have figures.")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
def hist(
    name: str,
    directory: Path,
    survey_id: str | None,
    epoch: int | None,
    level: float,
    listing: bool,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show the debiased histogram of the newest survey of NAME, with intervals.

    Surveys of one name but different ids are never pooled.
    """
    if as_json and as_csv:
        raise click.UsageError("--json or --csv, not both")
    config = Config.load(directory)
    if listing:
        from deniable.cli.epoch_list import epoch_list_csv, list_epochs, show_epochs

        if epoch is not None:
            raise click.UsageError("--epochs lists them all: leave out --epoch")
        listed = with_store(
            config, lambda store: list_epochs(store, config, name, survey_id, time.time())
        )
        if as_json:
            click.echo(json.dumps(listed.to_dict(), indent=2))
        elif as_csv:
            click.echo(epoch_list_csv(listed), nl=False)
        else:
            show_epochs(listed, console())
        return
    from deniable.cli.histogram_forms import show_histogram
    from deniable.estimates import histogram_csv

    histogram, step, older, supporting = _read(config, name, survey_id, epoch, level)
    if as_json:
        click.echo(json.dumps(histogram.to_dict(), indent=2, ensure_ascii=False))
    elif as_csv:
        click.echo(histogram_csv(histogram), nl=False)
    else:
        show_histogram(histogram, console(), step, older, supporting)


def _read(
    config: Config, name: str, survey_id: str | None, epoch: int | None, level: float
) -> "tuple[Histogram, int, str | None, str | None]":
    """Return the histogram, and what is told beside it: steps, an older survey, what supports."""
    from deniable.estimates import epoch_standing, estimate_histogram

    async def work(store: Store) -> "tuple[Histogram, int, str | None, str | None]":
        manifest = await find_survey(store, config, name, survey_id)
        epochs = manifest.schedule.epochs
        if epoch is not None and epoch >= epochs:
            raise click.ClickException(f"{name} has epochs 0 to {epochs - 1}")
        older = await _older_with_figures(store, config, manifest)
        figures = await shown_figures(store, manifest, epoch)
        if figures is None:
            where = "yet" if epoch is None else f"for epoch {epoch}"
            hint = f"; an older survey has some: --survey {older}" if older else ""
            raise click.ClickException(f"no figures {where}: they {appear_text(manifest)}{hint}")
        histogram = estimate_histogram(
            manifest,
            figures.epoch,
            figures.counts,
            level,
            distrusted=figures.distrusted,
            standing=epoch_standing(manifest.schedule, figures.epoch, time.time(), figures.seal),
        )
        supporting = supporting_text(manifest.mechanism)
        return histogram, manifest.minimum_reports, older, supporting

    return with_store(config, work)


async def _older_with_figures(store: Store, config: Config, newest: Manifest) -> str | None:
    """Return how the id of the newest older survey with figures begins, if there is one."""
    for manifest in await published(store, config):
        older = manifest.name == newest.name and manifest.sequence < newest.sequence
        if older and await store.newest_epoch(manifest.survey_id) is not None:
            return manifest.survey_id.hex()[:12]
    return None
