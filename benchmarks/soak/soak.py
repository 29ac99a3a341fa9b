"""One soak, from an empty store to its summary."""

import asyncio
import random
import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.soak.books import Books
from benchmarks.soak.checking import Outcome, compare, postgres_receipts, sqlite_receipts
from benchmarks.soak.collector import SoakedCollector
from benchmarks.soak.invalid import Invalid
from benchmarks.soak.load import Load
from benchmarks.soak.plan import Plan
from benchmarks.soak.signing import signing
from benchmarks.soak.slow import send_slowly
from benchmarks.soak.summary import Summary
from benchmarks.soak.tally import Tally
from deniable.stores import open_store
from tests.support.postgres import PostgresServer, find_binaries

_LOOK_SECONDS: Final = 1.0
_TELL_SECONDS: Final = 60.0


async def soak(plan: Plan, tell: Callable[[str], None]) -> Summary:
    """Soak a collector of its own; from the main thread, with which a database of its own ends.

    RuntimeError if there is no PostgreSQL to be started, or nothing is acknowledged.
    """
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database = _own_database(stack) if plan.store == "postgresql" else None
        store: Path | str = plan.store
        if database is not None:
            store = database.url(await database.create())
        elif plan.store == "sqlite":
            store = scratch / "collector" / "store.sqlite"
        tally = Tally()
        collector = SoakedCollector(
            scratch / "collector", plan, store if isinstance(store, str) else None, tally
        )
        stack.callback(collector.close)
        return await _Soak(plan, tell, collector, tally, store, database).run()


def _own_database(stack: ExitStack) -> PostgresServer:
    binaries = find_binaries()
    if binaries is None:
        raise RuntimeError("PostgreSQL is not installed; give the address of an empty database")
    server = PostgresServer(binaries)
    stack.callback(server.erase)
    server.start()
    return server


@dataclass
class _Soak:
    plan: Plan
    tell: Callable[[str], None]
    collector: SoakedCollector
    tally: Tally
    store: Path | str
    database: PostgresServer | None

    def __post_init__(self) -> None:
        self.chance = random.Random(self.plan.seed)
        self.books = Books()

    async def run(self) -> Summary:
        plan, tally, collector = self.plan, self.tally, self.collector
        invalid = Invalid(collector.slots, self.chance)
        with signing(collector.slots, plan.seed) as chunks:
            load = Load(plan, collector.port, chunks, invalid, self.books, tally, self.chance)
            try:
                await collector.start()
                sustainable = await self.calm(load)
                self.tell(f"sustainable: {sustainable:,.0f} reports/s; now {plan.overload} × that")
                begun = time.monotonic()
                others = [
                    asyncio.create_task(send_slowly(collector.port, tally)),
                    asyncio.create_task(self.watch()),
                ]
                trouble = asyncio.create_task(self.trouble(begun + plan.seconds))
                await load.storm(sustainable * plan.overload, plan.seconds)
                seconds, offered = time.monotonic() - begun, tally.offered
                await trouble
                self.tell("the load is over; devices send until they are acknowledged")
                unfinished = await load.drain()
                for other in others:
                    other.cancel()
                await asyncio.gather(*others, return_exceptions=True)
            finally:
                await load.close()
        collector.watch()
        await collector.stop()
        await collector.all_gone()
        tally.broken["tracebacks were logged"] += collector.complaints.count("Traceback")
        kind = "SQLite" if isinstance(self.store, Path) else "PostgreSQL"
        outcome = await self.compare()
        return Summary(
            plan, kind, seconds, sustainable, offered / seconds, tally, outcome, unfinished
        )

    async def calm(self, load: Load) -> float:
        """Return what is sustainable."""
        sustainable = await load.calm()
        if not sustainable:
            raise RuntimeError("nothing is acknowledged: " + self.collector.complaints[-1_000:])
        put_off = self.tally.statuses.total() - self.tally.statuses[200]
        self.tally.broken["requests were put off before there was too much load"] += put_off
        return sustainable

    async def trouble(self, until: float) -> None:
        """Kill and restart again and again."""
        kinds = [self.kill, self.restart]
        if self.plan.workers > 1:
            kinds += [self.kill_worker] * 2
        if self.database is not None:
            kinds.append(self.kill_database)
        while time.monotonic() + self.plan.kill_seconds < until:
            await asyncio.sleep(self.plan.kill_seconds * self.chance.uniform(0.8, 1.2))
            await self.chance.choice(kinds)()

    async def kill(self) -> None:
        self.collector.watch()
        await self.collector.kill()
        await self.collector.start()

    async def restart(self) -> None:
        self.collector.watch()
        await self.collector.stop()
        await self.collector.start()

    async def kill_worker(self) -> None:
        self.collector.kill_worker(self.chance.randrange(self.plan.workers))

    async def kill_database(self) -> None:
        assert self.database is not None
        self.tally.kills["kill -9 of PostgreSQL"] += 1
        await asyncio.to_thread(self.database.kill)
        self.database.launch()
        await asyncio.to_thread(self.database.wait)

    async def watch(self) -> None:
        """Take note of memory, and tell that it goes on."""
        told = time.monotonic()
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self.collector.watch()
            own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            self.tally.peaks["load generator"] = own
            if time.monotonic() - told > _TELL_SECONDS:
                told = time.monotonic()
                self.tell(f"{self.tally.statuses.total():,} requests are over")

    async def compare(self) -> Outcome:
        """Compare the store with the books."""
        slots = self.collector.slots
        store = await open_store(self.store)
        try:
            if isinstance(self.store, Path):
                receipts = sqlite_receipts(self.store, slots)
            else:
                receipts = await postgres_receipts(self.store, slots)
            return await compare(store, receipts, self.books, slots)
        finally:
            await store.close()
