"""Sockets that accept a server's connections."""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from deniable.server.connections import HEAD_SECONDS, NO_DESCRIPTORS, CollectorServer

_BACKLOG: Final = 1_024
_KERNEL_BYTES: Final = 1 << 16
"""Bytes for each direction of a connection; Linux uses twice as much, for its own needs."""
_AT_ONCE: Final = 64
"""Connections accepted before other work gets its turn."""
_PAUSE_SECONDS: Final = 1.0


class TlsAcceptor:
    """Accepts a server's TLS connections from a socket, until it is closed.

    Connections are accepted here and not in the event loop: a handshake uses as much memory as a
    connection, and the loop reports it only at its end. Plain HTTP is left to the loop: accepting
    here costs a fifth of a connection.
    """

    def __init__(
        self, server: CollectorServer, listening: socket.socket, tls: ssl.SSLContext
    ) -> None:
        self._server = server
        self._listening = listening
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._connecting: set[asyncio.Task[None]] = set()
        listening.setblocking(False)
        self._watch()

    def close(self) -> None:
        """Stop accepting."""
        if self._listening.fileno() >= 0:
            self._loop.remove_reader(self._listening)
            self._listening.close()

    def _watch(self) -> None:
        if self._listening.fileno() >= 0:  # otherwise it was closed meanwhile
            self._loop.add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, (peer, *_) = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                # New connections wait in the kernel's queue until there are descriptors.
                self._loop.call_exception_handler({"message": NO_DESCRIPTORS, "exception": error})
                self._loop.remove_reader(self._listening)
                self._loop.call_later(_PAUSE_SECONDS, self._watch)
                return
            accepted.setblocking(False)
            task = self._loop.create_task(self._connect(accepted, peer))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)

    async def _connect(self, accepted: socket.socket, peer: str) -> None:
        connection = self._server()
        if not connection.shake_hands(accepted, peer):
            accepted.close()
            return
        try:
            # A handshake may take as long as a request's head.
            await self._loop.connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=self._tls,
                ssl_handshake_timeout=HEAD_SECONDS,
            )
        except OSError as error:  # including errors of TLS and timeouts
            error.__traceback__ = None  # a cycle through asyncio's frames, with buffers of 256 KB
            self._server.slots.leave(connection)


@dataclass(frozen=True, slots=True)
class Listening:
    """Sockets that accept a server's connections, until it is closed."""

    sockets: Sequence[socket.socket]
    accepting: Sequence[TlsAcceptor | asyncio.AbstractServer]

    def close(self) -> None:
        """Stop accepting; other processes that have the sockets go on."""
        for acceptor in self.accepting:
            acceptor.close()


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
) -> Listening:
    """Accept connections from the sockets until the returned object is closed."""
    loop = asyncio.get_running_loop()
    accepting: list[TlsAcceptor | asyncio.AbstractServer] = [
        await loop.create_server(server, sock=listening, backlog=_BACKLOG)
        if tls is None
        else TlsAcceptor(server, listening, tls)
        for listening in sockets
    ]
    return Listening(sockets, accepting)


def shown_address(host: str, port: int, *, tls: bool) -> str:
    """Return the text of an address as people write it."""
    return f"http{'s' * tls}://{f'[{host}]' if ':' in host else host}:{port}"
