"""The embedded store: SQLite behind two threads, one that writes and one that reads."""

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final, Self

from deniable.reading.seals import Seal
from deniable.stores.errors import StoreError
from deniable.stores.receipt import Receipt
from deniable.stores.rules import copying, life
from deniable.stores.sqlite import receipts
from deniable.stores.sqlite.database import SqliteDatabase, WalTruncation, faults, read_only
from deniable.stores.sqlite.driver import follow, in_sqlite
from deniable.stores.sqlite.receipts import add_receipts
from deniable.stores.statements import Result, Rule, Verdict
from deniable.stores.store import Store

_PING_SECONDS: Final = 3.0
"""How long others may hold the lock, of which storing a group takes hundredths."""


class SqliteStore(Store):
    """A store in one SQLite file; open it with :meth:`open`, inside the running event loop."""

    def __init__(self, writer: SqliteDatabase, reader: SqliteDatabase) -> None:
        super().__init__()
        self._writer, self._reader = writer, reader
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="store-reader")
        self._log = WalTruncation(self._empty_log)

    @classmethod
    async def open(cls, path: Path, *, migrate: bool = True, patience: float = 10.0) -> Self:
        """Open the file; migrating creates it or brings an older schema to this version.

        Other processes are waited for with patience, for so many seconds.
        """
        writer = await asyncio.to_thread(SqliteDatabase, path, migrate=migrate, patience=patience)
        reader = await asyncio.to_thread(SqliteDatabase, path, patience=patience, settle=False)
        store = cls(writer, reader)
        store._log.written()  # perhaps, by a process that was killed
        return store

    @property
    def path(self) -> Path:
        """Return the file."""
        return self._reader.path

    async def seal(self, survey_id: bytes, epoch: int, now: int) -> Seal:
        seal, made = await self._write(lambda: life.seal(survey_id, epoch, now))
        if made:
            # The seal stands, also where this fails: then all stays as it is until it is erased.
            with suppress(StoreError):
                after: bytes | None = b""
                while after is not None:
                    part = partial(receipts.rewrite, survey_id, epoch, after)
                    after = await self._write(part)
        return seal

    async def prune(self, survey_id: bytes, epoch: int, now: int) -> int:
        erased = 0
        while some := await self._write(lambda: receipts.erase(survey_id, epoch, now)):
            erased += some
        # Out of the log too (S6). While somebody reads from it, it stays unnoted, to be due again.
        if await self._in_writer(self._writer.truncate_log):
            await self._write(lambda: life.note_pruned(survey_id, epoch, now))
        return erased

    async def ping(self) -> None:
        # First whether it is locked: behind groups that wait for that, nobody would learn it soon.
        await asyncio.to_thread(self._writer.check_unlocked, _PING_SECONDS)
        await super().ping()

    async def check(self) -> list[str]:
        def recount() -> list[str]:
            # On a connection of its own: it reads everything, and figures are not to wait for it.
            with read_only(self.path) as connection:
                return faults(connection)

        return await asyncio.to_thread(recount)

    async def rows(self) -> AsyncGenerator[Sequence[copying.StoredRow], None]:
        with (
            closing(await asyncio.to_thread(SqliteDatabase, self.path)) as database,
            database.reading() as connection,
        ):
            connection.execute("BEGIN")
            chunks = read_rows(connection)
            while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
                yield chunk

    async def fill(self, chunks: AsyncIterator[Sequence[copying.StoredRow]]) -> None:
        filling = copying.Filling()
        with (
            closing(await asyncio.to_thread(SqliteDatabase, self.path)) as database,
            database.transaction() as connection,
        ):
            follow(connection, filling.begin())
            # Not in another thread: that would write on when this task was cancelled.
            async for chunk in chunks:
                follow(connection, filling.write(chunk))

    async def time(self) -> float:
        """Return Unix seconds by the clock of the file system: of a file made beside the store."""

        def clock() -> float:
            with tempfile.TemporaryFile(dir=self.path.parent) as made:
                return os.fstat(made.fileno()).st_mtime

        try:
            return await asyncio.to_thread(clock)
        except OSError as error:
            raise StoreError(f"the file system gives no time: {error}") from error

    async def close(self) -> None:
        await self._group.finish()
        await self._log.finish()
        for executor, database in ((self._writing, self._writer), (self._reading, self._reader)):
            await asyncio.get_running_loop().run_in_executor(executor, database.close)
            executor.shutdown()

    async def _commit(self, together: list[Receipt]) -> list[Verdict]:
        return await self._in_writer(lambda: add_receipts(self._writer, together))

    async def _read(self, begin: Callable[[], Rule[Result]]) -> Result:
        def work() -> Result:
            with self._reader.reading() as connection:
                return follow(connection, begin())

        return await asyncio.get_running_loop().run_in_executor(self._reading, work)

    async def _write(
        self,
        begin: Callable[[], Rule[Result]],
        *,
        repeatable: bool = True,  # noqa: ARG002 - what a file answers is known
        though_moved: bool = False,
    ) -> Result:
        def work() -> Result:
            with self._writer.transaction(though_moved=though_moved) as connection:
                return follow(connection, begin())

        return await self._in_writer(work)

    async def _in_writer(self, work: Callable[[], Result]) -> Result:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._writing, work)
        finally:
            self._log.written()

    async def _empty_log(self) -> bool:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writing, self._writer.truncate_log)


def read_rows(connection: sqlite3.Connection) -> Iterator[Sequence[copying.StoredRow]]:
    """Read all rows; a transaction around it makes them those of one moment."""
    for kind, query in copying.READ.items():
        cursor = connection.execute(in_sqlite(query)[0])
        while rows := [kind(*row) for row in cursor.fetchmany(copying.ROWS_AT_ONCE)]:
            yield rows
