"""Connections that send a byte now and then, or nothing at all, until they are cut."""

import asyncio
from contextlib import suppress
from typing import Final

from benchmarks.soak.tally import Tally

_CONNECTIONS: Final = 24
_BYTE_SECONDS: Final = 0.5
_MOST_SECONDS: Final = 60.0
_HEAD: Final = (
    b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\n"
    b"Content-Length: 60000\r\n\r\n"
)
_STARTS: Final = (b"", _HEAD[:20], _HEAD)
"""What is sent at once: nothing, a part of the head, the head."""


async def send_slowly(port: int, tally: Tally) -> None:
    """Hold some connections, each slow in its own way, until cancelled."""
    await asyncio.gather(
        *(_hold(port, _STARTS[number % len(_STARTS)], tally) for number in range(_CONNECTIONS))
    )


async def _hold(port: int, start: bytes, tally: Tally) -> None:
    while True:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_MOST_SECONDS):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                tally.invalid["slow connection"] += 1
                try:
                    await _drip(reader, writer, start)
                finally:
                    writer.transport.abort()
        await asyncio.sleep(_BYTE_SECONDS)


async def _drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, start: bytes) -> None:
    writer.write(start)
    while not reader.at_eof():
        with suppress(TimeoutError):
            async with asyncio.timeout(_BYTE_SECONDS):
                await reader.read(4_096)
        if start:
            writer.write(b"a")
            await writer.drain()
