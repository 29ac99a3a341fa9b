"""The weight of everything: no more than docs/architecture.md says is reached."""

from collections.abc import Callable

import pytest

from tests.support.processes import ROOT
from tests.weight.weight import budgets, counted, traced, walked


@pytest.mark.parametrize("weigh", [counted, pytest.param(traced, marks=pytest.mark.long)])
def test_nothing_weighs_more_than_what_is_reached(weigh: Callable[[], dict[str, int]]) -> None:
    rows = budgets()
    heavier = {
        name: (figure, rows[name].reached)
        for name, figure in weigh().items()
        if figure > rows[name].reached
    }
    assert heavier == {}, "make weight; a change that needs more changes the table, and says why"


@pytest.mark.long
def test_the_audit_guide_names_each_file_that_runs_in_a_report() -> None:
    guide = (ROOT / "docs/audit-guide.md").read_text("utf-8")
    files = [file.split("deniable/", 1)[1].removeprefix("client/") for file in walked("report")]
    assert [file for file in files if f"`{file}`" not in guide] == []
