"""The weight of everything: no more than docs/architecture.md says is reached."""

from collections.abc import Callable

import pytest

from tests.weight.weight import budgets, counted, traced


@pytest.mark.parametrize("weigh", [counted, pytest.param(traced, marks=pytest.mark.long)])
def test_nothing_weighs_more_than_what_is_reached(weigh: Callable[[], dict[str, int]]) -> None:
    rows = budgets()
    heavier = {
        name: (figure, rows[name].reached)
        for name, figure in weigh().items()
        if figure > rows[name].reached
    }
    assert heavier == {}, "make weight; a change that needs more changes the table, and says why"
