"""Numbers as categories: one form each, equal steps, and no more than floats tell apart."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.messages import InvalidManifest
from deniable.messages.texts import exact_value, format_value, read_values, value_range
from tests.support.effort import effort


@settings(max_examples=effort(200))
@given(st.integers(-(10**21) + 1, 10**21 - 1))
def test_a_value_has_one_form_which_reads_back(millionths: int) -> None:
    value = Fraction(millionths, 10**6)
    text = format_value(value)
    assert exact_value("low", text) == value
    assert Fraction(text) == value
    assert text in {"0", text.lstrip("0")} or text.lstrip("-").startswith("0.")
    assert not text.endswith(".")
    assert "." not in text or not text.endswith("0")


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(1, 10**7), Fraction(10**15)])
def test_what_has_no_such_form_is_refused(value: Fraction) -> None:
    with pytest.raises(InvalidManifest):
        format_value(value)


@pytest.mark.parametrize(
    "text", ["", "+1", "-0", "1.0", "01", ".5", "5.", "1e3", "0.0000001", " 1", "1\n", "١", "--1"]
)
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(InvalidManifest):
        exact_value("low", text)


def test_exact_numbers_are_taken_and_floats_are_not() -> None:
    assert exact_value("low", Decimal("-0.50")) == Fraction(-1, 2)
    assert exact_value("low", -3) == -3
    for inexact in (0.5, True):
        with pytest.raises(TypeError):
            exact_value("low", inexact)  # type: ignore[arg-type]


@settings(max_examples=effort(100))
@given(st.integers(-(10**9), 10**9), st.integers(1, 10**6), st.integers(1, 60))
def test_a_range_is_its_values_in_equal_steps(low: int, step: int, steps: int) -> None:
    start, each = Fraction(low, 1000), Fraction(step, 1000)
    categories = value_range(start, start + steps * each, each)
    assert read_values(categories) == tuple(start + i * each for i in range(steps + 1))


@pytest.mark.parametrize(
    ("low", "high", "step", "field"),
    [
        *((0, 10, 0, "step"), (0, 10, -1, "step"), (0, 4096, 1, "step"), (0, 10, 3, "high")),
        *((5, 5, 1, "high"), (5, 4, 1, "high"), (0, 1, Fraction(1, 3), "categories")),
    ],
)
def test_a_range_that_is_none_is_refused_by_its_field(
    low: int, high: int, step: Fraction | int, field: str
) -> None:
    with pytest.raises(InvalidManifest) as refused:
        value_range(Fraction(low), Fraction(high), Fraction(step))
    assert refused.value.field == field


@pytest.mark.parametrize(
    "categories",
    [
        *(("0", "1", "3"), ("1", "0"), ("0", "0"), ("0", "one"), ("0", "1.0")),
        # A float has 15 digits: the third value of these would be the second.
        ("999999999999999.999998", "999999999999999.999999"),
        ("-1000000000001", "-1000000000000"),
    ],
)
def test_categories_that_are_no_values_in_equal_steps_are_refused(
    categories: tuple[str, ...],
) -> None:
    with pytest.raises(InvalidManifest, match="categories"):
        read_values(categories)


def test_the_largest_values_are_a_trillion_steps_from_zero() -> None:
    assert read_values(("999999999999", "1000000000000"))[1] == 10**12
    assert read_values(("999999.999999", "1000000"))[1] == 10**6
