"""``deniable witness``: a witness of logs, who cosigns only what extends what it saw before."""

import logging
import socket
import time
from pathlib import Path

import click

from deniable.transparency_log import TransparencyLogError, VerifierKey
from deniable.witnessing import WitnessDirectory

_directory_argument = click.argument(
    "directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path)
)


@click.group()
def witness() -> None:
    """Cosign others' logs, so that nobody is shown another history."""


@witness.command(short_help="Make a witness in DIR.")
@_directory_argument
@click.option("--name", required=True, help="Such as witness.example.org; it goes with the key.")
def new(directory: Path, name: str) -> None:
    """Make a witness in DIR, with a new key; print its public half, which apps pin."""
    with WitnessDirectory.create(directory, name) as made:
        click.echo(f"verifier key  {made.key}")
    click.echo(f"kept in       {directory}  (private; never put an older copy of it back)")
    click.echo(f"\nnext: deniable witness watch {directory} VKEY  (of a log, as it publishes it)")


@witness.command(short_help="Watch a log, by its verifier key.")
@_directory_argument
@click.argument("vkey")
def watch(directory: Path, vkey: str) -> None:
    """Cosign from now on what the log of the verifier key VKEY signs; a running server does."""
    try:
        key = VerifierKey.parse(vkey)
    except TransparencyLogError as error:
        raise click.ClickException(
            f"{error}. VKEY is NAME+8 hexadecimal digits+KEY, without a URL, as deniable log show "
            "prints it for who runs the log"
        ) from error
    with WitnessDirectory(directory) as opened:
        opened.watch(key)
    click.echo(f"watches  {key.name}")


@witness.command(short_help="Answer logs that ask for cosignatures.")
@_directory_argument
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8379, show_default=True, help="Port to listen on.")
def serve(directory: Path, host: str, port: int) -> None:
    """Answer logs that ask for cosignatures, until Ctrl-C.

    It speaks HTTP, for a proxy that ends TLS: docs/operations/witness.md.
    """
    from aiohttp import web

    from deniable.witnessing.server import witness_application

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on {host}:{port}: {error.strerror or error}; take another --port"
        ) from error
    with listener, WitnessDirectory(directory) as opened:
        port = listener.getsockname()[1]

        def listening(*_: object) -> None:
            click.echo(f"witness {opened.key.name}, listening on http://{host}:{port}")

        web.run_app(witness_application(opened), sock=listener, access_log=None, print=listening)


@witness.command(short_help="Show the witness's key, and what it cosigned last.")
@_directory_argument
def show(directory: Path) -> None:
    """Show the witness's key, the logs that it watches, and what it cosigned of each last."""
    with WitnessDirectory(directory) as opened:
        click.echo(f"verifier key  {opened.key}")
        for log in opened.logs():
            click.echo(f"\nwatches       {log.key}")
            if log.newest is None:
                click.echo("cosigned      nothing yet")
                continue
            seconds = log.newest.cosigning_times([opened.key])[opened.key]
            stated = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
            checkpoint = log.newest.checkpoint
            click.echo(f"cosigned      {checkpoint.size} entries, {stated}")
            click.echo(f"root          {checkpoint.root.hex()}")
