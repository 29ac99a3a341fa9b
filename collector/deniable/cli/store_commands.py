"""``deniable store``: whether it is in order, its copies, its schema."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path

import click

from deniable.cli.options import a_file, directory_option
from deniable.directory import Config, check_store, signed_surveys, store_text, with_store
from deniable.stores import Store, StoreError, back_up, migrate_store, restore


@click.group()
def store() -> None:
    """Check, copy or migrate the collector's store."""


@store.command(short_help="Recount the receipts, and compare.")
@directory_option
@click.pass_context
def check(ctx: click.Context, directory: Path) -> None:
    """Recount the receipts; print every discrepancy, and exit with 1 if there is any.

    The server may be running. Counts must match the kept receipts and the seals, and figures must
    not show reports that were never counted.
    """
    faults = with_store(Config.load(directory), lambda store: store.check())
    for fault in faults:
        click.echo(fault)
    if faults:
        ctx.exit(1)
    click.echo("the store is in order")


@store.command(short_help="Copy the store into FILE.")
@click.argument("file", type=a_file)
@directory_option
def backup(file: Path, directory: Path) -> None:
    """Copy the whole store, as of one moment, into the new FILE; the server may run.

    FILE appears only when it is complete and checked; an older schema is not migrated. A backup
    contains receipts that the store erases later: keep it as safe as the store, and only as long as
    you need it.
    """
    config = Config.load(directory)
    if isinstance(config.store, Path):
        # Not opened as a store: an older schema must be backed up before its migration.
        check_store(config)
        asyncio.run(back_up(config.store, file))
    else:
        with_store(config, lambda store: back_up(store, file))
    # A store with an older schema or without write access stores no note; the backup exists.
    with suppress(StoreError):
        with_store(config, lambda store: store.note_backup(int(time.time())))
    click.echo(f"backup    {file}, {file.stat().st_size:,} bytes")


@store.command("restore", short_help="Fill an empty store from FILE.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@directory_option
def restore_store(file: Path, directory: Path) -> None:
    """Fill the collector's store, which must be empty, from the backup FILE.

    Use the command after the loss of a store. The backup lacks all later reports, which devices
    will not send again, and all later seals, ended surveys, distrusted issuers and revoked tokens.
    Repeat the changes that must still apply.

    A backup made while no collector runs lacks nothing. Use one to move a store or change its kind.
    """
    config = Config.load(directory)

    async def work(store: Store) -> tuple[int, int]:
        await restore(store, file)
        offered, others = await signed_surveys(store, config)
        return len(offered) + others, others

    surveys, others = with_store(config, work, create=True)
    click.echo(f"restored  {surveys} surveys, {surveys - others} of them signed by this authority")
    click.echo(f"store     {store_text(config)}")
    if others:
        click.echo(
            f"warning {others} surveys are not offered, because another authority signed them: is "
            "`authority` in collector.toml the key that apps pin?"
        )


@store.command(short_help="Migrate the store's schema to this version.")
@directory_option
def migrate(directory: Path) -> None:
    """Migrate the store's schema to this version of deniable, and show the schema's version.

    Back up the store first: older versions cannot read it afterwards.
    """
    config = Config.load(directory)
    check_store(config)
    before, now = asyncio.run(migrate_store(config.store))
    click.echo(f"schema    version {now}" + ("" if before == now else f", was {before}"))
    click.echo(f"store     {store_text(config)}")
