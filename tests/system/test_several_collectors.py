"""Several collectors, and workers of one, on the same store: races, cut answers, kills, storms."""

import asyncio
import os
import random
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
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


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest) -> dict[str, str]:
    if request.param == "sqlite":
        return {}
    server = postgres_server()
    return {"store": server.url(asyncio.run(server.create()))}


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
def test_workers_and_their_parent_are_killed_under_load(tmp_path: Path) -> None:
    chance = random.Random(2016)

    def kill_worker() -> None:
        with suppress(ProcessLookupError):  # one that is only just gone
            os.kill(chance.choice(collector.workers()), signal.SIGKILL)

    def kill_parent() -> None:
        collector.kill()
        collector.start()

    with collectors(tmp_path, workers="2") as (collector,):
        assert len(collector.workers()) == 2
        devices = StubbornDevices(collector.survey_id, 1_000)
        troubles = [kill_worker, kill_parent, kill_worker, kill_parent]
        while_sending(devices, [collector.port], troubles)
        devices.check(collector)


@pytest.mark.long
def test_a_parent_that_was_killed_is_started_anew_while_its_workers_still_drain(
    tmp_path: Path,
) -> None:
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
