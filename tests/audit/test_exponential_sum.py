"""Sums of exponentials: canonical, exact in sign, exact in ties, against the bare series."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.audit import ExponentialRatio, ExponentialSum, ExponentsTooFarApart
from deniable.mechanisms import exp_enclosure
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))

term = ExponentialSum.term
ZERO, ONE, E = ExponentialSum(), term(1), term(1, 1)

rationals = st.fractions(-6, 6, max_denominator=12)
sums = st.lists(st.tuples(rationals, rationals), max_size=4).map(
    lambda terms: ExponentialSum(tuple(terms))
)
positive_sums = st.lists(
    st.tuples(st.fractions(Fraction(1, 12), 6, max_denominator=12), rationals),
    min_size=1,
    max_size=3,
).map(lambda terms: ExponentialSum(tuple(terms)))


def bounds(value: ExponentialSum) -> tuple[Fraction, Fraction]:
    """Return Fractions around the value, from the series alone."""
    low = high = Fraction(0)
    for coefficient, exponent in value.terms:
        below, above = exp_bounds(abs(exponent))
        if exponent < 0:
            below, above = 1 / above, 1 / below
        low += min(coefficient * below, coefficient * above)
        high += max(coefficient * below, coefficient * above)
    return low, high


@pytest.mark.parametrize("bits", [64, 300, 1000, 2500])
def test_the_sign_is_right_however_near_to_zero_the_value_is(bits: int) -> None:
    # e lies strictly between two neighbouring multiples of 2^-bits; one is nearer than 2^-bits.
    low, high = exp_enclosure(Fraction(1), bits)
    assert (E - term(Fraction(low, 1 << bits))).sign() == 1
    assert (E - term(Fraction(high, 1 << bits))).sign() == -1


@PROPERTY
@given(sums)
@example(ExponentialSum(((Fraction(1), Fraction(-6)), (Fraction(-1), Fraction(6)))))
def test_the_sign_is_that_of_the_series(value: ExponentialSum) -> None:
    low, high = bounds(value)
    if value == ZERO:
        assert value.sign() == 0
    else:
        # The judge's 2^-260 tells every sum of so small numbers from 0.
        assert low > 0 or high < 0
        assert value.sign() == (1 if low > 0 else -1)


@PROPERTY
@given(sums, sums, sums)
def test_sums_form_a_ring(a: ExponentialSum, b: ExponentialSum, c: ExponentialSum) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a * b == b * a
    assert (a * b) * c == a * (b * c)
    assert a * (b + c) == a * b + a * c
    assert a - a == ZERO
    assert a * ONE == a
    assert ExponentialSum.total([a, b, c]) == a + b + c


@pytest.mark.parametrize("inexact", [0.5, 1.0, True, Decimal("0.5"), "1"])
def test_a_number_that_may_not_be_exact_is_refused(inexact: Any) -> None:
    for make in (
        lambda: term(inexact),
        lambda: term(1, inexact),
        lambda: ExponentialSum(((inexact, inexact),)),
        lambda: ONE * inexact,
    ):
        with pytest.raises(TypeError, match="must be a Fraction or an int"):
            make()


def test_exponents_too_far_apart_to_compare_are_refused_before_memory_is_filled() -> None:
    far = term(1, 10**12)
    assert (far + ONE).sign() == 1  # nothing to compare
    with pytest.raises(ExponentsTooFarApart, match="scale the utility down"):
        (far - ONE).sign()
    assert (term(1, 10**12 + 1) - far).sign() == 1  # only the distance counts
    assert (term(1, 65_536) - ONE).sign() == 1


def test_equal_ratios_are_equal_however_they_are_written_and_a_term_where_they_divide_out() -> None:
    one_way = ExponentialRatio(E + term(1, 2), ONE + E)
    assert one_way == ExponentialRatio(E, ONE) == ExponentialRatio(ONE, term(1, -1))
    assert one_way != ExponentialRatio(E, term(2))
    assert one_way != E
    with pytest.raises(TypeError, match="unhashable"):
        hash(one_way)
    scale = term(Fraction(2, 3), Fraction(-1, 2))
    assert ExponentialRatio(scale * (ONE + E), ONE + E).as_term() == scale
    assert ExponentialRatio(ZERO, ONE + E).as_term() == ZERO
    for ratio in ((ONE + E, ONE), (ONE, ONE + E), (ONE + 2 * E, ONE + E)):
        assert ExponentialRatio(*ratio).as_term() is None


@PROPERTY
@given(sums, positive_sums, sums, positive_sums, st.sampled_from([8, 64, 256]))
def test_ratios_are_ordered_as_their_values_and_enclosed(
    a: ExponentialSum, b: ExponentialSum, c: ExponentialSum, d: ExponentialSum, bits: int
) -> None:
    one, other = ExponentialRatio(a, b), ExponentialRatio(c, d)
    (low, high), (least, most) = one.enclosure(bits), other.enclosure(bits)
    # low <= a/b <= high  <=>  low b <= a <= high b, decided exactly.
    assert (low * b - a).sign() <= 0 <= (high * b - a).sign()
    assert one < other or one == other or other < one
    if one < other:
        assert low <= most
        assert bits < 256 or low < most
        assert not other < one
        assert max(one, other) == other
    if one == other:
        assert low <= most
        assert least <= high


@pytest.mark.parametrize(
    ("numerator", "denominator", "logarithm"),
    [
        (term(6), ONE, "1.791759469229"),  # ln 6 = 1.791759469228055…
        (term(2), ONE, "0.693147180560"),  # ln 2 = .693147180559945…
        (term(2, 1), ONE, "1.693147180560"),
        (ONE + E, term(2), "0.620114506959"),  # ln((1 + e)/2) = .620114506958278…
        # 1/(e^x - 1) with x = 1e-30: ln is 30 ln 10 - x/2 = 69.07755278982137052…; the denominator
        # cancels to 100 bits.
        (ONE, term(1, Fraction(1, 10**30)) - ONE, "69.077552789822"),
        # Just above 1: the smallest step.
        (term(1 + Fraction(1, 10**40)), ONE, "0.000000000001"),
    ],
)
def test_an_irrational_logarithm_is_rounded_up_to_twelve_places(
    numerator: ExponentialSum, denominator: ExponentialSum, logarithm: str
) -> None:
    assert ExponentialRatio(numerator, denominator).logarithm() == Fraction(logarithm)


@PROPERTY
@given(positive_sums, positive_sums)
def test_a_logarithm_is_never_too_small_and_less_than_a_step_too_large(
    a: ExponentialSum, b: ExponentialSum
) -> None:
    above, below = (a, b) if (a - b).sign() >= 0 else (b, a)
    ratio = ExponentialRatio(above, below)
    level, step = ratio.logarithm(), Fraction(1, 10**12)
    assert (above - term(1, level) * below).sign() <= 0
    assert (above - term(1, level - step) * below).sign() > 0
