"""``deniable authority`` and ``gateway``: a collector's keys, and their rotation."""

import time
from pathlib import Path

import click

from deniable.cli.options import authority_key_option, confirm, directory_option, yes_option
from deniable.directory import (
    Config,
    authority_chain,
    default_key_file,
    find_key_file,
    hand_over,
    read_authority_key,
    read_current_key,
    rotations_of,
    signed_surveys,
    store_text,
    with_store,
)
from deniable.directory.gateway_file import (
    GatewayFile,
    first_gateway,
    read_gateway_file,
    rotated_gateway,
    sign_gateway_anew,
    write_gateway_file,
)
from deniable.directory.log_publishing import begin_publishing
from deniable.key_files import KeyFileError, create_key_file
from deniable.messages import Manifest, Rotation, day_text, follow_rotations
from deniable.messages.gateway import GATEWAY_PATH
from deniable.stores import Store


@click.group()
def authority() -> None:
    """The key that signs manifests, and its rotation."""


@authority.command("show", short_help="Show the key that apps pin, and the key that signs now.")
@directory_option
def show_authority(directory: Path) -> None:
    """Show the key that apps pin, its rotations, and the key that signs now."""
    config = Config.load(directory)
    rotations = with_store(config, rotations_of)
    chain = follow_rotations(config.authority, rotations)
    sequences = {rotation.new_key: rotation.sequence for rotation in rotations}
    click.echo(f"apps pin   {chain[0].hex()}")
    for key in chain[1:]:
        click.echo(f"rotated    {key.hex()}  (sequence {sequences[key]})")
    click.echo(f"signs now  {chain[-1].hex()}")
    click.echo(f"its file   {_whereabouts(find_key_file(directory, chain[-1]), chain[-1])}")


def _whereabouts(file: Path, public_key: bytes) -> str:
    try:
        beside = read_authority_key(file).public_key == public_key
    except KeyFileError:
        beside = False
    return str(file) if beside else "not next to the collector's directory"


@authority.command("rotate", short_help="Replace the authority's key with a new one.")
@directory_option
@authority_key_option
@yes_option
def rotate_authority(directory: Path, authority_key: Path | None, yes: bool) -> None:
    """Replace the authority's key with a new one, and sign every survey again with the new key.

    Devices that pin the old key accept the new one; surveys keep their ids and figures. Rotate
    while only you have the old key: after a theft, only an app update helps.
    """
    config = Config.load(directory)
    rotations = with_store(config, rotations_of)
    chain = follow_rotations(config.authority, rotations)
    old_file = authority_key or find_key_file(directory, chain[-1])
    old = read_current_key(old_file, chain[-1])
    new_file = default_key_file(directory, len(rotations) + 2)
    # The next key may exist already, created by a failed attempt or another machine.
    confirm(yes, f"Replace {old_file} with {new_file} for good?")
    new = read_authority_key(new_file) if new_file.exists() else create_key_file(new_file)
    gateway = None  # created before the rotation, so that a broken file prevents it
    if config.gateway_keys.exists():
        gateway = sign_gateway_anew(read_gateway_file(config.gateway_keys), chain, new)

    async def work(store: Store) -> tuple[Rotation, int]:
        publisher = await begin_publishing(store, config, old_file)
        signed_keys = None if gateway is None else gateway.signed
        return await hand_over(store, config.authority, old, new, publisher, signed_keys)

    rotation, signed = with_store(config, work)
    if gateway is not None:
        write_gateway_file(config.gateway_keys, gateway)
        click.echo(f"gateway keys signed again in {config.gateway_keys}; copy the file as before")
    click.echo(f"rotated from   {old.public_key.hex()}")
    click.echo(f"rotated to     {new.public_key.hex()}  (sequence {rotation.sequence})")
    click.echo(f"authority key  {new_file}  (private; back it up, and keep it off the server)")
    click.echo(f"signed again   {signed} {'survey' if signed == 1 else 'surveys'}")
    click.echo(f"store          {store_text(config)}")
    click.echo("\nApps that pin an earlier key accept the new one; pin it in your next version.")
    click.echo("Leave `authority` in collector.toml as it is while older versions are in use.")


@click.group()
def gateway() -> None:
    """Keys that open requests from a relay."""


@gateway.command("new", short_help="Create the gateway with its first key.")
@directory_option
@authority_key_option
def new_gateway(directory: Path, authority_key: Path | None) -> None:
    """Create and sign the first gateway key; a running server then opens sealed requests.

    Surveys do not change. From now on, `deniable survey export` puts the signed keys into bundles.
    """
    config = Config.load(directory)
    if config.gateway_keys.exists():
        raise click.ClickException(
            f"{config.gateway_keys} already exists; `deniable gateway rotate` adds a key to it"
        )
    chain, _ = _published(config)
    key_file = authority_key or find_key_file(directory, chain[-1])
    signer = read_current_key(key_file, chain[-1])
    file = first_gateway(config.origin, signer, time.time())
    _keep(config, file, (signer.public_key,), key_file)


@gateway.command("rotate", short_help="Add a key, which becomes the current one.")
@directory_option
@authority_key_option
@click.option(
    "--drop-older",
    is_flag=True,
    help="Erase all older keys, for example after a theft: devices that know no newer key are cut "
    "off until an app update.",
)
@yes_option
def rotate_gateway(
    directory: Path, authority_key: Path | None, drop_older: bool, yes: bool
) -> None:
    """Add a gateway key, which devices use as soon as they know it.

    Older keys are kept until all surveys published so far and their grace are over, because apps
    bundle surveys with keys. Keys that are no longer needed are erased.
    """
    config = Config.load(directory)
    file = read_gateway_file(config.gateway_keys)
    chain, surveys = _published(config)
    listed = file.opened(chain)
    key_file = authority_key or find_key_file(directory, chain[-1])
    signer = read_current_key(key_file, chain[-1])
    if drop_older:
        confirm(yes, "Cut off devices that know only the current gateway keys?")
        file = GatewayFile(file.signed, file.private_bytes, {})
        surveys = []
    _keep(config, rotated_gateway(file, listed, signer, surveys, time.time()), chain, key_file)


@gateway.command("show", short_help="Show the keys, and how long each is needed.")
@directory_option
def show_gateway(directory: Path) -> None:
    """Show the gateway's keys, the current one first, and how long each is needed."""
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

    # Before the keys are offered to anybody.
    with_store(config, log)
    write_gateway_file(config.gateway_keys, file)
    _show(file, chain)
    click.echo(f"kept in     {config.gateway_keys}  (private)")
    click.echo(
        "\nCopy this file to every machine that serves this collector, and put the keys into"
    )
    click.echo("your app's next version: deniable survey export NAME --out FILE")


def _show(file: GatewayFile, chain: tuple[bytes, ...]) -> None:
    listed = file.opened(chain)
    click.echo(f"gateway     {listed.origin}{GATEWAY_PATH}")
    click.echo(f"sequence    {listed.sequence}")
    for key in listed.configurations:
        end = file.needed_until.get(key.key_id)
        until = "devices use it" if end is None else f"needed until {day_text(end)}"
        click.echo(f"key {key.key_id:<7} {key.public_key.hex()}  ({until})")
