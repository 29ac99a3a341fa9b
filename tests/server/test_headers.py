"""Every answer carries the same headers: good ones, refusals, and the last of a cut connection."""

from pathlib import Path
from typing import Any

import pytest

from deniable.server.transport.answers import answer_headers
from tests.server.collector import Collector, running
from tests.server.raw import exchange, head_of, request
from tests.server.sockets import HeldStore, connected, upload
from tests.support.surveys import MANIFEST

EVERYWHERE = {
    "server": "deniable",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def check(answer: bytes, status: int, cache: str = "no-store") -> dict[str, str]:
    found, headers = head_of(answer)
    assert found == status
    assert EVERYWHERE.items() <= headers.items()
    assert headers["cache-control"] == cache
    assert "set-cookie" not in headers
    return headers


async def test_an_answer_and_a_refusal_carry_them(collector: Collector) -> None:
    survey = f"/v1/surveys/{MANIFEST.name}".encode()
    for line, status, *headers in (
        (b"GET /healthz", 200),
        (b"HEAD /healthz", 200),
        (b"GET /v1/surveys", 200),
        (b"GET " + survey + b"/manifest", 200),
        (b"GET " + survey + b"/histogram", 401),
        (b"GET /nowhere", 404),
        (b"DELETE /healthz", 405),
        (b"POST /v1/reports", 415),
        (b"GET /healthz", 417, b"Expect: xyzzy"),
    ):
        cache = "no-cache" if line.endswith(b"/manifest") else "no-store"
        check(await exchange(collector, request(line + b" HTTP/1.1", *headers)), status, cache)
    check(await exchange(collector, b"xyzzy\r\n\r\n"), 400)


async def test_an_unforeseen_error_carries_them(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails() -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(collector.store, "ping", fails)
    check(await exchange(collector, request(b"GET /readyz HTTP/1.1")), 500)


async def test_a_connection_too_many_is_turned_away_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, most_connections=1) as collector:
        held = HeldStore(collector, monkeypatch)
        async with connected(collector) as (_, writer):
            writer.write(upload())
            await held.entered.wait()
            headers = check(await exchange(collector, b""), 503)
            assert int(headers["retry-after"]) > 0
            assert headers["connection"] == "close"
            held.release.set()


async def test_a_head_that_does_not_come_is_ended_with_them(tmp_path: Path) -> None:
    async with running(tmp_path, head_seconds=1.0) as collector:
        headers = check(await exchange(collector, b"GET / HTTP/1.1\r\nHos"), 408)
        assert headers["connection"] == "close"


@pytest.mark.parametrize(
    ("settings", "strict"),
    [
        ({"origin": "https://collector.example"}, True),
        ({"origin": "http://127.0.0.1:1", "tls_certificate": Path("chain.pem")}, True),
        ({"origin": "http://127.0.0.1:1"}, False),
    ],
    ids=["a proxy ends TLS", "TLS here", "no TLS"],
)
async def test_transport_security_is_strict_where_there_is_any(
    tmp_path: Path, settings: dict[str, Any], strict: bool
) -> None:
    async with running(tmp_path, **settings) as collector:
        for sent in (request(b"GET /nowhere HTTP/1.1"), b"xyzzy\r\n\r\n"):
            _, headers = head_of(await exchange(collector, sent))
            found = headers.get("strict-transport-security")
            assert found == ("max-age=31536000" if strict else None)
        assert ("Strict-Transport-Security" in answer_headers(collector.config)) is strict
