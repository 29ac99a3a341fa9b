"""Nothing here may be skipped where CI says so."""

import gc

import pytest

from tests.support.effort import THOROUGH
from tests.support.require_all import pytest_make_collect_report, pytest_runtest_makereport

__all__ = ["THOROUGH", "pytest_make_collect_report", "pytest_runtest_makereport"]

pytest_plugins = ["pytester"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests: if a worker began one last, the others would wait for it."""
    items.sort(
        key=lambda item: (
            item.path.name != "test_views.py",
            not item.get_closest_marker("long"),
        )
    )


def pytest_collection_finish() -> None:
    """Leave what was collected out of each search for garbage: some tests ask for thousands.

    A worker holds all 14,000 tests, and looked through them for half a second each time.
    """
    gc.collect()
    gc.freeze()
