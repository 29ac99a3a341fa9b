"""A collector whose disk is full, or slow: it says so in time, and counts what it acknowledged."""

import asyncio
import http.client
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.collector import CollectorProcess
from tests.support.stubborn import StubbornDevices

SECONDS = 30.0
STORAGE_FULL, OVERLOADED, STORE_FAILED = 507, 503, 503


@dataclass
class Disk:
    """Where a store is."""

    folder: Path  # to put it in
    fill: Callable[[CollectorProcess], None]  # leaves no room
    empty: Callable[[CollectorProcess], None]  # makes room again
    status: int  # of the answers in between


@contextmanager
def small_disk(folder: Path) -> Iterator[Disk]:
    """Mount a small file system of its own, where we may; else see to it that no file grows."""
    mount: list[str | Path] = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        yield unable_to_grow(folder)
        return
    ballast = folder / "ballast"

    def fill(_: CollectorProcess) -> None:
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while file.write(bytes(4_096)):
                pass

    try:
        yield Disk(folder, fill, lambda _: ballast.unlink(), STORAGE_FULL)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def unable_to_grow(folder: Path) -> Disk:
    """Return a disk on which files must not grow: to SQLite an error like others."""

    def limit(collector: CollectorProcess, *, grow: bool) -> None:
        _, hard = resource.prlimit(collector.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(collector.pid, resource.RLIMIT_FSIZE, (hard if grow else 0, hard))

    return Disk(
        folder,
        lambda collector: limit(collector, grow=False),
        lambda collector: limit(collector, grow=True),
        STORE_FAILED,
    )


@pytest.mark.long
@pytest.mark.parametrize("is_small", [True, False])
def test_a_disk_without_room_costs_nothing_acknowledged(tmp_path: Path, is_small: bool) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder) if is_small else nullcontext(unable_to_grow(folder)) as disk:
        complaints = fills_up(tmp_path, disk)
    assert ("error: the store is full" in complaints) == (disk.status == STORAGE_FULL)
    assert "warning" not in complaints or disk.status != STORAGE_FULL


def fills_up(folder: Path, disk: Disk) -> str:
    """Fill it up, and make room again; return what was logged, where that can grow."""
    store = {"DENIABLE_STORE": str(disk.folder / "store.sqlite")}
    collector = CollectorProcess(folder / "collector", environment=store)
    devices = StubbornDevices(collector.survey_id, 600)

    async def scene() -> None:
        await devices.send([collector.port], 0, 2)
        disk.fill(collector)
        sending = asyncio.create_task(devices.send([collector.port], 1, 2))
        await devices.until(lambda: devices.statuses[disk.status] > 50)
        assert readiness(collector) == disk.status
        before = devices.acknowledged
        assert sum(collector.shown_counts()) >= before  # reading goes on
        disk.empty(collector)
        await sending
        # An answer is shared for some seconds.
        await devices.until(lambda: readiness(collector) == 200)

    with collector:
        collector.start()
        asyncio.run(scene())
        devices.check(collector)
    assert devices.later.keys() == {"Retry-After: 60"}
    return collector.complaints


def readiness(collector: CollectorProcess) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", collector.port, timeout=SECONDS)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.long
def test_a_slow_disk_is_waited_for_or_the_collector_is_overloaded(tmp_path: Path) -> None:
    collector = CollectorProcess(tmp_path / "collector", environment={"DENIABLE_ADDRESS_RATE": "0"})
    devices = StubbornDevices(collector.survey_id, 3_200, together=32, at_once=64)
    with collector:
        collector.start(sys.executable, "-m", "tests.support.slow_disk", "0.1")
        asyncio.run(devices.send([collector.port]))
        devices.check(collector)
    # 64 requests of 32 are under way, and 256 reports may be in hand: most are told to come later.
    assert devices.statuses[OVERLOADED] > 0
    assert set(devices.statuses) == {200, OVERLOADED}
    assert devices.verdicts == {"accepted": 3_200, "duplicates": 0}
