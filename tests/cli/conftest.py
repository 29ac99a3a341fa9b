"""Fixtures of tests of the command line: a collector's directory, and logging as it was."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from tests.cli.commands import Workplace
from tests.support.logging_kept import logging_kept
from tests.support.no_power_cuts import no_power_cuts as no_power_cuts


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a new collector and its keys."""
    return Workplace.made(tmp_path_factory.mktemp("new") / "collector").directory.parent


@pytest.fixture
def place(template: Path, tmp_path: Path) -> Workplace:
    """Return a new collector in which nothing is published."""
    copytree(template, tmp_path, dirs_exist_ok=True)
    return Workplace(tmp_path / "collector")


@pytest.fixture(autouse=True)
def kept_logging() -> Iterator[None]:
    """Put back what ``serve`` configures: some tests run it inside the test's own process."""
    with logging_kept():
        yield
