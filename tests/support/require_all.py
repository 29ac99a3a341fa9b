"""Where TESTS_REQUIRE_ALL is 1, a skipped test is a failed one: CI has whatever tests need.

A ``conftest.py`` that imports these two hooks puts the tests of its folder under the rule.
"""

import os
from collections.abc import Generator

import pytest

VARIABLE = "TESTS_REQUIRE_ALL"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that was skipped; an expected failure is no skip."""
    report = yield
    if not hasattr(report, "wasxfail"):
        _forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a module that was skipped as a whole."""
    report = yield
    _forbid_skip(report)
    return report


def _forbid_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and os.environ.get(VARIABLE) == "1":
        report.outcome = "failed"
        report.longrepr = f"{VARIABLE} is 1, and this was skipped: {report.longrepr}"
