"""A small HTTP proxy before a collector, that loses requests and answers as networks do."""

import asyncio
import random
import threading
from asyncio import StreamReader, StreamWriter
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum

_SECONDS = 20.0
_PORTAL = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 20\r\nConnection: close\r\n\r\n"
    b"<html>log in</html>\n"
)


class Fate(StrEnum):
    """What becomes of one request."""

    PASS = "pass"
    DROP_REQUEST = "drop-request"  # the connection is cut before the collector sees anything
    DROP_ANSWER = "drop-answer"  # cut after the collector has answered
    CUT_ANSWER = "cut-answer"  # cut in the middle of the answer
    PORTAL = "portal"  # a login page answers in the collector's place


class Proxy:
    """Forwards one request a connection, as each one's fate allows; runs in a thread of its own.

    Attributes:
        acknowledged: bodies of the uploads whose every report it has acknowledged.

    Args:
        weights: how often each fate befalls a request.
        seed: of the choice.
        burst: forward uploads in bursts of about so many, so that many are under way at once.
    """

    def __init__(
        self, weights: Mapping[Fate, float] | None = None, seed: int = 0, burst: int = 1
    ) -> None:
        self.port = 0  # where the collector listens; set it before the first request
        self.fates: Counter[Fate] = Counter()  # how many requests met each fate
        self.under_way = 0  # uploads that the collector has and has not answered
        self.acknowledged: list[bytes] = []
        self._fates, self._weights = zip(*(weights or {Fate.PASS: 1.0}).items(), strict=True)
        self._random = random.Random(seed)
        self._burst = burst
        self._held: list[asyncio.Future[None]] = []
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        )
        self.origin = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy")

    def __enter__(self) -> "Proxy":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0.05)  # closed transports let go of their sockets

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                request = await _read_message(reader)
                writer.write(await self._answer(request))
                await writer.drain()
                if writer.can_write_eof():
                    writer.write_eof()
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            writer.transport.abort()
        finally:
            writer.close()

    async def _answer(self, request: bytes) -> bytes:
        (fate,) = self._random.choices(self._fates, self._weights)
        self.fates[fate] += 1
        if fate is Fate.DROP_REQUEST:
            raise ConnectionAbortedError
        if fate is Fate.PORTAL:
            return _PORTAL
        answer = (
            await self._forward_upload(request)
            if request.startswith(b"POST ")
            else await self._forward(request)
        )
        if fate is Fate.DROP_ANSWER:
            raise ConnectionAbortedError
        return answer[: len(answer) // 2] if fate is Fate.CUT_ANSWER else answer

    async def _gather(self) -> None:
        """Hold an upload until a burst is together, or for a moment."""
        held = self._loop.create_future()
        self._held.append(held)
        if len(self._held) < self._burst:
            await asyncio.wait([held], timeout=0.05)
        for other in self._held:
            if not other.done():
                other.set_result(None)
        self._held.clear()

    async def _forward_upload(self, request: bytes) -> bytes:
        await self._gather()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.under_way += 1
        try:
            answer = await _exchange(reader, writer, request)
        finally:
            self.under_way -= 1
        if b'"refused": []' in answer:
            self.acknowledged.append(request.partition(b"\r\n\r\n")[2])
        return answer

    async def _forward(self, request: bytes) -> bytes:
        return await _exchange(*await asyncio.open_connection("127.0.0.1", self.port), request)


async def _exchange(reader: StreamReader, writer: StreamWriter, request: bytes) -> bytes:
    try:
        writer.write(request)
        await writer.drain()
        return await _read_message(reader)
    finally:
        writer.close()


async def _read_message(reader: StreamReader) -> bytes:
    """Return one HTTP request or answer: its head, and a body of its Content-Length."""
    head = await reader.readuntil(b"\r\n\r\n")
    fields = [line.partition(b":") for line in head.lower().split(b"\r\n")]
    lengths = [int(value) for name, _, value in fields if name == b"content-length"]
    return head + await reader.readexactly(lengths[0] if lengths else 0)
