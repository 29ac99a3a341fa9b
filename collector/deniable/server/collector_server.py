"""The server of connections, which sweeps them once a second: so a request costs no timer."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader

from deniable.messages import MAX_UPLOAD_BYTES
from deniable.server.connections import Connection
from deniable.server.meters import Meters
from deniable.server.room import Room
from deniable.server.routing import Route

__all__ = ["NO_DESCRIPTORS", "CollectorServer"]

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_SWEEP_SECONDS: Final = 1.0
NO_DESCRIPTORS: Final = "socket.accept() out of system resource"
"""How asyncio says that file descriptors ran out, and we: it is logged once for all."""


class CollectorServer(web.Server):
    """aiohttp's low-level server with bounded connections.

    Args:
        handler: answers a request whose head has come.
        routes: what it answers; for the documentation.
        room: the connections' places.
        meters: what is counted.
        headers: what every answer carries, unless it says it otherwise.
    """

    def __init__(
        self,
        handler: Handler,
        routes: Sequence[Route],
        room: Room,
        meters: Meters,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(handler, request_factory=self._request)
        self.routes = routes
        self.room = room
        self.meters = meters
        self.headers = headers
        self._sweeping: asyncio.Task[None] | None = None

    def connection_lost(
        self,
        handler: web.RequestHandler,
        exc: BaseException | None = None,  # noqa: ARG002
    ) -> None:
        """Forget a connection, whose place is free at once: aiohttp waits for its handler."""
        self._connections.pop(handler, None)

    def __call__(self) -> Connection:
        """Return the protocol of a new connection."""
        if self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep())
        return Connection(self, self._loop, self.room, self.meters, self.headers)

    async def shutdown(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Finish the requests under way, but those that are overdue; close every connection."""
        try:
            await super().shutdown(timeout)
        finally:
            if self._sweeping is not None:
                self._sweeping.cancel()
                self._sweeping = None

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = self._loop.time()
            self._look_for_descriptors()
            for connection in self.connections:
                assert isinstance(connection, Connection)
                try:
                    connection.sweep(now)
                except Exception as error:  # noqa: BLE001 - all others must be swept all the same
                    self._loop.call_exception_handler(
                        {"message": "a connection could not be swept", "exception": error}
                    )

    def _look_for_descriptors(self) -> None:
        """Say so if there are none for whoever comes: uvloop hangs up on him without a word."""
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            self._loop.call_exception_handler({"message": NO_DESCRIPTORS, "exception": error})

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        return web.BaseRequest(
            message,
            payload,
            protocol,
            writer,
            task,
            self._loop,
            client_max_size=MAX_UPLOAD_BYTES,
        )
