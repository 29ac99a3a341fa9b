"""Devices in processes of their own: to race for one state, and to be killed at a chosen moment."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from deniable.client import HttpAnswer, StateUnavailable
from deniable.client.mark import Mark
from tests.support.devices import NAME, Bench
from tests.support.surveys import CATEGORIES, DAY, START

_SECONDS = 60.0


def _kill(*_: object) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def _report_and_die(folder: Path, moment: str) -> None:
    """Report once, as a process that is killed at this moment."""
    bench = Bench(folder)
    if moment == "creating":
        # The tables exist by then, and are not committed: the secret goes into them.
        random_bytes = os.urandom
        os.urandom = lambda size: random_bytes(size) if size != 32 else bytes(_kill())
    client = bench.ready()
    if moment == "drawing":
        client = bench.client(unsafe_draw=_kill)
    if moment == "committing":
        write = Mark.write

        def write_and_die(mark: Mark, state: Path) -> None:
            write(mark, state)
            _kill()

        Mark.write = write_and_die  # type: ignore[assignment,method-assign]
    client.report(NAME, "good", strict=True)
    if moment == "sending":
        bench.transport.answer = lambda body: _keep(folder / "sent", body)
        client.flush()
    if moment == "exiting":
        os._exit(0)
    _kill()


def _keep(file: Path, body: bytes) -> HttpAnswer:
    file.write_bytes(body)
    _kill()
    raise AssertionError("unreachable")


def _report_daily(
    folder: Path, number: int, days: int, barrier: Barrier, results: "Queue[list[str]]"
) -> None:
    """Report on each day at the same moment as the other processes."""
    statuses: list[str] = []
    with Bench(folder) as bench:
        client = bench.client(manifests=list(bench.transport.manifests.values()))
        for day in range(days):
            bench.clock.time = START + day * DAY
            barrier.wait(_SECONDS)
            outcome = client.report(NAME, CATEGORIES[number])
            for _ in range(1000):  # while somebody else is creating it
                if not isinstance(outcome.error, StateUnavailable):
                    break
                outcome = client.report(NAME, CATEGORIES[number])
            statuses.append(str(outcome.status))
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


def report_and_die(folder: Path, moment: str) -> None:
    """Let a process report, and be killed at a moment, or exit hard; return when it is gone."""
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_report_and_die, args=(folder, moment))
    process.start()
    _run(process, 0 if moment == "exiting" else -signal.SIGKILL)


def race(folder: Path, processes: int, days: int) -> list[list[str]]:
    """Let processes report at the same moments; return each one's outcomes and what it sent."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(processes), context.Queue()
    target: Callable[..., None] = _report_daily
    running = [
        context.Process(target=target, args=(folder, number, days, barrier, results))
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
