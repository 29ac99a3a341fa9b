"""``deniable survey link``: who else may read a survey's figures."""

import time
from pathlib import Path

import click

from deniable.cli.options import Whole, directory_option
from deniable.cli.sources import find_survey
from deniable.directory import Config, store_text, with_store
from deniable.directory.collector_directory import MOST_DAYS, new_link
from deniable.reading import instant_text
from deniable.reading.epochs import UNITS
from deniable.stores import Store


@click.command()
@click.argument("name")
@directory_option
@click.option(
    "--days",
    type=Whole(1, MOST_DAYS),
    default=30,
    show_default=True,
    help="Lifetime of the link.",
)
@click.option("--label", default="", help="Name of the link's reader, for your own records.")
def link(name: str, directory: Path, days: int, label: str) -> None:
    """Create a link to the figures of NAME, and print it once.

    A link gives access to the figures of all surveys with this name, and to nothing else. A running
    server accepts a new link immediately. `token list` and `token revoke` apply to links, too.
    """
    if not label.isprintable():
        raise click.BadParameter("must not contain control characters", param_hint="--label")
    config, now = Config.load(directory), time.time()

    async def make(store: Store) -> str:
        await find_survey(store, config, name)
        return await new_link(store, name, days, label, now)

    click.echo(f"{config.origin}/{with_store(config, make)}")
    # To stderr, so that a script that reads the link does not get it.
    click.echo(f"expires   {instant_text(int(now) + days * UNITS['day'])}", err=True)
    click.echo(f"store     {store_text(config)}", err=True)
