"""Averages of cumulative shares: what they weigh, and that they bound what they average."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.estimates import decoder_of, solution_matrix
from deniable.estimates.curve import averaged_shares, blur_of
from deniable.mechanisms import Mechanism, RandomisedResponse
from deniable.planning.calibration import clamped_geometric
from tests.estimates.matrices import SURVEYED, Floats, falling
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(150))


def cumulative(frequencies: Floats, v: int) -> float:
    """Return F_v, of any v."""
    return 1.0 if v >= len(frequencies) - 1 else float(frequencies[: max(v + 1, 0)].sum())


@PROPERTY
@given(
    st.lists(st.integers(0, 20), min_size=2, max_size=12).filter(any),
    st.integers(0, 8),
    st.data(),
)
def test_it_is_the_triangular_average_and_bounds_what_it_averages(
    answers: list[int], blur: int, data: st.DataObject
) -> None:
    f, k = np.array(answers) / sum(answers), len(answers)
    v = data.draw(st.integers(0, k - 2))
    for shift in (-blur, 0, blur):
        found = float((averaged_shares(k, [v], blur, shift) @ f)[0])
        average = sum(
            (blur + 1 - abs(u)) * cumulative(f, v + shift + u) for u in range(-blur, blur + 1)
        )
        assert found == pytest.approx(average / (blur + 1) ** 2, abs=1e-12)
    before, after = (float((averaged_shares(k, [v], blur, s) @ f)[0]) for s in (-blur, blur))
    assert before - 1e-12 <= cumulative(f, v) <= after + 1e-12


def test_more_reports_never_take_more_blur() -> None:
    mechanism = clamped_geometric(101, "1")
    blurs = [blur_of(mechanism, 10**power) for power in range(13)]
    assert blurs == sorted(blurs, reverse=True)
    assert blurs[0] > 20
    assert blurs[-1] == 0


@pytest.mark.parametrize("n", [30, 1000, 10**5, 10**8])
@pytest.mark.parametrize(
    "mechanism",
    [
        clamped_geometric(31, "2"),
        falling(31, Fraction(15, 16)),
        RandomisedResponse(31, "1"),
    ],
    ids=["numeric", "matrix", "randomised response"],
)
def test_no_other_blur_has_its_bounds_much_nearer(mechanism: Mechanism, n: int) -> None:
    # Two standard errors in a uniform population, and the step of F over so many values.
    uniform = np.full(31, 1 / 31)

    def distance(blur: int) -> float:
        weights = averaged_shares(31, [15], blur, 0)[0]
        g = decoder_of(mechanism).kernels(weights)
        variance = float(uniform @ solution_matrix(mechanism) @ g**2 - (uniform @ weights) ** 2)
        return 2 * math.sqrt(variance / n) + blur / 31

    assert distance(blur_of(mechanism, n)) <= 1.1 * min(map(distance, range(16)))


@pytest.mark.parametrize("mechanism", SURVEYED.values(), ids=SURVEYED)
def test_blur_leaves_a_category_to_either_side(mechanism: Mechanism) -> None:
    for n in (1, 100, 10**9):
        assert 0 <= blur_of(mechanism, n) < 7 / 2
