"""The fixture of a collector's directory."""

from pathlib import Path

import pytest

from tests.cli.commands import Workplace, succeed


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """Return a new collector in which nothing is published."""
    directory = tmp_path / "collector"
    succeed("init", directory)
    return Workplace(directory)
