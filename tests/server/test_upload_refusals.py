"""What is wrong with an upload as a whole: one problem, one status, nothing stored."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deniable.messages import MAX_UPLOAD_BYTES, UploadAnswer, codec, pack_upload
from tests.server.collector import Collector, problem, running
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


async def nothing_stored(collector: Collector) -> bool:
    return not await collector.store.counts(MANIFEST.survey_id, 0)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "media_type", ["application/json", "application/x-msgpack", "multipart/form-data; boundary=x"]
)
async def test_another_media_type_is_refused(lasting: Collector, media_type: str) -> None:
    answer = await lasting.upload(GOOD, {"Content-Type": media_type})
    assert await problem(answer) == (415, "unsupported-media-type")
    assert await nothing_stored(lasting)


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
    assert await nothing_stored(collector)


async def test_64_kib_are_taken_and_not_a_byte_more(collector: Collector) -> None:
    for body in (padded(MAX_UPLOAD_BYTES), in_chunks(padded(MAX_UPLOAD_BYTES))):
        answer = await collector.upload(body)
        assert answer.status == 200
        read = UploadAnswer.from_json(await answer.read(), 2)
        assert read is not None
        assert [code.value for _, code in read.refused] == ["malformed"]
    for body in (padded(MAX_UPLOAD_BYTES + 1), in_chunks(padded(MAX_UPLOAD_BYTES + 1))):
        assert await problem(await collector.upload(body)) == (413, "too-large")


async def test_a_body_far_too_large_is_refused_and_not_stored(collector: Collector) -> None:
    for body in (GOOD + bytes(1 << 19), in_chunks(GOOD + bytes(1 << 19))):
        assert await problem(await collector.upload(body)) == (413, "too-large")
    assert await nothing_stored(collector)


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


NO_ARRAYS = {
    "empty": b"",
    "empty array": b"\x90",
    "nil": b"\xc0",
    "JSON": b"{}",
    "truncated": GOOD[:-1],
    "a byte behind": GOOD + b"\0",
    "two arrays": GOOD + GOOD,
    "wide header": b"\xdc\x00\x01" + GOOD[1:],
    "an element missing": b"\x92" + GOOD[1:],
    "no msgpack": b"\x91\xc1",
}


async def test_257_reports_are_too_many(collector: Collector) -> None:
    body = codec.array_header(257) + codec.encode(None) * 257
    assert await problem(await collector.upload(body)) == (413, "too-large")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("body", NO_ARRAYS.values(), ids=NO_ARRAYS)
async def test_a_body_that_is_no_array_of_elements_is_malformed(
    lasting: Collector, body: bytes
) -> None:
    assert await problem(await lasting.upload(body)) == (400, "malformed")
    assert await nothing_stored(lasting)


async def test_a_body_that_does_not_arrive_is_a_timeout(tmp_path: Path) -> None:
    async def stalls() -> AsyncIterator[bytes]:
        yield GOOD[:-1]
        await released.wait()
        yield GOOD[-1:]

    released = asyncio.Event()
    async with running(tmp_path, body_seconds=0.05) as collector:
        sending = asyncio.create_task(collector.upload(stalls()))
        done, _ = await asyncio.wait({sending}, timeout=20)
        released.set()
        assert done
        assert await problem(sending.result()) == (408, "timeout")
