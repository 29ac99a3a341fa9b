"""What is wrong with an upload as a whole: one problem, one status, nothing stored."""

import gzip
from collections.abc import AsyncIterator

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


async def test_the_media_type_is_read_as_http_has_it_and_no_encoded_body_is_taken(
    collector: Collector,
) -> None:
    skip, post = ["Content-Type"], collector.client.post
    missing = await post("/v1/reports", data=GOOD, skip_auto_headers=skip)
    assert await problem(missing) == (415, "unsupported-media-type")
    for encoding in ("gzip", "identity", "deflate"):
        body = gzip.compress(GOOD) if encoding == "gzip" else GOOD
        answer = await collector.upload(body, {"Content-Encoding": encoding})
        assert await problem(answer) == (415, "unsupported-media-type")
    assert not await collector.store.counts(MANIFEST.survey_id, 0)
    for media_type in ("application/msgpack; charset=utf-8", "APPLICATION/MsgPack"):
        assert (await collector.upload(GOOD, {"Content-Type": media_type})).status == 200


async def test_64_kib_are_taken_and_not_a_byte_more(collector: Collector) -> None:
    for body in (padded(MAX_UPLOAD_BYTES), in_chunks(padded(MAX_UPLOAD_BYTES))):
        answer = await collector.upload(body)
        assert answer.status == 200
        read = UploadAnswer.from_json(await answer.read(), 2)
        assert read is not None
        assert [code.value for _, code in read.refused] == ["malformed"]
    for body in (padded(MAX_UPLOAD_BYTES + 1), in_chunks(padded(MAX_UPLOAD_BYTES + 1))):
        assert await problem(await collector.upload(body)) == (413, "too-large")
