"""How many reports an accuracy takes: the check values, and the worst case."""

import pytest

from deniable.estimates import reports_for_half_width
from deniable.mechanisms import RandomisedResponse

MECHANISM = RandomisedResponse(5, "1")


def test_the_check_value_of_the_formula_sheet() -> None:
    # FORMULAS 4: k = 5, eps = 1, f = .1, half width .02 at 95 %.
    assert reports_for_half_width(MECHANISM, 0.02, 0.1) == 21142


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4", "10"])
def test_no_frequency_takes_more_than_the_worst_case(epsilon: str) -> None:
    mechanism = RandomisedResponse(5, epsilon)
    worst = reports_for_half_width(mechanism, 0.05)
    each = [reports_for_half_width(mechanism, 0.05, f / 1000) for f in range(1001)]
    assert max(each) <= worst <= 1.01 * max(each) + 1


def test_half_the_width_takes_four_times_the_reports() -> None:
    coarse = reports_for_half_width(MECHANISM, 0.05)
    assert reports_for_half_width(MECHANISM, 0.025) == pytest.approx(4 * coarse, abs=4)


def test_more_reports_are_needed_at_every_higher_level_below_one() -> None:
    needed = [
        reports_for_half_width(MECHANISM, 0.05, level=level)
        for level in (0.1, 0.5, 0.95, 1 - 1e-12, 1 - 2**-53)
    ]
    assert needed == sorted(set(needed))
