"""Requests as bytes, over a bare socket."""

import asyncio

from tests.server.collector import Collector

SECONDS = 20


async def exchange(collector: Collector, request: bytes) -> bytes:
    """Return the whole answer; the connection must end with it."""
    reader, writer = await asyncio.open_connection(collector.client.host, collector.client.port)
    writer.write(request)
    try:
        async with asyncio.timeout(SECONDS):
            return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


def request(line: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    """Return a request that asks for the connection's end."""
    return b"\r\n".join([line, b"Host: x", b"Connection: close", *headers, b"", body])


def head_of(answer: bytes) -> tuple[int, dict[str, str]]:
    """Return status and headers of an answer; their names in lower case, each once."""
    head, _, _ = answer.partition(b"\r\n\r\n")
    line, *fields = head.decode("ascii").split("\r\n")
    headers = [field.split(": ", 1) for field in fields]
    assert len({name.lower() for name, _ in headers}) == len(headers)
    return int(line.split()[1]), {name.lower(): value for name, value in headers}
