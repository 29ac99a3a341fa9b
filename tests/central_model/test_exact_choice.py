"""Exact choices: a drawn point gets the outcome whose share it falls into, at any precision."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, chain, repeat
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import UnboundedSelection, exact_choice
from deniable.mechanisms import Draw, InvalidPrivacyParameter
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))


def words(point: Fraction, rest: int = 7) -> Draw:
    """Return the draw of a point in [0, 1): its first 256 bits, then arbitrary ones."""
    bits = int(point * 2**256)
    first = [bits >> shift & 2**64 - 1 for shift in (192, 128, 64, 0)]
    return chain(first, repeat(rest)).__next__


@PROPERTY
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any),
    st.integers(0, 5),
    st.sampled_from([Fraction(0), *(Fraction(1, 2**j) for j in (20, 63, 64, 65, 127, 129, 200))]),
    st.sampled_from([-1, 1]),
    st.integers(0, 2**32),
)
def test_a_point_as_near_to_a_boundary_as_any_gets_the_outcome_of_its_share(
    weights: list[int], boundary: int, distance: Fraction, side: int, seed: int
) -> None:
    ends = [Fraction(end, sum(weights)) for end in accumulate(weights)]
    point = ends[boundary % len(ends)] + side * distance
    point = Fraction(int(point * 2**256), 2**256) % 1
    source, asked = Random(seed), []

    def loose(bits: int) -> list[tuple[Fraction | int, Fraction | int]]:
        # Bounds off by up to 2^-bits, each time others.
        asked.append(bits)

        def slack() -> Fraction:
            return Fraction(source.randrange(4), 4 << bits)

        return [*((max(Fraction(0), w - slack()), w + slack()) for w in weights), (0, 0)]

    expected = next(i for i, end in enumerate(ends) if point < end)
    near = min(abs(point - end) for end in [Fraction(0), *ends])
    if near > Fraction(1, 2**250):  # else what follows the 256 bits decides, and it is arbitrary
        assert exact_choice(loose, words(point)) == expected
        # Precision is raised only as far as the point is near to a boundary.
        assert asked[-1] <= 64 * (3 + (1 / near).__ceil__().bit_length() // 64)


def falling(exponent: Fraction) -> tuple[int, int]:
    """Return bounds of e^-exponent in units of 2^-400, by the bare series."""
    low, high = exp_bounds(exponent)
    return int(2**400 / high), int(2**400 / low) + 1


def weight_bounds(
    exponent: Fraction, scale: Fraction, utilities: Sequence[Fraction], most: Fraction
) -> list[list[Fraction]]:
    """Return bounds of e^(-r/s + c(u_r - most)) from both sides; the last utility goes on."""
    factors = [falling(exponent * (most - u)) for u in utilities]
    found = []
    for side, ratio in enumerate(falling(1 / scale)):
        power, weights = Fraction(1), []
        for r in range(60 * (1 + int(scale))):
            weights.append(power * Fraction(factors[min(r, len(factors) - 1)][side], 2**400))
            power = Fraction(int(power * ratio) + side, 2**400)
        # What is left is a geometric series.
        left = Fraction(factors[-1][side], 2**400) / (1 - Fraction(ratio, 2**400))
        found.append([*weights, power * left])
    return found


scales = st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(5, 2)])
tables = st.lists(st.fractions(-3, 3, max_denominator=4), min_size=1, max_size=5)


@settings(PROPERTY, max_examples=effort(30))
@given(scales, st.sampled_from([Fraction(1, 10), Fraction(2)]), tables, st.integers(0, 6))
def test_unbounded_selection_has_the_law_it_states(
    scale: Fraction, epsilon: Fraction, table: list[Fraction], outcome: int
) -> None:
    selection = UnboundedSelection(epsilon, sensitivity="0.5", scale=scale, least=-2, most=2)
    cut = [min(max(u, Fraction(-2)), Fraction(2)) for u in table]
    below, above = weight_bounds(epsilon, scale, cut, Fraction(2))

    def utility(r: int) -> Fraction:
        return table[min(r, len(table) - 1)]

    # P(r <= outcome), within less than 2^-200 of it.
    least = sum(below[: outcome + 1], Fraction(0)) / sum(above)
    most = sum(above[: outcome + 1], Fraction(0)) / sum(below)
    assert most - least < Fraction(1, 2**200)
    step = Fraction(1, 2**190)
    assert selection.choose(utility, words(least - step)) <= outcome
    assert selection.choose(utility, words(most + step)) > outcome
    # And no more falls to what is beyond than the tail says.
    assert 1 - least <= selection.tail(outcome + 1)


@pytest.mark.parametrize(
    "wrong", [(0, 1, 1, 0), (1, 0, 1, 0), (1, 1, 0, 0), (1, 1, -1, 0), (1, 1, 1, 1), (1, 1, 1, 2)]
)
def test_parameters_outside_their_domain_are_refused(wrong: tuple[int, int, int, int]) -> None:
    epsilon, moves, scale, least = wrong
    with pytest.raises(InvalidPrivacyParameter, match="must be positive, and least below most"):
        UnboundedSelection(epsilon, sensitivity=moves, scale=scale, least=least, most=1)
    selection = UnboundedSelection(1, sensitivity=1, scale=1, least=0, most=1)
    with pytest.raises(TypeError, match="a utility must be") as refusal:
        selection.choose(lambda _r: 0.777, lambda: 0)  # type: ignore[arg-type, return-value]
    assert "777" not in str(refusal.value)
