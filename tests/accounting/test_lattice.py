"""Lattices: convolution by one product, and spreading that only ever overstates."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.accounting import PrivacyLoss
from deniable.accounting.lattice import Lattice, common_base, fitting_base, placed, power
from tests.accounting.curves import odds_values, weight_rows
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(100))


def test_what_lies_on_no_lattice_is_not_placed_on_one() -> None:
    assert common_base([(2, 1), (3, 1)]) is None
    assert common_base([(7, 7)]) == 2
    # A ratio within 10^-30 of a power is none.
    assert common_base([(2, 1), (4 * 10**30 + 1, 10**30)]) is None
    with pytest.raises(ValueError, match="do not lie"):
        placed([(2, 1), (3, 1)], Fraction(2))


@settings(PROPERTY, max_examples=effort(50))
@given(
    weight_rows(categories=2),
    st.fractions(Fraction(1001, 1000), 3, max_denominator=1000),
    odds_values,
)
def test_spreading_dominates_whatever_the_base_and_loses_no_mass(
    weights: list[list[int]], base: Fraction, odds: Fraction
) -> None:
    loss = PrivacyLoss.of_pair(*weights)
    if not loss.atoms:
        return
    lattice = Lattice.spread(loss.grid, loss.atoms, base)
    # Cumulative masses are rounded down, the infinite one thus up, by less than 2^-128.
    spread_mass = Fraction(sum(lattice.weights), 2**128)
    assert 0 <= 1 - spread_mass - loss.infinite < Fraction(1, 2**128)
    grid, atoms = lattice.atoms()
    delta = 1 - sum(Fraction(p) for p, _ in atoms) / grid
    delta += sum(max(p - odds * q, Fraction(0)) for p, q in atoms) / grid
    assert delta >= loss.delta_at_odds(odds)
    # Each ratio moved up by less than one lattice step.
    assert delta <= loss.delta_at_odds(odds / base) + Fraction(1, 2**64)
    # The second law keeps its mass too, but for what it lost to rounding.
    second = Fraction(sum(q for _, q in atoms), grid)
    assert second <= sum(Fraction(q, loss.grid) for _, q in loss.atoms)


@settings(PROPERTY, max_examples=effort(20))
@given(weight_rows(categories=2, least=1), st.integers(1, 50), st.integers(1, 2000))
def test_a_fitting_base_keeps_to_its_steps_and_to_the_largest_ratio(
    weights: list[list[int]], times: int, steps: int
) -> None:
    loss = PrivacyLoss.of_pair(*weights)
    base = fitting_base([(loss.atoms, times)], steps)
    lattice = power(Lattice.spread(loss.grid, loss.atoms, base), times, Lattice.compose)
    assert base > 1
    _, atoms = lattice.atoms()
    (p, q), odds = atoms[-1], Fraction(*loss.atoms[0])
    assert odds**times <= Fraction(p, q)
    if odds > base:
        # It is a lattice point, to 2^-50 of its logarithm for each report.
        assert Fraction(p, q) < odds**times * (1 + Fraction(times, 2**40))
    # The ends lie less than a step outside, and two steps are spare.
    assert len(lattice.weights) <= 1 + max(steps, 2 * times) + 4 * times


@pytest.mark.parametrize("low", [Fraction(1, 10**9), Fraction(1, 10**400)])
def test_a_ratio_far_below_all_others_does_not_make_a_lattice_endless(low: Fraction) -> None:
    # P = (1/n, 1 - 1/n) against (1/2, 1/2): ratios 2/n and nearly 2. And all but 1 for the second.
    n = low.denominator
    for pair in ([(n - 1, n // 2), (1, n // 2)], [(n - 1, n - 2), (1, 2 * n)]):
        base = fitting_base([(pair, 10)], 500)
        lattice = Lattice.spread(4 * n, pair, base)
        assert len(lattice.weights) < 60


def test_a_ratio_just_below_a_lattice_point_that_floats_take_for_it_keeps_its_mass() -> None:
    low, high = (2**100 - 1, 2**105), (2**105 + 1, 2**100)
    lattice = Lattice.spread(2**106, [high, low], Fraction(2))
    kept = sum(p for p, _ in (low, high)) << 22
    assert 0 <= kept - sum(lattice.weights) <= 1


def test_a_lattice_that_lost_all_its_mass_stays_lost() -> None:
    lost = Lattice(Fraction(2), 0, [])
    some = Lattice.spread(3, [(2, 1), (1, 2)], Fraction(2))
    assert lost.compose(some) == some.compose(lost) == lost
    assert lost.atoms()[1] == []
