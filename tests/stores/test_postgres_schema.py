"""PostgreSQL's schema: what it holds, what changes in it, and who may make it."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeAlias

import asyncpg
import pytest

from deniable.stores import KEPT_SECONDS, PostgresStore, StoreError, UnknownSchema
from tests.stores.databases import SECONDS, many
from tests.stores.places import ISSUER, NOW, A, K, counts, publish
from tests.support.postgres import PostgresServer, connected, postgres_server
from tests.support.surveys import MANIFEST

Looking: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

EVERYTHING = {
    "schema_version": {"version"},
    "surveys": {"survey", "survey_id", "name", "sequence", "minimum", "envelope"},
    "receipts": {"survey", "epoch", "key", "response", "issuer"},
    "counts": {"survey", "epoch", "issuer", "response", "reports"},
    "deltas": {"survey", "epoch", "issuer", "responses", "reports"},
    "counted": {"survey", "epoch", "issuer", "response", "reports"},
    "published_counts": {"survey", "epoch", "issuer", "response", "reports"},
    "histories": {"timeline", "since"},
    "seals": {
        *("survey", "epoch", "sealed_at", "reports", "digest", "pruning_at", "pruned_at", "cut_at")
    },
    "ends": {"survey", "ended_at"},
    "issuers": {"issuer", "public_key", "distrusted_at"},
    "rotations": {"rotation", "old_key", "new_key", "sequence", "envelope"},
    "openings": {"name", "public"},
    "notes": {"name", "at", "text"},
    "log_entries": {"position", "entry"},
    "log_checkpoints": {"role", "checkpoint"},
    "tokens": {"digest", "role", "label", "created_at", "survey", "ends_at"},
    "moves": {"one", "moved_to"},
    "state": {"one", "touched", "backed_up_at"},
}
"""Every column there is: an address, a time or a batch among them would link or order devices."""


@pytest.fixture
def server() -> PostgresServer:
    return postgres_server()


@pytest.fixture
async def url(server: PostgresServer) -> str:
    """Return the URL of an empty database."""
    return server.url(await server.create())


@pytest.fixture
async def made(url: str) -> AsyncIterator[Looking]:
    await (await PostgresStore.open(url, create=True)).close()
    async with connected(url) as connection:
        yield connection


async def objects(connection: Looking) -> list[tuple[object, ...]]:
    """Return all that the schema contains, with its identity."""
    rows = await connection.fetch(
        "SELECT oid, relname, relkind FROM pg_class"
        " WHERE relnamespace = to_regnamespace('deniable') ORDER BY relname"
    )
    return [tuple(row) for row in rows]


async def test_s5_the_store_holds_these_columns_and_no_others(url: str, made: Looking) -> None:
    store = await PostgresStore.open(url)
    await publish(store)
    await store.add([receipt._replace(epoch=epoch) for epoch in (0, 7, 8) for receipt in many(3)])
    await store.seal(MANIFEST.survey_id, 0, NOW)
    assert await store.prune(MANIFEST.survey_id, 0, NOW + KEPT_SECONDS) == 3
    await store.close()
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


async def test_s5_within_a_group_receipts_lie_by_key_and_counts_by_response(
    url: str, made: Looking
) -> None:
    store = await PostgresStore.open(url)
    await publish(store)
    group = [
        receipt._replace(issuer=ISSUER, response=number % K)
        for number, receipt in enumerate(many(300))
    ]
    await store.add(group)
    rows = await made.fetch("SELECT key FROM deniable.receipts_1_0 ORDER BY ctid")
    assert [row["key"].bytes for row in rows] == sorted(receipt.key for receipt in group)
    await store.close()


async def test_storing_a_group_changes_no_row_that_another_wrote(url: str, made: Looking) -> None:
    store = await PostgresStore.open(url)
    await publish(store)
    store._unfolded = -100
    for start in range(0, 40, 4):
        assert await store.add(many(4, start)) == [A] * 4
    await store.close()
    query = (
        "SELECT coalesce(sum(n_tup_ins) FILTER (WHERE relname LIKE 'receipts%'), 0),"
        " sum(n_tup_upd + n_tup_del) FROM pg_stat_user_tables WHERE schemaname = 'deniable'"
    )
    async with asyncio.timeout(SECONDS):
        # The server's own figures come when the connection has ended.
        while (found := [tuple(row) for row in await made.fetch(query)])[0][0] < 40:
            await made.execute("SELECT pg_stat_clear_snapshot()")
    assert found == [(40, 0)]


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
    assert [tuple(row) for row in versions] == [(1,)]
    await connection.close()


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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("INSERT INTO deniable.schema_version VALUES (5)", "newer version of deniable; upgrade"),
        ("COMMENT ON SCHEMA deniable IS NULL", "another program's, or from before deniable 0.1.0"),
    ],
)
async def test_a_schema_of_another_program_or_from_before_0_1_is_refused_and_left_alone(
    url: str, made: Looking, change: str, words: str
) -> None:
    await made.execute(change)
    before = await objects(made)
    for create in (False, True):
        with pytest.raises(UnknownSchema, match=words):
            await PostgresStore.open(url, create=create)
    assert await objects(made) == before


async def test_however_often_a_store_is_opened_what_is_counted_is_a_row_a_response(
    url: str, made: Looking
) -> None:
    async def rows(table: str) -> int:
        return int(await made.fetchval(f"SELECT count(*) FROM deniable.{table}"))

    for number in range(10):
        store = await PostgresStore.open(url)
        if number == 0:
            await publish(store)
        await store.add(many(3, start=3 * number))
        await store.close()
        assert (await rows("deltas"), await rows("counts")) == (0, 1)
    store = await PostgresStore.open(url)
    store._unfolded = -100
    await store.add(many(3, start=30))
    assert await rows("deltas") == 1
    seal = await store.seal(MANIFEST.survey_id, 0, NOW)
    assert (seal.reports, await rows("deltas"), await rows("counts")) == (33, 0, 1)
    assert await counts(store) == [33, 0, 0, 0, 0]
    assert await store.check() == []
    await store.close()


async def test_a_migration_waits_for_what_is_being_written(url: str, made: Looking) -> None:
    await made.execute("DELETE FROM deniable.schema_version")  # as if it were of an older one
    async with connected(url) as writing, writing.transaction():
        await writing.execute("SELECT pg_advisory_xact_lock_shared(-1, 3)")
        with pytest.raises(StoreError, match="lock timeout"):
            await PostgresStore.migrate(f"{url}&lock_timeout=50ms")


DAMAGE = {
    "a receipt is lost": "DELETE FROM deniable.receipts WHERE key = (SELECT min(key::text)::uuid"
    " FROM deniable.receipts WHERE epoch = 0)",
    "a receipt changed": "UPDATE deniable.receipts SET response = 4 WHERE epoch = 0",
    "a receipt of no survey": "SELECT deniable.make_receipts(99, 1);"
    "INSERT INTO deniable.receipts_99_1 SELECT 99, 1, key, 0, 0 FROM deniable.receipts_1_1",
    "a receipt of no issuer": "UPDATE deniable.receipts SET issuer = 99 WHERE epoch = 1",
    "counted twice": "INSERT INTO deniable.deltas VALUES (1, 0, 0, '{0}', '{3}')",
    "counted after the seal": "UPDATE deniable.counts SET reports = 4 WHERE epoch = 1",
    "another seal": "UPDATE deniable.seals SET digest = sha256('')",
    "shown too much": "INSERT INTO deniable.published_counts VALUES (1, 0, 0, 3, 1)",
}


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
