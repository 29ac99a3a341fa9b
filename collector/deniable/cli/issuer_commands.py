"""``deniable issuer``: the keys of who vouches for devices, which is the app's own backend."""

from pathlib import Path

import click

from deniable.cli.options import a_file, directory_option
from deniable.cli.reading import Place, reading_options
from deniable.directory import CONFIG_FILE, check_outside
from deniable.enrolment import create_key_file, read_key_file
from deniable.messages import Manifest

_file_argument = click.argument("file", type=a_file)


@click.group()
def issuer() -> None:
    """Keys of the issuers that vouch for devices."""


@issuer.command(short_help="Make an issuer's key in FILE.")
@_file_argument
@directory_option
def new(file: Path, directory: Path) -> None:
    """Make an issuer's private key in FILE, for the app's backend; print its public half.

    Whoever holds it can vouch for as many devices as they like. It belongs to the backend that
    knows accounts, never into a collector's directory.
    """
    if (directory / CONFIG_FILE).exists():
        check_outside(file, directory)
    public_key = create_key_file(file).public_key
    click.echo(f"issuer's key  {file}  (private; for the app's backend only)")
    click.echo(f"public key    {public_key.hex()}")
    click.echo("\nin the survey's file:\n")
    click.echo(_survey_lines(public_key))


@issuer.command(short_help="Show which surveys list the key in FILE.")
@_file_argument
@reading_options
def show(file: Path, place: Place) -> None:
    """Show the public half of the issuer's key in FILE, and which published surveys list it.

    The surveys are those of --collector, or of the collector's directory if there is one here.
    """
    public_key = read_key_file(file).public_key
    click.echo(f"public key  {public_key.hex()}")
    if place.collector is None and not (place.directory / CONFIG_FILE).exists():
        return
    with place.source() as source:
        manifests = [manifest for name in source.names() for manifest in source.manifests(name)]
    listed = [manifest for manifest in manifests if public_key in manifest.enrolment.issuers]
    if not listed:
        click.echo("no published survey lists it; in a survey's file:\n")
        click.echo(_survey_lines(public_key))
    for manifest in listed:
        click.echo(f"vouches     {_role(manifest, public_key)}")


def _role(manifest: Manifest, public_key: bytes) -> str:
    place = "current" if manifest.enrolment.issuers[0] == public_key else "next"
    return f"{manifest.name}, sequence {manifest.sequence}: its {place} issuer"


def _survey_lines(public_key: bytes) -> str:
    return f'enrolment = "certificate"\nissuers = ["{public_key.hex()}"]'
