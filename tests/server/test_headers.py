"""Headers that differ; those of every answer are seen wherever one is read from a bare socket."""

from pathlib import Path
from typing import Any

import pytest

from deniable.server.problems import answer_headers
from tests.server.collector import Collector, running
from tests.server.sockets import exchange, request
from tests.support.surveys import MANIFEST


async def test_a_manifest_alone_may_be_kept_and_is_asked_for_again(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails() -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(collector.store, "ping", fails)
    survey = f"GET /v1/surveys/{MANIFEST.name}".encode()
    for line, status, cache in (
        (b"GET /healthz", 200, "no-store"),
        (b"GET /readyz", 500, "no-store"),
        (b"GET /v1/surveys", 200, "no-store"),
        (survey + b"/manifest", 200, "no-cache"),
        (survey + b"/histogram", 401, "no-store"),
        (b"GET /nowhere", 404, "no-store"),
        (b"DELETE /healthz", 405, "no-store"),
        (b"POST /v1/reports", 415, "no-store"),
        (b"xyzzy", 400, "no-store"),
    ):
        (answer,) = await exchange(collector, request(line))
        assert (answer.status, answer.headers["cache-control"]) == (status, cache)


@pytest.mark.parametrize(
    ("settings", "strict"),
    [
        ({"origin": "https://collector.example"}, True),  # a proxy ends TLS
        ({"origin": "http://127.0.0.1:1", "tls_certificate": Path("chain.pem")}, True),
        ({"origin": "http://127.0.0.1:1"}, False),
    ],
)
async def test_transport_security_is_strict_where_there_is_any(
    tmp_path: Path, settings: dict[str, Any], strict: bool
) -> None:
    async with running(tmp_path, **settings) as collector:
        for sent in (request(b"GET /nowhere"), b"xyzzy\r\n\r\n"):
            (answer,) = await exchange(collector, sent)
            found = answer.headers.get("strict-transport-security")
            assert found == ("max-age=31536000" if strict else None)
        assert ("Strict-Transport-Security" in answer_headers(collector.config)) is strict
