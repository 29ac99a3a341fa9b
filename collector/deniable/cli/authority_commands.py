"""``deniable authority``: which key signs the manifests, and handing over to another."""

from pathlib import Path

import click

from deniable.cli.options import a_file, confirm, directory_option, yes_option
from deniable.directory import (
    Config,
    check_outside,
    default_key_file,
    find_key_file,
    hand_over,
    read_authority_key,
    read_newest_key,
    rotations_of,
    store_text,
    with_store,
)
from deniable.directory.gateway_file import read_gateway_file, sign_gateway_anew, write_gateway_file
from deniable.directory.log_publishing import begin_publishing
from deniable.key_files import KeyFileError, create_key_file
from deniable.messages import Rotation, follow_rotations
from deniable.stores import Store


@click.group()
def authority() -> None:
    """The key that signs manifests, and its rotation."""


@authority.command(short_help="Show which key apps pin, and which one signs now.")
@directory_option
def show(directory: Path) -> None:
    """Show which key apps pin, how it was rotated, and which one signs now."""
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
    return str(file) if beside else "not beside the collector's directory"


@authority.command(short_help="Hand over to a new key.")
@directory_option
@click.option(
    "--authority-key",
    type=a_file,
    help="The private key that signs now.  [default: where init or authority rotate put it]",
)
@click.option(
    "--new-key",
    type=a_file,
    help="Next private key, made unless it is there.  [default: beside the directory]",
)
@yes_option
def rotate(directory: Path, authority_key: Path | None, new_key: Path | None, yes: bool) -> None:
    """Hand over from the key that signs now to a new one, and sign every survey anew with it.

    Devices that pin the old key follow; the surveys' ids and figures stay. Rotate while the old key
    is yours alone: after a theft, the remedy is an app update.
    """
    config = Config.load(directory)
    rotations = with_store(config, rotations_of)
    chain = follow_rotations(config.authority, rotations)
    old_file, old = read_newest_key(directory, authority_key, chain[-1])
    new_file = new_key or default_key_file(directory, len(rotations) + 2)
    check_outside(new_file, directory)
    # The next key may be there: an attempt that failed, or another machine, made it.
    confirm(yes, f"Hand over from {old_file} to {new_file} for good?")
    new = read_authority_key(new_file) if new_file.exists() else create_key_file(new_file)
    gateway = None  # made before the hand-over, so that a broken file stops it
    if config.gateway_keys.exists():
        gateway = sign_gateway_anew(read_gateway_file(config.gateway_keys), chain, new)

    async def work(store: Store) -> tuple[Rotation, int]:
        publisher = await begin_publishing(store, config, old_file)
        signed_keys = None if gateway is None else gateway.signed
        return await hand_over(store, config.authority, old, new, publisher, signed_keys)

    rotation, signed = with_store(config, work)
    if gateway is not None:
        write_gateway_file(config.gateway_keys, gateway)
        click.echo(f"gateway keys   signed anew in {config.gateway_keys}; copy it as before")
    click.echo(f"rotated from   {old.public_key.hex()}")
    click.echo(f"rotated to     {new.public_key.hex()}  (sequence {rotation.sequence})")
    click.echo(f"authority key  {new_file}  (private; back it up, keep it off the server)")
    click.echo(f"signed anew    {signed} {'survey' if signed == 1 else 'surveys'}")
    click.echo(f"store          {store_text(config)}")
    click.echo("\nApps that pin an earlier key follow; let your next version pin the new one.")
    click.echo("Leave `authority` in collector.toml as it is while older versions are about.")
