"""What is wrong with an upload as a whole: one problem, one status, nothing stored."""

import asyncio
import gzip
from collections.abc import AsyncIterator

import pytest

from deniable.messages import MAX_UPLOAD_BYTES, UploadAnswer, codec, pack_upload
from tests.server.collector import Collector, problem
from tests.support.reports import envelope
from tests.support.surveys import MANIFEST

GOOD = pack_upload([envelope(1)])


async def in_chunks(body: bytes, size: int = 10_000) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def padded(size: int) -> bytes:
    """Return an upload of exactly so many bytes: a good report, and one that is none."""
    filler = codec.encode(bytes(size - len(GOOD) - 3))
    return b"\x92" + GOOD[1:] + filler


async def test_a_missing_media_type_is_refused(collector: Collector) -> None:
    answer = await collector.client.post(
        "/v1/reports", data=GOOD, skip_auto_headers=["Content-Type"]
    )
    assert await problem(answer) == (415, "unsupported-media-type")


@pytest.mark.parametrize(
    "media_type", ["application/msgpack; charset=utf-8", "APPLICATION/MsgPack"]
)
async def test_the_media_type_is_read_as_http_has_it(collector: Collector, media_type: str) -> None:
    answer = await collector.upload(GOOD, {"Content-Type": media_type})
    assert answer.status == 200


@pytest.mark.parametrize("encoding", ["gzip", "identity", "deflate"])
async def test_an_encoded_body_is_refused_whatever_it_holds(
    collector: Collector, encoding: str
) -> None:
    body = gzip.compress(GOOD) if encoding == "gzip" else GOOD
    answer = await collector.upload(body, {"Content-Encoding": encoding})
    assert await problem(answer) == (415, "unsupported-media-type")
    assert not await collector.store.counts(MANIFEST.survey_id, 0)


async def test_64_kib_are_taken_and_not_a_byte_more(collector: Collector) -> None:
    for body in (padded(MAX_UPLOAD_BYTES), in_chunks(padded(MAX_UPLOAD_BYTES))):
        answer = await collector.upload(body)
        assert answer.status == 200
        read = UploadAnswer.from_json(await answer.read(), 2)
        assert read is not None
        assert [code.value for _, code in read.refused] == ["malformed"]
    for body in (padded(MAX_UPLOAD_BYTES + 1), in_chunks(padded(MAX_UPLOAD_BYTES + 1))):
        assert await problem(await collector.upload(body)) == (413, "too-large")


async def test_a_body_without_length_is_refused_as_soon_as_it_is_too_large(
    collector: Collector,
) -> None:
    reader, writer = await asyncio.open_connection(collector.client.host, collector.client.port)
    writer.write(
        b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n10001\r\n" + bytes(0x10001) + b"\r\n"
    )
    # Its end never comes.
    assert (await reader.readline()).split()[1] == b"413"
    writer.close()
    await writer.wait_closed()
