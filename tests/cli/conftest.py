"""Fixtures of tests of the command line: a collector's directory, and logging as it was."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import Workplace, succeed
from tests.support.logging_kept import logging_kept


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """Return a new collector in which nothing is published."""
    directory = tmp_path / "collector"
    succeed("init", directory)
    return Workplace(directory)


@pytest.fixture(autouse=True)
def kept_logging() -> Iterator[None]:
    """Put back what ``serve`` configures: some tests run it inside the test's own process."""
    with logging_kept():
        yield
