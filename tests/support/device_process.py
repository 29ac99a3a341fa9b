"""Devices in processes of their own, which race for one state."""

import multiprocessing
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from deniable.client import engine
from tests.support.devices import NAME, Bench
from tests.support.surveys import CATEGORIES, DAY, START

_SECONDS = 60.0


def _report_daily(
    folder: Path, number: int, days: int, barrier: Barrier, results: "Queue[list[str]]"
) -> None:
    """Report on each day at the same moment as the other processes."""
    statuses: list[str] = []
    with Bench(folder) as bench:
        client = bench.client(manifests=bench.transport.envelopes)
        engine.REPORT_PATIENCE = _SECONDS  # for each other, however slow the machine is
        for day in range(days):
            bench.clock.time = START + day * DAY
            barrier.wait(_SECONDS)
            statuses.append(str(client.report(NAME, CATEGORIES[number]).status))
        client.flush()
        statuses += [body.hex() for body in bench.transport.uploads]
    results.put(statuses)


def _run(process: SpawnProcess, status: int) -> None:
    process.join(_SECONDS)
    found = process.exitcode
    process.kill()
    process.join(_SECONDS)
    process.close()
    assert found == status


def race(folder: Path, processes: int, days: int) -> list[list[str]]:
    """Let processes report on each day at once; return each one's outcomes and what it sent."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(processes), context.Queue()
    running = [
        context.Process(target=_report_daily, args=(folder, number, days, barrier, results))
        for number in range(processes)
    ]
    for process in running:
        process.start()
    try:
        return [results.get(timeout=_SECONDS) for _ in running]
    finally:
        for process in running:
            _run(process, 0)
        results.close()
        results.join_thread()
