"""A pooler before a PostgreSQL server: one session of it for each client, or one for all.

It refuses parameters at the start that it does not know, as pgbouncer does. One session for all is
what pooling of transactions comes to: whoever begins one has the session to its end.
"""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

_SSL_REQUEST = 80877103
_KNOWN = {b"user", b"database", b"client_encoding", b"application_name"}
_PREPARED = b"__asyncpg_stmt_"

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Backend:
    """A session of the server, and how it greeted."""

    def __init__(self, ends: Ends, greeting: bytes) -> None:
        self.reader, self.writer = ends
        self.greeting = greeting
        self.turn = asyncio.Lock()
        self.owner: asyncio.StreamWriter | None = None  # who gets what the server says
        self.states: asyncio.Queue[bytes] = asyncio.Queue()  # of the transaction, when it is ready

    async def forward(self) -> None:
        """Forward what the server says, to its end."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                kind, message = await _message(self.reader)
                if self.owner is not None:
                    self.owner.write(message)
                if kind == b"Z":
                    self.states.put_nowait(message[-1:])


class PostgresPooler:
    """Serves clients, in the loop of the test.

    Args:
        server: the socket of the server.
        transactions: pool transactions, else whole sessions.
        translates: keep the prepared statements of clients apart, as newer poolers do.
    """

    def __init__(self, server: Path, *, transactions: bool, translates: bool) -> None:
        self._server = server
        self._transactions = transactions
        self._translates = translates
        self._shared: _Backend | None = None
        self._clients = 0
        self.port = 0  # where it listens, on 127.0.0.1
        self.writers: list[asyncio.StreamWriter] = []
        self.tasks: set[asyncio.Task[None]] = set()

    async def serve(self, client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        """Serve a client until it ends."""
        self.writers.append(answers)
        self._clients += 1
        prefix = b"__asyncpg_%04d_" % self._clients if self._translates else _PREPARED
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            start = await _start(client, answers)
            pairs = start[8:].rstrip(b"\0").split(b"\0")
            if not {*pairs[::2]} <= _KNOWN:
                error = b"SFATAL\0C08P01\0Munsupported startup parameter\0\0"
                answers.write(b"E" + struct.pack("!I", 4 + len(error)) + error)
                answers.close()
                return
            backend = await self._backend(start)
            answers.write(backend.greeting)
            while True:
                kind, message = await _message(client)
                if kind == b"X":
                    break
                async with backend.turn:
                    backend.owner, state = answers, b""
                    while state != b"I":  # to the end of the transaction
                        backend.writer.write(message.replace(_PREPARED, prefix))
                        if kind in b"SQ":
                            state = await backend.states.get()
                        if state != b"I":
                            kind, message = await _message(client)
        answers.close()

    async def _backend(self, start: bytes) -> _Backend:
        if self._shared is not None:
            return self._shared
        ends = await asyncio.open_unix_connection(self._server)
        self.writers.append(ends[1])
        ends[1].write(start)
        greeting, kind = b"", b""
        while kind != b"Z":
            kind, message = await _message(ends[0])
            greeting += message
        backend = _Backend(ends, greeting)
        self.tasks.add(asyncio.create_task(backend.forward()))
        if self._transactions:
            self._shared = backend
        return backend


async def _start(client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> bytes:
    while True:
        head = await client.readexactly(8)
        length, code = struct.unpack("!II", head)
        rest = await client.readexactly(length - 8)
        if code != _SSL_REQUEST:
            return head + rest
        answers.write(b"N")


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    return head[:1], head + await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)


@asynccontextmanager
async def postgres_pooler(
    server: Path, *, transactions: bool = False, translates: bool = False
) -> AsyncIterator[PostgresPooler]:
    """Yield a pooler before the server that listens at a socket."""
    pooler = PostgresPooler(server, transactions=transactions, translates=translates)

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pooler.tasks.add(asyncio.create_task(pooler.serve(reader, writer)))

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    pooler.port = listener.sockets[0].getsockname()[1]
    try:
        yield pooler
    finally:
        listener.close()
        for writer in pooler.writers:
            writer.transport.abort()
        for task in pooler.tasks:
            task.cancel()
        await asyncio.gather(*pooler.tasks, return_exceptions=True)
