"""Several collectors on one PostgreSQL, and on two.

The databases have their data on disk, and share the cores with the collectors and their load. So
rates are those of two cores; what tells how far one database goes is its processor time a report.
"""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.load import load
from benchmarks.postgres import own_server
from benchmarks.rounds import Rounds, interleave
from benchmarks.servers import Server, collector, run_command
from benchmarks.table import Row, show
from benchmarks.uploads import BATCH, make_collector, sign_uploads
from tests.support.postgres import PostgresServer

_ROUNDS: Final = 5
_SINGLES: Final = 4_000
_BATCHES: Final = 160


def run() -> None:
    """Measure and print."""
    with own_server() as one, own_server() as other:
        if one is not None and other is not None:
            _show_collectors(one, other)


@dataclass
class _Costs:
    """What the rounds of one contender gave; the first only warmed up."""

    collectors: list[float] = field(default_factory=list)
    database: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)

    def rounds(self, values: Sequence[float]) -> Rounds:
        """Return the values of the rounds that count."""
        return Rounds(tuple(values[1:]))


def _show_collectors(one: PostgresServer, other: PostgresServer) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "plain"
        survey_id = make_collector(plain)
        numbers = count()
        layouts = {
            "1 collector": (1, [one]),
            "2 collectors": (2, [one]),
            "4 collectors": (4, [one]),
            "4 collectors on 2 databases": (4, [one, other]),
        }
        made = [sign_uploads(survey_id, _SINGLES, _BATCHES) for _ in range(_ROUNDS + 1)]
        for title, reports, sets in (
            ("one report a request", 1, [uploads.singles for uploads in made]),
            (f"{BATCH} a request", BATCH, [uploads.batches for uploads in made]),
        ):
            costs = {name: _Costs() for name in layouts}
            interleave(
                {
                    name: _measurement(
                        plain,
                        Path(scratch),
                        numbers,
                        number,
                        databases,
                        iter(sets),
                        reports,
                        costs[name],
                    )
                    for name, (number, databases) in layouts.items()
                },
                _ROUNDS,
            )
            _show_costs(title, costs)


def _show_costs(title: str, costs: Mapping[str, _Costs]) -> None:
    rows = []
    for name, cost in costs.items():
        rows += [
            Row(f"{name}: rate, load on the same cores", cost.rounds(cost.rate), "reports/s"),
            Row(f"{name}: their processor time", cost.rounds(cost.collectors).scaled(1e6), "µs"),
            Row(f"{name}: the database's", cost.rounds(cost.database).scaled(1e6), "µs"),
        ]
    first, *others = costs
    alone = costs[first]
    for name in others:
        cost = costs[name]
        rows += [
            Row(
                f"{name} ÷ {first}: the database's time",
                cost.rounds(cost.database) / alone.rounds(alone.database),
            ),
            Row(
                f"{name} ÷ {first}: the collectors' time",
                cost.rounds(cost.collectors) / alone.rounds(alone.collectors),
            ),
        ]
    show(f"collectors on PostgreSQL, {title}, each durable before its answer", rows)


def _measurement(
    plain: Path,
    scratch: Path,
    numbers: Iterator[int],
    number: int,
    databases: Sequence[PostgresServer],
    sets: Iterator[Sequence[bytes]],
    reports: int,
    costs: _Costs,
) -> Callable[[], float]:
    """Return a measurement of all processors' seconds a report; it notes whose they were."""

    def measure() -> float:
        requests = next(sets)
        with _serving(plain, scratch, numbers, number, databases) as servers:
            backends = [Server(database.pid, 0) for database in databases]
            before = _seconds(servers), _seconds(backends)
            rate, accepted = _load(servers, requests)
            used = _seconds(servers) - before[0], _seconds(backends) - before[1]
        if accepted != len(requests) * reports:
            raise RuntimeError(f"only {accepted} reports were accepted")
        costs.collectors.append(used[0] / accepted)
        costs.database.append(used[1] / accepted)
        costs.rate.append(rate)
        return sum(used) / accepted

    return measure


@contextmanager
def _serving(
    plain: Path,
    scratch: Path,
    numbers: Iterator[int],
    number: int,
    databases: Sequence[PostgresServer],
) -> Iterator[list[Server]]:
    """Serve so many collectors, divided among new stores in the databases."""
    stores = [database.url(asyncio.run(database.create())) for database in databases]
    directories = []
    with ExitStack() as stack:
        for place in range(number):
            directory = scratch / f"collector-{next(numbers)}"
            shutil.copytree(plain, directory)
            store, backup = stores[place % len(stores)], directory / "backup.sqlite"
            run_command("store", "backup", backup, "--dir", directory)
            settings = directory / "collector.toml"
            settings.write_text(f'{settings.read_text("utf-8")}store = "{store}"\n', "utf-8")
            if place < len(stores):  # an empty store is filled as an operator would
                run_command("store", "restore", backup, "--dir", directory)
            directories.append(directory)
        yield [stack.enter_context(collector(directory)) for directory in directories]


def _load(servers: Sequence[Server], requests: Sequence[bytes]) -> tuple[float, int]:
    """Share the requests among the servers; return reports a second, and how many were taken."""
    started = time.perf_counter()
    with ThreadPoolExecutor(len(servers)) as pool:
        parts = [requests[place :: len(servers)] for place in range(len(servers))]
        ports = [server.port for server in servers]
        accepted = sum(taken for _, taken in pool.map(load, ports, parts))
    return accepted / (time.perf_counter() - started), accepted


def _seconds(servers: Sequence[Server]) -> float:
    return sum(server.cpu_seconds() for server in servers)
