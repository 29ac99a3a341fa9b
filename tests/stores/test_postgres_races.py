"""Several collectors on one PostgreSQL database, each a connection of its own, at the same time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple
from uuid import UUID

import pytest

from deniable.stores import KEPT_SECONDS, PostgresStore, Store, Verdict
from deniable.stores.postgres import postgres_store
from deniable.stores.rules import FOLDING, LOCK, Rule, Statement, counting
from deniable.stores.rules.copying import COLUMNS
from deniable.stores.values import Receipt
from tests.stores.databases import SECONDS, many
from tests.stores.places import ISSUER, NOW, OTHER_ISSUER, A, D, E, S, X, counts, publish
from tests.support.effort import THOROUGH, every
from tests.support.postgres import Looking, connected, postgres_server
from tests.support.surveys import MANIFEST, manifest

ID = MANIFEST.survey_id
OTHER = manifest(name="another-survey")
COURTEOUS = manifest(name="courteous", minimum_reports=7)


class Collectors(NamedTuple):
    """Stores of one database, by its URL."""

    url: str
    stores: list[PostgresStore]


@pytest.fixture(params=[2, 4] if THOROUGH else [3])
async def collectors(request: pytest.FixtureRequest) -> AsyncIterator[Collectors]:
    """Yield stores of one database in which MANIFEST and OTHER are published."""
    server = postgres_server()
    url = server.url(await server.empty_store())
    async with AsyncExitStack() as stack:
        stores = []
        for _ in range(request.param):
            store = await PostgresStore.open(url)
            stack.push_async_callback(store.close)
            stores.append(store)
        for survey in (MANIFEST, OTHER, COURTEOUS):
            await publish(stores[0], survey)
        yield Collectors(url, stores)


async def stored(url: str) -> dict[tuple[int, bytes], int]:
    async with connected(url) as connection:
        rows = await connection.fetch("SELECT epoch, key, response FROM deniable.receipts")
    return {(row["epoch"], row["key"].bytes): row["response"] for row in rows}


async def leave_groups(store: PostgresStore) -> None:
    """Store 15 reports of MANIFEST in five groups that nobody has added up."""
    store._unfolded = -100
    for number in range(5):
        await store.add(many(3, start=3 * number))


async def test_s2_in_opposite_orders_nobody_waits_in_a_circle(collectors: Collectors) -> None:
    devices = [
        receipt._replace(survey_id=survey.survey_id, epoch=epoch, issuer=issuer)
        for survey in (MANIFEST, OTHER)
        for epoch in range(3)
        for issuer in (None, ISSUER, OTHER_ISSUER)
        for receipt in many(20, start=20 * len(issuer or b"") + epoch)
    ]
    async with connected(collectors.url) as connection:
        before = await deadlocks(connection)
        for turn in every(5):
            # Each time tables are made for other epochs.
            devices = [receipt._replace(epoch=receipt.epoch + 3 * turn) for receipt in devices]
            batches = [devices if n % 2 else devices[::-1] for n in range(len(collectors.stores))]
            answers = await asyncio.gather(
                *(s.add(batch) for s, batch in zip(collectors.stores, batches, strict=True))
            )
            assert {verdict for answer in answers for verdict in answer} <= {A, D}
        assert await deadlocks(connection) == before
    assert await collectors.stores[-1].check() == []


async def test_an_issuer_that_several_see_at_once_gets_one_number(collectors: Collectors) -> None:
    issuers = [bytes([n]) * 32 for n in every(20)]
    for issuer in issuers:
        batches = [
            [receipt._replace(issuer=issuer) for receipt in many(3, start=3 * n)]
            for n in range(len(collectors.stores))
        ]
        await asyncio.gather(
            *(store.add(batch) for store, batch in zip(collectors.stores, batches, strict=True)),
            collectors.stores[0].distrust(issuer[:-1] + b"x", NOW),
        )
    async with connected(collectors.url) as connection:
        rows = await connection.fetch("SELECT issuer, public_key FROM deniable.issuers")
    seen = 2 * len(issuers) + 1
    assert sorted(row["issuer"] for row in rows) == list(range(seen))
    assert len({row["public_key"] for row in rows}) == seen


async def test_s3_whatever_is_folded_meanwhile_every_report_is_counted_once(
    collectors: Collectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_store, "_FOLDED_AT", 1)
    monkeypatch.setattr(postgres_store, "_REST", 0.0)
    monkeypatch.setattr(counting, "_PIECE_BYTES", 1)  # each group is a piece
    finished = asyncio.Event()
    groups = len(every(60))

    async def send(number: int, store: Store) -> None:
        for start in range(0, 5 * groups, 5):
            batch = many(5, start=1_000 * number + start)
            batch[0] = batch[0]._replace(epoch=1, issuer=ISSUER)
            assert await store.add(batch) == [A] * 5

    async def read(store: Store) -> None:
        seen = [0]
        while not finished.is_set():
            seen.append(sum(await counts(store)))
            assert await store.check() == []
        assert seen == sorted(seen)

    reading = asyncio.create_task(read(collectors.stores[0]))
    await asyncio.gather(*(send(n, store) for n, store in enumerate(collectors.stores)))
    finished.set()
    await reading
    assert sum(await counts(collectors.stores[0])) == 4 * groups * len(collectors.stores)
    assert sum(await counts(collectors.stores[0], 1)) == groups * len(collectors.stores)
    async with connected(collectors.url) as connection:
        # Each group left a row for each epoch; some of them are added up, and the rest may be.
        rows = await connection.fetchval("SELECT count(*) FROM deniable.deltas")
        assert rows < 2 * groups * len(collectors.stores)
        await collectors.stores[0]._fold()
        assert await connection.fetchval("SELECT count(*) FROM deniable.deltas") == 0
        assert await connection.fetchval("SELECT count(*) FROM deniable.counts") == 2


async def test_s4_what_groups_have_left_is_added_up_before_a_seal_keeps_reports_out(
    collectors: Collectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "_PIECE_BYTES", 1)
    found, original = [], counting.fold

    def fold(survey_id: bytes, epoch: int) -> Rule[bool]:
        ((left,),) = yield Statement("SELECT count(*) FROM deniable.deltas")
        found.append(left)
        return (yield from original(survey_id, epoch))

    monkeypatch.setattr(counting, "fold", fold)
    adding, sealing, *_ = collectors.stores
    await leave_groups(adding)
    async with connected(collectors.url) as blocker, connected(collectors.url) as observer:
        async with blocker.transaction():
            await blocker.execute(LOCK, *FOLDING)
            sealed = asyncio.create_task(sealing.seal(ID, 0, NOW))
            await until_somebody_waits(observer, "advisory")
            # Who folds, for however long, keeps no report of the epoch waiting.
            assert await adding.add(many(1, start=15)) == [A]
        assert (await sealed).reports == 16
    assert found[-1] == 0  # behind the fence
    assert await adding.add(many(17)) == [S] * 17
    assert await adding.check() == []


async def until_somebody_waits(connection: Looking, for_what: str) -> None:
    """Return once a backend of this database waits for such a lock."""
    async with asyncio.timeout(SECONDS):
        while not await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event_type = 'Lock' AND wait_event = $1",
            for_what,
        ):
            await connection.execute("SELECT pg_stat_clear_snapshot()")


@asynccontextmanager
async def held_up(
    collectors: Collectors, group: list[Receipt]
) -> AsyncIterator[tuple["asyncio.Task[list[Verdict]]", Looking]]:
    """Yield a group whose last receipt waits for somebody's row, and who looks on; then let go."""
    async with connected(collectors.url) as blocker, connected(collectors.url) as observer:
        transaction = blocker.transaction()
        await transaction.start()
        await blocker.execute(
            "INSERT INTO deniable.receipts_1_0 VALUES (1, 0, $1, 0, 0)", UUID(bytes=group[-1].key)
        )
        stored = asyncio.create_task(collectors.stores[0].add(group))
        await until_somebody_waits(observer, "transactionid")
        yield stored, observer
        await transaction.rollback()


DECISIONS: dict[str, Callable[[Store], Coroutine[object, object, object]]] = {
    "seal": lambda store: store.seal(ID, 0, NOW),
    "end": lambda store: store.end(ID, NOW),
    "distrust": lambda store: store.distrust(ISSUER, NOW),
}


@pytest.mark.parametrize("decision", sorted(DECISIONS))
async def test_s4_s7_a_decision_waits_for_groups(collectors: Collectors, decision: str) -> None:
    adding, deciding, *_ = collectors.stores
    group = [receipt._replace(issuer=ISSUER) for receipt in many(3)]
    await adding.add([group[0]])
    async with held_up(collectors, group) as (stored, observer):
        decided: asyncio.Task[object] = asyncio.create_task(DECISIONS[decision](deciding))
        await until_somebody_waits(observer, "advisory")
        assert not stored.done()
        assert not decided.done()
    assert await stored == [D, A, A]
    await decided
    assert sum(await counts(deciding)) == 3
    assert (await adding.add([group[0]]))[0] in {S, E, X}
    assert await deciding.check() == []


async def test_a_group_waits_for_a_decision_and_heeds_it(collectors: Collectors) -> None:
    adding, *_ = collectors.stores
    async with connected(collectors.url) as deciding, connected(collectors.url) as observer:
        transaction = deciding.transaction()
        await transaction.start()
        await deciding.execute("SELECT pg_advisory_xact_lock(1, 0)")
        stored = asyncio.create_task(adding.add(many(3)))
        await until_somebody_waits(observer, "advisory")
        # Written after the group's statement began, which must see it all the same.
        await deciding.execute("INSERT INTO deniable.seals VALUES (1, 0, 0, 0, '')")
        assert not stored.done()
        await transaction.commit()
    assert await stored == [S, S, S]


async def test_figures_take_one_step_after_the_other_and_none_back(collectors: Collectors) -> None:
    adding, reading, *_ = collectors.stores
    devices = [receipt._replace(survey_id=COURTEOUS.survey_id) for receipt in many(9)]
    await adding.add(devices[:8])
    async with connected(collectors.url) as other, connected(collectors.url) as observer:
        transaction = other.transaction()
        await transaction.start()
        await other.execute("SELECT FROM deniable.surveys WHERE survey = 3 FOR NO KEY UPDATE")
        shown = asyncio.create_task(counts(reading, 0, COURTEOUS))
        await until_somebody_waits(observer, "transactionid")
        # Meanwhile another reader takes the step, and one more report is in it.
        await adding.add(devices[8:])
        await other.execute("INSERT INTO deniable.published_counts VALUES (3, 0, 0, 0, 9)")
        await transaction.commit()
    assert sum(await shown) == 9


async def test_pruning_waits_for_who_reads_all_and_nobody_for_it(collectors: Collectors) -> None:
    pruning, adding, *_ = collectors.stores
    await pruning.add(many(5))
    await pruning.seal(ID, 0, NOW)
    reader = pruning.rows()
    async with connected(collectors.url) as observer:
        read = [await anext(reader)]
        pruned = asyncio.create_task(pruning.prune(ID, 0, NOW + KEPT_SECONDS))
        await until_somebody_waits(observer, "relation")
        # Not even whoever needs a new table.
        later = [receipt._replace(epoch=epoch) for epoch in (1, 2) for receipt in many(3)]
        assert await adding.add(later) == [A] * 6
        read += [part async for part in reader]
        # All is as of one moment: the receipts are there, and not pruned.
        (receipts,) = (part.rows for part in read if part.table == "receipts")
        assert len(receipts) == 5
        ((seal,),) = (part.rows for part in read if part.table == "seals")
        assert seal[COLUMNS["seals"].index("pruned_at")] is None
    assert await pruned == 5
    assert set(await stored(collectors.url)) == {(each.epoch, each.key) for each in later}
    assert await pruning.check() == []


async def deadlocks(connection: Looking) -> int:
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    found = await connection.fetchval(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    )
    return int(found)
