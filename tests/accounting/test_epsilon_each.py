"""The inverse of composition: never more than allowed, and a millionth more is."""

from decimal import Decimal
from fractions import Fraction

import pytest

from deniable.accounting import PrivacyLoss, basic_composition
from deniable.accounting import optimal_composition as optimal
from deniable.audit import epsilon_each
from deniable.mechanisms import InvalidPrivacyParameter, RandomisedResponse

MILLIONTH = Fraction(1, 10**6)


@pytest.mark.parametrize("times", [1, 17])
@pytest.mark.parametrize("total", ["0.3", "17.5"])
@pytest.mark.parametrize("categories", [2, 6])
def test_the_composition_of_what_is_returned_is_allowed_and_that_of_a_millionth_more_is_not(
    times: int, total: str, categories: int
) -> None:
    def exact(epsilon: Fraction) -> Decimal:
        odds = RandomisedResponse(categories, epsilon).privacy.odds
        return PrivacyLoss.of_design(categories, 1, 1, odds, times).epsilon_at("0.00001")

    for together in (exact, lambda e: optimal(e, 0, times).epsilon_at("0.00001")):
        each = Fraction(epsilon_each(total, together))
        # Wherever the search begins, and if it begins far off.
        assert {epsilon_each(total, together, guess=guess) for guess in (20, each)} == {each}
        assert together(each) <= Fraction(total) < together(each + MILLIONTH)


def test_no_report_has_more_than_40_and_a_delta_too_small_leaves_none() -> None:
    assert epsilon_each(1000, lambda e: basic_composition([(e, 0)] * 2).epsilon) == 40
    with pytest.raises(InvalidPrivacyParameter, match="allow a larger epsilon or delta"):
        epsilon_each(10, lambda e: optimal(e, "0.01", 3).epsilon_at("0.001"))
