"""``deniable health``: whether the collector of this directory answers, for whoever restarts it."""

import http.client
from pathlib import Path

import click

from deniable.cli.asking_server import local_address, server_finding
from deniable.cli.options import directory_option
from deniable.directory import Config
from deniable.directory.checks.finding import Status


@click.command()
@directory_option
@click.option("--ready", is_flag=True, help="Also ask whether its store takes writes.")
def health(directory: Path, ready: bool) -> None:
    """Ask the collector that runs with these settings, on this machine, if it is up.

    The exit status is 1 if it is not. What the settings say of address, port and TLS holds; the
    certificate is not checked, being for the origin's name.
    """
    config = Config.load(directory)
    try:
        finding = server_finding(config, "/readyz" if ready else "/healthz")
    except (OSError, http.client.HTTPException) as error:
        place = f"{local_address(config)}:{config.port}"
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise click.ClickException(
            f"{place} does not answer ({reason}); is deniable serve running?"
        ) from error
    if finding.status is Status.FAIL:
        raise click.ClickException(f"{finding.text}; deniable doctor says more")
    click.echo("ready" if ready else "up")
    if finding.status is Status.WARN:
        click.echo(f"{finding.text}; its log says why")
