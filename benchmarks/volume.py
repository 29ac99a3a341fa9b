"""What a receipt takes on disk and in PostgreSQL's log: bytes, which no noise touches."""

import asyncio
import tempfile
from pathlib import Path
from typing import Final

import asyncpg

from benchmarks.full_store import fill
from benchmarks.postgres import group_of, open_filled, own_server
from benchmarks.uploads import make_collector
from tests.support.postgres import PostgresServer

_STORED: Final = 5_000_000
_GROUP: Final = 500
_SPAN: Final = 100_000
_SPANS: Final = 6


def run() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "collector"
        make_collector(directory)
        fill(directory / "store.sqlite", _STORED)
        size = (directory / "store.sqlite").stat().st_size
    print(f"\nSQLite, {_STORED:,} receipts: {size / _STORED:.1f} bytes each, tree and all")
    with own_server() as server:
        if server is not None:
            asyncio.run(_measure(server))


async def _measure(server: PostgresServer) -> None:
    store, url = await open_filled(server, _STORED)
    connection = await asyncpg.connect(url)
    size = await connection.fetchval(
        "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits"
        " WHERE inhparent = 'deniable.receipts'::regclass"
    )
    print(f"PostgreSQL, {_STORED:,} receipts: {int(size) / _STORED:.0f} bytes each, index and all")
    await connection.execute("CHECKPOINT")
    for span in range(_SPANS):
        before = await connection.fetchval("SELECT pg_current_wal_lsn()")
        for _ in range(_SPAN // _GROUP):
            await store.add(group_of(_GROUP))
        logged = await connection.fetchval("SELECT pg_current_wal_lsn() - $1::pg_lsn", before)
        first = span * _SPAN
        print(
            f"log, receipts {first:,} to {first + _SPAN:,} after a checkpoint: "
            f"{int(logged) / _SPAN:,.0f} bytes each"
        )
    await connection.close()
    await store.close()
