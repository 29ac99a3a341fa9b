"""The embedded store: SQLite with one writing thread and one reading thread."""

import asyncio
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final, Self

from deniable.stores.rules import ManyTimes, Result, Rule, Statement, copying, counting
from deniable.stores.rules.counting import begin_pruning
from deniable.stores.rules.operating import find_survey
from deniable.stores.sqlite.database import (
    SqliteDatabase,
    WalTruncation,
    faults,
    follow,
    in_sqlite,
)
from deniable.stores.store import Store
from deniable.stores.values import Receipt, Seal, StoreError, Verdict

_ERASED_AT_ONCE: Final = 10_000
_REWRITTEN_AT_ONCE: Final = 2_000
"""Receipts at a time: some hundredths of a second, in which no report is stored."""
_REWRITTEN_AGAIN: Final = 400  # receipts: twice as many as fit in a page of 4,096 bytes


def rewrite(survey_id: bytes, epoch: int, after: bytes) -> Rule[bytes | None]:
    """Store some receipts of a sealed epoch again, in the order of their keys (S5).

    SQLite fills a page of the file in the order in which rows arrive, until it splits or tidies the
    page: only the pointers to them are sorted. Rewriting costs some 3 microseconds per receipt.

    The work continues after the previously returned key, initially empty; None once all are done.
    """
    survey, _ = yield from find_survey(survey_id)
    slot = (survey, epoch)
    # Start slightly earlier: only an emptied page is filled anew. In a page with remaining rows,
    # new ones fill the gaps.
    ((start,),) = yield Statement(
        "SELECT coalesce((SELECT key FROM receipts WHERE survey = $1 AND epoch = $2 AND key <= $3"
        " ORDER BY key DESC LIMIT 1 OFFSET $4), x'')",
        (*slot, after, _REWRITTEN_AGAIN),
    )
    rows = yield Statement(
        "SELECT survey, epoch, key, response, issuer FROM receipts"
        " WHERE survey = $1 AND epoch = $2 AND key > $3 ORDER BY key LIMIT $4",
        (*slot, start, _REWRITTEN_AGAIN + _REWRITTEN_AT_ONCE),
    )
    if not rows or rows[-1][2] == after:
        return None
    last: bytes = rows[-1][2]
    yield Statement(
        "DELETE FROM receipts WHERE survey = $1 AND epoch = $2 AND key > $3 AND key <= $4",
        (*slot, start, last),
    )
    yield ManyTimes(
        "INSERT INTO receipts (survey, epoch, key, response, issuer) VALUES ($1, $2, $3, $4, $5)",
        rows,
    )
    return last


def erase(survey_id: bytes, epoch: int, now: int) -> Rule[int]:
    """Erase some receipts of a sealed epoch; return how many, 0 once none is left.

    Some are erased at a time, so that reports of other epochs are stored in between.
    """
    survey, _ = yield from begin_pruning(survey_id, epoch, now)
    erased = yield Statement(
        "DELETE FROM receipts WHERE survey = $1 AND epoch = $2 AND key <= coalesce("
        "(SELECT key FROM receipts WHERE survey = $1 AND epoch = $2"
        " ORDER BY key LIMIT 1 OFFSET $3), x'ffffffffffffffffffffffffffffffffff') RETURNING NULL",
        (survey, epoch, _ERASED_AT_ONCE - 1),
    )
    return len(erased)


_Row = tuple[int, int, bytes, int, int, int]
"""Survey, epoch and key, by which the tree is sorted; position in the group; response, issuer."""


def add_receipts(database: SqliteDatabase, receipts: Sequence[Receipt]) -> list[Verdict]:
    """Store receipts in one transaction; return one verdict for each, in their order."""
    verdicts = [Verdict.ACCEPTED] * len(receipts)
    rows: list[_Row] = []
    with database.transaction() as connection:
        admission = _Admission(connection)
        for position, (survey_id, epoch, key, response, issuer) in enumerate(receipts):
            terms = admission[survey_id, epoch, issuer]
            if isinstance(terms, Verdict):
                verdicts[position] = terms
            else:
                survey, vouched = terms
                rows.append((survey, epoch, key, position, response, vouched))
        for row in _insert(connection, rows):
            verdicts[row[3]] = _compare(connection, row)
        _count(connection, rows, verdicts)
    return verdicts


class _Admission(dict[tuple[bytes, int, bytes | None], Verdict | tuple[int, int]]):
    """By survey, epoch and issuer: the numbers of survey and issuer, or the reason for refusal.

    Each is looked up once per transaction, and not kept afterwards (S4, S7).
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._connection = connection

    def __missing__(self, origin: tuple[bytes, int, bytes | None]) -> Verdict | tuple[int, int]:
        survey_id, epoch, issuer = origin
        survey, _ = follow(self._connection, find_survey(survey_id))
        terms = self[origin] = self._refusal(survey, epoch) or self._vouched(survey, issuer)
        return terms

    def _refusal(self, survey: int, epoch: int) -> Verdict | None:
        ended, sealed = self._connection.execute(
            "SELECT EXISTS (SELECT 1 FROM ends WHERE survey = :survey),"
            " EXISTS (SELECT 1 FROM seals WHERE survey = :survey AND epoch = :epoch)",
            {"survey": survey, "epoch": epoch},
        ).fetchone()
        if ended:
            return Verdict.ENDED
        return Verdict.SEALED if sealed else None

    def _vouched(self, survey: int, issuer: bytes | None) -> Verdict | tuple[int, int]:
        row = self._connection.execute(
            "SELECT issuer, distrusted_at FROM issuers WHERE public_key = ?", (issuer or b"",)
        ).fetchone()
        if row is None:
            row = self._connection.execute(
                "INSERT INTO issuers (public_key) VALUES (?) RETURNING issuer, distrusted_at",
                (issuer,),
            ).fetchone()
        number, distrusted_at = row
        return (survey, number) if distrusted_at is None else Verdict.DISTRUSTED


def _insert(connection: sqlite3.Connection, rows: list[_Row]) -> list[_Row]:
    """Insert receipts; return those whose key exists already, or came twice in this group.

    Receipts are sorted: the tree inserts neighbours with less work, and for equal keys the first
    goes first (S2).
    """
    rows.sort()
    repeated: list[_Row] = []

    def receipts() -> Iterator[tuple[int, int, bytes, int, int]]:
        # Each row is requested after the previous one is stored, so its result is known here. A
        # call for each row would take half as long again.
        before = connection.total_changes
        for row in rows:
            survey, epoch, key, _, response, issuer = row
            yield survey, epoch, key, response, issuer
            after = connection.total_changes
            if after == before:
                repeated.append(row)
            before = after

    start = connection.total_changes
    connection.executemany(
        "INSERT INTO receipts VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", receipts()
    )
    if connection.total_changes - start != len(rows) - len(repeated):
        raise StoreError("SQLite did not store the receipts one by one")
    return repeated


def _compare(connection: sqlite3.Connection, row: _Row) -> Verdict:
    survey, epoch, key, _, response, _ = row
    (first,) = connection.execute(
        "SELECT response FROM receipts WHERE survey = ? AND epoch = ? AND key = ?",
        (survey, epoch, key),
    ).fetchone()
    return Verdict.DUPLICATE if first == response else Verdict.CONFLICT


def _count(connection: sqlite3.Connection, rows: list[_Row], verdicts: list[Verdict]) -> None:
    counted = Counter(
        [
            (survey, epoch, issuer, response)
            for survey, epoch, _, position, response, issuer in rows
            if verdicts[position] is Verdict.ACCEPTED
        ]
    )
    connection.executemany(
        "INSERT INTO counts VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET reports = reports + excluded.reports",
        [(*cell, reports) for cell, reports in counted.items()],
    )


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
        """Open the file; migrating creates it or migrates an older schema to this version.

        ``patience`` is the number of seconds to wait for other processes.
        """
        writer = await asyncio.to_thread(SqliteDatabase, path, migrate=migrate, patience=patience)
        reader = await asyncio.to_thread(SqliteDatabase, path, patience=patience, settle=False)
        store = cls(writer, reader)
        store._log.written()  # possibly, by a process that was killed
        return store

    @property
    def path(self) -> Path:
        """Return the file."""
        return self._reader.path

    async def seal(self, survey_id: bytes, epoch: int, now: int) -> Seal:
        seal, made = await self._write(lambda: counting.seal(survey_id, epoch, now))
        if made:
            # The seal is valid even if this fails: the order then stays until the erasure.
            with suppress(StoreError):
                after: bytes | None = b""
                while after is not None:
                    part = partial(rewrite, survey_id, epoch, after)
                    after = await self._write(part)
        return seal

    async def prune(self, survey_id: bytes, epoch: int, now: int) -> int:
        erased = 0
        while some := await self._write(lambda: erase(survey_id, epoch, now)):
            erased += some
        # Also remove them from the log (S6). While the log has a reader, the erasure is not noted,
        # and so stays due.
        if await self._in_writer(self._writer.truncate_log):
            await self._write(lambda: counting.note_pruned(survey_id, epoch, now))
        return erased

    async def check(self) -> list[str]:
        # On a separate connection: this reads everything, and figures must not wait for it.
        return await asyncio.to_thread(faults, self.path)

    async def rows(self) -> AsyncGenerator[copying.Part, None]:
        with (
            closing(await asyncio.to_thread(SqliteDatabase, self.path)) as database,
            database.reading() as connection,
        ):
            connection.execute("BEGIN")
            parts = read_rows(connection)
            while (part := await asyncio.to_thread(next, parts, None)) is not None:
                yield part

    async def fill(self, parts: AsyncIterator[copying.Part]) -> None:
        with (
            closing(await asyncio.to_thread(SqliteDatabase, self.path)) as database,
            database.transaction() as connection,
        ):
            follow(connection, copying.begin_filling())
            # Not in another thread, which would continue writing after this task is cancelled.
            async for part in parts:
                follow(connection, copying.write(part))

    async def time(self) -> float:
        """Return Unix seconds by the file system's clock, using a file created beside the store."""

        def clock() -> float:
            with tempfile.TemporaryFile(dir=self.path.parent) as made:
                return os.fstat(made.fileno()).st_mtime

        try:
            return await asyncio.to_thread(clock)
        except OSError as error:
            raise StoreError(f"the file system provides no time: {error}") from error

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
    ) -> Result:
        def work() -> Result:
            with self._writer.transaction() as connection:
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


def read_rows(connection: sqlite3.Connection) -> Iterator[copying.Part]:
    """Read all rows; in a transaction, they are as of one moment."""
    for table, query in copying.READ.items():
        cursor = connection.execute(in_sqlite(query)[0])
        while rows := cursor.fetchmany(copying.ROWS_AT_ONCE):
            yield copying.Part(table, rows)
