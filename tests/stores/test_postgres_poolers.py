"""A store behind a pooler: one that pools sessions serves it, any other is refused as such."""

from functools import partial

import pytest

from deniable.stores import PostgresStore, StoreError
from tests.stores.databases import many, show
from tests.stores.places import A, publish
from tests.support.postgres import PostgresServer
from tests.support.postgres_pooler import postgres_pooler


async def test_a_pooler_of_sessions_serves_a_store(server: PostgresServer) -> None:
    database = await server.empty_store()
    async with postgres_pooler(server.socket) as pooler:
        url = f"postgresql://deniable@127.0.0.1:{pooler.port}/{database}?lock_timeout=7s"
        store = await PostgresStore.open(url)
        await publish(store)
        await store.ping()
        assert await store.add(many(3)) == [A] * 3
        for setting, value in (
            ("statement_timeout", "30s"),
            ("lock_timeout", "7s"),
            ("idle_in_transaction_session_timeout", "1min"),
            ("default_transaction_isolation", "read committed"),
            ("synchronous_commit", "on"),
            ("application_name", "deniable"),
        ):
            assert await store._connections.run(partial(show, setting)) == value
        await store.close()


async def open_twice(url: str) -> None:
    """Open a store, and then another, which gets the first one's session."""
    for _ in range(2):
        store = await PostgresStore.open(url, create=True)
        await store.close()


@pytest.mark.parametrize("translates", [False, True])
async def test_a_pooler_of_transactions_is_told(server: PostgresServer, translates: bool) -> None:
    database = await server.create()
    async with postgres_pooler(server.socket, transactions=True, translates=translates) as pooler:
        url = f"postgresql://deniable@127.0.0.1:{pooler.port}/{database}"
        with pytest.raises(StoreError, match="transaction pooling"):
            await open_twice(url)
