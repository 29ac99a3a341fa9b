"""Bytes that no well-behaved client sends, over a bare socket."""

import asyncio

import pytest

from tests.server.collector import Collector
from tests.support.surveys import MANIFEST

HISTOGRAM = f"/v1/surveys/{MANIFEST.name}/histogram".encode()


async def exchange(collector: Collector, request: bytes) -> bytes:
    """Return the whole answer; the connection must end with it."""
    reader, writer = await asyncio.open_connection(collector.client.host, collector.client.port)
    writer.write(request)
    try:
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


def request(line: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    return b"\r\n".join([line, b"Host: x", b"Connection: close", *headers, b"", body])


@pytest.mark.asyncio
@pytest.mark.parametrize("token", [b"\xff", b"\xed\xa0\x80", b"\xc3(", b"\x80" * 100])
async def test_a_token_that_is_no_utf8_is_unauthorised(collector: Collector, token: bytes) -> None:
    answer = await exchange(
        collector, request(b"GET " + HISTOGRAM + b" HTTP/1.1", b"Authorization: Bearer " + token)
    )
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"urn:deniable:error:unauthorised" in answer


@pytest.mark.asyncio
@pytest.mark.parametrize("path", [b"%FF", b"%00", b"a%2Fb", b"..%2f..", b"%ed%a0%80"])
async def test_a_name_that_is_no_name_is_not_found(collector: Collector, path: bytes) -> None:
    answer = await exchange(collector, request(b"GET /v1/surveys/" + path + b" HTTP/1.1"))
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"urn:deniable:error:not-found" in answer
