"""A record in a file of its own for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.enrolment import SqliteIssuanceRecord
from tests.enrolment.issuers import record as open_record


@pytest.fixture
def record(tmp_path: Path) -> Iterator[SqliteIssuanceRecord]:
    """Yield an open record that holds nothing."""
    with open_record(tmp_path) as opened:
        yield opened
