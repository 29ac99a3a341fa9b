"""The PostgreSQL store: receipts a second and processor time, empty and full, beside a bare insert.

The server is started for it, with its data on disk and fsync on, and shares the cores with what
stores.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import asyncpg

from benchmarks.rounds import Rounds, interleave
from benchmarks.servers import Server
from benchmarks.surveys import signed_survey
from benchmarks.table import Row, show
from deniable.stores import PostgresStore, Verdict
from deniable.stores.values import RECEIPT_KEY_BYTES, Receipt
from tests.support.postgres import PostgresServer, find_binaries

_ROUNDS: Final = 5
_STORED: Final = 5_000_000
_GROUPS: Final = {1: 400, 50: 200, 500: 60, 5_000: 8}
"""Receipts in a group, and how many groups make a measurement."""
MANIFEST, _ENVELOPE = signed_survey(16, 8, "1")
_SETTINGS: Final = ("shared_buffers=1GB", "max_wal_size=4GB", "checkpoint_timeout=30min")
_BARE: Final = """
    INSERT INTO bare SELECT 1, 0, k, r FROM unnest($1::uuid[], $2::integer[]) AS u (k, r)
    ON CONFLICT DO NOTHING RETURNING key
"""


@dataclass(slots=True)
class _Found:
    """What the rounds of one contender gave, besides seconds a receipt."""

    client: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)

    def used(self) -> Rounds:
        """Return the processor seconds of both together; the first round only warmed up."""
        both = zip(self.client[1:], self.server[1:], strict=True)
        return Rounds(tuple(map(sum, both)))


def run() -> None:
    """Measure and print."""
    with own_server() as server, asyncio.Runner() as runner:
        if server is not None:
            _measure(server, runner)


@contextmanager
def own_server() -> Iterator[PostgresServer | None]:
    """Run a server whose data are on disk; yield None, and say so, where there are no programs."""
    binaries = find_binaries()
    if binaries is None:
        print("\nPostgreSQL is not installed: nothing to measure")
        yield None
        return
    server = PostgresServer(binaries, Path(tempfile.gettempdir()))
    try:
        server.start(*_SETTINGS)
        yield server
    finally:
        server.erase()


def _measure(server: PostgresServer, runner: asyncio.Runner) -> None:
    empty, full = (runner.run(open_filled(server, stored))[0] for stored in (0, _STORED))
    bare = runner.run(_bare(server, _STORED))
    process = Server(server.pid, 0)
    kinds: dict[str, Callable[[list[Receipt]], Awaitable[int]]] = {
        "empty": lambda group: _stored(empty, group),
        "full": lambda group: _stored(full, group),
        "bare": lambda group: _inserted(bare, group),
    }
    contenders = {}
    others: dict[str, _Found] = {}
    for size, times in _GROUPS.items():
        for kind, store in kinds.items():
            other = others[f"{kind} {size}"] = _Found()
            contenders[f"{kind} {size}"] = _cost(runner, process, store, size, times, other)
    found = interleave(contenders, _ROUNDS)
    for size in _GROUPS:
        rows = []
        for kind in kinds:
            name = f"{kind} {size}"
            client, backend = (
                Rounds(tuple(v[1:])) for v in (others[name].client, others[name].server)
            )
            label = {"empty": "empty", "full": "5 M receipts", "bare": "bare insert, 5 M"}[kind]
            rows += [
                Row(f"{label}: rate", 1 / found[name], "receipts/s"),
                Row(f"{label}: the collector's processor time", client.scaled(1e6), "µs"),
                Row(f"{label}: the server's", backend.scaled(1e6), "µs"),
            ]
        used = {kind: others[f"{kind} {size}"].used() for kind in kinds}
        ours, floor = found[f"full {size}"], found[f"bare {size}"]
        rows += [
            Row("both processors' time, 5 M ÷ bare insert", used["full"] / used["bare"]),
            Row("both processors' time, 5 M ÷ empty", used["full"] / used["empty"]),
            Row("time, 5 M ÷ bare insert", ours / floor),
            Row("time, 5 M ÷ empty", ours / found[f"empty {size}"]),
        ]
        show(f"the PostgreSQL store, {size:,} receipts a commit", rows)
    runner.run(empty.close())
    runner.run(full.close())
    runner.run(bare.close())


async def open_filled(server: PostgresServer, stored: int) -> tuple[PostgresStore, str]:
    """Return a store with the survey, and so many receipts, in it; and its address."""
    url = server.url(await server.create())
    store = await PostgresStore.open(url, create=True)
    await store.publish(MANIFEST, _ENVELOPE)
    if stored:
        connection = await asyncpg.connect(url)
        await connection.execute("SELECT deniable.make_receipts(1, 0)")
        await connection.execute(
            "INSERT INTO deniable.receipts_1_0"
            " SELECT 1, 0, gen_random_uuid(), n % 16, 0 FROM generate_series(1, $1) AS n",
            stored,
        )
        # What is counted is that of its receipts.
        await connection.execute(
            "INSERT INTO deniable.counts SELECT survey, epoch, issuer, response, count(*)"
            " FROM deniable.receipts_1_0 GROUP BY survey, epoch, issuer, response"
        )
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")
        await connection.close()
    return store, url


async def _bare(server: PostgresServer, stored: int) -> "asyncpg.Connection[asyncpg.Record]":
    """Return a connection to a table of as many rows, without partitions, counts, seals."""
    connection = await asyncpg.connect(server.url(await server.create()))
    await connection.set_type_codec(
        "uuid", schema="pg_catalog", encoder=bytes, decoder=bytes, format="binary"
    )
    await connection.execute(
        "CREATE TABLE bare (survey integer NOT NULL, epoch integer NOT NULL, key uuid NOT NULL,"
        " response integer NOT NULL, PRIMARY KEY (survey, epoch, key))"
    )
    await connection.execute(
        "INSERT INTO bare SELECT 1, 0, gen_random_uuid(), n % 16 FROM generate_series(1, $1) AS n",
        stored,
    )
    await connection.execute("VACUUM ANALYZE")
    await connection.execute("CHECKPOINT")
    return connection


async def _stored(store: PostgresStore, group: list[Receipt]) -> int:
    return (await store.add(group)).count(Verdict.ACCEPTED)


async def _inserted(connection: "asyncpg.Connection[asyncpg.Record]", group: list[Receipt]) -> int:
    keys, responses = [each.key for each in group], [each.response for each in group]
    return len(await connection.fetch(_BARE, keys, responses))


def _cost(
    runner: asyncio.Runner,
    server: Server,
    store: Callable[[list[Receipt]], Awaitable[int]],
    size: int,
    times: int,
    found: _Found,
) -> Callable[[], float]:
    """Return a measurement of the seconds of one receipt; it notes the processor's, too."""

    async def work(groups: list[list[Receipt]]) -> None:
        for group in groups:
            if await store(group) != len(group):
                raise RuntimeError("a receipt was not accepted")

    def measure() -> float:
        groups = [group_of(size) for _ in range(times)]
        before, used, started = server.cpu_seconds(), time.process_time(), time.perf_counter()
        runner.run(work(groups))
        seconds = time.perf_counter() - started
        found.client.append((time.process_time() - used) / (size * times))
        found.server.append((server.cpu_seconds() - before) / (size * times))
        return seconds / (size * times)

    return measure


def group_of(size: int) -> list[Receipt]:
    """Return so many receipts of devices that have not reported before."""
    keys = os.urandom(RECEIPT_KEY_BYTES * size)
    return [
        Receipt(MANIFEST.survey_id, 0, keys[at : at + RECEIPT_KEY_BYTES], at // 16 % 16)
        for at in range(0, len(keys), RECEIPT_KEY_BYTES)
    ]
