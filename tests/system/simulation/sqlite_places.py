"""One SQLite file for several collectors, each with a seam before its statements."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest import mock

from deniable.stores import SqliteStore, Store
from deniable.stores.sqlite.database import SqliteDatabase
from tests.system.simulation.operations import Breakage
from tests.system.simulation.seam import Died, Seam

_BUSY_SECONDS = 0.02  # whoever is paused holds its lock: who waits for it fails soon


class _Failed(sqlite3.OperationalError):
    """A statement's failure."""

    def __init__(self, full: bool) -> None:
        super().__init__("database or disk is full" if full else "disk I/O error")
        self.sqlite_errorcode = sqlite3.SQLITE_FULL if full else sqlite3.SQLITE_IOERR


class _Connection(sqlite3.Connection):
    """A connection whose statements pass a seam."""

    seam: Seam | None = None

    def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
        return self._through(partial(super().execute, statement, *arguments))

    def executemany(self, statement: str, rows: Iterable[Any]) -> sqlite3.Cursor:
        return self._through(partial(super().executemany, statement, rows))

    def _through(self, execute: Callable[[], sqlite3.Cursor]) -> sqlite3.Cursor:
        try:
            how = self.seam.before() if self.seam else None
        except Died:
            super().execute("ROLLBACK") if self.in_transaction else None
            raise
        if how is None:
            return execute()
        if how is Breakage.UNCERTAIN:
            execute()
        if how is Breakage.FULL and self.in_transaction:
            super().execute("ROLLBACK")
        raise _Failed(how is Breakage.FULL)


class SqlitePlace:
    """A file, made of a template that holds the surveys."""

    def __init__(self, template: Path, file: Path) -> None:
        shutil.copyfile(template, file)
        self._file = file

    async def open(self, seam: Seam) -> SqliteStore:
        """Return a store whose writing goes through a seam."""
        writer, reader = self._connect(), self._connect()
        cast(_Connection, writer._connection).seam = seam
        return SqliteStore(writer, reader)

    def _connect(self) -> SqliteDatabase:
        connect = partial(sqlite3.connect, factory=_Connection)
        with mock.patch.object(sqlite3, "connect", connect):
            opened = SqliteDatabase(self._file, patience=_BUSY_SECONDS)
        opened._connection.execute("PRAGMA synchronous=OFF")  # nobody pulls the plug here
        return opened

    async def abandon(self, store: Store) -> None:
        """Let go of a store as a killed process does; its seam is dead."""
        assert isinstance(store, SqliteStore)
        loop = asyncio.get_running_loop()
        for executor in (store._writing, store._reading):
            with suppress(RuntimeError):
                await loop.run_in_executor(executor, int)  # whatever was under way has ended
            executor.shutdown()
        store._writer.close()
        store._reader.close()
