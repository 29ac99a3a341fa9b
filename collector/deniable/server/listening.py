"""Sockets on which a server's connections come in."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from deniable.server.accepting import Accepting
from deniable.server.app import build_metrics_server
from deniable.server.collector_server import CollectorServer
from deniable.server.config import Config
from deniable.server.gauges import Gauges
from deniable.server.meters import Meters

__all__ = ["Listening", "listen", "serving_metrics", "shown_address"]

_BACKLOG: Final = 1_024
_KERNEL_BYTES: Final = 1 << 16
"""Of each direction of a connection; Linux takes twice as much, for its own needs."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Sockets on which a server's connections come in, until it is closed.

    Attributes:
        sockets: that listen.
        accepting: what takes connections from them.
    """

    sockets: Sequence[socket.socket]
    accepting: Sequence[Accepting | asyncio.AbstractServer]

    def close(self) -> None:
        """Accept nothing more."""
        for each in self.accepting:
            each.close()


async def listen(
    server: CollectorServer,
    address: tuple[str, int],
    *,
    tls: ssl.SSLContext | None = None,
    share_port: bool = False,
) -> Listening:
    """Take connections until the returned object is closed.

    Args:
        server: whose connections they are.
        address: host and port.
        tls: how to speak HTTPS; None for HTTP.
        share_port: whether other processes listen on the same port (SO_REUSEPORT).

    Raises:
        OSError: if the address cannot be listened on.
    """
    host, port = address
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    with ExitStack() as unless_all:
        sockets = []
        for family, _, _, _, place in dict.fromkeys(found):
            made = socket.create_server(
                place, family=family, backlog=_BACKLOG, reuse_port=share_port
            )
            sockets.append(unless_all.enter_context(made))
            # What is accepted inherits them: else the kernel keeps up to 4 MB of each answer.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BYTES)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _KERNEL_BYTES)
        accepting: list[Accepting | asyncio.AbstractServer] = [
            await loop.create_server(server, sock=each, backlog=_BACKLOG)
            if tls is None
            else Accepting(server, each, tls)
            for each in sockets
        ]
        unless_all.pop_all()
    return Listening(sockets, accepting)


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
