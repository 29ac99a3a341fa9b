"""Several collectors, and workers of one, on the same store: races, cut answers, kills, storms."""

import asyncio
import os
import random
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.collector import CollectorProcess, runs
from tests.support.postgres import postgres_server
from tests.support.proxy import Fate, Proxy
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


@pytest.mark.long
@pytest.mark.parametrize("number", [2, 4])
def test_collectors_race_on_the_same_reports_and_one_of_them_counts_each(
    tmp_path: Path, settings: dict[str, str], number: int
) -> None:
    with collectors(tmp_path, number, **settings) as every:
        devices = StubbornDevices(every[0].survey_id, 400, together=4)
        asyncio.run(devices.send_everywhere([collector.port for collector in every]))
        devices.check(every[0])
    assert devices.verdicts.total() == 400 * number
    # Who was not answered sends again, and may be told of a duplicate where it was accepted.
    assert devices.verdicts["accepted"] == 400 or devices.statuses[0]


@pytest.mark.long
def test_an_answer_cut_behind_one_commit_is_a_duplicate_wherever_it_is_sent_again(
    tmp_path: Path,
) -> None:
    weights = {Fate.PASS: 0.4, Fate.DROP_ANSWER: 0.3, Fate.CUT_ANSWER: 0.2, Fate.DROP_REQUEST: 0.1}
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(weights, seed)) for seed in range(2)]
        every = stack.enter_context(collectors(tmp_path, 2))
        for proxy, collector in zip(proxies, every, strict=True):
            proxy.port = collector.port
        devices = StubbornDevices(every[0].survey_id, 300)
        ports = [int(proxy.origin.rpartition(":")[2]) for proxy in proxies]
        asyncio.run(devices.send(ports))
        devices.check(every[0])
        assert devices.verdicts["duplicates"] > 0
        assert set(proxies[0].fates) == set(weights)


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
def test_one_collector_after_the_other_is_killed_under_load(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    chance = random.Random(2016)

    def kill_one() -> None:
        victim = chance.choice(every)
        victim.kill()
        victim.start()

    with collectors(tmp_path, 2, **settings) as every:
        devices = StubbornDevices(every[0].survey_id, 1_000)
        while_sending(devices, [collector.port for collector in every], [kill_one] * 4)
        devices.check(every[0])


@pytest.mark.long
def test_the_database_is_killed_under_the_load_of_two_collectors(tmp_path: Path) -> None:
    server = postgres_server()

    def kill_database() -> None:
        server.kill()
        server.start()

    with collectors(tmp_path, 2, store=server.url(asyncio.run(server.create()))) as every:
        devices = StubbornDevices(every[0].survey_id, 1_000)
        while_sending(devices, [collector.port for collector in every], [kill_database] * 4)
        devices.check(every[0])
        assert all(collector.pid for collector in every)  # neither had to be started anew


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
def test_workers_that_stand_still_under_load_are_killed_wherever_it_hits_them(
    tmp_path: Path,
) -> None:
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
        troubles = [
            pause_one,
            freeze_the_one_that_writes,
            freeze_one,
            pause_one,
            freeze_the_one_that_writes,
        ]
        try:
            while_sending(devices, [collector.port], troubles)
        finally:
            for worker in collector.workers():  # nobody else would end one that is stopped
                os.kill(worker, signal.SIGCONT)
        devices.check(collector)
        assert not first <= set(collector.workers())


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
