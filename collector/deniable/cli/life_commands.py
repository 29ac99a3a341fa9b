"""``deniable survey seal``, ``end``, ``distrust-issuer``, ``note`` and ``link``.

A running server seals and ends by the clock; use these if you cannot wait.
"""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from deniable.cli.options import Whole, confirm, directory_option, survey_option, yes_option
from deniable.cli.sources import find_survey, published
from deniable.directory import Config, store_text, with_store
from deniable.directory.collector_directory import MOST_DAYS, new_link
from deniable.directory.store_source import shown_seal
from deniable.messages import Manifest, check_public_key
from deniable.messages.enrolment import blind_issuer_id
from deniable.messages.texts import is_host_name
from deniable.reading import instant_text, iso_time
from deniable.reading.epochs import UNITS
from deniable.stores import Note, Seal, Store, check_note

_HELD_BACK: Final = (
    "not all reports are shown: fewer than minimum_reports arrived after the reports shown"
)


@click.command()
@click.argument("name")
@survey_option
@directory_option
@click.argument("epoch", type=Whole(0))
@click.option("--early", is_flag=True, help="Seal the epoch even if it still accepts reports.")
@yes_option
def seal(
    name: str, survey_id: str | None, directory: Path, epoch: int, early: bool, yes: bool
) -> None:
    """Seal EPOCH of NAME for good: no more reports are accepted, even if a clock is set back.

    A running server seals the epoch itself once the epoch and its grace period are over.
    """
    config = Config.load(directory)

    async def work(store: Store) -> Seal:
        manifest = await find_survey(store, config, name, survey_id)
        if epoch >= manifest.schedule.epochs:
            raise click.ClickException(f"{name} has epochs 0 to {manifest.schedule.epochs - 1}")
        standing = await store.standing_seal(manifest.survey_id, epoch)
        if standing is not None:
            return await shown_seal(store, manifest, standing)
        closes = manifest.schedule.closes(epoch)
        if int(time.time()) < closes and not early:
            raise click.ClickException(
                f"epoch {epoch} accepts reports until {instant_text(closes)}; --early seals "
                "it now and refuses later reports"
            )
        confirm(yes, f"Seal epoch {epoch} of {_called(manifest)} for good?")
        made = await store.seal(manifest.survey_id, epoch, int(time.time()))
        return await shown_seal(store, manifest, made)

    made = with_store(config, work)
    click.echo(f"sealed    epoch {made.epoch}, {instant_text(made.sealed_at)}")
    click.echo("reports   " + (_HELD_BACK if made.reports is None else f"{made.reports:,}"))
    # With the digest, readers could find the few withheld counts by hashing.
    click.echo("digest    " + (made.digest.hex() or "also withheld"))
    click.echo(f"store     {store_text(config)}")


@click.command()
@click.argument("name")
@survey_option
@directory_option
@yes_option
def end(name: str, survey_id: str | None, directory: Path, yes: bool) -> None:
    """End the newest survey of NAME for good: no more reports are accepted, for any epoch.

    A running server ends the survey itself when all epochs are sealed. Figures stay. A later survey
    with the same name is a separate survey.
    """
    config = Config.load(directory)

    async def work(store: Store) -> Manifest:
        manifest = await find_survey(store, config, name, survey_id)
        if manifest.survey_id not in await store.ended():
            confirm(yes, f"End {_called(manifest)} for good?")
            await store.end(manifest.survey_id, int(time.time()))
        return manifest

    click.echo(f"ended     {_called(with_store(config, work))}")
    click.echo(f"store     {store_text(config)}")


@click.command("distrust-issuer")
@click.argument("issuer")
@directory_option
@yes_option
def distrust_issuer(issuer: str, directory: Path, yes: bool) -> None:
    """Refuse all further reports that ISSUER vouches for.

    ISSUER is a certifying issuer's public key (64 hex digits), or a blind issuer's host name. This
    is final and applies to every survey. Counted reports stay; histograms show their number.
    """
    config = Config.load(directory)
    if len(issuer) == 64 and not set(issuer) - set("0123456789abcdef"):
        issuer_id = bytes.fromhex(issuer)
        check_public_key(issuer_id)
    elif is_host_name(issuer):
        issuer_id = blind_issuer_id(issuer)
    else:
        text = "must be 64 lower-case hex digits or a host name"
        raise click.BadParameter(text, param_hint="ISSUER")

    async def work(store: Store) -> list[str]:
        listed = [
            _called(manifest)
            for manifest in await published(store, config)
            if issuer_id in manifest.enrolment.issuer_ids
        ]
        if not listed:
            # No report from this issuer is accepted anyway, so the name was probably mistyped.
            raise click.ClickException(
                "no published survey names this issuer; is the name or key correct?"
            )
        if issuer_id not in await store.distrusted():
            confirm(yes, f"Distrust this issuer of {', '.join(listed)} for good?")
            await store.distrust(issuer_id, int(time.time()))
        return listed

    listed = with_store(config, work)
    click.echo(f"distrusted  {issuer}")
    click.echo(f"named by    {', '.join(listed)}")
    click.echo(f"store       {store_text(config)}")


def _called(manifest: Manifest) -> str:
    return f"{manifest.name} (sequence {manifest.sequence})"


def _instant(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """Return the Unix seconds of a date's beginning in UTC, or of a time with an offset."""
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
@click.argument("text")
@directory_option
@click.option(
    "--at",
    metavar="WHEN",
    callback=_instant,
    help="Date or time, in UTC unless it has an offset.  [default: now]",
)
@click.option("--remove", is_flag=True, help="Remove the note with this time and TEXT.")
def note(name: str, text: str, directory: Path, at: int | None, remove: bool) -> None:
    """Add the note TEXT to the figures of NAME over time.

    Anyone who may read these figures can read the note: `ask trend NAME --json` lists notes.
    """
    if remove and at is None:
        raise click.UsageError("--remove needs the note's time: --at WHEN")
    config = Config.load(directory)
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
                "there is no such note; give its time and text as shown by: deniable ask trend "
                "NAME --json"
            )

    with_store(config, work)
    click.echo(f"{'removed' if remove else 'noted'}     {instant_text(made.at)}  {made.text}")
    click.echo(f"store     {store_text(config)}")


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
