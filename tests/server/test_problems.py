"""Every error has one shape, says what to do next, and repeats nothing of what was sent."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deniable.messages import UploadAnswer, pack_upload
from deniable.server import gauges
from deniable.server.logging_setup import LogThrottle
from deniable.server.metrics import Meters
from deniable.server.problems import answer_headers, answer_to
from deniable.server.routes.app import build_server
from deniable.stores import Overloaded, StoreError, StoreFull
from tests.server.collector import Collector, problem, running
from tests.server.sockets import exchange, request
from tests.stores.databases import HookedStore
from tests.support.clock import FakeClock
from tests.support.reports import envelope
from tests.support.surveys import MANIFEST

NAME = MANIFEST.name
MARKER = "xyzzy-marker"


async def fails(*_: Any, **__: Any) -> Any:
    raise RuntimeError(f"unforeseen {MARKER}")


async def test_another_method_is_told_which_are_allowed(collector: Collector) -> None:
    get = {"GET", "HEAD"}
    for method, path, allowed in (
        ("GET", "/v1/reports", {"POST"}),
        ("PUT", "/v1/reports", {"POST"}),
        ("POST", "/v1/surveys", get),
        ("DELETE", f"/v1/surveys/{NAME}", get),
        ("OPTIONS", f"/v1/surveys/{NAME}/histogram", get),
        ("POST", "/healthz", get),
    ):
        answer = await collector.client.request(method, path)
        assert await problem(answer) == (405, "Method Not Allowed")
        assert set(answer.headers["Allow"].split(",")) == allowed


async def test_readiness_is_told_and_takes_one_write_for_all_who_ask(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes, ping = [], collector.store.ping

    async def counted() -> None:
        writes.append(1)
        await ping()

    monkeypatch.setattr(collector.store, "ping", counted)
    collector.meters.workers.set(1)
    ready = {"status": "ready", "workers": 1, "workers_wanted": 1}
    for path, told in [("/healthz", {"status": "ok"}), *[("/readyz", ready)] * 20]:
        answer = await collector.client.get(path)
        assert (answer.status, await answer.json()) == (200, told)
    assert len(writes) == 1


async def test_a_store_that_became_read_only_is_not_ready(tmp_path: Path) -> None:
    store = HookedStore(tmp_path / "store.sqlite")
    async with running(tmp_path, store=store) as collector:
        with store._writer.reading() as connection:
            connection.execute("PRAGMA query_only=1")
        for answer in (
            await collector.upload(pack_upload([envelope(1)])),
            await collector.client.get("/readyz"),
        ):
            assert await problem(answer) == (503, "store-failed")
        assert (await collector.client.get("/v1/surveys")).status == 200
        assert (await collector.client.get("/healthz")).status == 200


async def test_a_store_that_another_process_keeps_from_writing_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gauges, "_WRITING_SECONDS", 0.05)
    async with running(tmp_path) as collector:
        # As a frozen worker does. Readiness is told sooner than the store gives up.
        with closing(sqlite3.connect(collector.store.path, isolation_level=None)) as frozen:
            frozen.execute("BEGIN IMMEDIATE")
            waiting = asyncio.create_task(collector.upload(pack_upload([envelope(1)])))
            await asyncio.sleep(0)
            ready = await collector.client.get("/readyz")
            assert await problem(ready) == (503, "store-failed")
            assert "does not respond" in await ready.text()
            assert (await collector.client.get("/healthz")).status == 200
            frozen.execute("ROLLBACK")
            assert (await waiting).status == 200


async def test_what_fails_beside_the_handlers_is_answered_and_logged_like_them(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(collector.server, "_handler", fails)
    answer = await collector.client.get("/healthz")
    assert await problem(answer) == (500, "internal error")
    assert answer.headers["Server"] == "deniable"
    assert [record.levelname for record in caplog.records] == ["ERROR"]


@pytest.mark.parametrize(
    ("failure", "status", "code", "level", "said"),
    [
        (StoreError, 503, "store-failed", "ERROR", MARKER),
        (Overloaded, 503, "overloaded", "WARNING", MARKER),
        (StoreFull, 507, "storage-full", "ERROR", "the store is full"),
        (RuntimeError, 500, "internal error", "ERROR", ""),
    ],
)
async def test_a_failing_store_asks_for_patience_and_is_logged_and_the_application_goes_on(
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    failure: type[Exception],
    status: int,
    code: str,
    level: str,
    said: str,
) -> None:
    async def fail(*_: Any) -> Any:
        raise failure(f"unforeseen {MARKER}")

    with monkeypatch.context() as failing:
        failing.setattr(collector.store, "add", fail)
        answer = await collector.upload(pack_upload([envelope(1)]))
    assert await problem(answer) == (status, code)
    for hidden in (MARKER, "Traceback"):
        assert hidden not in await answer.text()
    (record,) = caplog.records
    assert (record.levelname, said in record.message) == (level, True)
    assert (MARKER in caplog.text) is (failure is not StoreFull)
    assert await collector.send(envelope(1)) == UploadAnswer(1, 0)


async def test_a_collector_does_not_start_on_a_store_that_cannot_be_read(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector.store, "surveys", fails)
    with pytest.raises(RuntimeError):
        await build_server(collector.config, collector.store, collector.clock)


@pytest.mark.parametrize("error", [Overloaded("x"), StoreError("x"), StoreFull("x"), KeyError("x")])
def test_the_same_failure_is_logged_once_a_minute_and_a_device_that_is_gone_is_none(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    throttle = LogThrottle(clock)
    for gone in (ConnectionResetError("Connection lost"), BrokenPipeError("Connection lost")):
        assert answer_to(gone, Meters(), throttle).status == 400
    assert caplog.records == []
    for _ in range(100):
        assert answer_to(error, Meters(), throttle).status >= 500
    answer_to(RuntimeError("another"), Meters(), throttle)
    assert len(caplog.records) == 2
    clock.time += 60
    answer_to(error, Meters(), throttle)
    assert len(caplog.records) == 3


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
