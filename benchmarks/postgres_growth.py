"""A PostgreSQL store that has grown: commits, figures, seal, erasure, below an old snapshot, too.

The server is as in :mod:`benchmarks.postgres`. Figures are of one run, in the order of a store's
life: what grows cannot be measured in turn.
"""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from benchmarks.postgres import MANIFEST, group_of, open_filled, own_server
from deniable.stores import KEPT_SECONDS, PostgresStore, Verdict
from tests.support.postgres import PostgresServer

_STORED: Final = 10_000_000
_GROUP: Final = 50
_COMMITS: Final = 8_000
_SAMPLE: Final = 500
_READS: Final = 20
_OPENINGS: Final = 40
_RESPONSES: Final = 65_536
_AT_ONCE: Final = 4_096


def run() -> None:
    """Measure and print."""
    with own_server() as server:
        if server is not None:
            asyncio.run(_grown(server))
            asyncio.run(_reopened(server))


async def _grown(server: PostgresServer) -> None:
    print(f"\nthe PostgreSQL store with {_STORED:,} receipts, {_GROUP} a commit")
    store, url = await open_filled(server, _STORED)
    await _show_commits(store, "commits")
    async with _snapshot(url):
        await _show_commits(store, "commits below an old snapshot")
        await _show_reads(store, "histogram under load, below it")
    await _show_reads(store, "histogram under load")
    survey, now = MANIFEST.survey_id, MANIFEST.schedule.closes(0)
    await _show("seal", store.seal(survey, 0, now))
    async with _snapshot(url):
        adding = asyncio.create_task(_commits(store, _SAMPLE, epoch=1))
        await _show(
            "erasing all of it, below a snapshot", store.prune(survey, 0, now + KEPT_SECONDS)
        )
        waits = await adding
    print(f"commits meanwhile: median {_ms(statistics.median(waits))}, longest {_ms(max(waits))}")
    await store.close()


async def _reopened(server: PostgresServer) -> None:
    """Open a store again and again, and store a report of every response each time."""
    store, url = await open_filled(server, 0)
    for _ in range(_OPENINGS):
        await store.close()
        store = await PostgresStore.open(url)
        for first in range(0, _RESPONSES, _AT_ONCE):
            await _stored(store, _AT_ONCE, 0, range(first, first + _AT_ONCE))
    print(f"\na store that was opened {_OPENINGS} times, {_RESPONSES:,} responses each time")
    await _show("histogram", store.counts(MANIFEST.survey_id, 0))
    await _show("seal", store.seal(MANIFEST.survey_id, 0, MANIFEST.schedule.closes(0)))
    await _show("histogram, sealed", store.counts(MANIFEST.survey_id, 0))
    await store.close()


async def _show_commits(store: PostgresStore, what: str) -> None:
    waits = await _commits(store, _COMMITS)
    first, last = (statistics.median(each) for each in (waits[:_SAMPLE], waits[-_SAMPLE:]))
    print(
        f"{_COMMITS:,} {what}: median of the first {_SAMPLE} {_ms(first)}, of the last {_ms(last)}"
    )


async def _commits(store: PostgresStore, count: int, epoch: int = 0) -> list[float]:
    return [await _stored(store, _GROUP, epoch) for _ in range(count)]


async def _stored(
    store: PostgresStore, size: int, epoch: int, responses: Sequence[int] = range(16)
) -> float:
    """Store new reports; return the seconds that their commit took."""
    group = [
        receipt._replace(epoch=epoch, response=responses[number % len(responses)])
        for number, receipt in enumerate(group_of(size))
    ]
    started = time.perf_counter()
    if set(await store.add(group)) != {Verdict.ACCEPTED}:
        raise RuntimeError("a receipt was not accepted")
    return time.perf_counter() - started


async def _show_reads(store: PostgresStore, what: str) -> None:
    adding = asyncio.create_task(_commits(store, _SAMPLE))
    waits: list[float] = []
    while not adding.done() and len(waits) < _READS:
        started = time.perf_counter()
        await store.counts(MANIFEST.survey_id, 0)
        waits.append(time.perf_counter() - started)
        await asyncio.sleep(0.05)
    await adding
    print(f"{what}: median {_ms(statistics.median(waits))}, longest {_ms(max(waits))}")


async def _show(what: str, work: Awaitable[object]) -> None:
    started = time.perf_counter()
    await work
    print(f"{what}: {_ms(time.perf_counter() - started)}")


@asynccontextmanager
async def _snapshot(url: str) -> AsyncIterator[None]:
    """Hold a snapshot, as a report does that somebody left open."""
    connection = await asyncpg.connect(url)
    async with connection.transaction(isolation="repeatable_read"):
        await connection.execute("SELECT FROM deniable.surveys")
        yield
    await connection.close()


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.1f} ms"
