"""Nothing here may be skipped where CI says so."""

from tests.support.effort import THOROUGH
from tests.support.require_all import pytest_make_collect_report, pytest_runtest_makereport

__all__ = ["THOROUGH", "pytest_make_collect_report", "pytest_runtest_makereport"]

pytest_plugins = ["pytester"]
