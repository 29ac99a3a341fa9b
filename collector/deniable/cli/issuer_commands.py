"""``deniable issuer``: the keys of an issuer, the app's backend that vouches for devices."""

from pathlib import Path

import click

from deniable.cli.options import Whole, a_file, directory_option
from deniable.directory import CONFIG_FILE, check_outside
from deniable.enrolment import EpochKeys, create_epoch_keys
from deniable.enrolment.epoch_keys import PUBLIC_FILE
from deniable.key_files import create_key_file, read_key_file
from deniable.messages.enrolment import MAX_BLIND_KEYS
from deniable.reading.epochs import ranges_text


@click.group()
def issuer() -> None:
    """Keys of the issuers that vouch for devices."""


@issuer.command(short_help="Create an issuer's key in FILE.")
@click.argument("file", type=a_file)
@directory_option
def new(file: Path, directory: Path) -> None:
    """Create an issuer's private key in FILE, for the app's backend; print its public half.

    Anyone who has this key can vouch for any number of devices. Keep the key in the backend that
    knows the accounts, never in a collector's directory.
    """
    if (directory / CONFIG_FILE).exists():
        check_outside(file, directory)
    public_key = create_key_file(file).public_key
    click.echo(f"issuer's key  {file}  (private; only for the app's backend)")
    click.echo(f"public key    {public_key.hex()}")
    click.echo("\nin the survey's file:\n")
    click.echo(f'enrolment = "certificate"\nissuers = ["{public_key.hex()}"]')


@issuer.command("keys", short_help="Create a blind issuer's keys in the directory KEYS.")
@click.argument("keys", type=click.Path(file_okay=False, path_type=Path))
@click.option("--epochs", type=Whole(1, 1000), required=True, help="Number of epochs.")
@click.option(
    "--first",
    type=Whole(0),
    help="Number of the first epoch.  [default: after the existing ones, else 0]",
)
@directory_option
def make_keys(keys: Path, epochs: int, first: int | None, directory: Path) -> None:
    """Create a blind issuer's private keys for one survey in the directory KEYS, one per epoch.

    Run the command again for later epochs: it adds their public keys to the file in KEYS. Give the
    survey's publisher only this file.
    """
    if (directory / CONFIG_FILE).exists():
        check_outside(keys, directory)
    public = create_epoch_keys(keys, epochs, first)
    made = ranges_text(range(public.end - epochs, public.end))
    listed = ranges_text(range(public.first, public.end))
    click.echo(f"private keys  {keys}, for epochs {made}  (only for the app's backend)")
    click.echo(f"public keys   {keys / PUBLIC_FILE}, for epochs {listed}")
    if len(public.moduli) > MAX_BLIND_KEYS:
        click.echo(f"a manifest lists at most {MAX_BLIND_KEYS} keys; successors list the others")
    click.echo(f"\nfor the publisher (only this file):\n\n  cp {keys / PUBLIC_FILE} .")
    click.echo("\nin the survey's file, with that copy next to it:\n")
    click.echo('enrolment = "blind"')
    click.echo('issuer = "issuer.example.org"  # your backend\'s host name')
    click.echo(f'issuer_keys = "{PUBLIC_FILE}"')


@issuer.command(short_help="Show an issuer's public keys.")
@click.argument("file", type=click.Path(path_type=Path))
def show(file: Path) -> None:
    """Show the public half of the issuer's key in FILE.

    FILE may be the directory of a blind issuer's keys.
    """
    if file.is_dir():
        keys = EpochKeys(file)
        listed = ranges_text(range(keys.public.first, keys.public.end))
        click.echo(f"public keys   epochs {listed}")
        numbered = enumerate(keys.public.moduli, keys.public.first)
        held = ranges_text(epoch for epoch, modulus in numbered if keys.holds(modulus))
        click.echo("private keys  " + (f"epochs {held}" if held else "none: all are erased"))
    else:
        click.echo(f"public key  {read_key_file(file).public_key.hex()}")
