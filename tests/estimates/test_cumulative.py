"""Averages of cumulative shares: what they weigh, and that they bound what they average."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.estimates import decoder_of, solution_matrix
from deniable.estimates.curve import averaged_shares, blur_of
from deniable.estimates.queries import cautious_values
from deniable.mechanisms import ClampedGeometric, Mechanism, RandomisedResponse
from tests.estimates.matrices import SURVEYED, Floats, falling
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(150))


def cumulative(frequencies: Floats, v: int) -> float:
    """Return F_v, of any v."""
    return 1.0 if v >= len(frequencies) - 1 else float(frequencies[: max(v + 1, 0)].sum())


@pytest.mark.parametrize("shift", [0, 3])
def test_without_blur_it_is_the_share_at_or_below(shift: int) -> None:
    weights = averaged_shares(5, [-1, 0, 1, 4], 0, shift)
    up_to = [min(v + shift, 4) for v in (0, 1)]
    assert weights.tolist() == [
        [0] * 5,
        *[[1] * (v + 1) + [0] * (4 - v) for v in up_to],
        [1] * 5,
    ]


def test_one_value_of_blur_weighs_a_quarter_a_half_and_a_quarter() -> None:
    # (F_1 + 2 F_2 + F_3)/4
    assert averaged_shares(6, [2], 1, 0).tolist() == [[1, 1, 0.75, 0.25, 0, 0]]
    assert averaged_shares(6, [2], 1, 1).tolist() == [[1, 1, 1, 0.75, 0.25, 0]]
    assert averaged_shares(6, [2], 1, -1).tolist() == [[1, 0.75, 0.25, 0, 0, 0]]


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


def test_nothing_and_everything_are_known_whatever_the_blur() -> None:
    for shift in (-3, 0, 3):
        weights = averaged_shares(5, [-1, 4], 3, shift)
        assert weights.tolist() == [[0] * 5, [1] * 5]


def test_more_reports_never_take_more_blur() -> None:
    mechanism = ClampedGeometric.calibrated(101, "1")
    blurs = [blur_of(mechanism, 10**power) for power in range(13)]
    assert blurs == sorted(blurs, reverse=True)
    assert blurs[0] > 20
    assert blurs[-1] == 0


def test_more_privacy_takes_more_blur() -> None:
    levels = ("0.5", "1", "4", "12", "40")
    blurs = [blur_of(ClampedGeometric.calibrated(101, level), 10_000) for level in levels]
    assert blurs == sorted(blurs, reverse=True)
    assert len(set(blurs)) > 3


@pytest.mark.parametrize("n", [30, 1000, 10**5, 10**8])
@pytest.mark.parametrize(
    "mechanism",
    [
        ClampedGeometric.calibrated(31, "2"),
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


def test_blur_makes_the_noise_of_a_range_bearable() -> None:
    # What it is for: unbiased and sharp, the share below the middle errs by several 100 %.
    mechanism, n = ClampedGeometric.calibrated(101, "1"), 10_000
    counts = np.random.default_rng(1).multinomial(n, np.full(101, 1 / 101)).tolist()
    blur, decoder = blur_of(mechanism, n), decoder_of(mechanism)
    tally = decoder.tally(counts)
    sharp, blurred = (
        float(cautious_values(decoder, tally, averaged_shares(101, [50], b, 0))[1][0])
        for b in (0, blur)
    )
    assert sharp > 5
    assert blurred < 0.2
