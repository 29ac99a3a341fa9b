"""The embedded store: processor time a receipt, empty and full, and two processes on one file."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.full_store import fill
from benchmarks.rounds import Rounds, interleave
from benchmarks.surveys import signed_survey
from benchmarks.table import Row, show
from benchmarks.writer import group_of, store_group
from deniable.messages import Manifest
from deniable.stores.rules.operating import publish
from deniable.stores.sqlite.database import SqliteDatabase, follow

_ROUNDS: Final = 5
_STORED: Final = 10_000_000
_RECEIPTS: Final = 60_000
_GROUPS: Final = (100, 1_000)
_SECONDS: Final = 3.0
_TWO: Final = 2
_PAGES: Final = 1_000
"""SQLite's own default: how many pages its log gets before they are copied into the tables."""


def run() -> None:
    """Measure and print."""
    manifest, envelope = signed_survey(8, 8, "1")
    with tempfile.TemporaryDirectory() as scratch:
        places = _Places(Path(scratch), manifest, envelope)
        contenders: dict[str, Callable[[], float]] = {}
        for size in _GROUPS:
            contenders |= {
                f"empty {size}": partial(_empty_cost, places, size),
                f"full {size}": partial(_cost, places.full, places.survey_id, size),
                f"bare {size}": partial(_bare_cost, places, size),
            }
        waits: list[float] = []
        found = interleave({**contenders, "two": partial(_two, places, waits)}, _ROUNDS)
    for size in _GROUPS:
        empty, full, bare = (found[f"{kind} {size}"] for kind in ("empty", "full", "bare"))
        show(
            f"the SQLite store, {size:,} receipts a commit",
            [
                Row("processor time a receipt, empty", empty.scaled(1e6), "µs"),
                Row("… with 10 M receipts", full.scaled(1e6), "µs"),
                Row("bare SQLite's, empty: no counts, no seals", bare.scaled(1e6), "µs"),
                Row("ours ÷ bare SQLite, empty", empty / bare),
                Row("with 10 M receipts ÷ empty", full / empty),
            ],
        )
    show(
        f"two processes write {_GROUPS[1]:,} receipts a commit into one file",
        [
            Row("both together", found["two"], "receipts/s"),
            Row("longest commit", Rounds(tuple(waits[1:])).scaled(1e3), "ms"),
        ],
    )


class _Places:
    """Stores to be measured, with one survey in each."""

    def __init__(self, scratch: Path, manifest: Manifest, envelope: bytes) -> None:
        self._scratch = scratch
        self._numbers = count()
        self._manifest, self._envelope = manifest, envelope
        self.survey_id = manifest.survey_id
        self.full = self.empty()
        fill(self.full, _STORED)

    def new(self) -> Path:
        """Return a path where there is nothing."""
        return self._scratch / f"{next(self._numbers)}.sqlite"

    def empty(self) -> Path:
        """Return a store without receipts."""
        file = self.new()
        with closing(SqliteDatabase(file)) as database, database.transaction() as connection:
            follow(connection, publish(self._manifest, self._envelope))
        return file


def _empty_cost(places: _Places, size: int) -> float:
    return _cost(places.empty(), places.survey_id, size)


def _cost(file: Path, survey_id: bytes, size: int) -> float:
    """Return the processor seconds of storing one receipt, in groups."""
    groups = [group_of(size, survey_id) for _ in range(_RECEIPTS // size)]
    with closing(SqliteDatabase(file)) as database:
        used = time.process_time()
        for group in groups:
            store_group(database, group)
        # What the log still holds is copied when it is closed, at the cost of this measurement.
        database.close()
        return (time.process_time() - used) / (len(groups) * size)


def _bare_cost(places: _Places, size: int) -> float:
    """Return the same for the least that is durable: sorted rows into one table."""
    groups = [
        sorted((1, 0, os.urandom(16), 3, 0) for _ in range(size)) for _ in range(_RECEIPTS // size)
    ]
    with _bare(places.new()) as connection:
        used = time.process_time()
        for group in groups:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO receipts VALUES (?, ?, ?, ?, ?)", group)
            connection.execute("COMMIT")
        connection.close()
        return (time.process_time() - used) / (len(groups) * size)


@contextmanager
def _bare(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint={_PAGES}")
        connection.execute(
            "CREATE TABLE receipts (survey, epoch, key, response, issuer,"
            " PRIMARY KEY (survey, epoch, key)) WITHOUT ROWID"
        )
        yield connection


def _two(places: _Places, waits: list[float]) -> float:
    """Return receipts a second of two processes that share a file; note the longest wait."""
    command = [sys.executable, "-m", "benchmarks.writer", str(places.empty())]
    command += [places.survey_id.hex(), str(_GROUPS[1]), str(_SECONDS)]
    writers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(_TWO)
    ]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    stored, longest = 0, 0.0
    for writer in writers:
        said, _ = writer.communicate()
        if writer.returncode:
            raise RuntimeError("a writer failed")
        receipts, wait, _ = said.split()
        stored, longest = stored + int(receipts), max(longest, float(wait))
    waits.append(longest)
    return stored / _SECONDS
