"""Several collectors, and workers of one, on the same store: kills, storms."""

import asyncio
import os
import random
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from tests.support.collector import CollectorProcess, runs
from tests.support.postgres import postgres_server
from tests.support.stubborn import StubbornDevices


@contextmanager
def collectors(folder: Path, number: int = 1, **settings: str) -> Iterator[list[CollectorProcess]]:
    environment = {f"DENIABLE_{name.upper()}": value for name, value in settings.items()}
    first = CollectorProcess(folder / "collector", environment=environment)
    every = [first, *(first.beside() for _ in range(number - 1))]
    try:
        for collector in every:
            collector.start()
        yield every
    finally:
        for collector in every:
            collector.close()


def while_sending(
    devices: StubbornDevices, ports: Sequence[int], troubles: Sequence[Callable[[], None]]
) -> None:
    """Let devices send until all are acknowledged; do one thing after the other meanwhile."""

    with ThreadPoolExecutor(1) as pool:
        for part, trouble in enumerate(troubles):
            due = devices.acknowledged + len(devices.reports) // len(troubles) // 4
            sending = pool.submit(asyncio.run, devices.send(ports, part, len(troubles)))
            while devices.acknowledged < due and not sending.done():
                time.sleep(0.001)
            trouble()
            sending.result()


@pytest.mark.long
@pytest.mark.parametrize(
    ("victims", "store"),
    [
        ("collectors", "sqlite"),
        ("collectors", "postgres"),
        ("database", "postgres"),
        ("workers", "sqlite"),
    ],
)
def test_what_is_killed_under_load_costs_nothing(tmp_path: Path, victims: str, store: str) -> None:
    chance = random.Random(2016)
    server = postgres_server() if store == "postgres" else None
    settings = {"store": server.url(asyncio.run(server.create()))} if server else {}
    settings |= {"workers": "2"} if victims == "workers" else {}

    def kill(turn: int) -> None:
        if victims == "database":
            assert server is not None
            server.kill()
            server.start()
        elif victims == "workers" and turn % 2 == 0:
            with suppress(ProcessLookupError):  # one that is only just gone
                os.kill(chance.choice(every[0].workers()), signal.SIGKILL)
        else:
            victim = chance.choice(every)
            victim.kill()
            victim.start()

    with collectors(tmp_path, 1 if victims == "workers" else 2, **settings) as every:
        assert len(every[0].workers()) == 2 or victims != "workers"
        devices = StubbornDevices(every[0].survey_id, 1_000)
        ports = [collector.port for collector in every]
        while_sending(devices, ports, [partial(kill, turn) for turn in range(4)])
        devices.check(every[0])
        assert all(collector.pid for collector in every)  # none had to be started anew


def whose_turn(collector: CollectorProcess) -> int | None:
    """Return the process that may write to a SQLite store now.

    It holds byte 120 of the index of the write-ahead log (SQLite's WAL-index format, 2.3).
    """
    index = collector.store.with_name(f"{collector.store.name}-shm").stat().st_ino
    for line in Path("/proc/locks").read_text("ascii").splitlines():
        match line.split():
            case [_, "POSIX", _, "WRITE", pid, file, "120", "120"] if file.endswith(f":{index}"):
                return int(pid)
    return None


@pytest.mark.long
def test_workers_that_stand_still_under_load_are_killed(tmp_path: Path) -> None:
    chance = random.Random(2016)

    def pause_one() -> None:
        worker = chance.choice(collector.workers())
        os.kill(worker, signal.SIGSTOP)
        time.sleep(chance.uniform(0.0, 2.0))
        os.kill(worker, signal.SIGCONT)

    def freeze_one() -> None:
        os.kill(chance.choice(collector.workers()), signal.SIGSTOP)

    def freeze_the_one_that_writes() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            worker = whose_turn(collector)
            if worker is None:
                continue
            os.kill(worker, signal.SIGSTOP)
            if whose_turn(collector) == worker:
                return  # and has it for as long as it lives
            os.kill(worker, signal.SIGCONT)
        raise AssertionError("nobody was seen to write")

    with collectors(tmp_path, workers="3") as (collector,):
        devices = StubbornDevices(collector.survey_id, 3_000)
        first = set(collector.workers())
        writer = freeze_the_one_that_writes
        troubles = [pause_one, writer, freeze_one, pause_one, writer]
        try:
            while_sending(devices, [collector.port], troubles)
        finally:
            for worker in collector.workers():  # nobody else would end one that is stopped
                os.kill(worker, signal.SIGCONT)
        devices.check(collector)
        assert not first <= set(collector.workers())


@pytest.mark.long
def test_a_killed_parent_is_started_while_its_workers_drain(tmp_path: Path) -> None:
    with collectors(tmp_path, workers="2") as (collector,):
        slow = [socket.create_connection(("127.0.0.1", collector.port)) for _ in range(16)]
        for connection in slow:
            connection.sendall(
                b"POST /v1/reports HTTP/1.1\r\nHost: collector\r\n"
                b"Content-Type: application/msgpack\r\nContent-Length: 1000\r\n\r\na"
            )
        orphans = collector.workers()
        collector.kill_parent()
        while not can_bind(collector.port):
            time.sleep(0.01)
        assert any(map(runs, orphans)), "the port was taken until the last worker had ended"
        collector.start()
        devices = StubbornDevices(collector.survey_id, 50)
        asyncio.run(devices.send([collector.port]))
        devices.check(collector)
        for connection in slow:
            connection.close()
        while any(map(runs, orphans)):  # nobody else would end them
            time.sleep(0.01)


def can_bind(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
