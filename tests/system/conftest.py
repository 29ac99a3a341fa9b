"""The fixture of a collector that runs in a process of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.collector import CollectorProcess


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[CollectorProcess]:
    """Yield a collector that was started, and is killed at the end."""
    with CollectorProcess(tmp_path / "collector") as made:
        made.start()
        yield made
