"""PostgreSQL that dies, restarts and cuts connections: what is acknowledged is there, once."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from deniable.stores import KEPT_SECONDS, PostgresStore, Role, StoreError, Token, Verdict
from deniable.stores.values import Receipt
from tests.stores.databases import many, opened
from tests.stores.places import NOW, A, C, D, counts, publish
from tests.support.effort import every
from tests.support.postgres import PostgresServer, connected, postgres_server
from tests.support.postgres_proxy import PostgresProxy, postgres_proxy
from tests.support.reports import report
from tests.support.surveys import MANIFEST

ID = MANIFEST.survey_id
SECONDS = 60.0
TOKEN = Token(b"t" * 32, Role.ANALYST, "label", NOW)


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    server = postgres_server()
    yield server
    server.restart()


@asynccontextmanager
async def through_proxy(
    server: PostgresServer, url: str, parameters: str = ""
) -> AsyncIterator[tuple[PostgresStore, PostgresProxy]]:
    database = url.split("/")[3].partition("?")[0]
    async with postgres_proxy(server.socket) as proxy:
        address = f"postgresql://deniable@127.0.0.1:{proxy.port}/{database}{parameters}"
        async with opened(address) as store:
            yield store, proxy


async def rows(url: str, query: str) -> list[asyncpg.Record]:
    async with connected(url) as connection:
        return await connection.fetch(query)


async def assert_stored_once(url: str, sent: dict[bytes, int]) -> None:
    """Assert that exactly these are stored, with their responses, and counted once."""
    stored = await rows(url, "SELECT key, response FROM deniable.receipts")
    assert len(stored) == len(sent)
    assert {row["key"].bytes: row["response"] for row in stored} == sent
    async with opened(url) as store:
        assert sum(await counts(store)) == len(sent)
        assert await store.check() == []


def devices(count: int, start: int = 0) -> list[Receipt]:
    """Return a report of each device, whose response tells the device as far as it can."""
    return [
        receipt._replace(response=number % len(MANIFEST.categories))
        for number, receipt in enumerate(many(count, start), start)
    ]


class Fleet:
    """Sends the reports of many devices through several stores until each is acknowledged."""

    def __init__(self, stores: list[PostgresStore], reports: list[Receipt], after: int) -> None:
        self._stores, self._reports = stores, reports
        self._after = after
        self.acknowledged: dict[bytes, int] = {}  # responses, by key
        self.failed = 0  # batches that were not answered
        self.enough = asyncio.Event()  # once `after` reports are acknowledged
        self.progress = asyncio.Event()  # set whenever a batch was

    async def send(self) -> None:
        await asyncio.gather(*(self._send(n) for n in range(2 * len(self._stores))))

    async def _send(self, number: int) -> None:
        mine = self._reports[number :: 2 * len(self._stores)]
        choice = random.Random(number)
        for start in range(0, len(mine), 7):
            batch = mine[start : start + 7]
            await self._deliver(choice, batch)
            if choice.random() < 0.2:  # devices whose answer was lost send the same again
                await self._deliver(choice, batch)

    async def _deliver(self, choice: random.Random, batch: list[Receipt]) -> None:
        while True:
            try:
                verdicts = await choice.choice(self._stores).add(batch)
            except StoreError:
                self.failed += 1
                continue
            assert set(verdicts) <= {A, D}
            self.acknowledged |= {receipt.key: receipt.response for receipt in batch}
            self.progress.set()
            if len(self.acknowledged) >= self._after:
                self.enough.set()
            return


async def test_s1_after_kills_what_was_acknowledged_is_there_once(
    server: PostgresServer, url: str
) -> None:
    sent = devices(1_000 * len(every(3)))
    async with opened(url) as one, opened(url) as two:
        for part, _ in enumerate(every(3)):
            fleet = Fleet([one, two], sent[1_000 * part : 1_000 * (part + 1)], after=300)
            sending = asyncio.create_task(fleet.send())
            await asyncio.wait_for(fleet.enough.wait(), SECONDS)
            await asyncio.to_thread(server.kill)
            # What is acknowledged by now is durable, whatever comes.
            surely = fleet.acknowledged.copy()
            server.launch()
            await asyncio.to_thread(server.wait)
            stored = await rows(url, "SELECT key FROM deniable.receipts")
            assert surely.keys() <= {row["key"].bytes for row in stored}
            await asyncio.wait_for(sending, SECONDS)
            assert len(fleet.acknowledged) == 1_000
    await assert_stored_once(url, {receipt.key: receipt.response for receipt in sent})


@pytest.mark.parametrize(("side", "told"), [("answer", [D] * 10), ("request", [A] * 10)])
async def test_s3_a_connection_that_is_cut_beside_the_commit_counts_nothing_twice(
    server: PostgresServer, url: str, side: str, told: list[Verdict]
) -> None:
    async with through_proxy(server, url) as (store, proxy):
        assert await store.add(devices(5)) == [A] * 5
        group = [*devices(15), report(1)._replace(key=many(1)[0].key, response=4)]
        setattr(proxy, side, group[7].key)
        # Stored by the first attempt, or by the second alone. Both acknowledge.
        assert await store.add(group) == [*[D] * 5, *told, C]
        assert (proxy.cuts, proxy.connections) == (1, 2)
    await assert_stored_once(url, {receipt.key: receipt.response for receipt in devices(15)})


@pytest.mark.long
async def test_s3_a_silent_connection_is_given_up_for_a_new_one(
    server: PostgresServer, url: str
) -> None:
    async def store_in_silence(what: str, sent: list[Receipt]) -> list[Verdict]:
        async with (
            # How long an answer is waited for follows from the setting.
            through_proxy(server, url, "?statement_timeout=5s") as (store, proxy),
            asyncio.timeout(SECONDS),
        ):
            # One connection that is kept, and idle ones: none of them is of any use any more.
            await asyncio.gather(store.add(sent[:5]), store.surveys(), store.surveys())
            before = proxy.connections
            proxy.silence(what)
            verdicts = await store.add(sent)
            assert proxy.connections == before + 1
            return verdicts

    sent = devices(30)
    unheard, unanswered = await asyncio.gather(
        store_in_silence("requests", sent[:15]), store_in_silence("answers", sent[15:])
    )
    assert unheard == [D] * 5 + [A] * 10
    assert unanswered == [D] * 15
    await assert_stored_once(url, {receipt.key: receipt.response for receipt in sent})


REPEATABLE: list[Callable[[PostgresStore], Awaitable[object]]] = [
    publish,
    lambda store: store.seal(ID, 0, NOW),
    lambda store: store.end(ID, NOW),
    lambda store: store.distrust(b"i" * 32, NOW),
]


@pytest.mark.parametrize("side", ["request", "answer"])
async def test_what_is_cut_beside_its_commit_is_done(
    server: PostgresServer, url: str, side: str
) -> None:
    async with opened(url) as store:
        await store.add(devices(5))
        first = [await do(store) for do in REPEATABLE]
    async with through_proxy(server, url) as (store, proxy):
        for number, do in enumerate(REPEATABLE):
            await store.ping()
            setattr(proxy, side, b"COMMIT")
            assert await do(store) == first[number]
            assert proxy.cuts == number + 1
        assert await store.check() == []


async def test_what_must_not_be_done_twice_is_not(server: PostgresServer, url: str) -> None:
    async with through_proxy(server, url) as (store, proxy):
        await store.ping()
        for side, there in (("request", []), ("answer", [TOKEN])):
            setattr(proxy, side, b"COMMIT")
            with pytest.raises(StoreError, match="may or may not have been made"):
                await store.add_token(TOKEN)
            assert await store.tokens() == there
        await store.revoke_token(TOKEN.digest)
        cuts, proxy.answer = proxy.cuts, TOKEN.digest
        await store.add_token(TOKEN)
        assert (proxy.cuts, await store.tokens()) == (cuts + 1, [TOKEN])


async def test_a_pruning_that_is_cut_goes_on_where_it_was(server: PostgresServer, url: str) -> None:
    async with through_proxy(server, url) as (store, proxy):
        await store.add(devices(500))
        await store.seal(ID, 0, NOW)
        proxy.answer = b"COMMIT"
        await store.prune(ID, 0, NOW + KEPT_SECONDS)
        assert proxy.cuts == 1
        assert await store.check() == []
        assert [seal.pruned_at for seal in await store.seals(ID)] == [NOW + KEPT_SECONDS]
    assert await rows(url, "SELECT FROM deniable.receipts") == []


async def test_a_server_that_stays_away_is_an_error_so_long(
    server: PostgresServer, url: str
) -> None:
    async with opened(url, patience=0.1) as store:
        assert await store.add(devices(1)) == [A]
        await asyncio.to_thread(server.stop)
        for asked in (store.add(devices(2)), store.ping(), PostgresStore.open(url, patience=0.1)):
            with pytest.raises(StoreError, match="reached"):
                await asked
        server.launch()
        await asyncio.to_thread(server.wait)
        assert await store.add(devices(3)) == [D, A, A]
        await asyncio.to_thread(server.kill)
        with pytest.raises(StoreError):
            await store.add(devices(2))
        # Closing ends, though the server is gone.


@pytest.mark.parametrize("state", ["40001", "40P01", "57P01", "25006", "08006"])
async def test_a_group_is_tried_again_and_not_for_ever(spoilt: str, state: str) -> None:
    async with connected(spoilt) as connection:
        await connection.execute(
            f"""
            CREATE SEQUENCE attempts;
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF nextval('attempts') <> 4 THEN
                    RAISE EXCEPTION 'provoked' USING ERRCODE = '{state}';
                END IF;
                RETURN NULL;
            END $$;
            CREATE TRIGGER fail AFTER INSERT ON deniable.deltas FOR EACH STATEMENT
            EXECUTE FUNCTION fail();
            """
        )
        async with opened(spoilt) as store:
            assert await store.add(devices(4)) == [A] * 4
        assert await connection.fetchval("SELECT last_value FROM attempts") == 4
    async with opened(spoilt, patience=0.1) as store:
        with pytest.raises(StoreError, match="provoked"):
            await store.add(devices(8))
    await assert_stored_once(spoilt, {receipt.key: receipt.response for receipt in devices(4)})
