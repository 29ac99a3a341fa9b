"""Devices in a browser: which origins' pages may upload, and ask what devices ask (CORS)."""

from pathlib import Path
from typing import Any

import pytest

from deniable.messages import pack_upload
from tests.server.collector import MSGPACK, running
from tests.support.reports import envelope
from tests.support.surveys import MANIFEST

PAGE = "https://app.example"
SAID, EXPOSED = "Access-Control-Allow-Origin", "Access-Control-Expose-Headers"
ASKED = (f"/v1/surveys/{MANIFEST.name}/manifests", "/v1/authority")


@pytest.mark.parametrize(
    ("named", "reads", "allowed"),
    [
        ((), (), False),
        (("https://other.example",), (), False),
        ((PAGE,), (), True),
        ((PAGE,), ("*",), True),
        ((), (PAGE,), False),
    ],
)
async def test_pages_of_named_origins_are_devices_and_nothing_else(
    tmp_path: Path, named: tuple[str, ...], reads: tuple[str, ...], allowed: bool
) -> None:
    settings: Any = {"upload_origins": frozenset(named), "cross_origins": frozenset(reads)}
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
