"""Connections are accepted here, not in the event loop, which would hide what has to be bounded.

A handshake of TLS costs as much memory as a connection, and the loop tells nobody of it before its
end; and where file descriptors run out, uvloop hangs up on whoever comes, without a word.
"""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from typing import Final

from deniable.server.collector_server import CollectorServer

__all__ = ["Accepting"]

_AT_ONCE: Final = 64
"""Connections accepted before others get their turn."""
_PAUSE_SECONDS: Final = 1.0


class Accepting:
    """Sockets on which a server's connections come in, until it is closed.

    Args:
        server: whose connections they are.
        sockets: that listen.
        tls: how to speak HTTPS; None for HTTP.
    """

    def __init__(
        self,
        server: CollectorServer,
        sockets: Sequence[socket.socket],
        tls: ssl.SSLContext | None,
    ) -> None:
        self.sockets = sockets
        self._server = server
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._connecting: set[asyncio.Task[None]] = set()
        for each in sockets:
            each.setblocking(False)
            self._watch(each)

    def close(self) -> None:
        """Accept nothing more."""
        for each in self.sockets:
            if each.fileno() >= 0:
                self._loop.remove_reader(each)
                each.close()

    def _watch(self, listening: socket.socket) -> None:
        if listening.fileno() >= 0:  # else it was closed meanwhile
            self._loop.add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, (peer, *_) = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                # Whoever comes waits in the kernel's queue until there is something to hold him by.
                self._loop.call_exception_handler(
                    {"message": "socket.accept() out of system resource", "exception": error}
                )
                self._loop.remove_reader(listening)
                self._loop.call_later(_PAUSE_SECONDS, self._watch, listening)
                return
            accepted.setblocking(False)
            task = self._loop.create_task(self._connect(accepted, peer))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)

    async def _connect(self, accepted: socket.socket, peer: str) -> None:
        connection = self._server()
        if self._tls is not None and not connection.shake_hands(accepted, peer):
            accepted.close()
            return
        try:
            # A handshake may take as long as a request's head.
            seconds = None if self._tls is None else self._server.room.limits.head_seconds
            await self._loop.connect_accepted_socket(
                lambda: connection, accepted, ssl=self._tls, ssl_handshake_timeout=seconds
            )
        except OSError:  # errors of TLS and timeouts, too
            self._server.room.leave(connection)
