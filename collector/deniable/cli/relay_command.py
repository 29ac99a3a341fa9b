"""``deniable relay``: a relay of Oblivious HTTP on one machine, for trials."""

import logging

import click

from deniable.messages import GATEWAY_PATH, check_origin


@click.command()
@click.option(
    "--to", required=True, metavar="URL", help="The collector's origin, such as https://host."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8378, show_default=True, help="Port to listen on.")
@click.option(
    "--rate",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0),
    help="Requests a second of one address, of which it may save up 20; 0 for any.",
)
def relay(to: str, host: str, port: int, rate: float) -> None:
    """Pass sealed requests of devices on to a collector's gateway, until Ctrl-C: for trials.

    It learns addresses and times, and tells nobody of them. In earnest a relay is somebody else's
    than the collector's, speaks TLS, and bears load: docs/operations/relay.md.
    """
    from aiohttp import web

    from deniable.cli.relaying import relaying

    check_origin(to)
    # aiohttp names addresses in what it logs of broken requests.
    logging.getLogger("aiohttp").disabled = True
    logging.getLogger("aiohttp.server").disabled = True

    def listening(*_: object) -> None:
        click.echo(f"relay for trials, listening on http://{host}:{port} for {to}{GATEWAY_PATH}")

    web.run_app(
        relaying(to + GATEWAY_PATH, rate), host=host, port=port, access_log=None, print=listening
    )
