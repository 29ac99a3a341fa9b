"""The route, over a real socket: bounded, one shape of errors, and nothing echoed."""

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer, make_mocked_request

from deniable.enrolment import Issuer, RecordError, SqliteIssuanceRecord, routes
from deniable.enrolment.routes import enrolment_route
from deniable.messages import PROBLEM_JSON, enrolment_statement
from deniable.messages.enrolment import MAX_ENROLMENT_BYTES, read_credential
from tests.enrolment.issuers import NOW, SURVEY_ID, device_key, issuer, vouches
from tests.support.clock import FakeClock

KEY = device_key(1)
BODY = enrolment_statement(SURVEY_ID, 0, KEY)
MSGPACK = {"Content-Type": "application/msgpack"}
ANN = {"Authorization": "ann-o-nym"}

Client = TestClient[web.Request, web.Application]


class Broken:
    """A record whose disk is full, as soon as it is told."""

    full = False

    def claim(self, slot: bytes, holder: bytes, over: int) -> bytes | None:
        if self.full:
            raise RecordError("the disk of ann-o-nym is full")
        return holder

    def forget(self, before: int) -> None:
        """Do nothing."""


async def account(request: web.Request) -> str | None:
    return request.headers.get("Authorization")


@asynccontextmanager
async def serving(ours: Issuer, authenticate: Any = account) -> AsyncIterator[Client]:
    app = web.Application()
    app.add_routes([enrolment_route(ours, authenticate, clock=FakeClock(NOW))])
    async with TestClient(TestServer(app)) as client:
        yield client


@pytest.fixture
async def backend(record: SqliteIssuanceRecord) -> AsyncIterator[Client]:
    async with serving(issuer(record)) as client:
        yield client


async def ask(client: Client, body: Any = BODY, **headers: str) -> ClientResponse:
    return await client.post("/v1/enrolments", data=body, headers=MSGPACK | ANN | headers)


async def problem(answer: ClientResponse) -> tuple[int, str]:
    """Return status and code of a problem that has the one shape of all of them."""
    assert answer.content_type == PROBLEM_JSON
    body = await answer.json(content_type=PROBLEM_JSON)
    assert set(body) == {"type", "title", "status", "detail"}
    assert body["status"] == answer.status
    text = await answer.text()
    for secret in ("ann-o-nym", KEY.hex(), SURVEY_ID.hex(), "certified"):
        assert secret not in text
    return answer.status, body["type"].removeprefix("urn:deniable:error:")


async def test_an_account_gets_its_certificate_and_the_same_one_again(backend: Client) -> None:
    first = await ask(backend)
    assert (first.status, first.content_type) == (200, "application/msgpack")
    assert first.headers["Cache-Control"] == "no-store"
    credential = read_credential(await first.read())
    assert vouches(credential, KEY)
    assert read_credential(await (await ask(backend)).read()) == credential


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [  # the others are among the vectors
        (b"", 400, "malformed"),
        *((b"x" * size, 413, "too-large") for size in (MAX_ENROLMENT_BYTES + 1, 1_000_000)),
    ],
)
async def test_each_defect_of_a_request_has_one_code(
    backend: Client, body: bytes, status: int, code: str
) -> None:
    assert await problem(await ask(backend, body)) == (status, code)
    assert (await ask(backend)).status == 200


async def test_whoever_is_not_signed_in_gets_nothing(backend: Client) -> None:
    answer = await backend.post("/v1/enrolments", data=BODY, headers=MSGPACK)
    assert await problem(answer) == (401, "unauthorised")


@pytest.mark.parametrize(
    "headers",
    [
        *({"Content-Type": "text/plain"}, {"Content-Encoding": "gzip"}),
        {"Content-Type": "application/x-www-form-urlencoded"},
    ],
)
async def test_what_another_sites_form_could_send_is_refused(
    backend: Client, headers: dict[str, str]
) -> None:
    body = gzip.compress(BODY) if "Content-Encoding" in headers else BODY
    assert await problem(await ask(backend, body, **headers)) == (415, "unsupported-media-type")
    assert (await ask(backend, enrolment_statement(SURVEY_ID, 0, device_key(2)))).status == 200


async def test_of_a_body_without_end_no_more_is_read_than_is_judged() -> None:
    # aiohttp's own limit is a megabyte, and an app may have set it higher.
    class Endless:
        async def read(self, most: int) -> bytes:
            return b"x" * min(most, 50)

    endless: Any = Endless()
    request = make_mocked_request("POST", "/", MSGPACK, payload=endless)
    read = await routes._read(request, "application/msgpack", MAX_ENROLMENT_BYTES)
    assert len(read) == MAX_ENROLMENT_BYTES + 1


async def test_a_record_that_fails_is_told_without_its_reasons() -> None:
    broken = Broken()
    async with serving(issuer(broken)) as client:
        broken.full = True
        answer = await ask(client)
        assert answer.headers["Retry-After"] == "60"
        assert await problem(answer) == (503, "overloaded")


async def test_what_the_apps_authentication_raises_is_the_apps_own() -> None:
    async def sends_elsewhere(_: web.Request) -> str | None:
        raise web.HTTPForbidden(text="the app's own page")

    async with serving(issuer(Broken()), sends_elsewhere) as client:
        answer = await ask(client)
        assert (answer.status, await answer.text()) == (403, "the app's own page")
