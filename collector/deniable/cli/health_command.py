"""``deniable health``: whether the collector of this directory answers, for whoever restarts it."""

import http.client
import ipaddress
import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from deniable.cli.options import directory_option
from deniable.server import Config

_SECONDS = 4.0


@click.command()
@directory_option
@click.option("--ready", is_flag=True, help="Also ask whether its store takes writes.")
def health(directory: Path, ready: bool) -> None:
    """Ask the collector that runs with these settings, on this machine, if it is up.

    The exit status is 1 if it is not. What the settings say of address, port and TLS holds; the
    certificate is not checked, being for the origin's name.
    """
    config = Config.load(directory)
    connect: Callable[..., http.client.HTTPConnection] = http.client.HTTPConnection
    if config.tls_certificate is not None:
        anyone = ssl.create_default_context()
        anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
        connect = partial(http.client.HTTPSConnection, context=anyone)
    connection = connect(_host(config), config.port, timeout=_SECONDS)
    try:
        connection.request("GET", "/readyz" if ready else "/healthz")
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise click.ClickException(
            f"{_host(config)}:{config.port} does not answer ({reason}); is deniable serve running?"
        ) from error
    finally:
        connection.close()
    if answer.status != 200:
        raise click.ClickException(f"it answers {answer.status}; deniable doctor says more")
    click.echo("ready" if ready else "up")


def _host(config: Config) -> str:
    """Return by which address this machine reaches itself."""
    try:
        address = ipaddress.ip_address(config.host)
    except ValueError:
        return config.host
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "::1"
    return config.host
