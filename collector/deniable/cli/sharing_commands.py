"""``deniable survey link``: who else may read a survey's figures."""

import time
from functools import partial
from pathlib import Path
from typing import Final

import click

from deniable.cli.options import days, directory_option, json_option
from deniable.cli.screen import show_rows
from deniable.cli.sources import find_survey
from deniable.cli.token_commands import find_token, identifier_of
from deniable.directory import Config, store_text, with_store
from deniable.directory.collector_directory import links, new_link
from deniable.documents import Column, Document, Table
from deniable.reading import instant_text
from deniable.reading.epochs import UNITS
from deniable.stores import Store, Token

_COLUMNS: Final = (
    Column("id", "id", "name"),
    Column("survey", "survey", "name"),
    Column("created_at", "made", "name", cell=lambda row: instant_text(row["created_at"])),
    Column("ends_at", "ends", "name", cell=lambda row: instant_text(row["ends_at"])),
    Column("label", "label"),
)


@click.command()
@click.argument("name", required=False)
@directory_option
@click.option(
    "--for", "length", type=days, default="30d", show_default=True, help="Lifetime of the link."
)
@click.option("--label", default="", help="Name of the link's reader, for your own records.")
@click.option(
    "--list",
    "listed",
    is_flag=True,
    help="List the links that are not revoked; without NAME, those of all surveys.",
)
@click.option("--revoke", metavar="ID", help="Immediately revoke the link whose id begins with ID.")
@json_option
def link(
    name: str | None,
    directory: Path,
    length: int,
    label: str,
    listed: bool,
    revoke: str | None,
    *,
    as_json: bool,
) -> None:
    """Create a link to the figures of NAME and print it once; or list links, or revoke one.

    A link gives access to the figures of all surveys with this name, and to nothing else. A running
    server accepts a new link immediately.
    """
    if not label.isprintable():
        raise click.BadParameter("must not contain control characters", param_hint="--label")
    if listed and revoke is not None:
        raise click.UsageError("give --list or --revoke, not both")
    config, now = Config.load(directory), time.time()

    if listed:
        _list(with_store(config, lambda store: links(store, name)), as_json=as_json)
        return
    if name is None:
        raise click.UsageError("Missing argument 'NAME': only --list works without it.")
    if revoke is not None:
        click.echo(f"revoked   {identifier_of(with_store(config, partial(_end, name, revoke)))}")
        click.echo(f"store     {store_text(config)}")
    else:

        async def make(store: Store) -> str:
            await find_survey(store, config, name)
            return await new_link(store, name, length, label, now)

        click.echo(f"{config.origin}/{with_store(config, make)}")
        # To stderr, so that a script that reads the link does not get it.
        click.echo(f"expires   {instant_text(int(now) + length * UNITS['day'])}", err=True)
        click.echo(f"store     {store_text(config)}", err=True)


async def _end(name: str, identifier: str, store: Store) -> Token:
    token = find_token(await links(store, name), identifier)
    await store.revoke_token(token.digest)
    return token


def _list(tokens: list[Token], *, as_json: bool) -> None:
    rows = [
        {
            "id": identifier_of(token),
            "survey": token.survey,
            "created_at": token.created_at,
            "ends_at": token.ends_at,
            "label": token.label,
        }
        for token in tokens
    ]
    heading = "" if rows else "there is no link; see: deniable survey link --help"
    show_rows(Document(tables=[Table(_COLUMNS, rows)], heading=heading), as_json=as_json)
