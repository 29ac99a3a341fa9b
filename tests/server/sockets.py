"""Bare sockets: what HTTP libraries are too polite to send, and answers as they come."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from deniable.messages import pack_upload
from deniable.stores import Verdict
from deniable.stores.values import Receipt
from tests.server.collector import Answer, Collector
from tests.support.reports import envelope

SECONDS = 30
"""Before this, whatever is to happen has happened, on however busy a machine."""

MARKER = b"xyzzy"
"""Stands in what is sent, and must stand in no answer."""

UPLOAD = b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
CLOSE = b"Connection: close\r\n"

EVERYWHERE = {
    "server": "deniable",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""What every answer carries: good ones, refusals, and the last of a cut connection."""


def upload(device: int = 1, *, head: bytes = UPLOAD) -> bytes:
    """Return a request with a good report."""
    body = pack_upload([envelope(device)])
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def request(line: bytes, *headers: bytes) -> bytes:
    """Return a request without a body, which asks for the connection's end."""
    return b"\r\n".join([line + b" HTTP/1.1", b"Host: x", b"Connection: close", *headers, b"", b""])


def chunked(*chunks: bytes, trailer: bytes = b"") -> bytes:
    """Return a body in chunks."""
    parts = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return parts + b"0\r\n" + trailer + b"\r\n"


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def connected(collector: Collector) -> AsyncIterator[Streams]:
    """Yield a connection that is closed at the end, whatever the other side did."""
    reader, writer = await asyncio.open_connection(collector.client.host, collector.client.port)
    try:
        async with asyncio.timeout(SECONDS):
            yield reader, writer
    finally:
        writer.transport.abort()


async def until(holds: Callable[[], bool]) -> None:
    """Return once something holds."""
    async with asyncio.timeout(SECONDS):
        while not holds():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.001)


async def read_answer(reader: asyncio.StreamReader, *, head_only: bool = False) -> Answer:
    """Return the next answer; it must come."""
    answer = await _read(reader, head_only=head_only)
    assert answer is not None, "the connection ends instead"
    return answer


async def _read(reader: asyncio.StreamReader, *, head_only: bool = False) -> Answer | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        line, *fields = head.decode().split("\r\n")[:-2]
        headers = {name.lower(): value for name, _, value in (f.partition(": ") for f in fields)}
        status = int(line.split()[1])
        length = int(headers.get("content-length", 0))
        body = b"" if head_only or status == 100 else await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    assert line.startswith(("HTTP/1.0 ", "HTTP/1.1 ")), line
    assert MARKER not in head + body, "what was sent is repeated"
    assert len(headers) == len(fields)
    if status != 100:
        assert EVERYWHERE.items() <= headers.items()
        assert headers["cache-control"] in {"no-store", "no-cache"}
        assert "set-cookie" not in headers
    return Answer(status, headers, body)


async def read_answers(reader: asyncio.StreamReader) -> list[Answer]:
    """Return the answers until the connection ends, as it must."""
    answers = []
    while (answer := await _read(reader)) is not None:
        answers.append(answer)
    return answers


async def exchange(collector: Collector, *segments: bytes) -> list[Answer]:
    """Send segments, each once the one before was taken in; return answers until the end."""
    async with connected(collector) as (reader, writer):
        for segment in segments:
            writer.write(segment)
            await writer.drain()
            # The server runs in this event loop: some turns later it has seen what was sent.
            for _ in range(20):
                await asyncio.sleep(0)
        return await read_answers(reader)


async def healthy(collector: Collector) -> bool:
    """Return if a stranger's request on a connection of its own is answered."""
    (answer,) = await exchange(collector, HEALTH + CLOSE + b"\r\n")
    return answer.status == 200


class HeldStore:
    """Makes a store's ``add`` wait until it is let go; ``entered`` once so many reports came."""

    def __init__(
        self, collector: Collector, monkeypatch: pytest.MonkeyPatch, reports: int = 1
    ) -> None:
        self.entered = asyncio.Event()
        self.release = asyncio.Event()
        self._add = collector.store.add
        self._awaited = reports
        self.waiting = 0
        monkeypatch.setattr(collector.store, "add", self.add)

    async def add(self, receipts: Sequence[Receipt]) -> list[Verdict]:
        """Wait, and store."""
        self.waiting += len(receipts)
        if self.waiting >= self._awaited:
            self.entered.set()
        await self.release.wait()
        return await self._add(receipts)
