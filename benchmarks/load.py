"""Load over kept-alive connections: as cheap as asyncio allows, since it shares the cores."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Sequence
from typing import Final

CONNECTIONS: Final = 32
_MOST_SECONDS: Final = 120.0


def http_request(
    body: bytes, path: str = "/v1/reports", media: str = "application/msgpack"
) -> bytes:
    """Return the bytes of one upload."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {media}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def load(port: int, requests: Sequence[bytes]) -> tuple[float, int]:
    """Send all requests over a few connections, each waiting for its answer before the next.

    Return the seconds it took, and how many reports the answers say were accepted.
    """
    return asyncio.run(_load(port, requests))


async def _load(port: int, requests: Sequence[bytes]) -> tuple[float, int]:
    loop = asyncio.get_running_loop()
    waiting, answers = deque(requests), list[bytes]()
    connections = []
    for _ in range(CONNECTIONS):
        _, connection = await loop.create_connection(
            lambda: _Connection(waiting, answers), "127.0.0.1", port
        )
        connections.append(connection)
    started = time.perf_counter()
    for connection in connections:
        connection.send_next()
    async with asyncio.timeout(_MOST_SECONDS):
        await asyncio.gather(*(connection.done for connection in connections))
    seconds = time.perf_counter() - started
    return seconds, sum(json.loads(answer)["accepted"] for answer in answers)


class _Connection(asyncio.Protocol):
    """One connection: takes the next request off the queue whenever it has its answer."""

    def __init__(self, waiting: deque[bytes], answers: list[bytes]) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting = waiting
        self._answers = answers
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def send_next(self) -> None:
        """Send the next request, or end."""
        assert self._transport is not None
        if self._waiting:
            self._transport.write(self._waiting.popleft())
        else:
            self._transport.close()
            self.done.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        if not head.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(f"an upload got {head[:40]!r}"))
            return
        self._answers.append(body)
        self._received = b""
        self.send_next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server hung up"))
