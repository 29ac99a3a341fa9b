"""A store behind a pooler: one that pools sessions serves it, any other is refused as such."""

from functools import partial

import pytest

from deniable.stores import PostgresStore, StoreError
from deniable.stores.postgres.pool import Connection
from tests.stores.databases import many
from tests.stores.places import A, publish
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.postgres_pooler import postgres_pooler


@pytest.fixture
def server() -> PostgresServer:
    return postgres_server()


async def show(setting: str, connection: Connection) -> str:
    return str(await connection.fetchval(f"SHOW {setting}"))


async def test_a_pooler_of_sessions_serves_a_store_whose_settings_hold(
    server: PostgresServer,
) -> None:
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


@pytest.mark.parametrize("translates", [False, True])
async def test_a_pooler_of_transactions_is_told_as_such_where_a_store_is_made_and_examined(
    server: PostgresServer, translates: bool
) -> None:
    database = await server.create()
    async with postgres_pooler(server.socket, transactions=True, translates=translates) as pooler:
        url = f"postgresql://deniable@127.0.0.1:{pooler.port}/{database}"
        # `init`, `doctor` and readiness end with this write.
        store = await PostgresStore.open(url, create=True)
        with pytest.raises(StoreError, match="pools transactions"):
            await store.ping()
        await store.close()
        with pytest.raises(StoreError, match="pools transactions"):
            await PostgresStore.open(url)
