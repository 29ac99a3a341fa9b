"""The fixture of a running collector."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.server.collector import Collector, running


@pytest_asyncio.fixture
async def collector(tmp_path: Path) -> AsyncIterator[Collector]:
    """Yield a collector whose clock stands at the start of MANIFEST's first epoch."""
    async with running(tmp_path) as made:
        yield made
