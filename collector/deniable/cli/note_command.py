"""``deniable survey note``: what happened when, beside a survey's figures over time."""

import time
from datetime import UTC, datetime
from pathlib import Path

import click

from deniable.cli.options import directory_option, json_option
from deniable.cli.screen import show_rows
from deniable.cli.surveys import find_survey
from deniable.directory import Config, store_text, with_store
from deniable.reading import instant_text, iso_time, notes_document
from deniable.stores import Note, Store, check_note


def _instant(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """Return Unix seconds of a date, which begins in UTC, or of a time with its offset."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        seconds = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (OverflowError, ValueError):
        seconds = -1
    if seconds < 0 or iso_time(seconds) is None:
        raise click.BadParameter(
            "must be a date such as 2026-11-20, or a time such as 2026-11-20T14:00+01:00"
        )
    return seconds


@click.command()
@click.argument("name")
@click.argument("text", required=False)
@directory_option
@click.option(
    "--at",
    metavar="WHEN",
    callback=_instant,
    help="Date or time, in UTC unless it has an offset.  [default: now]",
)
@click.option("--list", "listing", is_flag=True, help="Show the notes of NAME.")
@click.option("--remove", is_flag=True, help="Remove the note of this time and TEXT.")
@json_option
def note(
    name: str,
    text: str | None,
    directory: Path,
    at: int | None,
    listing: bool,
    remove: bool,
    as_json: bool,
) -> None:
    """Note that TEXT happened: it stands beside the figures of NAME over time.

    Whoever may read these figures reads it, anyone of a public survey.
    """
    if listing == (text is not None) or (listing and (remove or at is not None)):
        raise click.UsageError("give a TEXT, or --list alone")
    if remove and at is None:
        raise click.UsageError("--remove needs the note's time: --at WHEN, as --list shows it")
    config = Config.load(directory)

    async def listed(store: Store) -> list[Note]:
        await find_survey(store, config, name)
        return await store.notes(name)

    if text is None:
        show_rows(notes_document(with_store(config, listed)), as_json=as_json)
        return
    try:
        made = Note(int(time.time()) if at is None else at, check_note(text))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="TEXT") from error

    async def work(store: Store) -> None:
        await find_survey(store, config, name)
        if not remove:
            await store.add_note(name, made)
        elif not await store.remove_note(name, made):
            raise click.ClickException(
                "there is no such note; see: deniable survey note NAME --list,"
                " and give its time and text"
            )

    with_store(config, work)
    click.echo(f"{'removed' if remove else 'noted'}     {instant_text(made.at)}  {made.text}")
    click.echo(f"store     {store_text(config)}")
