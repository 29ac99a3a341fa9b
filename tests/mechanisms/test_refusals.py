"""What a mechanism does not take: inexact, unbounded or senseless parameters, foreign answers."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.mechanisms import (
    MAX_CATEGORIES,
    InvalidPrivacyParameter,
    Number,
    RandomisedResponse,
    TwoValuedPrivacy,
    exact_delta,
    exact_epsilon,
)
from deniable.mechanisms.exact import GridTooCoarse
from tests.mechanisms.laws import assert_keeps_answers_to_itself, undrawable

# Strings outside the protocol's pattern. Some would be numbers to int(), float() or Fraction().
NOT_CANONICAL = [
    *("", " ", ".", "1.", ".5", "-1", "+1", "-0", "01", "00", "1.0", "0.0", "0.10", "1e0", "1E-3"),
    *("1e999999999", "1e-999999999", "1/2", "1_0", "0x1", " 1", "1 ", "1\n", "\n1", "1\0", "1,5"),
    "１",  # fullwidth digit one
    "١",  # Arabic-Indic digit one
    "0.١",
    "10000",  # five digits before the point
    "0.0000000000000000001",  # nineteen behind it
    pytest.param("9" * 5000, id="5000 digits"),
    *("nan", "NaN", "inf", "Infinity", "∞"),
]


NOT_EXACT: list[object] = [
    *(0.1, 1.0, float("nan"), np.float64(1.0), np.float32(1.0), np.int64(1), True, False, None),
    *(b"1", 1j, ["1"]),
]


@pytest.mark.parametrize("text", NOT_CANONICAL)
def test_strings_beyond_the_protocols_pattern_are_refused(text: str) -> None:
    for take in (exact_epsilon, exact_delta):
        with pytest.raises(InvalidPrivacyParameter, match="must be a plain decimal"):
            take(text)


# Numbers that are exact, but not small: their Fraction or its powers would fill the memory.
# A refusal that came only after the conversion would never return.
OVERSIZED: list[Number] = [
    *map(Decimal, ("1e999999999", "1e-999999999", "-1e999999999", "0e999999999")),
    *(Decimal("0.0000000000000000001"), Decimal(10**30), Fraction(1, 2**1024), 1 << 100_000),
]


def test_oversized_numbers_are_refused_before_they_are_expanded_and_those_that_are_none() -> None:
    infinite = [Decimal(text) for text in ("NaN", "sNaN", "Infinity", "-Infinity")]
    for take in (exact_epsilon, exact_delta):
        for number in OVERSIZED:
            with pytest.raises(
                InvalidPrivacyParameter, match=r"must (have|be a fraction of integers with) at most"
            ):
                take(number)
        for number in infinite:
            with pytest.raises(InvalidPrivacyParameter, match="finite"):
                take(number)


@pytest.mark.parametrize("value", NOT_EXACT)
def test_types_that_do_not_hold_the_number_exactly_are_refused(value: object) -> None:
    name = type(value).__name__
    for take, parameter in ((exact_epsilon, "epsilon"), (exact_delta, "delta")):
        with pytest.raises(TypeError, match=f"{parameter} must be .* not {name}"):
            take(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0.1, np.float64(0.1)])
def test_the_refusal_of_a_float_says_why_and_what_to_write(value: float) -> None:
    with pytest.raises(TypeError) as refusal:
        RandomisedResponse(2, value)  # type: ignore[arg-type]
    assert "0.1 is slightly more than 1/10" in str(refusal.value)
    assert 'write it as a string, such as "0.1"' in str(refusal.value)


@pytest.mark.parametrize(
    ("number", "exact"),
    [
        *(("0", 0), ("40", 40), ("0.1", Fraction(1, 10)), (7, 7), (Decimal("1e1"), 10)),
        *(("0.000000000000000001", Fraction(1, 10**18)), (Decimal("1.10"), Fraction(11, 10))),
        *((share, share) for share in (Fraction(1, 3), Fraction(1, 2**1023))),
    ],
)
def test_exact_numbers_are_taken_as_they_are(number: Number, exact: Fraction) -> None:
    assert exact_epsilon(number) == exact


@pytest.mark.parametrize("value", [True, 2.0, "2", None, np.int64(2), Fraction(2)])
def test_categories_and_bits_are_ints(value: Any) -> None:
    with pytest.raises(TypeError, match="must be ints"):
        RandomisedResponse(value, "1")
    with pytest.raises(TypeError, match="must be ints"):
        RandomisedResponse(2, "1", bits=value)


BOUNDS: list[tuple[str, list[dict[str, Any]]]] = [
    (
        r"categories must be in \[2, 65536\]",
        [{"categories": n} for n in (-1, 0, 1, 65_537, 10**18)],
    ),
    (r"bits must be in \[1, 64\]", [{"bits": bits} for bits in (-1, 0, 65)]),
    (r"epsilon must be in \[0, 40\]", [{"epsilon": e} for e in ("40.000000000000000001", 41, -1)]),
    (r"delta must be in \[0, 1\)", [{"delta": d} for d in ("1", 2, -1, Decimal("1.000"))]),
    ("epsilon and delta are 0", [{"epsilon": "0", "delta": "0"}]),
]


@pytest.mark.parametrize(("reason", "changes"), BOUNDS)
def test_each_parameter_has_its_bounds(reason: str, changes: list[dict[str, Any]]) -> None:
    assert MAX_CATEGORIES == 65_536
    for change in changes:
        with pytest.raises(ValueError, match=reason):
            RandomisedResponse(**dict[str, Any](categories=2, epsilon="1") | change)


@pytest.mark.parametrize(
    ("categories", "epsilon", "bits"),
    [(2, "1", 1), (65_536, "0.000000000000000001", 64), (5, Fraction(1, 2**1000), 64)],
)
def test_a_grid_that_cannot_tell_truth_from_lie_is_refused_never_clamped(
    categories: int, epsilon: Number, bits: int
) -> None:
    with pytest.raises(GridTooCoarse, match="raise epsilon or merge categories"):
        RandomisedResponse(categories, epsilon, bits=bits)


def test_an_answer_outside_the_domain_raises_without_draw_and_without_echo() -> None:
    mechanism = RandomisedResponse(5, "1")
    assert_keeps_answers_to_itself(mechanism)
    with pytest.raises(IndexError, match=r"^a category index must be in \[0, 5\)$"):
        mechanism.randomise(5, undrawable)


@pytest.mark.parametrize("epsilon", [0.5, "0.50", "41"])
def test_a_guarantee_is_asked_for_in_exact_numbers_too(epsilon: Number) -> None:
    privacy = TwoValuedPrivacy(Fraction(3, 4), Fraction(1, 4))
    with pytest.raises((TypeError, InvalidPrivacyParameter)):
        privacy.satisfies(epsilon, "0")
