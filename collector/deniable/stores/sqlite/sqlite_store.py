"""The embedded store: SQLite behind two threads, one that writes and one that reads."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from deniable.messages import Manifest, Rotation
from deniable.messages.receipt import Receipt
from deniable.stores.copying import Row
from deniable.stores.group_commit import GroupCommit
from deniable.stores.sqlite import checking, copying, publishing, receipts, sealing, showing, tokens
from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.sqlite.read_only import read_only
from deniable.stores.sqlite.short_log import ShortLog
from deniable.stores.store import Counts, Role, Seal, StoreError, Token, Verdict

__all__ = ["SqliteStore"]

Result = TypeVar("Result")


class SqliteStore:
    """A store in one SQLite file; open it with :meth:`open`, inside the running event loop.

    Args:
        writer: the database as the writing thread uses it.
        reader: the same file, as the reading thread uses it.
        most_waiting: how many reports may wait for their commit before ``add`` is overloaded.
    """

    def __init__(
        self, writer: SqliteDatabase, reader: SqliteDatabase, most_waiting: int = 20_000
    ) -> None:
        self._writer, self._reader = writer, reader
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="store-reader")
        self._group = GroupCommit(self._commit, most_waiting)
        self._log = ShortLog(self._empty_log)

    @classmethod
    async def open(cls, path: Path, most_waiting: int = 20_000, *, migrate: bool = True) -> Self:
        """Open the file.

        Args:
            path: the file.
            most_waiting: how many reports may wait for their commit before ``add`` is overloaded.
            migrate: create it if there is none, and bring an older schema to this version.

        Raises:
            UnknownSchema: if a newer version of deniable wrote it, or an older one and it is not
                to be migrated.
            StoreError: if it cannot be opened, or there is no store and none is to be made.
        """
        writer = await asyncio.to_thread(SqliteDatabase, path, migrate=migrate)
        store = cls(writer, await asyncio.to_thread(SqliteDatabase, path), most_waiting)
        store._log.written()  # perhaps, by a process that was killed
        return store

    @property
    def path(self) -> Path:
        """Return the file."""
        return self._reader.path

    async def add(self, receipts: Sequence[Receipt]) -> list[Verdict]:
        """Store receipts durably; one verdict each, in their order."""
        return await self._group.add(receipts)

    async def _commit(self, together: list[Receipt]) -> list[Verdict]:
        return await self._write(lambda database: receipts.add_receipts(database, together))

    async def publish(self, manifest: Manifest, envelope: bytes) -> None:
        """Add a survey."""
        await self._write(lambda database: publishing.publish(database, manifest, envelope))

    async def surveys(self) -> list[bytes]:
        """Return the envelopes of all surveys, by name and descending sequence."""
        return await self._read(publishing.surveys)

    async def rotate(
        self, rotation: Rotation, envelope: bytes, sign_anew: Callable[[bytes], bytes]
    ) -> int:
        """Publish a hand-over of the authority's key, and every survey under the new one."""
        return await self._write(
            lambda database: publishing.rotate(database, rotation, envelope, sign_anew)
        )

    async def rotations(self) -> list[bytes]:
        """Return the envelopes of all rotations, oldest first."""
        return await self._read(publishing.rotations)

    async def counts(self, survey_id: bytes, epoch: int, responses: int) -> Counts:
        """Return how often each response was counted, as figures may show it."""
        if await self._read(lambda database: showing.step_is_due(database, survey_id, epoch)):
            await self._write(lambda database: showing.take_step(database, survey_id, epoch))
        return await self._read(
            lambda database: showing.shown_counts(database, survey_id, epoch, responses)
        )

    async def newest_epoch(self, survey_id: bytes) -> int | None:
        """Return the newest epoch of which enough is counted for a figure."""
        return await self._read(lambda database: showing.newest_epoch(database, survey_id))

    async def newest_counted(self, survey_id: bytes) -> int | None:
        """Return the newest epoch with at least one counted report."""
        return await self._read(lambda database: showing.newest_counted(database, survey_id))

    async def seal(self, survey_id: bytes, epoch: int, now: int) -> Seal:
        """Seal an epoch for good; return the seal that stands."""
        seal, made = await self._write(
            lambda database: sealing.seal(database, survey_id, epoch, now)
        )
        if made:
            # The seal stands, also where this fails: then all stays as it is until it is erased.
            with suppress(StoreError):
                await self._rewrite(survey_id, epoch)
        return seal

    async def _rewrite(self, survey_id: bytes, epoch: int) -> None:
        after: bytes | None = b""
        while after is not None:
            after = await self._write(
                partial(sealing.rewrite, survey_id=survey_id, epoch=epoch, after=after)
            )

    async def seals(self, survey_id: bytes) -> list[Seal]:
        """Return the seals of a survey, by epoch."""
        return await self._read(lambda database: sealing.seals(database, survey_id))

    async def standing_seal(self, survey_id: bytes, epoch: int) -> Seal | None:
        """Return the seal of an epoch; None while it has none."""
        return await self._read(lambda database: sealing.standing_seal(database, survey_id, epoch))

    async def prune(self, survey_id: bytes, epoch: int, now: int) -> int:
        """Erase the receipts of an epoch, while others are stored; return how many there were."""
        erased = 0
        while some := await self._write(
            lambda database: sealing.erase(database, survey_id, epoch, now)
        ):
            erased += some
        await self._write(lambda database: sealing.finish_erasing(database, survey_id, epoch, now))
        return erased

    async def end(self, survey_id: bytes, now: int) -> None:
        """End a survey for good."""
        await self._write(lambda database: sealing.end(database, survey_id, now))

    async def ended(self) -> dict[bytes, int]:
        """Return the ids of ended surveys, and when they ended."""
        return await self._read(sealing.ended)

    async def distrust(self, issuer: bytes, now: int) -> None:
        """Take no further report that this issuer vouches for."""
        await self._write(lambda database: sealing.distrust(database, issuer, now))

    async def distrusted(self) -> frozenset[bytes]:
        """Return the public keys of the issuers that are not trusted any more."""
        return await self._read(sealing.distrusted)

    async def add_token(self, token: Token) -> None:
        """Keep the digest of a token."""
        await self._write(lambda database: tokens.add_token(database, token))

    async def tokens(self) -> list[Token]:
        """Return what is known of the tokens, the oldest first."""
        return await self._read(tokens.tokens)

    async def revoke_token(self, digest: bytes) -> bool:
        """Forget a token; return if there was such."""
        return await self._write(lambda database: tokens.revoke_token(database, digest))

    async def token_role(self, digest: bytes) -> Role | None:
        """Return the role of the token with this digest."""
        return await self._read(lambda database: tokens.token_role(database, digest))

    async def check(self) -> list[str]:
        """Recount the receipts; return a line for each thing that is not as it must be."""

        def recount() -> list[str]:
            # On a connection of its own: it reads everything, and figures are not to wait for it.
            with read_only(self.path) as connection:
                return checking.faults(connection)

        return await asyncio.to_thread(recount)

    async def rows(self) -> AsyncIterator[Sequence[Row]]:
        """Read everything as of one moment, in lists of one type of row."""
        with (
            closing(await asyncio.to_thread(SqliteDatabase, self._reader.path)) as database,
            database.reading() as connection,
        ):
            connection.execute("BEGIN")
            chunks = copying.read_rows(connection)
            while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
                yield chunk

    async def fill(self, chunks: AsyncIterator[Sequence[Row]]) -> None:
        """Write all that another store holds, or nothing."""
        with (
            closing(await asyncio.to_thread(SqliteDatabase, self._writer.path)) as database,
            database.transaction() as connection,
        ):
            copying.check_empty(connection)
            async for chunk in chunks:
                await asyncio.to_thread(copying.write_rows, connection, chunk)

    async def time(self) -> float:
        """Return Unix seconds by the clock of the file's file system."""

        def touch() -> float:
            lock = self.path.with_name(f"{self.path.name}-lock")
            os.utime(lock)
            return lock.stat().st_mtime

        return await asyncio.to_thread(touch)

    async def ping(self) -> None:
        """Return if the store can be read."""
        await self._read(lambda database: database.ping())

    async def close(self) -> None:
        """Commit what was taken, then close the file."""
        await self._group.finish()
        await self._log.finish()
        for executor, database in ((self._writing, self._writer), (self._reading, self._reader)):
            await asyncio.get_running_loop().run_in_executor(executor, database.close)
            executor.shutdown()

    async def _write(self, work: Callable[[SqliteDatabase], Result]) -> Result:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._writing, work, self._writer)
        finally:
            self._log.written()

    async def _empty_log(self) -> bool:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writing, self._writer.truncate_log)

    async def _read(self, work: Callable[[SqliteDatabase], Result]) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reading, work, self._reader)
