"""What all tests of the client share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.client import engine
from deniable.client.state import mark, state_file
from deniable.fakes import FakeCollector
from tests.support.devices import Bench, connect_carelessly
from tests.support.watched import SECONDS, WatchedTransport
from tests.support.witnessed import ShownLog


@pytest.fixture(autouse=True)
def _slow_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let copied files pass for those that a crash left, however slow the machine is."""
    monkeypatch.setattr(mark, "_COPY_SECONDS", 60)


@pytest.fixture(autouse=True)
def _patient_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let devices wait for their other threads and processes, however slow the machine is."""
    monkeypatch.setattr(engine, "REPORT_PATIENCE", SECONDS)
    monkeypatch.setattr(state_file, "BUSY_SECONDS", SECONDS)


@pytest.fixture(autouse=True)
def _no_power_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing wait for the disk: who kills or cuts the power does so in other processes."""
    monkeypatch.setattr(state_file, "_connect", connect_carelessly)
    monkeypatch.setattr("os.fsync", lambda _file: None)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path) as bench:
        yield bench


@pytest.fixture
def transport(bench: Bench) -> WatchedTransport:
    watched = WatchedTransport()
    bench.transport = watched
    return watched


@pytest.fixture
def collector() -> Iterator[FakeCollector]:
    with FakeCollector() as collector:
        yield collector


@pytest.fixture
def log() -> ShownLog:
    log = ShownLog()
    log.append(b"what was published before", b"and more of it")
    return log
