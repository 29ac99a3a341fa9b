"""A database that is lost, or falls silent: nobody is told that the collector is ready."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from deniable.server.gauges import Gauges
from deniable.server.routes.catalogue import Catalogue
from deniable.stores import PostgresStore
from tests.server.collector import problem, running
from tests.support.postgres import postgres_server
from tests.support.postgres_proxy import postgres_proxy


@pytest.mark.long
@pytest.mark.parametrize("how", ["away", "silent"])
async def test_a_collector_without_its_database_is_up_and_not_ready(
    tmp_path: Path, how: str
) -> None:
    server = postgres_server()
    database = await server.create_store()
    async with AsyncExitStack() as network:
        proxy = await network.enter_async_context(postgres_proxy(server.socket))
        url = f"postgresql://deniable@127.0.0.1:{proxy.port}/{database}"
        store = await PostgresStore.open(url, patience=0.1)
        async with running(tmp_path, store=store) as collector:
            if how == "away":
                await network.aclose()
            else:
                proxy.silence("answers")
            ready = await collector.client.get("/readyz")
            assert await problem(ready) == (503, "store-failed")
            assert (await collector.client.get("/healthz")).status == 200


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
