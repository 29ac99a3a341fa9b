"""The embedded store: SQLite behind two threads, one that writes and one that reads."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from deniable.messages import Manifest, Rotation
from deniable.messages.receipt import Receipt
from deniable.stores.group_commit import GroupCommit
from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.store import Role, Verdict

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

    @classmethod
    async def open(cls, path: Path, most_waiting: int = 20_000) -> "SqliteStore":
        """Open the file, creating or migrating it.

        Raises:
            StoreError: if it cannot be opened, or a newer version of deniable wrote it.
        """
        writer = await asyncio.to_thread(SqliteDatabase, path)
        return cls(writer, await asyncio.to_thread(SqliteDatabase, path), most_waiting)

    async def add(self, receipts: Sequence[Receipt]) -> list[Verdict]:
        """Store receipts durably; one verdict each, in their order."""
        return await self._group.add(receipts)

    async def _commit(self, receipts: list[Receipt]) -> list[Verdict]:
        return await self._write(lambda database: database.add(receipts))

    async def publish(self, manifest: Manifest, envelope: bytes) -> None:
        """Add a survey."""
        await self._write(lambda database: database.publish(manifest, envelope))

    async def surveys(self) -> list[bytes]:
        """Return the envelopes of all surveys, by name and descending sequence."""
        return await self._read(lambda database: database.surveys())

    async def rotate(
        self, rotation: Rotation, envelope: bytes, sign_anew: Callable[[bytes], bytes]
    ) -> int:
        """Publish a hand-over of the authority's key, and every survey under the new one."""
        return await self._write(lambda database: database.rotate(rotation, envelope, sign_anew))

    async def rotations(self) -> list[bytes]:
        """Return the envelopes of all rotations, oldest first."""
        return await self._read(lambda database: database.rotations())

    async def counts(self, survey_id: bytes, epoch: int, responses: int) -> list[int]:
        """Return how often each response was counted, as figures may show it."""
        return await self._read(lambda database: database.counts(survey_id, epoch, responses))

    async def newest_epoch(self, survey_id: bytes) -> int | None:
        """Return the newest epoch that has a figure to show."""
        return await self._read(lambda database: database.newest_epoch(survey_id))

    async def seal(self, survey_id: bytes, epoch: int) -> None:
        """Seal an epoch for good."""
        await self._write(lambda database: database.seal(survey_id, epoch))

    async def add_token(self, digest: bytes, role: Role, label: str) -> None:
        """Keep the digest of a token."""
        await self._write(lambda database: database.add_token(digest, role, label))

    async def token_role(self, digest: bytes) -> Role | None:
        """Return the role of the token with this digest."""
        return await self._read(lambda database: database.token_role(digest))

    async def ping(self) -> None:
        """Return if the store can be read."""
        await self._read(lambda database: database.ping())

    async def close(self) -> None:
        """Commit what was taken, then close the file."""
        await self._group.finish()
        for executor, database in ((self._writing, self._writer), (self._reading, self._reader)):
            await asyncio.get_running_loop().run_in_executor(executor, database.close)
            executor.shutdown()

    async def _write(self, work: Callable[[SqliteDatabase], Result]) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writing, work, self._writer)

    async def _read(self, work: Callable[[SqliteDatabase], Result]) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reading, work, self._reader)
