"""Randomised response: its matrix, enumerated draw by draw, and what its integers guarantee."""

import os
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import pytest

from deniable.mechanisms import RandomisedResponse
from deniable.mechanisms.exact import GridTooCoarse
from deniable.mechanisms.mechanism import os_random_word
from tests.mechanisms.laws import assert_sound_rows, word, worst_ratio
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import some

# (categories, epsilon, delta, bits), small enough to enumerate all 2^bits words.
SMALL = [
    *((2, "1", "0", 4), (2, "0.1", "0", 8), (2, "0", "0.5", 6), (2, "40", "0", 10)),
    *((3, "2", "0", 5), (3, "1", "0.1", 7), (4, "3", "0", 6), (5, "1", "0", 8)),
    *((5, "1", "0.25", 8), (7, "0.5", "0.5", 9), (16, "4", "0", 10), (33, "2", "0.000001", 10)),
]


@pytest.mark.parametrize(("categories", "epsilon", "delta", "bits"), SMALL)
def test_all_draws_together_give_exactly_the_rows(
    categories: int, epsilon: str, delta: str, bits: int
) -> None:
    mechanism = RandomisedResponse(categories, epsilon, delta, bits=bits)
    assert_sound_rows(mechanism)
    assert mechanism.privacy.odds == worst_ratio(mechanism)
    # A word always has 64 bits; masking keeps it uniform on the grid.
    high = (2**64 - 1) >> bits << bits
    for answer in range(categories):
        for top in (0, high):
            words = (top | low for low in range(1 << bits))
            counts = Counter(mechanism.randomise(answer, word(r)) for r in words)
            assert counts == dict(enumerate(mechanism.row(answer)))


FULL_GRID = [
    *((2, "1", "0", 64), (5, "1", "0.000001", 64), (2, "40", "0.5", 64), (1000, "12.5", "0", 64)),
    *((65_536, "40", "0", 64), (65_536, "0.1", "0.000000001", 64)),
    *((65_536, "0", "0.999999999999999999", 64), (2, "0.000000000000000001", "0", 64)),
]


@pytest.mark.parametrize(("categories", "epsilon", "delta", "bits"), SMALL + FULL_GRID)
def test_the_integers_are_private_and_one_lie_less_is_not(
    categories: int, epsilon: str, delta: str, bits: int
) -> None:
    mechanism = RandomisedResponse(categories, epsilon, delta, bits=bits)
    m, n, a = categories - 1, 1 << bits, mechanism.lies
    assert (mechanism.grid, mechanism.categories, mechanism.responses) == (n, m + 1, m + 1)
    assert (mechanism.epsilon, mechanism.delta) == (Fraction(epsilon), Fraction(delta))
    below, above = exp_bounds(Fraction(epsilon))
    # d <= E q + delta, even with the low end of E ...
    assert Fraction(n - m * a, n) <= below * Fraction(a, n) + Fraction(delta)
    # ... and with a - 1 not even with its high end: a is the best integer on the grid.
    assert Fraction(n - m * (a - 1), n) > above * Fraction(a - 1, n) + Fraction(delta)


@pytest.mark.parametrize("categories", some([2, 3, 5, 16, 100]))
@pytest.mark.parametrize("epsilon", some(["0.01", "0.1", "1", "10"]))
@pytest.mark.parametrize("delta", ["0", "0.01"])
def test_a_grid_is_too_coarse_exactly_when_truth_is_no_likelier_than_a_lie(
    categories: int, epsilon: str, delta: str
) -> None:
    m = categories - 1
    below, above = exp_bounds(Fraction(epsilon))
    for bits in range(1, 21):
        # N >= (m+1)(E+m)/(E-1+delta(m+1)) is fine enough; the low end of E is strict.
        enough = (m + 1) * (below + m) / (below - 1 + Fraction(delta) * (m + 1))
        best = (1 << bits) * (1 - Fraction(delta)) / (above + m)  # N q from below
        try:
            mechanism = RandomisedResponse(categories, epsilon, delta, bits=bits)
        except GridTooCoarse:
            assert (1 << bits) < enough
            assert (m + 1) * (int(best) + 1) >= 1 << bits
        else:
            assert mechanism.truth > mechanism.lie > 0


def test_by_default_eight_bytes_of_the_operating_system_decide(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = RandomisedResponse(5, "1")
    asked = []

    def urandom(value: int) -> Callable[[int], bytes]:
        def answer(length: int) -> bytes:
            asked.append(length)
            return value.to_bytes(length, "big")

        return answer

    # The first word of block 3 names category 3; the last word of all tells the truth.
    monkeypatch.setattr(os, "urandom", urandom(3 * mechanism.lies))
    assert mechanism.randomise(1) == 3
    monkeypatch.setattr(os, "urandom", urandom(2**64 - 1))
    assert mechanism.randomise(1) == 1
    assert os_random_word() == 2**64 - 1
    assert asked == [8, 8, 8]


def test_mechanisms_with_the_same_matrix_are_equal() -> None:
    one, same = RandomisedResponse(5, "1"), RandomisedResponse(5, Fraction(1), 0)
    assert (one, hash(one)) == (same, hash(same))
    others = [
        *(RandomisedResponse(4, "1"), RandomisedResponse(5, "1.000000000000000001")),
        *(RandomisedResponse(5, "1", "0.000001"), RandomisedResponse(5, "1", bits=63)),
    ]
    assert len({one, same, *others}) == 5
    assert one != repr(one) == "RandomisedResponse(5, epsilon=1, delta=0)"
