"""The fixture of a running collector, and that of its silence."""

import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from deniable.server.routes import catalogue
from tests.server.collector import Collector, running


@pytest.fixture
async def collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    """Yield a collector whose clock stands at the start of MANIFEST's first epoch."""
    # However busy the machine is, what was published is known to the next that asks.
    monkeypatch.setattr(catalogue, "_MOST_SECONDS", 30.0)
    async with running(tmp_path) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lasting(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Collector]:
    """Yield a collector that serves a whole module: for tests that leave it as it was."""
    async with running(tmp_path_factory.mktemp("lasting")) as made:
        yield made


@pytest.fixture
def nothing_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test during which anything was logged, at any level."""
    caplog.set_level(logging.DEBUG)
    yield
    # asyncio's own record names the kind of event loop.
    said = [record for record in caplog.get_records("call") if record.name != "asyncio"]
    assert [record.getMessage() for record in said] == []
