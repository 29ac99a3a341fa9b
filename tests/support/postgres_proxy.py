"""A proxy before a PostgreSQL server that cuts a chosen message off, or the answer to it.

Or it falls silent, as a network that has forgotten a connection.
"""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

_SECONDS = 20.0
_READY = b"Z\x00\x00\x00\x05"  # how PostgreSQL begins to say that it is done, committed and all


class PostgresProxy:
    """Forwards connections to a server's socket, in the loop of the test.

    Attributes:
        request: cut the connection instead of forwarding a message that contains this, once.
        answer: forward a message that contains this, but cut once the server is done, once.
    """

    def __init__(self, server: Path) -> None:
        self._server = server
        self.port = 0  # where it listens, on 127.0.0.1
        self.request: bytes | None = None
        self.answer: bytes | None = None
        self.cuts = 0  # how many connections were cut so
        self.connections = 0  # how many were made
        self._silenced: dict[str, float] = {"requests": 0, "answers": 0}

    def silence(self, what: str, *, later: bool = False) -> None:
        """Forward no more `requests` or `answers` of the connections that there are now.

        Args:
            what: which of both.
            later: nor of those that are made later.
        """
        self._silenced[what] = math.inf if later else self.connections

    async def serve(self, client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        """Serve one connection until either side ends it, or it is cut."""
        self.connections += 1
        number = self.connections
        from_server, to_server = await asyncio.open_unix_connection(self._server)
        held = asyncio.Event()

        async def upwards() -> None:
            while message := await client.read(1 << 20):
                if number <= self._silenced["requests"]:
                    await asyncio.Event().wait()
                if self.request is not None and self.request in message:
                    self.request, self.cuts = None, self.cuts + 1
                    return
                if self.answer is not None and self.answer in message:
                    self.answer, self.cuts = None, self.cuts + 1
                    held.set()
                to_server.write(message)
                await to_server.drain()

        async def downwards() -> None:
            while message := await from_server.read(1 << 20):
                if number <= self._silenced["answers"]:
                    await asyncio.Event().wait()
                if held.is_set():
                    if _READY in message:
                        return
                    continue
                answers.write(message)
                await answers.drain()

        ways = {asyncio.ensure_future(upwards()), asyncio.ensure_future(downwards())}
        try:
            with suppress(OSError):
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for writer in (answers, to_server):  # before anything that may be cancelled
                writer.transport.abort()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)


@asynccontextmanager
async def postgres_proxy(server: Path) -> AsyncIterator[PostgresProxy]:
    """Yield a proxy before the server that listens at a socket."""
    proxy = PostgresProxy(server)
    serving: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.create_task(proxy.serve(reader, writer)))

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    proxy.port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listener.close()
        for task in serving:
            task.cancel()
        async with asyncio.timeout(_SECONDS):
            await asyncio.gather(*serving, return_exceptions=True)
