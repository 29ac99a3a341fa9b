"""PostgreSQL's schema: what it holds, what changes in it, and who may make it."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from deniable.stores import KEPT_SECONDS, PostgresStore, StoreError, UnknownSchema
from tests.stores.databases import SECONDS, many, opened
from tests.stores.places import COLUMNS, NOW, A, counts, publish
from tests.support.postgres import Looking, PostgresServer, connected
from tests.support.surveys import MANIFEST

EVERYTHING = COLUMNS | {
    "schema_version": {"version"},
    "deltas": {"survey", "epoch", "issuer", "responses", "reports"},
    "counted": {"survey", "epoch", "issuer", "response", "reports"},
    "state": {"one", "touched", "backed_up_at"},
}


@pytest.fixture
async def empty(server: PostgresServer) -> str:
    """Return the URL of an empty database."""
    return server.url(await server.create())


@pytest.fixture
async def made(spoilt: str) -> AsyncIterator[Looking]:
    async with connected(spoilt) as connection:
        yield connection


@pytest.fixture
async def store(spoilt: str) -> AsyncIterator[PostgresStore]:
    """Yield the store that is made, which folds nothing by itself."""
    async with opened(spoilt) as store:
        yield store


async def objects(connection: Looking) -> list[tuple[object, ...]]:
    """Return all that the schema contains, with its identity."""
    rows = await connection.fetch(
        "SELECT oid, relname, relkind FROM pg_class"
        " WHERE relnamespace = to_regnamespace('deniable') ORDER BY relname"
    )
    return [tuple(row) for row in rows]


async def test_s5_the_store_holds_these_columns(store: PostgresStore, made: Looking) -> None:
    await store.add([receipt._replace(epoch=epoch) for epoch in (0, 7, 8) for receipt in many(3)])
    await store.seal(MANIFEST.survey_id, 0, NOW)
    assert await store.prune(MANIFEST.survey_id, 0, NOW + KEPT_SECONDS) == 3
    rows = await made.fetch(
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'deniable'"
    )
    found: dict[str, set[str]] = {}
    for table, column in rows:
        found.setdefault(table, set()).add(column)
    # An epoch's receipts are a table, which is dropped (S6).
    parts = {f"receipts_1_{epoch}": EVERYTHING["receipts"] for epoch in (7, 8)}
    assert found == EVERYTHING | parts
    # No sequence numbers receipts, no trigger or rule keeps a diary.
    kinds = {row[2] for row in await objects(made)}
    assert kinds == {b"r", b"i", b"v"}  # tables, indexes and a view
    assert await made.fetchval("SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal") == 0


async def test_s5_within_a_group_receipts_lie_by_key(store: PostgresStore, made: Looking) -> None:
    group = many(300)
    await store.add(group)
    rows = await made.fetch("SELECT key FROM deniable.receipts_1_0 ORDER BY ctid")
    assert [row["key"].bytes for row in rows] == sorted(receipt.key for receipt in group)


async def test_storing_a_group_changes_no_row_of_another(spoilt: str, made: Looking) -> None:
    async with opened(spoilt) as store:
        for start in range(0, 40, 4):
            assert await store.add(many(4, start)) == [A] * 4
    query = (
        "SELECT coalesce(sum(n_tup_ins) FILTER (WHERE relname LIKE 'receipts%'), 0),"
        " sum(n_tup_upd + n_tup_del) FROM pg_stat_user_tables WHERE schemaname = 'deniable'"
    )
    async with asyncio.timeout(SECONDS):
        # The server's own figures come when the connection has ended.
        while (found := [tuple(row) for row in await made.fetch(query)])[0][0] < 40:
            await made.execute("SELECT pg_stat_clear_snapshot()")
    assert found == [(40, 0)]


async def test_a_store_is_made_only_if_that_is_asked_for(empty: str) -> None:
    with pytest.raises(UnknownSchema, match="this database has no store"):
        await PostgresStore.open(empty)
    connection = await asyncpg.connect(empty)
    assert await connection.fetchval("SELECT to_regnamespace('deniable')") is None
    store = await PostgresStore.open(empty, create=True)
    before = await objects(connection)
    await store.close()
    for create in (False, True):
        await (await PostgresStore.open(empty, create=create)).close()
    assert await objects(connection) == before
    versions = await connection.fetch("SELECT version FROM deniable.schema_version")
    assert [tuple(row) for row in versions] == [(1,)]
    await connection.close()


async def test_collectors_that_make_a_store_at_once_make_it_once(empty: str) -> None:
    stores = await asyncio.gather(*(PostgresStore.open(empty, create=True) for _ in range(4)))
    await publish(stores[0])
    assert await stores[3].add(many(3)) == [A] * 3
    for store in stores:
        await store.close()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("INSERT INTO deniable.schema_version VALUES (5)", "newer version of deniable; upgrade"),
        (
            "COMMENT ON SCHEMA deniable IS NULL",
            "another program, or to a version before deniable 0.1.0",
        ),
    ],
)
async def test_a_schema_of_another_program_or_from_before_0_1_is_refused_and_left_alone(
    spoilt: str, made: Looking, change: str, words: str
) -> None:
    await made.execute(change)
    before = await objects(made)
    for create in (False, True):
        with pytest.raises(UnknownSchema, match=words):
            await PostgresStore.open(spoilt, create=create)
    assert await objects(made) == before


async def test_what_is_counted_is_a_row_a_response(spoilt: str, made: Looking) -> None:
    async def rows(table: str) -> int:
        return int(await made.fetchval(f"SELECT count(*) FROM deniable.{table}"))

    for number in range(2):
        store = await PostgresStore.open(spoilt)
        await store.add(many(3, start=3 * number))
        await store.close()
        assert (await rows("deltas"), await rows("counts")) == (0, 1)
    async with opened(spoilt) as store:
        await store.add(many(3, start=6))
        assert await rows("deltas") == 1
        seal = await store.seal(MANIFEST.survey_id, 0, NOW)
        assert (seal.reports, await rows("deltas"), await rows("counts")) == (9, 0, 1)
        assert await counts(store) == [9, 0, 0, 0, 0]
        assert await store.check() == []


async def test_a_migration_waits_for_what_is_written(spoilt: str, made: Looking) -> None:
    await made.execute("DELETE FROM deniable.schema_version")  # as if it were of an older one
    async with connected(spoilt) as writing, writing.transaction():
        await writing.execute("SELECT pg_advisory_xact_lock_shared(-1, 3)")
        with pytest.raises(StoreError, match="lock timeout"):
            await PostgresStore.migrate(f"{spoilt}&lock_timeout=50ms")


DAMAGE = (
    "DELETE FROM deniable.receipts WHERE epoch = 0",
    "UPDATE deniable.receipts SET response = 4 WHERE epoch = 1",
    "SELECT deniable.make_receipts(99, 1);"
    "INSERT INTO deniable.receipts_99_1 SELECT 99, 1, key, 0, 0 FROM deniable.receipts_1_1",
    "UPDATE deniable.receipts SET issuer = 99 WHERE epoch = 2",
    "INSERT INTO deniable.deltas VALUES (1, 3, 0, '{0}', '{3}')",
    "UPDATE deniable.counts SET reports = 4 WHERE epoch = 4",  # after the seal
    "UPDATE deniable.seals SET digest = sha256('') WHERE epoch = 5",
    "INSERT INTO deniable.published_counts VALUES (1, 6, 0, 3, 1)",
)


async def test_the_check_finds_each_fault(store: PostgresStore, made: Looking) -> None:
    await store.add([each._replace(epoch=epoch) for epoch in range(7) for each in many(3)])
    for epoch in (4, 5):
        await store.seal(MANIFEST.survey_id, epoch, NOW)
    assert await store.check() == []
    told: set[str] = set()
    for damage in DAMAGE:
        await made.execute(damage)
        found = set(await store.check())
        assert not found <= told, damage
        told |= found
