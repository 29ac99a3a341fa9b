"""Devices in processes of their own that race for one state."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier

from tests.support.devices import NAME, Bench
from tests.support.surveys import CATEGORIES, DAY, START
from tests.support.watched import be_patient

_SECONDS = 60.0


def _report_daily(folder: Path, days: int, barrier: Barrier, number: int) -> list[str]:
    """Report on each day at the same moment as the other processes."""
    be_patient(_SECONDS)
    statuses: list[str] = []
    with Bench(folder) as bench:
        client = bench.client(manifests=bench.transport.envelopes)
        for day in range(days):
            bench.clock.time = START + day * DAY
            barrier.wait(_SECONDS)
            statuses.append(str(client.report(NAME, CATEGORIES[number]).status))
        client.flush()
        return statuses + [body.hex() for body in bench.transport.uploads]


def race(folder: Path, processes: int, days: int) -> list[list[str]]:
    """Return what processes say that report on each day at once, and the bytes that they sent."""
    spawning = multiprocessing.get_context("spawn")
    with spawning.Manager() as manager, ProcessPoolExecutor(processes, spawning) as pool:
        report = partial(_report_daily, folder, days, manager.Barrier(processes))
        return [*pool.map(report, range(processes))]
