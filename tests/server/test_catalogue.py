"""What is published is served from memory: a database that is away keeps nobody waiting."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from deniable.counterparts.signing import sign_manifest
from deniable.messages import pack_upload
from deniable.server import connection_slots
from deniable.server.connections import Connection
from deniable.server.gauges import Gauges
from deniable.server.routes import catalogue as catalogue_module
from deniable.server.routes.catalogue import Catalogue
from deniable.stores import PostgresStore, Store, StoredLog, StoreError
from tests.server.collector import Collector, problem, running
from tests.server.sockets import SECONDS, connected, healthy, until
from tests.support.clock import FakeClock
from tests.support.effort import THOROUGH
from tests.support.postgres import postgres_server
from tests.support.postgres_proxy import PostgresProxy, postgres_proxy
from tests.support.reports import envelope
from tests.support.surveys import AUTHORITY, MANIFEST, manifest

KNOWN = f"/v1/surveys/{MANIFEST.name}/manifests"
FLOOD = 40 if THOROUGH else 12
DATABASE_CONNECTIONS = 2


@asynccontextmanager
async def behind_a_proxy(
    directory: Path, **settings: Any
) -> AsyncIterator[tuple[Collector, PostgresProxy]]:
    """Yield a collector, and what is between it and its database."""
    server = postgres_server()
    database = await server.empty_store()
    async with postgres_proxy(server.socket) as proxy:
        url = f"postgresql://deniable@127.0.0.1:{proxy.port}/{database}"
        store = await PostgresStore.open(url, most_connections=DATABASE_CONNECTIONS)
        async with running(directory, store=store, **settings) as collector:
            yield collector, proxy


def fall_silent(proxy: PostgresProxy, collector: Collector) -> None:
    proxy.silence("requests", later=True)
    collector.clock.time += 60.0


@pytest.mark.long
async def test_while_the_database_is_silent_what_is_known_is_answered(tmp_path: Path) -> None:
    async with behind_a_proxy(tmp_path) as (collector, proxy):
        fall_silent(proxy, collector)
        for path in (KNOWN, "/v1/surveys", "/v1/authority", "/healthz"):
            async with asyncio.timeout(SECONDS):
                answers = await asyncio.gather(*(collector.client.get(path) for _ in range(FLOOD)))
            assert [answer.status for answer in answers] == [200] * FLOOD, path
        # What is not known may be published all the same.
        unknown = envelope(1, survey=manifest(name="another"))
        async with asyncio.timeout(SECONDS):
            status, _ = await problem(await collector.client.get("/v1/surveys/another/manifests"))
            assert status == 503
            assert (await problem(await collector.upload(pack_upload([unknown]))))[0] == 503


def handlers() -> int:
    """Return how many connections have a task, also those that are gone."""
    coroutines = [task.get_coro() for task in asyncio.all_tasks()]
    return sum(getattr(each, "__qualname__", "") == "RequestHandler.start" for each in coroutines)


@pytest.mark.long
async def test_who_hangs_up_while_the_database_is_silent_leaves_little_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_slots, "MOST_CONNECTIONS", FLOOD // 2)
    ask = b"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n"
    async with behind_a_proxy(tmp_path) as (collector, proxy):
        fall_silent(proxy, collector)
        for _ in range(FLOOD):
            async with connected(collector) as (_, writer):
                writer.write(ask)
                await until(lambda: [*map(_asks, collector.server.connections)] == [True])
            await until(lambda: not collector.server.connections)
        assert await healthy(collector)
        # Those that the database itself has not answered wait for it, one a connection to it.
        await until(lambda: handlers() <= DATABASE_CONNECTIONS)


def _asks(connection: Connection) -> bool:
    """Return if the server knows what somebody asks."""
    return connection._request is not None


class _Surveys:
    """A store that can be held up, and can fail."""

    def __init__(self) -> None:
        self.readings = 0
        self.answers = asyncio.Event()
        self.failure: StoreError | None = None
        self.published: list[bytes] = []

    async def surveys(self) -> list[bytes]:
        self.readings += 1
        await self.answers.wait()
        if self.failure is not None:
            raise self.failure
        return self.published

    async def rotations(self) -> list[bytes]:
        return []

    async def log(self, start: int) -> StoredLog:
        return StoredLog((), "", "")

    async def ended(self) -> dict[bytes, int]:
        return {}

    published_at = ended

    async def public(self) -> dict[str, bool]:
        return {}


async def test_one_reading_at_a_time_whatever_is_asked_and_what_comes_of_it_is_known(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_module, "_MOST_SECONDS", 0.1)
    store, clock = _Surveys(), FakeClock()
    catalogue = Catalogue(cast("Store", store), AUTHORITY.public_key, clock)
    async with asyncio.timeout(SECONDS):
        for _ in range(3):
            await asyncio.gather(*(catalogue.reread() for _ in range(FLOOD)))
            clock.time += 60.0
        assert store.readings == 1
        with pytest.raises(StoreError, match="does not respond"):
            catalogue.surely(MANIFEST.survey_id)

        store.failure = StoreError("the store failed")
        store.answers.set()
        for _ in range(3):
            with pytest.raises(StoreError, match="the store failed"):
                await catalogue.read()
            await catalogue.reread()
            with pytest.raises(StoreError, match="the store failed"):
                catalogue.surely(MANIFEST.survey_id)
        failed = "still serving the surveys that were read earlier: the store failed"
        assert caplog.messages == [failed]

        store.failure, store.published = None, [sign_manifest(MANIFEST, AUTHORITY)]
        clock.time += 60.0
        await catalogue.reread()
        assert catalogue.surely(MANIFEST.survey_id) == MANIFEST
        assert catalogue.surely(bytes(32)) is None


async def test_unknown_surveys_make_the_store_be_read_once_a_second_at_most(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, read = [], collector.store.surveys

    async def counted() -> list[bytes]:
        reads.append(1)
        return await read()

    monkeypatch.setattr(collector.store, "surveys", counted)
    unpublished = manifest(name="unpublished")
    batch = [envelope(device, survey=unpublished) for device in range(40)]
    for seconds, times in ((0, 0), (1, 1), (-50, 2)):  # a clock that is set back does not stop it
        collector.clock.time += seconds
        await asyncio.gather(*(collector.send(*batch) for _ in range(5)))
        assert len(reads) == times


@pytest.mark.long
async def test_metrics_tell_what_they_can_while_the_database_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It falls silent just after a look whether it takes writes."""
    monkeypatch.setattr("deniable.server.gauges._READING_SECONDS", 0.5)
    monkeypatch.setattr("deniable.server.routes.catalogue._MOST_SECONDS", 0.01)
    server = postgres_server()
    async with postgres_proxy(server.socket) as proxy:
        url = f"postgresql://deniable@127.0.0.1:{proxy.port}/{await server.create_store()}"
        store = await PostgresStore.open(url, patience=0.1)
        async with running(tmp_path, store=store) as collector:
            config, clock = collector.config, collector.clock
            gauges = Gauges(config, store, Catalogue(store, config.authority, clock), clock)
            await gauges.check()
            await asyncio.gather(*(store.ended() for _ in range(4)))  # all its connections are open
            proxy.silence("requests", later=True)
            assert (await gauges.measure())["store_up"] == 1
            ready = await collector.client.get("/readyz")
            assert await problem(ready) == (503, "store-failed")
            assert (await collector.client.get("/healthz")).status == 200
