"""Bytes that no well-behaved client sends, over a bare socket."""

import pytest

from tests.server.collector import Collector
from tests.server.raw import exchange, request
from tests.support.surveys import MANIFEST

HISTOGRAM = f"/v1/surveys/{MANIFEST.name}/histogram".encode()


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
