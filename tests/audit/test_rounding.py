"""Onto a grid of integers: near the originals, and never less private than promised."""

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deniable.audit import SolutionMatrix, tight_delta, tight_epsilon
from deniable.audit.solution_matrix import certified_rows, largest_remainder
from deniable.mechanisms import InvalidPrivacyParameter
from deniable.mechanisms.exact import GridTooCoarse
from tests.audit.matrices import of_weights
from tests.mechanisms.laws import matrices
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(100))

weights = st.lists(st.integers(0, 10**6), min_size=1, max_size=8).filter(any)
grids = st.integers(0, 64).map(lambda bits: 1 << bits)


def exceeds(rows: Sequence[Sequence[int]], odds: Fraction, delta: Fraction) -> bool:
    """Tell whether some pair of rows breaks (ln odds, delta), in integers alone."""
    u, v, s, t = odds.numerator, odds.denominator, delta.numerator, delta.denominator
    return any(
        t * sum(max(0, v * w - u * z) for w, z in zip(one, other, strict=True)) > v * s * sum(one)
        for x, one in enumerate(rows)
        for z, other in enumerate(rows)
        if x != z
    )


@PROPERTY
@given(weights, grids)
def test_largest_remainders_sum_to_the_grid_and_stay_within_1(row: list[int], grid: int) -> None:
    rounded = largest_remainder(row, grid)
    assert sum(rounded) == grid
    total = sum(row)
    for weight, whole in zip(row, rounded, strict=True):
        assert abs(whole - Fraction(weight * grid, total)) < 1
        assert whole == 0 or weight > 0  # what never happens still never does
        if weight * grid % total == 0:
            assert whole * total == weight * grid  # what is on the grid stays


@PROPERTY
@given(matrices((2, 4), (2, 6)), st.integers(1, 20), st.integers(0, 60))
def test_rounding_moves_delta_at_any_odds_by_at_most_its_bound(
    matrix: SolutionMatrix, bits: int, sixths: int
) -> None:
    odds, grid = 1 + Fraction(sixths, 6), 1 << bits
    rows = [largest_remainder(matrix.row(x), grid) for x in range(matrix.categories)]
    moved = SolutionMatrix(rows, grid).privacy.delta_at_odds(odds)
    bound = (1 + odds) * matrix.responses / (4 * grid)
    assert abs(moved - matrix.privacy.delta_at_odds(odds)) <= bound


def certified_as_it_should_be(
    matrix: SolutionMatrix, epsilon: Fraction, delta: Fraction, grid: int
) -> bool:
    """See that a private matrix is certified soundly; return whether it needed the repair."""
    exact = [list(matrix.row(x)) for x in range(matrix.categories)]
    plain = [largest_remainder(row, grid) for row in exact]
    below, above = exp_bounds(epsilon)
    rows = certified_rows(exact, epsilon, delta, grid)
    assert all(sum(row) == grid and min(row) >= 0 for row in rows)
    assert not exceeds(rows, below, delta)
    if rows == plain:
        return False
    # Only what rounding had broken was repaired; and not by more than a share of noise moves an
    # entry, at most that share itself, and rounding, less than 1.
    assert exceeds(plain, below - Fraction(1, 2**150), delta)
    if delta:
        share = (1 + above) * matrix.responses / (4 * grid * delta)
    else:
        share = matrix.responses * (above + 1) / ((below - 1) * grid)
    most = grid * share * (1 + Fraction(1, 2**100)) + 1
    for row, original in zip(rows, exact, strict=True):
        for weight, entry in zip(row, original, strict=True):
            assert abs(weight - Fraction(entry * grid, matrix.grid)) < most
    return True


def tight(matrix: SolutionMatrix, delta: Fraction) -> Fraction:
    """Return the smallest epsilon of 12 places at which the matrix is private."""
    return Fraction(tight_epsilon(matrix, delta).epsilon)


def private_somewhere(matrix: SolutionMatrix) -> SolutionMatrix:
    """Return the matrix with a little of the uniform one, so that nothing is impossible."""
    n, grid = matrix.responses, matrix.grid
    rows = ([7 * n * w + grid for w in matrix.row(x)] for x in range(matrix.categories))
    return SolutionMatrix(rows, 8 * n * grid)


@PROPERTY
@given(matrices((2, 4), (2, 6)), st.integers(12, 64), st.integers(0, 1))
def test_a_purely_private_matrix_is_certified_at_its_tight_level(
    matrix: SolutionMatrix, bits: int, room: int
) -> None:
    matrix = private_somewhere(matrix)
    assume(matrix.privacy.odds != 1)
    epsilon = tight(matrix, Fraction(0)) + Fraction(room, 100)
    certified_as_it_should_be(matrix, epsilon, Fraction(0), 1 << bits)


@PROPERTY
@given(matrices((2, 4), (2, 5)), st.integers(16, 64), st.integers(1, 30), st.integers(0, 100))
def test_a_matrix_private_with_delta_is_certified_at_its_tight_delta(
    matrix: SolutionMatrix, bits: int, hundredths: int, tenths: int
) -> None:
    epsilon = Fraction(tenths, 10)
    # Its own delta there, an irrational number at epsilon > 0, and rounded up to six places.
    tightest = tight_delta(matrix, epsilon).delta
    delta = Fraction(-int(-tightest * 10**6 // 1), 10**6) or Fraction(hundredths, 100)
    assume(delta < 1)
    certified_as_it_should_be(matrix, epsilon, delta, 1 << bits)


def test_rounding_alone_breaks_many_matrices_and_every_one_of_them_is_repaired() -> None:
    # At the tight level of 12 places there is next to no room, so that rounding to 24 bits has to
    # spoil about every second matrix; in 50 of them, that none was spoilt would mean no test.
    source, repaired = random.Random(8), 0
    for _ in range(effort(250)):
        shape = source.randrange(2, 6), source.randrange(2, 7)
        rows = [[source.randrange(1, 100) for _ in range(shape[1])] for _ in range(shape[0])]
        matrix = of_weights(rows)
        repaired += certified_as_it_should_be(
            matrix, tight(matrix, Fraction(0)), Fraction(0), 1 << 24
        )
    assert effort(250) // 4 < repaired < effort(250)


def test_what_is_private_on_the_grid_already_is_left_as_it_is() -> None:
    rows = [[3, 4, 1], [2, 4, 2]]
    assert certified_rows(rows, Fraction(1), Fraction(0), 8) == rows
    assert certified_rows(rows, Fraction(1), Fraction(0), 64) == [[24, 32, 8], [16, 32, 16]]
    # Equal rows stay equal, and so are private even at epsilon 0 and delta 0.
    third = [[1, 1, 1]] * 2
    assert certified_rows(third, Fraction(0), Fraction(0), 4) == [[2, 1, 1]] * 2


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1.09861228", "0"), ("0", "0"), ("0", "0.49999999"), ("1", "0.07")]
)
def test_a_matrix_that_is_not_private_itself_is_refused_and_not_made_so(
    epsilon: str, delta: str
) -> None:
    # Odds 3: ln 3 = 1.098612288668109…, delta 1/2 at epsilon 0 and (3 - e)/4 = .0704… at 1.
    rows = [[3, 1], [1, 3]]
    with pytest.raises(InvalidPrivacyParameter, match="raise them, or mix the matrix"):
        certified_rows(rows, Fraction(epsilon), Fraction(delta), 1 << 64)
    with pytest.raises(InvalidPrivacyParameter):
        SolutionMatrix(rows, 4).certified(epsilon, delta)


@st.composite
def optimal_floats(draw: st.DrawFn) -> tuple[list[list[float]], Fraction, Fraction]:
    """Return an optimal matrix as anybody would write it, and its own epsilon and delta."""
    k, epsilon = draw(st.integers(2, 8)), draw(st.integers(1, 20_000)) / 1000
    e, delta = math.exp(epsilon), 0.0
    if draw(st.booleans()):  # Theorem 10
        delta = draw(st.sampled_from([0.0, 0.000001, 0.1]))
        lie = (1 - delta) / (e + k - 1)
        rows = [[1 - (k - 1) * lie if x == y else lie for y in range(k)] for x in range(k)]
    else:  # subset selection
        sets = list(combinations(range(k), draw(st.integers(1, k - 1))))
        weights = [[e if x in chosen else 1.0 for chosen in sets] for x in range(k)]
        rows = [[weight / sum(row) for weight in row] for row in weights]
    return rows, Fraction(f"{epsilon}"), Fraction(f"{delta}")


@settings(PROPERTY, max_examples=effort(150))
@given(optimal_floats())
def test_an_optimal_matrix_written_in_floats_is_certified_at_its_own_level(
    written: tuple[list[list[float]], Fraction, Fraction],
) -> None:
    rows, epsilon, delta = written
    whole = [[round(p * 2**64) for p in row] for row in rows]
    matrix = of_weights(whole)
    certified = [list(matrix.certified(epsilon, delta).row(x)) for x in range(len(rows))]
    assert not exceeds(certified, exp_bounds(epsilon)[0], delta)
    for found, row in zip(certified, rows, strict=True):
        assert found == pytest.approx([p * 2**64 for p in row], rel=0, abs=1e-9 * 2**64)
    with pytest.raises(InvalidPrivacyParameter):
        matrix.certified(epsilon * Fraction(9, 10), delta)


def test_a_response_that_excludes_a_category_is_private_with_delta_only() -> None:
    rare, grid = [[2**24 - 1, 1], [2**24, 0]], 1 << 24
    for epsilon, delta in ((Fraction(3), Fraction(0)), (Fraction(0), Fraction(1, 2**24 + 1))):
        with pytest.raises(InvalidPrivacyParameter):
            certified_rows(rare, epsilon, delta, grid)
    assert certified_rows(rare, Fraction(0), Fraction(1, 2**24), grid) == rare


@pytest.mark.parametrize("bits", [2, 3, 4])
@pytest.mark.parametrize("delta", ["0", "0.001"])
def test_a_grid_of_a_few_bits_is_too_coarse_for_a_small_epsilon(bits: int, delta: str) -> None:
    # Thirds, a little apart: a quarter to a sixteenth is more than e^0.1 and .001 allow.
    rows = [[34, 33, 33], [33, 34, 33], [33, 33, 34]]
    asked = Fraction("0.1"), Fraction(delta)
    with pytest.raises(GridTooCoarse, match="use a finer grid"):
        certified_rows(rows, *asked, 1 << bits)
    assert SolutionMatrix(certified_rows(rows, *asked, 1 << 16), 1 << 16).privacy.satisfies(*asked)


def test_an_epsilon_far_below_the_grid_takes_rows_that_round_alike_and_no_others() -> None:
    big, epsilon = 2**300, Fraction(1, 2**200)
    halves = certified_rows([[big + 1, big], [big, big + 1]], epsilon, Fraction(0), 1 << 64)
    assert halves == [[1 << 63, 1 << 63]] * 2
    # 2^64 leaves 1 over when divided by 3; which entry gets it is decided far behind the point.
    thirds = [[big + 1, big, big - 1], [big - 1, big, big + 1]]
    with pytest.raises(GridTooCoarse):
        certified_rows(thirds, epsilon, Fraction(0), 1 << 64)


@PROPERTY
@given(matrices((2, 3), (2, 4)), st.integers(1, 10), st.integers(0, 50))
def test_on_any_grid_the_outcome_is_private_or_refused(
    matrix: SolutionMatrix, bits: int, tenths: int
) -> None:
    epsilon = Fraction(tenths, 10)
    try:
        rows = [matrix.row(x) for x in range(matrix.categories)]
        certified = certified_rows(rows, epsilon, Fraction(0), 1 << bits)
    except InvalidPrivacyParameter:
        odds = matrix.privacy.odds
        assert odds is None or odds > exp_bounds(epsilon)[0]
        return
    except GridTooCoarse:
        assert matrix.privacy.satisfies(epsilon, "0")
        return
    assert all(sum(row) == 1 << bits for row in certified)
    assert not exceeds(certified, exp_bounds(epsilon)[0], Fraction(0))
