"""A blind issuer over HTTP: the route in aiohttp, the same answers in any other framework."""

import io
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer

from deniable.enrolment import BlindIssuer, SqliteIssuanceRecord, answer_token_request
from deniable.enrolment.routes import token_route
from deniable.messages.refusals import ERROR_TYPE_PREFIX
from tests.enrolment.blind_issuers import MODULI, blind_issuer, is_token, key_directory, request
from tests.enrolment.issuers import NOW
from tests.support.clock import FakeClock
from tests.support.processes import ROOT
from tests.support.readme import marked_blocks

ASKED = request(1)
TYPE = "application/private-token-request"
Client = TestClient[web.Request, web.Application]


@pytest.fixture
def ours(record: SqliteIssuanceRecord, tmp_path: Path) -> BlindIssuer:
    return blind_issuer(record, key_directory(tmp_path))


@pytest.fixture
async def backend(ours: BlindIssuer) -> AsyncIterator[Client]:
    async def account(request: web.Request) -> str | None:
        return request.headers.get("Authorization")

    app = web.Application()
    app.add_routes([token_route(ours, account, clock=FakeClock(NOW))])
    async with TestClient(TestServer(app)) as client:
        yield client


async def ask(
    client: Client,
    body: bytes = ASKED.body,
    path: str = "blind/0",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> ClientResponse:
    given = {"Content-Type": TYPE, "Authorization": "ann-o-nym", **headers}
    return await client.post(f"/v1/enrolments/{path}", data=body, headers=given)


async def test_an_account_gets_its_token_and_the_same_answer_again(backend: Client) -> None:
    first, again = await ask(backend), await ask(backend)
    assert (first.status, first.content_type) == (200, "application/private-token-response")
    assert first.headers["Cache-Control"] == "no-store"
    assert is_token(ASKED.finish(answer := await first.read()), 1)
    assert await again.read() == answer


@pytest.mark.parametrize(
    ("body", "path", "status", "code"),
    [
        *((body, "blind/0", 422, "malformed") for body in (b"", ASKED.body + bytes(100_000))),
        *((ASKED.body, f"blind/{n}", 400, "out-of-domain") for n in ("4", "-1", "٠", "9" * 1000)),
        (ASKED.body, "blind/1", 409, "too-early"),
        (ASKED.body, "another/0", 404, "unknown-survey"),
    ],
)
async def test_each_defect_of_a_request_has_one_code(
    backend: Client, body: bytes, path: str, status: int, code: str
) -> None:
    answer = await ask(backend, body, path)
    told = json.loads(await answer.read())
    assert (answer.status, told["status"]) == (status, status)
    assert told["type"] == ERROR_TYPE_PREFIX + code
    assert "ann-o-nym" not in json.dumps(told)
    assert (await ask(backend)).status == 200


async def test_whoever_is_not_signed_in_or_sends_as_a_form_could_gets_nothing(
    backend: Client,
) -> None:
    answer = await backend.post("/v1/enrolments/blind/0", data=ASKED.body)
    assert answer.status == 401
    for other in ({"Content-Type": "text/plain"}, {"Content-Encoding": "gzip"}):
        assert (await ask(backend, headers=other)).status == 415


async def test_a_key_that_is_missing_is_an_outage_and_is_told_without_its_reasons(
    backend: Client, ours: BlindIssuer
) -> None:
    ours._keys[0].erase({MODULI[0]})
    answer = await ask(backend)
    assert (answer.status, answer.headers["Retry-After"]) == (503, "60")
    assert "key" not in await answer.text()


GUIDE = ROOT / "docs" / "operations" / "blind-issuers.md"


def test_the_guides_wsgi_application_gives_the_same_answer(ours: BlindIssuer) -> None:
    (block,) = marked_blocks(GUIDE)
    guide: dict[str, Any] = {}
    exec(block.text, guide)
    guide["time"] = SimpleNamespace(time=lambda: NOW)
    application = guide["token_application"](ours, lambda environ: environ.get("REMOTE_USER"))
    told: list[Any] = []

    def answer(epoch: int = 0, **changes: str) -> bytes:
        told.clear()
        environ = {
            "PATH_INFO": f"/v1/enrolments/blind/{epoch}",
            "CONTENT_LENGTH": str(len(ASKED.body)),
            "CONTENT_TYPE": TYPE,
            "REMOTE_USER": "ann",
            "wsgi.input": io.BytesIO(ASKED.body),
        }
        return b"".join(application(environ | changes, lambda *start: told.extend(start)))

    token = answer()
    assert told[0] == "200 OK"
    assert ("Content-Type", "application/private-token-response") in told[1]
    assert is_token(ASKED.finish(token), 1)
    assert (answer(CONTENT_TYPE="text/plain"), told) == (b"", ["415 Unsupported Media Type", []])
    assert answer(epoch=1) != b""
    assert told[0] == "409 Conflict"
    ours._keys[0].erase({MODULI[0]})
    assert answer() != b""
    assert told[0] == "503 Service Unavailable"
    assert ("Retry-After", "60") in told[1]


def test_an_account_that_is_none_is_the_apps_to_refuse(ours: BlindIssuer) -> None:
    with pytest.raises(TypeError, match="answer 401"):
        answer_token_request(ours, None, "blind", "0", ASKED.body, NOW)  # type: ignore[arg-type]
