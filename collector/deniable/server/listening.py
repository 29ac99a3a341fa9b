"""Sockets on which a server's connections come in."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from deniable.server.app import build_metrics_server
from deniable.server.config import Config
from deniable.server.connections import CollectorServer
from deniable.server.gauges import Gauges
from deniable.server.meters import Meters

__all__ = ["listen", "serving_metrics", "shown_address"]

_BACKLOG: Final = 1_024


async def listen(
    server: CollectorServer,
    address: tuple[str, int],
    *,
    tls: ssl.SSLContext | None = None,
    share_port: bool = False,
) -> asyncio.Server:
    """Take connections until the returned server is closed.

    A handshake may take as long as a request's head: before its end, a connection is nobody's.

    Args:
        server: whose connections they are.
        address: host and port.
        tls: how to speak HTTPS; None for HTTP.
        share_port: whether other processes listen on the same port (SO_REUSEPORT).

    Raises:
        OSError: if the address cannot be listened on.
    """
    host, port = address
    return await asyncio.get_running_loop().create_server(
        server,
        host,
        port,
        ssl=tls,
        ssl_handshake_timeout=None if tls is None else server.limits.head_seconds,
        backlog=_BACKLOG,
        reuse_port=share_port or None,
    )


@asynccontextmanager
async def serving_metrics(
    config: Config, meters: Meters, gauges: Gauges, *, share_port: bool = False
) -> AsyncIterator[None]:
    """Serve the metrics on their own address, if the settings name one, while the block runs.

    Raises:
        OSError: if the address cannot be listened on.
    """
    if config.metrics is None:
        yield
        return
    server = build_metrics_server(config, meters, gauges)
    listening = await listen(server, config.metrics, share_port=share_port)
    try:
        yield
    finally:
        listening.close()
        await server.shutdown(0)


def shown_address(host: str, port: int, *, tls: bool) -> str:
    """Return an address as people write it."""
    return f"http{'s' * tls}://{f'[{host}]' if ':' in host else host}:{port}"
