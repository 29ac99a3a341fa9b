"""``deniable gateway``: the keys under which a collector opens what comes through a relay."""

import time
from pathlib import Path

import click

from deniable.cli.options import a_file, confirm, directory_option, yes_option
from deniable.directory import Config, authority_chain, read_newest_key, signed_surveys, with_store
from deniable.directory.gateway_file import (
    GatewayFile,
    first_gateway,
    read_gateway_file,
    rotated_gateway,
    write_gateway_file,
)
from deniable.directory.log_publishing import begin_publishing
from deniable.messages import GATEWAY_PATH, Manifest, day_text
from deniable.stores import Store

authority_key_option = click.option(
    "--authority-key",
    type=a_file,
    help="The authority's private key.  [default: where init or authority rotate put it]",
)


@click.group()
def gateway() -> None:
    """Keys under which the collector opens what comes through a relay."""


@gateway.command(short_help="Make the first key, and so a gateway.")
@directory_option
@authority_key_option
def new(directory: Path, authority_key: Path | None) -> None:
    """Make the first gateway key, and sign it; a running server begins to open requests.

    No survey changes. `deniable survey export` puts the signed keys into bundles from now on.
    """
    config = Config.load(directory)
    if config.gateway_keys.exists():
        raise click.ClickException(
            f"{config.gateway_keys} exists; `deniable gateway rotate` adds a key to it"
        )
    chain, _ = _published(config)
    key_file, signer = read_newest_key(directory, authority_key, chain[-1])
    file = first_gateway(config.origin, signer, time.time())
    _keep(config, file, (signer.public_key,), key_file)


@gateway.command(short_help="Add a key in front of the others.")
@directory_option
@authority_key_option
@click.option(
    "--drop-older",
    is_flag=True,
    help="Erase all older keys, as after a theft: devices that know no newer key are cut off "
    "until their app brings one.",
)
@yes_option
def rotate(directory: Path, authority_key: Path | None, drop_older: bool, yes: bool) -> None:
    """Add a new gateway key, for which devices seal once they know of it.

    The others are kept until all surveys are over, grace included, that were published so far: apps
    bundle them together. What nothing needs any more is erased.
    """
    config = Config.load(directory)
    file = read_gateway_file(config.gateway_keys)
    chain, surveys = _published(config)
    listed = file.opened(chain)
    key_file, signer = read_newest_key(directory, authority_key, chain[-1])
    if drop_older:
        confirm(yes, "Cut off devices that know no newer gateway key than those of now?")
        file = GatewayFile(file.signed, file.private_bytes, {})
        surveys = []
    _keep(config, rotated_gateway(file, listed, signer, surveys, time.time()), chain, key_file)


@gateway.command(short_help="Show the keys, and how long each is needed.")
@directory_option
def show(directory: Path) -> None:
    """Show the gateway's keys, the one that devices seal for first, and how long each is needed."""
    config = Config.load(directory)
    chain, _ = _published(config)
    _show(read_gateway_file(config.gateway_keys), chain)


def _published(config: Config) -> tuple[tuple[bytes, ...], list[Manifest]]:
    async def work(store: Store) -> tuple[tuple[bytes, ...], list[Manifest]]:
        surveys, _ = await signed_surveys(store, config)
        return await authority_chain(store, config.authority), surveys

    return with_store(config, work)


def _keep(config: Config, file: GatewayFile, chain: tuple[bytes, ...], key_file: Path) -> None:
    async def log(store: Store) -> None:
        publisher = await begin_publishing(store, config, key_file)
        if (extension := publisher.extension([file.signed])) is not None:
            await store.extend_log(extension)
        await publisher.committed()

    # Before anybody is offered them.
    with_store(config, log)
    write_gateway_file(config.gateway_keys, file)
    _show(file, chain)
    click.echo(f"kept in     {config.gateway_keys}  (private)")
    click.echo(
        "\nCopy that file to every machine that serves this collector, and put the keys into"
    )
    click.echo("your app's next version: deniable survey export NAME --out FILE")


def _show(file: GatewayFile, chain: tuple[bytes, ...]) -> None:
    listed = file.opened(chain)
    click.echo(f"gateway     {listed.origin}{GATEWAY_PATH}")
    click.echo(f"sequence    {listed.sequence}")
    for key in listed.configurations:
        end = file.needed_until.get(key.key_id)
        until = "devices seal for it" if end is None else f"needed until {day_text(end)}"
        click.echo(f"key {key.key_id:<7} {key.public_key.hex()}  ({until})")
