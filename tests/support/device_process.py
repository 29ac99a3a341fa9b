"""Devices in processes of their own: to race for one state, and to be killed at a chosen moment."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from deniable.client import Survey, engine
from deniable.messages import sign_manifest
from tests.support.devices import NAME, Bench
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, QUESTION, START, manifest

_SECONDS = 60.0


def _report_daily(
    folder: Path, number: int, days: int, barrier: Barrier, results: "Queue[list[str]]"
) -> None:
    """Report on each day at the same moment as the other processes."""
    statuses: list[str] = []
    with Bench(folder) as bench:
        client = bench.client(manifests=bench.transport.envelopes)
        _be_patient()
        for day in range(days):
            bench.clock.time = START + day * DAY
            barrier.wait(_SECONDS)
            statuses.append(str(client.report(NAME, CATEGORIES[number]).status))
        client.flush()
        statuses += [body.hex() for body in bench.transport.uploads]
    results.put(statuses)


def _be_patient() -> None:
    """Let reports wait for the other processes, however slow the machine is."""
    engine.REPORT_PATIENCE = _SECONDS


def _report_many(
    folder: Path, number: int, surveys: int, barrier: Barrier, results: "Queue[list[str]]"
) -> None:
    """Report to many surveys, all processes at once, each beginning with another one."""
    manifests = [manifest(name=f"survey-{each:02}", epsilon="0.01") for each in range(surveys)]
    names = [each.name for each in manifests]
    with Bench(folder) as bench:
        client = bench.client(
            surveys=[Survey(name, QUESTION, CATEGORIES, max_epsilon="1") for name in names],
            manifests=[sign_manifest(each, AUTHORITY) for each in manifests],
        )
        _be_patient()
        barrier.wait(_SECONDS)
        found = {
            name: client.report(name, CATEGORIES[number])
            for name in names[number * 7 :] + names[: number * 7]
        }
    results.put([str(found[name].status) for name in names])


def _run(process: SpawnProcess, status: int) -> None:
    process.join(_SECONDS)
    found = process.exitcode
    process.kill()
    process.join(_SECONDS)
    process.close()
    assert found == status


def race(folder: Path, processes: int, days: int) -> list[list[str]]:
    return _compete(_report_daily, folder, processes, days)


def race_through(folder: Path, processes: int, surveys: int) -> list[list[str]]:
    """Let processes report to many surveys at once; return each one's outcomes, by survey."""
    return _compete(_report_many, folder, processes, surveys)


def _compete(
    target: Callable[..., None], folder: Path, processes: int, rounds: int
) -> list[list[str]]:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(processes), context.Queue()
    running = [
        context.Process(target=target, args=(folder, number, rounds, barrier, results))
        for number in range(processes)
    ]
    for process in running:
        process.start()
    try:
        found = [results.get(timeout=_SECONDS) for _ in running]
    finally:
        for process in running:
            _run(process, 0)
        results.close()
        results.join_thread()
    return found
