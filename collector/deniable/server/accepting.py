"""Connections that begin with a handshake are accepted here, not in the event loop, which hides it.

A handshake of TLS costs as much memory as a connection, and the loop tells nobody of it before its
end. What speaks plain HTTP is left to the loop: accepting here costs a fifth of a connection.
"""

import asyncio
import socket
import ssl
from typing import Final

from deniable.server.collector_server import NO_DESCRIPTORS, CollectorServer

__all__ = ["Accepting"]

_AT_ONCE: Final = 64
"""Connections accepted before others get their turn."""
_PAUSE_SECONDS: Final = 1.0


class Accepting:
    """A socket on which a server's connections come in by TLS, until it is closed.

    Args:
        server: whose connections they are.
        listening: the socket.
        tls: how to speak HTTPS.
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
        """Accept nothing more."""
        if self._listening.fileno() >= 0:
            self._loop.remove_reader(self._listening)
            self._listening.close()

    def _watch(self) -> None:
        if self._listening.fileno() >= 0:  # else it was closed meanwhile
            self._loop.add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, (peer, *_) = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                # Whoever comes waits in the kernel's queue until there is something to hold him by.
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
                ssl_handshake_timeout=self._server.room.limits.head_seconds,
            )
        except OSError as error:  # errors of TLS and timeouts, too
            error.__traceback__ = None  # a cycle through asyncio's frames, and 256 KB of buffers
            self._server.room.leave(connection)
