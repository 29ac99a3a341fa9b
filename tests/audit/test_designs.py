"""Block designs in closed form: what their rows say, entry by entry, without reading them."""

from fractions import Fraction
from math import comb

import pytest

from deniable.accounting import PrivacyLoss
from deniable.audit import (
    Finding,
    pure_level,
    tight_delta_at_odds,
    tight_epsilon,
)
from deniable.mechanisms import MatrixPrivacy
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.block_design import Design, DesignMechanism
from deniable.mechanisms.difference_set import DifferenceSet
from deniable.mechanisms.subset import Subset
from deniable.planning.candidates import greatest_cost
from tests.audit.matrices import excess, of_weights
from tests.audit.theorems import (
    TheoremDoesNotApply,
    delta_of_design,
    odds_above,
    pure_odds_of_design,
)
from tests.mechanisms.laws import matrix_of
from tests.mechanisms.test_designs import ALL
from tests.support.effort import some
from tests.support.entries import probability

WHOLE: list[Design] = [
    *(Affine(9, 3, 2, 1), Affine(9, 3, 2, 2), Affine(8, 2, 3, 1)),
    *(Subset(6, 3), Subset(5, 1), DifferenceSet(13, 13)),
]


PARTS: list[Design] = [
    *(Affine(7, 3, 2, 1), Affine(5, 7, 1, 3), Affine(20, 5, 2, 2), DifferenceSet(11, 16))
]


@pytest.fixture(params=["0", "0.01"])
def delta(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def check_witness(mechanism: DesignMechanism, finding: Finding) -> None:
    witness = finding.witness
    assert witness is not None
    design = mechanism.design
    expected = [y for y in range(design.responses) if design.supports(y, 0) > design.supports(y, 1)]
    assert (witness.category, witness.other) == (0, 1)
    assert len(witness.responses) == len(expected)
    assert list(witness.responses) == expected
    for category, mass in ((0, witness.probability), (1, witness.other_probability)):
        assert mass == sum(probability(mechanism, category, y) for y in expected)


@pytest.mark.parametrize("design", WHOLE + PARTS, ids=repr)
def test_the_guarantee_is_that_of_all_rows(design: Design, delta: str) -> None:
    mechanism = DesignMechanism(design, "1", delta)
    rows = matrix_of(mechanism)
    found = pure_level(mechanism)
    assert (found.odds, found.delta) == (pure_level(rows).odds, Fraction(0))
    check_witness(mechanism, found)
    at = tight_epsilon(mechanism, "0.02")
    assert at.odds == tight_epsilon(rows, "0.02").odds
    check_witness(mechanism, at)
    assert at.odds is not None
    assert at.witness is not None
    assert excess(at.witness, at.odds) == Fraction("0.02")
    for level in (Fraction(1), Fraction(3, 2), Fraction(2)):
        least = tight_delta_at_odds(mechanism, level)
        assert least.delta == tight_delta_at_odds(rows, level).delta
        check_witness(mechanism, least)
        assert least.witness is not None
        assert excess(least.witness, level) == least.delta
    assert tight_delta_at_odds(mechanism, 4) == tight_delta_at_odds(rows, 4)
    assert tight_epsilon(mechanism, "0.99") == tight_epsilon(rows, "0.99")


NUMBERS = [(design, str(e), d) for design in (WHOLE[1], *PARTS) for e, d in (
    (1, "0"), ("1.5", "0.01"), (2, "0.1"), ("7.25", "0.001"),
)]  # fmt: skip


@pytest.mark.parametrize(("design", "odds", "slack"), NUMBERS)
def test_a_design_is_private_up_to_the_odds_of_the_theorem(
    design: Design, odds: str, slack: str
) -> None:
    numbers = design.responses, design.replication, design.replication - design.together
    own = pure_odds_of_design(*numbers, odds, slack)
    held = [
        [design.supports(y, x) for y in range(design.responses)] for x in range(design.categories)
    ]
    for more in (Fraction(1), Fraction(1001, 1000)):
        u, v = (own * more).as_integer_ratio()
        rows = of_weights([[u if each else v for each in row] for row in held])
        tight = MatrixPrivacy(rows).delta_at_odds(Fraction(odds))
        assert tight == delta_of_design(*numbers, own * more, odds)
        assert (tight == Fraction(slack)) == (more == 1)


def test_what_no_design_is_and_a_delta_that_allows_all_are_refused() -> None:
    with pytest.raises(TheoremDoesNotApply):
        pure_odds_of_design(12, 6, 3, 2, "0.5")
    for numbers in ((6, 6, 3), (12, 3, 4), (12, 3, 0)):
        with pytest.raises(ValueError, match="separating"):
            delta_of_design(*numbers, 3, 2)


@pytest.mark.parametrize("made", some(some(ALL)), ids=repr)
def test_estimates_are_unbiased_and_vary_as_stated_exactly(made: DesignMechanism) -> None:
    k, design, odds = made.categories, made.design, made.privacy.odds
    # The kernel of a category takes these values at responses that hold it, and at others.
    holds, not_ = ((held - made.miss) / (made.hit - made.miss) for held in (1, 0))
    for answer in (0, k - 1):
        row, total = made.row(answer), Fraction(0)
        for x in range(k):
            p = Fraction(sum(w for y, w in enumerate(row) if design.supports(y, x)), made.grid)
            mean = p * holds + (1 - p) * not_
            assert mean == (x == answer)
            total += p * holds**2 + (1 - p) * not_**2 - mean**2
        numbers = design.responses, design.replication, design.together
        assert total == greatest_cost(k, *numbers, odds - 1, Fraction(1, k))


def test_reports_of_a_design_add_up_to_the_published_epsilon() -> None:
    # 52 reports at epsilon 0.5, all sets of 40 of 105 categories, delta 1e-6.
    separating = comb(104, 39) - comb(103, 38)
    loss = PrivacyLoss.of_design(comb(105, 40), comb(104, 39), separating, odds_above("0.5"), 52)
    assert float(loss.epsilon_at("0.000001")) == pytest.approx(14.29, abs=0.005)
