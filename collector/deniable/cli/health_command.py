"""``deniable health``: whether the collector of this directory answers, for whoever restarts it."""

import http.client
from pathlib import Path

import click

from deniable.cli.asking_server import SECONDS, ask, local_address, missing_workers_text
from deniable.cli.options import directory_option
from deniable.directory import Config


@click.command()
@directory_option
@click.option("--ready", is_flag=True, help="Also ask whether its store takes writes.")
def health(directory: Path, ready: bool) -> None:
    """Ask the collector that runs with these settings, on this machine, if it is up.

    The exit status is 1 if it is not. What the settings say of address, port and TLS holds; the
    certificate is not checked, being for the origin's name.
    """
    config = Config.load(directory)
    place = f"{local_address(config)}:{config.port}"
    try:
        status, told = ask(config, "/readyz" if ready else "/healthz")
    except TimeoutError as error:
        raise click.ClickException(
            f"{place} has not answered for {SECONDS:g} s: it, or a worker of it, stands still"
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise click.ClickException(
            f"{place} does not answer ({reason}); is deniable serve running?"
        ) from error
    if status != 200:
        reason = told.get("detail", "no reason")
        raise click.ClickException(f"it answers {status} ({reason}); deniable doctor says more")
    click.echo("ready" if ready else "up")
    if missing := missing_workers_text(told):
        click.echo(f"{missing}; its log says why")
