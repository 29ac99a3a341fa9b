"""The PostgreSQL store, which any number of collectors can share."""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Final

from deniable.stores.postgres.driver import LONG_SECONDS, VERSION, follow, migrate, version
from deniable.stores.postgres.pool import Connection, Connections, translated
from deniable.stores.rules import Result, Rule, Statement, copying, counting
from deniable.stores.store import Store
from deniable.stores.values import Receipt, Seal, StoreError, UnknownSchema, Verdict

_REFUSALS: Final = (Verdict.ACCEPTED, Verdict.ENDED, Verdict.SEALED)
"""Verdicts by the database's numbers."""


async def add_receipts(connection: Connection, receipts: Sequence[Receipt]) -> list[Verdict]:
    """Store receipts, at least one, in one transaction; one verdict each, in their order.

    The work is done by ``deniable.add_receipts`` in the database, in one round trip. The migration
    explains above it why that keeps S2 to S4 and S7 despite concurrent writers.

    The work is repeatable, which covers a connection lost around its COMMIT (S1, S3). If the
    group was not stored, the second attempt stores it. If it was stored, the second attempt finds
    every receipt with the same response, stores and counts nothing, and reports duplicates. Both
    verdicts are true and acknowledge the report: it is stored, and counted once. (If the epoch was
    sealed in between, the second attempt returns that, although the receipt is stored and counted.
    This requires a seal at the moment of a lost connection; nothing is counted twice then either.)

    Raises:
        StoreError: if a survey is not in this store; nothing was stored.
    """
    # Sorted by survey, epoch and key; for equal keys the first stays first (S2).
    order = sorted(range(len(receipts)), key=lambda position: receipts[position][:3])
    in_order = [receipts[position] for position in order]
    ids, epochs, keys, responses, issuers = zip(*in_order, strict=True)
    ends = {part: place for place, part in enumerate(zip(ids, epochs, strict=True), start=1)}
    part_ids, part_epochs = zip(*ends, strict=True)
    places = {issuer: place for place, issuer in enumerate(dict.fromkeys(issuers), start=1)}
    row = await connection.fetchrow(
        "SELECT * FROM deniable.add_receipts($1, $2, $3, $4, $5, $6, $7, $8)",
        VERSION,
        part_ids,
        part_epochs,
        list(ends.values()),
        [issuer or b"" for issuer in places],
        [places[issuer] for issuer in issuers],
        keys,
        responses,
    )
    assert row is not None
    refusals, distrusted, repeats, stored = row
    if refusals is None:
        raise StoreError("the survey is not in this store")
    verdicts = [Verdict.ACCEPTED] * len(receipts)
    if any(refusals) or any(distrusted):
        of_part = dict(zip(ends, (_REFUSALS[refusal] for refusal in refusals), strict=True))
        unwelcome = {issuer for issuer, is_so in zip(places, distrusted, strict=True) if is_so}
        for position, receipt in enumerate(receipts):
            verdicts[position] = of_part[receipt.survey_id, receipt.epoch]
            if verdicts[position] is Verdict.ACCEPTED and receipt.issuer in unwelcome:
                verdicts[position] = Verdict.DISTRUSTED
    for report, response in zip(repeats or (), stored or (), strict=True):
        same = responses[report - 1] == response
        verdicts[order[report - 1]] = Verdict.DUPLICATE if same else Verdict.CONFLICT
    return verdicts


_FOLDED_AT: Final = 256
"""Groups to read in addition to the counts; a large one counts once per hundred reports."""
_LARGE: Final = 100
_REST: Final = 10.0
"""Folding takes at most this fraction (one in so many) of the time, under any load."""
_LAST_FOLD_SECONDS: Final = 5.0


class PostgresStore(Store):
    """A store in a PostgreSQL database; opened by :meth:`open`, inside the running event loop."""

    def __init__(self, connections: Connections) -> None:
        super().__init__()
        self._connections = connections
        self._unfolded = _FOLDED_AT - 1  # the first group folds what others left
        self._folding: asyncio.Task[None] | None = None
        self._one_folds = asyncio.Lock()  # one connection folds at a time
        self._rested_at = 0.0

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        create: bool = False,
        most_connections: int = 4,
        patience: float = 5.0,
    ) -> "PostgresStore":
        """Open the store in an existing database; see :func:`deniable.stores.open_store`.

        The URL may be any that asyncpg understands. An unavailable server is awaited for
        ``patience`` seconds.
        """
        connections = Connections(url, most_connections, patience)
        try:
            stored_version = await connections.run(version)
            if stored_version == 0:
                if not create:
                    raise UnknownSchema(
                        "this database has no store; create one with: deniable store migrate"
                    )
                await connections.transaction(migrate)
            elif stored_version < VERSION:
                raise UnknownSchema(
                    "the store is from an older version of deniable; run: deniable store migrate"
                )
        except BaseException:
            await connections.close()
            raise
        return cls(connections)

    @staticmethod
    async def migrate(url: str) -> tuple[int, int]:
        """Migrate a database; see :func:`deniable.stores.migrate_store`."""
        connections = Connections(url)
        try:
            return await connections.transaction(migrate), VERSION
        finally:
            await connections.close()

    @property
    def connections(self) -> tuple[int, int, int]:
        return self._connections.usage

    async def seal(self, survey_id: bytes, epoch: int, now: int) -> Seal:
        # A piece may be folded while reports are kept out.
        if await self._read(lambda: counting.much_is_left(survey_id)):
            await self._fold(survey_id, epoch)
        return await super().seal(survey_id, epoch, now)

    async def prune(self, survey_id: bytes, epoch: int, now: int) -> int:
        # Like any lock, this waits for readers of all receipts, such as a backup.
        return await self._write(lambda: _prune(survey_id, epoch, now))

    async def check(self) -> list[str]:
        # Nobody who stores reports waits for it.
        async def work(connection: Connection) -> list[str]:
            await _see_one_moment(connection)
            return await follow(connection, counting.faults(), LONG_SECONDS)

        return await self._connections.transaction(work)

    async def rows(self) -> AsyncGenerator[copying.Part, None]:
        async with self._connections.held() as connection:
            with translated():
                await _see_one_moment(connection)
            for table, query in copying.READ.items():
                with translated():
                    cursor = await connection.cursor(query, timeout=LONG_SECONDS)
                while True:
                    with translated():
                        rows = await cursor.fetch(copying.ROWS_AT_ONCE, timeout=LONG_SECONDS)
                    if not rows:
                        break
                    yield copying.Part(table, [tuple(row) for row in rows])

    async def fill(self, parts: AsyncIterator[copying.Part]) -> None:
        async with self._connections.held() as connection:
            with translated():
                await connection.execute(_begin_write())
                await follow(connection, copying.begin_filling())
            async for part in parts:
                with translated():
                    await follow(connection, copying.write(part))

    async def time(self) -> float:
        async def clock(connection: Connection) -> float:
            return float(await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())"))

        return await self._connections.run(clock)

    async def close(self) -> None:
        await self._group.finish()
        if self._folding is not None:
            await asyncio.wait([self._folding], timeout=_LAST_FOLD_SECONDS)
            self._folding.cancel()
        await self._connections.close()

    async def _commit(self, together: list[Receipt]) -> list[Verdict]:
        if not together:
            return []
        verdicts = await self._connections.run(
            lambda connection: add_receipts(connection, together), keep=True
        )
        self._unfolded += 1 + len(together) // _LARGE
        if self._unfolded >= _FOLDED_AT and asyncio.get_running_loop().time() >= self._rested_at:
            self._unfolded, self._rested_at = 0, math.inf
            self._folding = asyncio.create_task(self._fold_and_rest())
        return verdicts

    async def _fold(self, survey_id: bytes | None = None, epoch: int | None = None) -> None:
        """Fold the counts of all groups so far, in pieces that are separate transactions.

        So nobody waits for long, and any interruption leaves each report counted once (S3).
        """
        async with self._one_folds:
            while await self._write(lambda: counting.fold(survey_id, epoch)):
                pass

    async def _fold_and_rest(self) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        with suppress(StoreError):  # left for the next time; until then, reading is slower
            await self._fold()
        ended = loop.time()
        self._rested_at = ended + _REST * (ended - started)

    async def _read(self, begin: Callable[[], Rule[Result]]) -> Result:
        return await self._connections.run(lambda connection: follow(connection, begin()))

    async def _write(
        self,
        begin: Callable[[], Rule[Result]],
        *,
        repeatable: bool = True,
    ) -> Result:
        async def work(connection: Connection) -> Result:
            await connection.execute(_begin_write())
            return await follow(connection, begin())

        return await self._connections.transaction(work, repeatable=repeatable)


def _begin_write() -> str:
    """Return the statement that makes the commit durable, even if nothing else is written (S1).

    It raises UnknownSchema once the store is migrated, which waits until the transaction ends.
    """
    return f"SELECT deniable.begin_write({VERSION})"


async def _see_one_moment(connection: Connection) -> None:
    """Begin a transaction that only reads and sees everything as of one moment.

    Nobody prunes meanwhile. The lock comes first: a dropped table is gone for older snapshots, too.
    The reader may be slow with each part.
    """
    await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    await connection.execute("LOCK TABLE deniable.receipts IN ACCESS SHARE MODE")
    for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
        await connection.execute(f"SET LOCAL {limit} = '{LONG_SECONDS}s'")


def _prune(survey_id: bytes, epoch: int, now: int) -> Rule[int]:
    survey, any_left = yield from counting.begin_pruning(survey_id, epoch, now)
    if not any_left:
        return 0
    erased = 0
    table = f"deniable.receipts_{survey}_{epoch}"
    ((exists,),) = yield Statement("SELECT to_regclass($1) IS NOT NULL", (table,))
    if exists:
        yield Statement(f"SET LOCAL statement_timeout = '{LONG_SECONDS}s'")
        count = f"SELECT count(*) FROM {table}"  # noqa: S608 - named by numbers
        ((erased,),) = yield Statement(count, seconds=LONG_SECONDS)
        yield Statement(f"DROP TABLE {table}")
    yield from counting.note_pruned(survey_id, epoch, now)
    return erased
