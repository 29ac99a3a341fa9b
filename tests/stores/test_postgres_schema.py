"""PostgreSQL's schema: what it holds, that it can be distributed, and who may make it."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeAlias

import asyncpg
import pytest
import pytest_asyncio

from deniable.stores import PostgresStore, StoreError, UnknownSchema
from deniable.stores.postgres.migrating import VERSION
from tests.stores.databases import many
from tests.stores.places import ISSUER, NOW, A, D, K, counts, publish
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.surveys import MANIFEST

Looking: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

EVERYTHING = {
    "schema_version": {"version"},
    "surveys": {"survey", "survey_id", "name", "sequence", "minimum", "envelope"},
    "receipts": {"survey", "epoch", "key", "response", "issuer"},
    "counts": {"slot", "survey", "epoch", "issuer", "response", "reports"},
    "published_counts": {"survey", "epoch", "issuer", "response", "reports"},
    "seals": {"survey", "epoch", "sealed_at", "reports", "digest", "pruning_at", "pruned_at"},
    "ends": {"survey", "ended_at"},
    "issuers": {"issuer", "public_key", "distrusted_at"},
    "rotations": {"rotation", "old_key", "new_key", "sequence", "envelope"},
    "tokens": {"digest", "role", "label", "created_at"},
}
"""Every column there is: an address, a time or a batch among them would link or order devices."""
DISTRIBUTED = {"receipts": "key", "counts": "slot"}
"""By which column the tables that grow can be spread over machines."""
PARTITIONS = {f"receipts_{number}" for number in range(16)}


@pytest.fixture
def server() -> PostgresServer:
    return postgres_server()


@pytest_asyncio.fixture
async def url(server: PostgresServer) -> str:
    """Return the URL of an empty database."""
    return server.url(await server.create())


@pytest_asyncio.fixture
async def made(url: str) -> AsyncIterator[Looking]:
    """Yield a connection to a database in which there is a store."""
    await (await PostgresStore.open(url, create=True)).close()
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


async def objects(connection: Looking) -> list[tuple[object, ...]]:
    """Return all that the schema contains, with its identity."""
    rows = await connection.fetch(
        "SELECT oid, relname, relkind FROM pg_class"
        " WHERE relnamespace = to_regnamespace('deniable') ORDER BY relname"
    )
    return [tuple(row) for row in rows]


@pytest.mark.asyncio
async def test_s5_the_store_holds_these_columns_and_no_others(
    made: Looking,
) -> None:
    rows = await made.fetch(
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'deniable'"
    )
    found: dict[str, set[str]] = {}
    for table, column in rows:
        found.setdefault(table, set()).add(column)
    assert {table: found[table] for table in found.keys() - PARTITIONS} == EVERYTHING
    assert found.keys() >= PARTITIONS
    # No sequence numbers receipts, no trigger or rule keeps a diary.
    kinds = {row[2] for row in await objects(made)}
    assert kinds == {b"r", b"p", b"i", b"I"}  # tables and indexes, partitioned or not
    assert await made.fetchval("SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal") == 0


@pytest.mark.asyncio
async def test_every_unique_constraint_contains_the_column_that_its_table_is_spread_by(
    made: Looking,
) -> None:
    rows = await made.fetch(
        "SELECT conrelid::regclass::text AS name, array_agg(attname::text) AS columns"
        " FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey)"
        " WHERE contype IN ('p', 'u', 'x') AND connamespace = to_regnamespace('deniable')"
        " GROUP BY conrelid, pg_constraint.oid"
    )
    checked = set()
    for name, columns in rows:
        table = name.removeprefix("deniable.")
        spread = "key" if table in PARTITIONS else DISTRIBUTED.get(table)
        assert spread is None or spread in columns
        checked.add(table)
    assert checked == EVERYTHING.keys() | PARTITIONS
    # Nor is there a unique index that is no constraint.
    assert (
        await made.fetchval(
            "SELECT count(*) FROM pg_index JOIN pg_class c ON c.oid = indrelid"
            " WHERE indisunique AND relnamespace = to_regnamespace('deniable')"
            " AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)"
        )
        == 0
    )


@pytest.mark.asyncio
async def test_receipts_are_spread_over_all_partitions_by_key(url: str) -> None:
    store = await PostgresStore.open(url, create=True)
    await publish(store)
    assert await store.add(many(800)) == [A] * 800
    await store.close()
    connection = await asyncpg.connect(url)
    rows = await connection.fetch(
        "SELECT relname::text AS name, count(*) AS receipts"
        " FROM deniable.receipts r JOIN pg_class c ON c.oid = r.tableoid GROUP BY relname"
    )
    await connection.close()
    # 50 each on average, of fixed keys.
    assert {row["name"] for row in rows} == PARTITIONS
    assert sum(row["receipts"] for row in rows) == 800


@pytest.mark.asyncio
async def test_s5_within_a_group_receipts_lie_by_key_and_not_as_they_came(url: str) -> None:
    store = await PostgresStore.open(url, create=True)
    await publish(store)
    await store.add([receipt._replace(issuer=ISSUER) for receipt in many(300)])
    await store.close()
    connection = await asyncpg.connect(url)
    for partition in sorted(PARTITIONS):
        rows = await connection.fetch(f"SELECT key FROM deniable.{partition} ORDER BY ctid")
        keys = [row["key"] for row in rows]
        assert len(keys) > 1
        assert keys == sorted(keys)
    await connection.close()


@pytest.mark.asyncio
async def test_a_store_is_made_only_if_that_is_asked_for(url: str) -> None:
    with pytest.raises(UnknownSchema, match="no store in this database"):
        await PostgresStore.open(url)
    connection = await asyncpg.connect(url)
    assert await connection.fetchval("SELECT to_regnamespace('deniable')") is None
    store = await PostgresStore.open(url, create=True)
    before = await objects(connection)
    await store.close()
    for create in (False, True):
        await (await PostgresStore.open(url, create=create)).close()
    assert await objects(connection) == before
    versions = await connection.fetch("SELECT version FROM deniable.schema_version")
    assert [tuple(row) for row in versions] == [(number + 1,) for number in range(VERSION)]
    await connection.close()


@pytest.mark.asyncio
async def test_collectors_that_make_a_store_at_once_all_succeed_and_make_it_once(
    server: PostgresServer,
) -> None:
    for _ in range(3):
        url = server.url(await server.create())
        stores = await asyncio.gather(*(PostgresStore.open(url, create=True) for _ in range(4)))
        await publish(stores[0])
        assert await stores[3].add(many(3)) == [A] * 3
        for store in stores:
            await store.close()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (f"INSERT INTO deniable.schema_version VALUES ({VERSION + 1})", "newer .* upgrade"),
        ("DROP TABLE deniable.schema_version", "not made by deniable"),
    ],
)
async def test_a_schema_that_is_not_known_is_refused_and_left_alone(
    url: str, made: Looking, change: str, words: str
) -> None:
    await made.execute(change)
    before = await objects(made)
    for create in (False, True):
        with pytest.raises(UnknownSchema, match=words):
            await PostgresStore.open(url, create=create)
    assert await objects(made) == before


@pytest.mark.asyncio
async def test_a_migration_that_fails_in_the_middle_leaves_nothing_behind(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(
        "CREATE FUNCTION fail() RETURNS event_trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'provoked'; END $$;"
        "CREATE EVENT TRIGGER fail ON ddl_command_start WHEN TAG IN ('CREATE FUNCTION')"
        " EXECUTE FUNCTION fail()"
    )
    with pytest.raises(StoreError, match="provoked"):
        await PostgresStore.open(url, create=True)
    assert await objects(connection) == []
    await connection.execute("DROP EVENT TRIGGER fail")
    await (await PostgresStore.open(url, create=True)).close()
    await connection.close()


@pytest.mark.asyncio
async def test_a_seal_gathers_what_all_slots_counted_in_one(url: str) -> None:
    stores = [await PostgresStore.open(url, create=True) for _ in range(2)]
    await publish(stores[0])
    for slot, store in enumerate(stores, start=1):
        store._slot = slot
        await store.add(many(3, start=3 * slot))
    connection = await asyncpg.connect(url)
    query = "SELECT slot, reports FROM deniable.counts ORDER BY slot"
    assert [tuple(row) for row in await connection.fetch(query)] == [(1, 3), (2, 3)]
    seal = await stores[0].seal(MANIFEST.survey_id, 0, NOW)
    assert [tuple(row) for row in await connection.fetch(query)] == [(0, 6)]
    assert await counts(stores[1]) == [6, 0, 0, 0, 0]
    assert await stores[1].seals(MANIFEST.survey_id) == [seal]
    assert await stores[1].check() == []
    await connection.close()
    for store in stores:
        await store.close()


@pytest.mark.asyncio
async def test_an_epoch_that_a_restored_store_goes_on_with_can_be_sealed(
    server: PostgresServer, url: str
) -> None:
    original = await PostgresStore.open(url, create=True)
    copy = await PostgresStore.open(server.url(await server.create()), create=True)
    await publish(original)
    await original.add([receipt._replace(issuer=ISSUER) for receipt in many(3)])
    await copy.fill(original.rows())
    assert await copy.add([receipt._replace(issuer=ISSUER) for receipt in many(8)]) == (
        [D] * 3 + [A] * 5
    )
    seal = await copy.seal(MANIFEST.survey_id, 0, NOW)
    assert seal.reports == 8
    assert await copy.counts(MANIFEST.survey_id, 0, K) == {ISSUER: [8, 0, 0, 0, 0]}
    assert await copy.check() == []
    for store in (original, copy):
        await store.close()


DAMAGE = {
    "a receipt is lost": "DELETE FROM deniable.receipts WHERE key = (SELECT min(key::text)::uuid"
    " FROM deniable.receipts WHERE epoch = 0)",
    "a receipt changed": "UPDATE deniable.receipts SET response = 4 WHERE epoch = 0",
    "a receipt of no survey": "UPDATE deniable.receipts SET survey = 99 WHERE epoch = 1",
    "a receipt of no issuer": "UPDATE deniable.receipts SET issuer = 99 WHERE epoch = 1",
    "counted twice": "UPDATE deniable.counts SET reports = 2 * reports WHERE epoch = 0",
    "counted after the seal": "UPDATE deniable.counts SET reports = 4 WHERE epoch = 1",
    "another seal": "UPDATE deniable.seals SET digest = sha256('')",
    "shown too much": "INSERT INTO deniable.published_counts VALUES (1, 0, 0, 3, 1)",
}


@pytest.mark.asyncio
@pytest.mark.parametrize("damage", sorted(DAMAGE))
async def test_the_check_finds_whatever_is_not_as_it_must_be(
    url: str, made: Looking, damage: str
) -> None:
    store = await PostgresStore.open(url)
    await publish(store)
    await store.add([*many(3), *(receipt._replace(epoch=1) for receipt in many(3))])
    await store.seal(MANIFEST.survey_id, 1, NOW)
    assert await store.check() == []
    await made.execute(DAMAGE[damage])
    assert await store.check() != []
    await store.close()
