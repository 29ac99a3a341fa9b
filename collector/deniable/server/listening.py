"""Sockets that accept a server's connections."""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from deniable.server.connections import HEAD_SECONDS, CollectorServer

_BACKLOG: Final = 1_024
_KERNEL_BYTES: Final = 1 << 16
"""Bytes for each direction of a connection; Linux uses twice as much, for its own needs."""


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen at host and port; or raise OSError.

    Connections wait in the kernel until one of the processes that have the sockets accepts them.
    """
    addresses = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    with ExitStack() as unless_all:
        sockets = []
        for family, _, _, _, place in dict.fromkeys(addresses):
            made = socket.create_server(place, family=family, backlog=_BACKLOG)
            sockets.append(unless_all.enter_context(made))
            # Accepted sockets inherit these; otherwise the kernel keeps up to 4 MB of each answer.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BYTES)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _KERNEL_BYTES)
        unless_all.pop_all()
    return sockets


async def accept(
    server: CollectorServer,
    sockets: Sequence[socket.socket],
    *,
    tls: ssl.SSLContext | None = None,
) -> list[asyncio.Server]:
    """Accept connections from the sockets until the returned servers are closed."""
    loop = asyncio.get_running_loop()
    # A handshake may take as long as a request's head.
    seconds = None if tls is None else HEAD_SECONDS
    return [
        await loop.create_server(
            server, sock=listening, backlog=_BACKLOG, ssl=tls, ssl_handshake_timeout=seconds
        )
        for listening in sockets
    ]


def shown_address(host: str, port: int, *, tls: bool) -> str:
    """Return the text of an address as people write it."""
    return f"http{'s' * tls}://{f'[{host}]' if ':' in host else host}:{port}"
