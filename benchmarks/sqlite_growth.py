"""The SQLite store as it grows to 10 million receipts of an epoch, and as that epoch goes again."""

import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable
from contextlib import closing
from pathlib import Path
from typing import Final

from benchmarks.full_store import fill
from benchmarks.surveys import signed_survey
from benchmarks.writer import group_of
from deniable.stores import KEPT_SECONDS, SqliteStore

_STORED: Final = 10_000_000
_GROUP: Final = 100
_COMMITS: Final = 300
_BEHIND: Final = 4_000
"""Commits behind a snapshot that is held open."""
_CATEGORIES: Final = 8
_PAUSE: Final = 0.05
"""Seconds between commits beside something else."""


def run() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(_measure(Path(scratch) / "store.sqlite", _STORED))


async def _measure(file: Path, stored: int) -> None:
    manifest, envelope = signed_survey(_CATEGORIES, 8, "1")
    survey = manifest.survey_id
    store = await SqliteStore.open(file)
    await store.publish(manifest, envelope)

    async def commits(number: int) -> list[float]:
        """Store groups of epoch 1 one after the other; return what each took."""
        taken = []
        for _ in range(number):
            group = [receipt._replace(epoch=1) for receipt in group_of(_GROUP, survey)]
            began = time.perf_counter()
            await store.add(group)
            taken.append(time.perf_counter() - began)
        return taken

    async def beside(what: str, work: Awaitable[object]) -> None:
        """Print how long something took, and the commits beside it."""
        began = time.perf_counter()
        task = asyncio.ensure_future(work)
        taken: list[float] = []
        while not task.done():
            taken += await commits(1)
            await asyncio.sleep(_PAUSE)
        seconds = time.perf_counter() - began
        print(f"{what}: {seconds:.2f} s; {_milliseconds(taken)}, commits meanwhile")

    print(f"\nSQLite, commits of {_GROUP} receipts; {stored:,} of epoch 0")
    print(f"{_milliseconds(await commits(_COMMITS))}, an empty store")
    fill(file, stored)
    await commits(_COMMITS)
    print(f"{_milliseconds(await commits(_COMMITS))}, the full one")
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM surveys").fetchone()
        await commits(_BEHIND)
        log = file.with_name(f"{file.name}-wal").stat().st_size
        taken = await commits(_COMMITS)
        print(f"{_milliseconds(taken)}, behind a snapshot and a log of {log / 1e6:,.0f} MB")
    _room(file, "full")
    await beside("histogram", store.counts(survey, 0))
    now = manifest.schedule.closes(1)
    await beside("seal, and receipts in the order of their keys", store.seal(survey, 0, now))
    await beside("prune", store.prune(survey, 0, now + KEPT_SECONDS))
    _room(file, "pruned")
    await store.close()


def _milliseconds(taken: list[float]) -> str:
    ordered = sorted(taken)
    p50, p99 = statistics.median(ordered), ordered[len(ordered) * 99 // 100]
    return f"commit p50 {1e3 * p50:.1f} ms, p99 {1e3 * p99:.1f} ms"


def _room(file: Path, when: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        pages, free = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count")
        )
    print(f"{when}: {file.stat().st_size / 1e6:,.0f} MB, of {pages:,} pages {free:,} are free")
