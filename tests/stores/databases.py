"""Stores that a test can hold up or look into."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from deniable.stores import PostgresStore, SqliteStore, Verdict
from deniable.stores.postgres.pool import Connection
from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.sqlite.sqlite_store import add_receipts
from deniable.stores.values import RECEIPT_KEY_BYTES, Receipt
from tests.stores.places import publish
from tests.support.reports import report

SECONDS = 20.0  # longer than anything here takes; a test that waits so long has failed


class HookedStore(SqliteStore):
    """Calls ``before`` in the writing thread, ahead of every commit group.

    Attributes:
        before: what is called with the group's number, from 0 on.
    """

    def __init__(self, path: Path, patience: float = 10.0) -> None:
        writer, reader = (SqliteDatabase(path, patience=patience) for _ in range(2))
        super().__init__(writer, reader)
        self.groups: list[int] = []  # the size of each group so far
        self.before: Callable[[int], None] = lambda _: None

    async def _commit(self, together: list[Receipt]) -> list[Verdict]:
        def commit() -> list[Verdict]:
            self.groups.append(len(together))
            self.before(len(self.groups) - 1)
            return add_receipts(self._writer, together)

        return await self._in_writer(commit)

    def pragma(self, text: str) -> int:
        with self._writer.reading() as connection:
            (value,) = connection.execute(f"PRAGMA {text}").fetchone()
        return int(value)


class Gate:
    """Holds up the writing thread: ``database.before = gate``."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()

    def __call__(self, _: int) -> None:
        self.reached.set()
        assert self._open.wait(SECONDS)

    async def until_reached(self) -> None:
        assert await asyncio.to_thread(self.reached.wait, SECONDS)

    def open(self) -> None:
        self._open.set()


@asynccontextmanager
async def opened(url: str, patience: float = 60.0) -> AsyncIterator[PostgresStore]:
    """Yield a store on PostgreSQL that folds nothing by itself: its connections are counted."""
    store = await PostgresStore.open(url, patience=patience)
    store._unfolded = -100
    try:
        yield store
    finally:
        await store.close()


async def show(setting: str, connection: Connection) -> str:
    return str(await connection.fetchval(f"SHOW {setting}"))


@asynccontextmanager
async def hooked_store(path: Path, patience: float = 10.0) -> AsyncIterator[HookedStore]:
    store = HookedStore(path, patience)
    await publish(store)
    try:
        yield store
    finally:
        await store.close()


def many(count: int, start: int = 0) -> list[Receipt]:
    """Return reports under as many keys; nobody signed them, which a store does not look at."""
    template = report(0)
    return [
        template._replace(key=sha256(b"%d" % number).digest()[:RECEIPT_KEY_BYTES])
        for number in range(start, start + count)
    ]
