"""``deniable relay``: a request goes on without whatever tells who sent it, and its answer back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from deniable.cli.relaying import relaying
from deniable.messages import MAX_ENCAPSULATED_ANSWER_BYTES
from tests.cli.commands import fail
from tests.support.clock import FakeClock

SEALED = bytes(range(256)) * 4
TYPE = {"Content-Type": "message/ohttp-req"}
ANSWER = b"sealed " * 40_000


@asynccontextmanager
async def relay(
    rate: float = 0.0, **given: Any
) -> AsyncIterator[tuple[TestClient[web.Request, web.Application], list[Any], FakeClock]]:
    """Yield a client of a relay, what the gateway behind it gets, and the relay's clock."""
    seen: list[Any] = []
    clock = FakeClock()

    async def gateway(request: web.Request) -> web.Response:
        seen.append((request.method, request.path, dict(request.headers), await request.read()))
        headers = {"Content-Type": "message/ohttp-res", "Set-Cookie": "a=b", "Server": "x"}
        return web.Response(**({"body": ANSWER, "headers": headers} | given))

    behind = web.Application()
    behind.router.add_route("*", "/{path:.*}", gateway)
    async with TestServer(behind) as server:
        url = str(server.make_url("/.well-known/ohttp-gateway"))
        async with TestClient(TestServer(relaying(url, rate, clock))) as client:
            yield client, seen, clock


async def test_nothing_goes_on_but_the_sealed_bytes() -> None:
    telling = {
        "User-Agent": "a device",
        "Cookie": "who=me",
        "X-Forwarded-For": "192.0.2.7",
        "Forwarded": "for=192.0.2.7",
        "Accept-Language": "de",
        "Authorization": "Bearer me",
    }
    async with relay() as (client, seen, _):
        for path in ("/", "/any?where"):
            answer = await client.post(path, data=SEALED, headers=TYPE | telling)
            assert (answer.status, await answer.read()) == (200, ANSWER)
            assert answer.content_type == "message/ohttp-res"
            assert "Set-Cookie" not in answer.headers
        assert len(seen) == 2
        for method, path, headers, body in seen:
            assert (method, path, body) == ("POST", "/.well-known/ohttp-gateway", SEALED)
            assert headers.keys() == {"Host", "Content-Type", "Content-Length"}


@pytest.mark.parametrize(
    ("method", "body", "headers", "status"),
    [
        ("GET", b"", {}, 405),
        ("PUT", SEALED, TYPE, 405),
        ("POST", SEALED, {"Content-Type": "application/msgpack"}, 415),
        ("POST", SEALED[1:], TYPE, 400),
        ("POST", SEALED + b"\0", TYPE, 400),
    ],
)
async def test_other_requests_do_not_go_on(
    method: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    async with relay() as (client, seen, _):
        answer = await client.request(method, "/", data=body, headers=headers)
        assert answer.status == status
        assert seen == []


async def test_an_address_has_its_limit() -> None:
    async with relay(rate=1.0) as (client, seen, clock):

        async def ask() -> int:
            return (await client.post("/", data=SEALED, headers=TYPE)).status

        assert [await ask() for _ in range(21)] == [200] * 20 + [429]
        clock.time += 1
        assert [await ask() for _ in range(2)] == [200, 429]
        assert len(seen) == 21


async def test_the_gateways_refusals_are_passed_back_and_its_absence_is_told() -> None:
    refused: dict[str, Any] = {"status": 503, "body": b"{}", "headers": {"Retry-After": "60"}}
    async with relay(**refused) as (client, _, __):
        answer = await client.post("/", data=SEALED, headers=TYPE)
        assert (answer.status, answer.headers["Retry-After"]) == (503, "60")
    nobody = TestServer(relaying("http://127.0.0.1:9/", 0.0))
    async with TestClient(nobody) as client:
        assert (await client.post("/", data=SEALED, headers=TYPE)).status == 502


@pytest.mark.parametrize("length", [1_000, None])
async def test_a_part_of_an_answer_and_one_beyond_all_sizes_are_none(length: int | None) -> None:
    async def gateway(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        answer.content_length = length
        await answer.prepare(request)
        await answer.write(b"s" * (999 if length else MAX_ENCAPSULATED_ANSWER_BYTES + 1))
        if length:
            assert request.transport is not None
            request.transport.close()
        return answer

    behind = web.Application()
    behind.router.add_post("/", gateway)
    async with (
        TestServer(behind) as server,
        TestClient(TestServer(relaying(str(server.make_url("/")), 0.0))) as client,
    ):
        answer = await client.post("/", data=SEALED, headers=TYPE)
        assert (answer.status, await answer.text()) == (502, "502: Bad Gateway")


def test_it_relays_to_an_origin_only() -> None:
    for url in ("http://telemetry.example.org", "https://telemetry.example.org/path", "nonsense"):
        assert "origin" in fail("relay", "--to", url)
