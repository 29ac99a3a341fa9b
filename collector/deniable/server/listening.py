"""Sockets that accept a server's connections."""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Final

from deniable.server.connections import HEAD_SECONDS, CollectorServer

_BACKLOG: Final = 1_024
_KERNEL_BYTES: Final = 1 << 16
"""Bytes for each direction of a connection; Linux takes twice as much, for its own needs."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Sockets that accept a server's connections, until it is closed."""

    sockets: Sequence[socket.socket]
    accepting: Sequence[asyncio.AbstractServer]

    def close(self) -> None:
        """Stop accepting, even where another process has the sockets."""
        for listening in self.sockets:
            with suppress(OSError):  # it may have been taken off already
                listening.shutdown(socket.SHUT_RDWR)
        for acceptor in self.accepting:
            acceptor.close()


async def listen(
    server: CollectorServer,
    address: tuple[str, int],
    *,
    tls: ssl.SSLContext | None = None,
    share_port: bool = False,
) -> Listening:
    """Accept connections at host and port until the returned object is closed; or raise OSError."""
    host, port = address
    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    with ExitStack() as unless_all:
        sockets = []
        for family, _, _, _, place in dict.fromkeys(addresses):
            made = socket.create_server(
                place, family=family, backlog=_BACKLOG, reuse_port=share_port
            )
            sockets.append(unless_all.enter_context(made))
            # Accepted sockets inherit them; otherwise the kernel keeps up to 4 MB of each answer.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BYTES)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _KERNEL_BYTES)
        accepting = [
            await loop.create_server(
                server,
                sock=listening,
                backlog=_BACKLOG,
                ssl=tls,
                # A handshake may take as long as a request's head.
                ssl_handshake_timeout=None if tls is None else HEAD_SECONDS,
            )
            for listening in sockets
        ]
        unless_all.pop_all()
    return Listening(sockets, accepting)


def shown_address(host: str, port: int, *, tls: bool) -> str:
    """Return the text of an address as people write it."""
    return f"http{'s' * tls}://{f'[{host}]' if ':' in host else host}:{port}"
