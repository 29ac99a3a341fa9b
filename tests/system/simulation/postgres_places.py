"""One PostgreSQL database for several collectors, each with a seam before its statements."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, ClassVar
from unittest import mock

import asyncpg

from deniable.stores import PostgresStore, Store
from deniable.stores.postgres.pool import Connections
from tests.system.simulation.operations import Breakage
from tests.system.simulation.seam import Died, Seam

_PATIENCE = 0.1
_LOCK_MILLISECONDS = 50  # whoever is paused holds its locks: who waits for them fails soon


class _Connection(asyncpg.Connection):
    """A connection whose statements pass a seam."""

    __slots__ = ()
    seam: ClassVar[Seam]

    async def execute(self, *arguments: Any, **options: Any) -> str:
        done: str = await self._through(partial(super().execute, *arguments, **options))
        return done

    async def fetch(self, *arguments: Any, **options: Any) -> Any:
        return await self._through(partial(super().fetch, *arguments, **options))

    async def fetchrow(self, *arguments: Any, **options: Any) -> Any:
        return await self._through(partial(super().fetchrow, *arguments, **options))

    async def fetchval(self, *arguments: Any, **options: Any) -> Any:
        return await self._through(partial(super().fetchval, *arguments, **options))

    async def _through(self, execute: Callable[[], Awaitable[Any]]) -> Any:
        seam = self.seam
        try:
            how = await asyncio.to_thread(seam.before) if seam.holds else seam.before()
        except Died:
            self.terminate()
            raise
        if how is None:
            return await execute()
        if how is Breakage.FULL:
            if self.is_in_transaction():  # as the server does with one that failed
                await super().execute("ROLLBACK")
            raise asyncpg.DiskFullError("could not extend file: No space left on device")
        if how is Breakage.UNCERTAIN:
            await execute()
        self.terminate()
        raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle")


class PostgresPlace:
    """A database, by its URL."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}&lock_timeout={_LOCK_MILLISECONDS}"

    async def open(self, seam: Seam) -> PostgresStore:
        """Return a store whose statements go through a seam."""
        seamed = type("_SeamedConnection", (_Connection,), {"seam": seam, "__slots__": ()})
        create = partial(asyncpg.create_pool, connection_class=seamed)
        with mock.patch.object(asyncpg, "create_pool", create):
            store = PostgresStore(Connections(self._url, patience=_PATIENCE))
        store._unfolded = 0  # what is done in the background would not be the same each time
        return store

    async def abandon(self, store: Store) -> None:
        """Let go of a store as a killed process does; its seam is dead."""
        assert isinstance(store, PostgresStore)
        store._connections._pool.terminate()
