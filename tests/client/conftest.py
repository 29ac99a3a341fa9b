"""What all tests of the client share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.devices import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path) as bench:
        yield bench
