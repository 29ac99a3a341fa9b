"""A standby: S1 with a synchronous one that comes and goes, and one that is promoted too early."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from deniable.stores import PostgresStore, StoreError
from deniable.stores.values import Receipt
from tests.stores.databases import many
from tests.stores.places import NOW, A, D, S, publish
from tests.support.postgres import PostgresServer, connected, find_binaries
from tests.support.surveys import MANIFEST

SECONDS = 60.0


@dataclass
class Pair:
    """Two servers; what the first commits waits for the second."""

    primary: PostgresServer
    standby: PostgresServer
    database: str

    async def lose_standby(self) -> None:
        await asyncio.to_thread(self.standby.stop)

    async def until_waiting(self, commits: int) -> None:
        """Return once so many commits wait for the standby."""
        async with connected(self.primary.url(self.database)) as connection:
            while commits > await connection.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            ):
                await connection.execute("SELECT pg_stat_clear_snapshot()")

    async def crash_primary(self) -> None:
        await asyncio.to_thread(self.primary.kill)
        self.primary.launch()
        await asyncio.to_thread(self.primary.wait)

    async def on_standby(self) -> set[bytes]:
        async with connected(self.standby.url(self.database)) as connection:
            rows = await connection.fetch("SELECT key FROM deniable.receipts")
        return {row["key"].bytes for row in rows}


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed")
    primary = PostgresServer(binaries)
    servers = [primary]
    try:
        primary.start()
        database = await primary.create_store()
        standby = PostgresServer(binaries, primary=primary)
        servers.append(standby)
        standby.start()
        # What the standby has is what a reader of it sees.
        await primary.administer("ALTER SYSTEM SET synchronous_commit = remote_apply")
        await primary.administer("ALTER SYSTEM SET synchronous_standby_names = '*'")
        await primary.administer("SELECT pg_reload_conf()")
        yield Pair(primary, standby, database)
    finally:
        for server in servers:
            server.erase()


async def refused(store: PostgresStore, group: list[Receipt]) -> bool:
    """Return if a group is not answered."""
    try:
        await store.add(group)
    except StoreError:
        return True
    return False


@pytest.mark.long
async def test_s1_what_a_restart_released_is_answered_by_the_standby(pair: Pair) -> None:
    url = f"{pair.primary.url(pair.database)}&statement_timeout=1s"
    stores = [await PostgresStore.open(url, patience=0.1) for _ in range(2)]
    first, second = stores
    first._unfolded = 0  # nothing else waits for the standby
    async with asyncio.timeout(2 * SECONDS):
        await publish(first)
        here = many(5)
        assert await first.add(here) == [A] * 5
        assert await pair.on_standby() == {receipt.key for receipt in here}

        await pair.lose_standby()
        later = [receipt._replace(epoch=1) for receipt in many(3)]
        sealing = asyncio.create_task(second.seal(MANIFEST.survey_id, 1, NOW))
        assert await refused(first, many(10))
        await pair.until_waiting(2)
        # Locally these commits are complete, so that the server recovers them and shows them.
        await pair.crash_primary()
        sealing.cancel()
        await asyncio.wait([sealing])
        assert await first.standing_seal(MANIFEST.survey_id, 1) is not None
        unanswered = await asyncio.gather(refused(first, many(10)), refused(second, later))
        assert all(unanswered)

        pair.standby.launch()
        await asyncio.to_thread(pair.standby.wait)
        assert await first.add(many(12)) == [D] * 10 + [A] * 2
        assert await second.add(later) == [S] * 3
        assert await pair.on_standby() == {receipt.key for receipt in many(12)}
        assert await first.check() == []
    for store in stores:
        await store.close()
