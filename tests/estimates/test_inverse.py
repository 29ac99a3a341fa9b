"""Debiasing: unbiased by enumeration, and in closed form what any left inverse gives."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.estimates import NotInvertible, debias, left_inverse, solution_matrix
from deniable.mechanisms import Mechanism, RandomisedResponse
from tests.estimates.matrices import (
    FORMULAS,
    FREQUENCIES,
    MECHANISMS,
    WIDE,
    ExplicitMatrix,
    explicit,
    fixed_law,
    incidence,
    response_law,
    sampled_law,
)

PROPERTY = settings(derandomize=True, deadline=None, max_examples=150)


def test_the_check_value_of_four_categories_at_odds_three() -> None:
    np.testing.assert_allclose(
        debias(FORMULAS, (60, 30, 20, 10)), (1, 0.25, 0, -0.25), rtol=0, atol=1e-15
    )


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_unbiased_over_all_samples_of_devices(mechanism: Mechanism) -> None:
    f = FREQUENCIES[mechanism.categories]
    for n in (1, 4):
        law = list(sampled_law(mechanism, f, n))
        assert sum(chance for _, chance in law) == 1
        mean = sum(float(chance) * debias(mechanism, counts) for counts, chance in law)
        np.testing.assert_allclose(mean, [float(x) for x in f], rtol=0, atol=1e-12)


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("answers", [[0], [1, 1, 0], [0, 1, 1, 1]])
def test_unbiased_over_the_noise_alone(mechanism: Mechanism, answers: list[int]) -> None:
    law = list(fixed_law(mechanism, answers))
    assert sum(chance for _, chance in law) == 1
    mean = sum(float(chance) * debias(mechanism, counts) for counts, chance in law)
    true = [answers.count(x) / len(answers) for x in range(mechanism.categories)]
    np.testing.assert_allclose(mean, true, rtol=0, atol=1e-12)


@PROPERTY
@given(
    st.integers(2, 12),
    st.sampled_from(["0.1", "0.5", "1", "2.5", "5"]),
    st.sampled_from(["0", "0.001", "0.25"]),
    st.data(),
)
def test_the_closed_form_is_the_left_inverse(
    categories: int, epsilon: str, delta: str, data: st.DataObject
) -> None:
    mechanism = RandomisedResponse(categories, epsilon, delta)
    counts = data.draw(
        st.lists(st.integers(0, 10_000), min_size=categories, max_size=categories).filter(any)
    )
    general = left_inverse(solution_matrix(mechanism)) @ np.array(counts) / sum(counts)
    np.testing.assert_allclose(debias(mechanism, counts), general, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        debias(mechanism, counts), debias(explicit(mechanism), counts), rtol=1e-9, atol=1e-9
    )


@PROPERTY
@given(st.integers(2, 50), st.sampled_from(["0.000001", "0.5", "3", "40"]), st.data())
def test_estimates_sum_to_one_whatever_was_counted(
    categories: int, epsilon: str, data: st.DataObject
) -> None:
    mechanism = RandomisedResponse(categories, epsilon)
    counts = data.draw(
        st.lists(st.integers(0, 10**12), min_size=categories, max_size=categories).filter(any)
    )
    estimate = debias(mechanism, counts)
    scale = max(1.0, float(np.abs(estimate).max()))
    assert abs(estimate.sum() - 1) <= 1e-14 * categories * scale


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_a_left_inverse_undoes_the_matrix(mechanism: Mechanism) -> None:
    matrix = solution_matrix(mechanism)
    assert matrix.shape == (mechanism.categories, mechanism.responses)
    inverse = left_inverse(matrix)
    assert inverse.shape == matrix.shape
    np.testing.assert_allclose(inverse @ matrix.T, np.eye(mechanism.categories), atol=1e-12)


def test_exact_frequencies_of_responses_give_the_frequencies_back() -> None:
    f = [Fraction(1, 8), Fraction(5, 8), Fraction(2, 8)]
    lam = response_law(WIDE, f)
    scale = np.lcm.reduce([p.denominator for p in lam])
    counts = [int(p * int(scale)) for p in lam]
    np.testing.assert_allclose(debias(WIDE, counts), [float(x) for x in f], atol=1e-14)


@pytest.mark.parametrize("epsilon", ["0.001", "0.000001", "0.000000000000001"])
@pytest.mark.parametrize("counts", [(501, 499), (10**9, 10**9 + 1), (1, 0), (3, 7)])
def test_nothing_cancels_at_a_very_small_epsilon(epsilon: str, counts: tuple[int, int]) -> None:
    mechanism = RandomisedResponse(2, epsilon)
    q, kappa = mechanism.lie, mechanism.contraction
    exact = [float((Fraction(c, sum(counts)) - q) / kappa) for c in counts]
    assert debias(mechanism, counts).tolist() == exact
    assert exact[0] != exact[1]


def test_implemented_integers_are_used_and_not_nominal_probabilities() -> None:
    # On a grid of 8 bits a = 39; the lie's nominal probability is 1/(e + 4).
    mechanism = RandomisedResponse(5, "1", bits=8)
    assert mechanism.lies == 39
    counts = (256 - 4 * 39, 39, 39, 39, 39)  # what f = (1, 0, 0, 0, 0) gives on average
    assert debias(mechanism, counts).tolist() == [1, 0, 0, 0, 0]
    nominal = 1 / (np.e + 4)
    bias = (39 / 256 - nominal) / (1 - 5 * nominal)
    assert bias == pytest.approx(0.0136696128163, rel=1e-11)


def test_an_estimate_may_leave_the_unit_interval() -> None:
    estimate = debias(FORMULAS, (120, 0, 0, 0))
    np.testing.assert_allclose(estimate, (2.5, -0.5, -0.5, -0.5), atol=1e-14)


@pytest.mark.parametrize(
    "counts", [(), (1, 2, 3), (1, 2, 3, 4, 5), (0, 0, 0, 0), (5, -1, 0, 0), (-1, 0, 0, 0)]
)
@pytest.mark.parametrize("mechanism", [FORMULAS, explicit(FORMULAS)], ids=["closed", "general"])
def test_counts_that_allow_no_estimate_are_refused(
    mechanism: Mechanism, counts: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match=r"counts are expected|nothing to estimate"):
        debias(mechanism, counts)


def test_numpy_counts_are_taken_as_they_come() -> None:
    counts = np.array([60, 30, 20, 10], dtype=np.int64)
    assert debias(FORMULAS, counts.tolist()).tolist() == debias(FORMULAS, list(counts)).tolist()


@pytest.mark.parametrize(
    "matrix",
    [
        incidence([{0}, {0}], 2, 3),
        ExplicitMatrix(
            ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)), (Fraction(1, 2),) * 2)
        ),
    ],
    ids=["equal rows", "fewer responses than categories"],
)
def test_categories_that_no_response_tells_apart_are_refused(matrix: ExplicitMatrix) -> None:
    with pytest.raises(NotInvertible):
        debias(matrix, (3, 4))
