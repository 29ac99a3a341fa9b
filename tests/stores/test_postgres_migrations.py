"""A database of version 1 becomes one of this version, with all that was in it."""

from importlib.resources import files

import asyncpg
import pytest

from deniable.messages import sign_manifest
from deniable.stores import KEPT_SECONDS, Counts, PostgresStore, Seal, StoreError, counts_digest
from deniable.stores.postgres.migrating import VERSION
from tests.stores.places import ISSUER, NOW, A, C, D, S, counts
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.reports import report
from tests.support.surveys import AUTHORITY, MANIFEST, manifest

COURTEOUS = manifest(name="courteous", minimum_reports=3)
ID = MANIFEST.survey_id
FIRST = files("deniable.stores.postgres").joinpath("migrations", "0001_initial.sql")
SEALED: Counts = {None: {1: 4}}
"""What is counted of epoch 1, whose receipts were half erased when the collectors stopped."""


@pytest.fixture
def server() -> PostgresServer:
    return postgres_server()


@pytest.fixture
async def url(server: PostgresServer) -> str:
    """Return the URL of a store as version 1 left it, several collectors having added to it."""
    url = server.url(await server.create())
    connection = await asyncpg.connect(url)
    await connection.execute(FIRST.read_text("utf-8"))
    await connection.execute("INSERT INTO deniable.schema_version VALUES (1)")
    for number, survey in enumerate((MANIFEST, COURTEOUS), start=1):
        await connection.execute(
            "INSERT INTO deniable.surveys VALUES ($1, $2, $3, $4, $5, $6)",
            number,
            survey.survey_id,
            survey.name,
            survey.sequence,
            survey.minimum_reports,
            sign_manifest(survey, AUTHORITY),
        )
    await connection.execute("INSERT INTO deniable.issuers VALUES (1, $1)", ISSUER)
    for number, survey, epoch, devices, response, issuer in (
        (1, MANIFEST, 0, range(10), 0, 0),
        (1, MANIFEST, 0, range(10, 15), 2, 1),
        (1, MANIFEST, 1, range(2), 1, 0),
        (2, COURTEOUS, 0, range(5), 1, 0),
    ):
        await connection.executemany(
            "INSERT INTO deniable.receipts VALUES ($1, $2, encode($3, 'hex')::uuid, $4, $5)",
            [
                (number, epoch, report(n, survey=survey, epoch=epoch).key, response, issuer)
                for n in devices
            ],
        )
    await connection.executemany(
        "INSERT INTO deniable.counts VALUES ($1, $2, $3, $4, $5, $6)",
        [
            *((7, 1, 0, 0, 0, 4), (9, 1, 0, 0, 0, 6), (9, 1, 0, 1, 2, 5)),
            *((0, 1, 1, 0, 1, 4), (3, 2, 0, 0, 1, 3), (4, 2, 0, 0, 1, 2)),
        ],
    )
    await connection.execute("INSERT INTO deniable.published_counts VALUES (2, 0, 0, 1, 3)")
    await connection.execute(
        "INSERT INTO deniable.seals VALUES (1, 1, $1, 4, $2, $3, NULL)",
        NOW,
        counts_digest(ID, 1, SEALED),
        NOW + KEPT_SECONDS,
    )
    await connection.close()
    return url


async def test_everything_is_still_there(url: str) -> None:
    with pytest.raises(StoreError, match="store migrate"):
        await PostgresStore.open(url)
    assert await PostgresStore.migrate(url) == (1, VERSION)
    store = await PostgresStore.open(url)
    assert await store.check() == []
    assert await store.counts(ID, 0) == {None: {0: 10}, ISSUER: {2: 5}}
    assert await store.counts(COURTEOUS.survey_id, 0) == {None: {1: 3}}
    # Receipts still tell a repeat from a new report, and what is counted goes on from there.
    group = [report(1), report(2, 3), report(20, 4), report(20, epoch=1), report(30, epoch=2)]
    assert await store.add(group) == [D, C, A, S, A]
    assert await store.add([report(9, 1, survey=COURTEOUS)]) == [A]
    assert await counts(store, 0, COURTEOUS) == [0, 6, 0, 0, 0]
    assert await store.newest_counted(ID) == 2
    assert await store.prune(ID, 1, NOW + KEPT_SECONDS + 5) == 2
    assert await store.seals(ID) == [
        Seal(1, NOW, 4, counts_digest(ID, 1, SEALED), NOW + KEPT_SECONDS + 5)
    ]
    assert (await store.seal(ID, 0, NOW)).reports == 16
    assert await store.check() == []
    await store.close()


async def test_a_migrated_database_has_the_schema_of_a_new_one(
    url: str, server: PostgresServer
) -> None:
    async def schema(url: str) -> list[list[tuple[object, ...]]]:
        connection = await asyncpg.connect(url)
        queries = (
            "SELECT table_name, column_name, data_type, is_nullable, column_default"
            " FROM information_schema.columns WHERE table_schema = 'deniable'",
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE connamespace = 'deniable'::regnamespace",
            "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'deniable'",
            "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'deniable'::regnamespace",
        )
        found = [
            sorted(tuple(row) for row in await connection.fetch(query) if "receipts_" not in row[0])
            for query in queries
        ]
        await connection.close()
        return found

    new = server.url(await server.create())
    await (await PostgresStore.open(new, create=True)).close()
    await PostgresStore.migrate(url)
    assert await schema(url) == await schema(new)


async def test_a_migration_that_fails_leaves_the_database_as_it_was(url: str) -> None:
    connection = await asyncpg.connect(url)
    # What is migrated last cannot be.
    await connection.execute("ALTER FUNCTION deniable.add_receipts RENAME TO renamed")
    with pytest.raises(StoreError, match="add_receipts"):
        await PostgresStore.migrate(url)
    found = await connection.fetchrow(
        "SELECT (SELECT max(version) FROM deniable.schema_version),"
        " (SELECT count(*) FROM deniable.receipts), (SELECT count(slot) FROM deniable.counts)"
    )
    assert tuple(found or ()) == (1, 22, 6)
    await connection.close()
