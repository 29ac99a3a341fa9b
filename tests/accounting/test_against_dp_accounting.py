"""Against Google's dp-accounting, which rounds in floats: ours lies between its two estimates."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from deniable.accounting import PrivacyLoss
from deniable.mechanisms import odds_ceiling, odds_floor
from tests.accounting.curves import randomised_response

REASON = ".ci/requirements/ci.txt has dp-accounting"

# Its losses are multiples of this, rounded up or down: T reports are T steps apart at most.
STEP = 1e-4
# Its sums are floats, and it cuts tails of 1e-15.
NOISE = 1e-11


@pytest.fixture(scope="module")
def pld() -> Any:
    """Return its module, whose import takes as long as a hundred tests."""
    return pytest.importorskip("dp_accounting.pld", reason=REASON)


def between(ours: PrivacyLoss, pessimistic: Any, optimistic: Any, epsilons: Sequence[str]) -> None:
    for epsilon in epsilons:
        delta = float(ours.delta_at_odds(odds_floor(Fraction(epsilon))))
        upper = pessimistic.get_delta_for_epsilon(float(epsilon))
        lower = optimistic.get_delta_for_epsilon(float(epsilon))
        assert lower - NOISE <= delta <= upper + NOISE
        # And that says something: the two are close.
        assert upper - lower <= 0.05 * upper + NOISE
    for exponent in (2, 4, 6):
        level = float(ours.epsilon_at(Fraction(1, 10**exponent)))
        assert level <= pessimistic.get_epsilon_for_delta(10.0**-exponent) + 1e-9
        assert level >= optimistic.get_epsilon_for_delta(10.0**-exponent) - 1e-9


@pytest.mark.parametrize("times", [1, 5, 20, pytest.param(60, marks=pytest.mark.long)])
def test_designs_lie_between_its_estimates(pld: Any, times: int) -> None:
    odds = Fraction(3, 2)
    rows = randomised_response(5, odds)[:2]
    lower, upper = ({y: math.log(p) for y, p in enumerate(row)} for row in rows)
    estimates = [
        pld.privacy_loss_distribution.from_two_probability_mass_functions(
            upper, lower, pessimistic, STEP
        ).self_compose(times)
        for pessimistic in (True, False)
    ]
    total = PrivacyLoss.of_design(5, 1, 1, odds, times)
    between(total, estimates[0], estimates[1], ["0", "0.25", "1", "3"])


@pytest.mark.parametrize("times", [1, 7])
def test_the_optimum_for_a_guarantee_is_not_above_its_estimate(pld: Any, times: int) -> None:
    parameters = pld.common.DifferentialPrivacyParameters(0.7, 0.001)
    law = pld.privacy_loss_distribution.from_privacy_parameters(parameters, STEP)
    theirs = law.self_compose(times)
    ours = PrivacyLoss.of_guarantee(odds_ceiling(Fraction("0.7")), "0.001", times)
    for epsilon in ("0.7", "1.4", "5"):
        delta = float(ours.delta_at_odds(odds_floor(Fraction(epsilon))))
        upper = theirs.get_delta_for_epsilon(float(epsilon))
        # It only rounds up: by one step of a loss per report.
        assert upper * (1 - 2 * times * STEP) - times * STEP <= delta <= upper + NOISE
