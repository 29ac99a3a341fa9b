"""What is wrong with an upload as a whole: one problem, one status, nothing stored."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from deniable.messages import MAX_UPLOAD_BYTES, UploadAnswer, codec, pack_upload
from tests.server.collector import MSGPACK, Collector, problem, running
from tests.support.reports import envelope
from tests.support.surveys import MANIFEST

GOOD = pack_upload([envelope(1)])


def padded(size: int) -> bytes:
    """Return an upload of exactly so many bytes: a good report, and one that is none."""
    filler = codec.encode(bytes(size - len(GOOD) - 3))
    return b"\x92" + GOOD[1:] + filler


async def test_the_media_type_is_read_and_no_encoding_taken(collector: Collector) -> None:
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
    answer = await collector.upload(padded(MAX_UPLOAD_BYTES))
    assert answer.status == 200
    read = UploadAnswer.from_json(await answer.read(), 2)
    assert read is not None
    assert [code.value for _, code in read.refused] == ["malformed"]
    too_large = await collector.upload(padded(MAX_UPLOAD_BYTES + 1))
    assert await problem(too_large) == (413, "too-large")


PAGE = "https://app.example"
SAID, EXPOSED = "Access-Control-Allow-Origin", "Access-Control-Expose-Headers"
ASKED = (f"/v1/surveys/{MANIFEST.name}/manifests", "/v1/authority")


@pytest.mark.parametrize(
    ("named", "allowed"),
    [
        ((), False),
        (("https://other.example",), False),
        ((PAGE,), True),
    ],
)
async def test_pages_of_named_origins_are_devices_and_nothing_else(
    tmp_path: Path, named: tuple[str, ...], allowed: bool
) -> None:
    settings: Any = {"upload_origins": frozenset(named)}
    async with running(tmp_path, **settings) as collector:
        client, origin = collector.client, {"Origin": PAGE}
        asking = origin | {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type",
        }
        preflight = await client.options("/v1/reports", headers=asking)
        assert preflight.status == (204 if named else 405)
        assert preflight.headers.get(SAID) == (PAGE if allowed else None)
        if allowed:
            assert preflight.headers["Access-Control-Allow-Methods"] == "POST"
            assert preflight.headers["Access-Control-Allow-Headers"] == "Content-Type"
        body, headers = pack_upload([envelope(1)]), origin | MSGPACK
        answers = [
            await client.post("/v1/reports", data=body, headers=headers),
            await client.post("/v1/reports", data=b"nonsense", headers=headers),
            *[await client.get(path, headers=origin) for path in ASKED],
        ]
        assert [answer.status for answer in answers] == [200, 400, 200, 200]
        for answer in answers:
            assert answer.headers.get(SAID) == (PAGE if allowed else None)
            assert answer.headers.get(EXPOSED) == ("Date, Retry-After" if allowed else None)
            assert (answer.headers.get("Connection") == "close") == allowed
            assert answer.headers.get("Vary") == ("Origin" if named else None)
            assert "Access-Control-Allow-Credentials" not in answer.headers
        # No page, no figure, nothing with a token, and no other origin.
        for path in ("/", "/v1/surveys", f"/v1/surveys/{MANIFEST.name}/counts", "/metrics"):
            assert SAID not in (await client.get(path, headers=origin)).headers
        for others in (await collector.token(), {"Cookie": "a=b"}):
            assert SAID not in (await client.get(ASKED[0], headers=origin | others)).headers
        for stranger in ("https://app.example.evil", "http://app.example", "null", "*", ""):
            answer = await client.post(
                "/v1/reports", data=body, headers=MSGPACK | {"Origin": stranger}
            )
            assert SAID not in answer.headers
