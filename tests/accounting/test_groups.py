"""Groups of rows that are randomised one by one: their loss is the composition."""

from fractions import Fraction

import pytest

from deniable.accounting import PrivacyLoss
from tests.accounting.curves import curve, randomised_response, together


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_product_mechanisms_group_loss_is_that_of_all_responses_together(rows: int) -> None:
    one, other = randomised_response(3, Fraction(5, 2))[:2]
    loss = PrivacyLoss.of_design(3, 1, 1, Fraction(5, 2), rows)
    for at in (Fraction(1), Fraction(2), Fraction(5, 2), Fraction(6), Fraction(15)):
        assert loss.delta_at_odds(at) == curve(together([one] * rows), together([other] * rows), at)
