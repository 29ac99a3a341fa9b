"""What fake reports do to estimates: every response that they can send, enumerated."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

from deniable.estimates import (
    Model,
    debias,
    fakes_needed,
    influence,
    query_influence,
    query_shifts,
    standard_errors,
    worst_shifts,
)
from deniable.mechanisms import Mechanism, TwoRound
from deniable.mechanisms.subset import Subset
from tests.estimates.matrices import (
    FREQUENCIES,
    MECHANISMS,
    NON_SQUARE,
    SURVEYED,
    Floats,
    sampled_law,
)

SMALL: dict[str, Mechanism] = {**MECHANISMS, "two-round": TwoRound(Subset(3, 1), "1", "2")}
ALL = {**SMALL, **{f"seven {name}": mechanism for name, mechanism in SURVEYED.items()}}
"""k = 10, epsilon 1: of the check values in docs/mathematics.md, section 6."""

HONEST, FAKE = 2, 2
SHARE = FAKE / (HONEST + FAKE)
every_small = pytest.mark.parametrize("mechanism", SMALL.values(), ids=SMALL)
every = pytest.mark.parametrize("mechanism", ALL.values(), ids=ALL)


def population(mechanism: Mechanism) -> Floats:
    return np.array([float(f) for f in FREQUENCIES[mechanism.categories]])


def biases(mechanism: Mechanism) -> dict[tuple[int, ...], Floats]:
    """Return the exact bias of the estimate for whatever two fakes beside two devices send."""
    law = list(sampled_law(mechanism, FREQUENCIES[mechanism.categories], HONEST))
    found = {}
    for fakes in combinations_with_replacement(range(mechanism.responses), FAKE):
        mean = np.zeros(mechanism.categories)
        for counts, chance in law:
            all_counts = [count + fakes.count(y) for y, count in enumerate(counts)]
            mean += float(chance) * debias(mechanism, all_counts)
        found[fakes] = mean - population(mechanism)
    return found


@every_small
def test_no_fakes_bias_an_estimate_further_and_some_as_far(mechanism: Mechanism) -> None:
    found = np.array(list(biases(mechanism).values()))
    down, up = worst_shifts(mechanism, population(mechanism), SHARE)
    assert found.min(axis=0) == pytest.approx(down, rel=1e-9)
    assert found.max(axis=0) == pytest.approx(up, rel=1e-9)


@every_small
def test_no_fakes_bias_a_query_further_and_some_as_far(mechanism: Mechanism) -> None:
    weights = np.array([0.5, -2.0, 3.0])[: mechanism.categories]
    found = [bias @ weights for bias in biases(mechanism).values()]
    shifts = query_shifts(mechanism, weights, population(mechanism), SHARE)
    assert (min(found), max(found)) == pytest.approx(shifts, rel=1e-9)


@every
def test_influence_is_the_worst_shift_in_the_worst_population(mechanism: Mechanism) -> None:
    furthest = [
        np.abs(worst_shifts(mechanism, answer, 1.0)).max()
        for answer in np.eye(mechanism.categories)
    ]
    assert influence(mechanism) == pytest.approx(max(furthest), rel=1e-12)


@every
def test_a_querys_influence_is_its_worst_shift_in_the_worst_population(
    mechanism: Mechanism,
) -> None:
    weights = np.arange(mechanism.categories, dtype=np.float64) ** 2 - 3
    furthest = [
        np.abs(query_shifts(mechanism, weights, answer, 1.0)).max()
        for answer in np.eye(mechanism.categories)
    ]
    assert query_influence(mechanism, weights) == pytest.approx(max(furthest), rel=1e-12)


@every
@pytest.mark.parametrize("weight", [1.0, -0.3])
def test_no_report_moves_what_is_the_same_for_all_answers(
    mechanism: Mechanism, weight: float
) -> None:
    assert query_influence(mechanism, np.full(mechanism.categories, weight)) == 0.0


def test_a_response_that_never_occurs_moves_even_that() -> None:
    mechanism = NON_SQUARE["a response that never occurs"]
    assert query_influence(mechanism, np.ones(3)) == 1.0


@every
def test_so_many_fakes_move_an_estimate_so_far_and_one_fewer_does_not(
    mechanism: Mechanism,
) -> None:
    counts = [100 + 7 * y for y in range(mechanism.responses)]
    n, j = sum(counts), 1
    estimate = debias(mechanism, counts)
    move = float(standard_errors(mechanism, counts, Model.SAMPLED)[j])
    (down,), (up,) = (shift[j : j + 1] for shift in worst_shifts(mechanism, estimate, 1.0))
    needed = fakes_needed(n, move, max(-down, up))
    assert needed is not None

    def furthest(fakes: int) -> float:
        """Return the largest move of the estimate that so many fakes can make."""
        moves = []
        for y in range(mechanism.responses):
            poisoned = [count + fakes * (y == z) for z, count in enumerate(counts)]
            moves.append(abs(debias(mechanism, poisoned)[j] - estimate[j]))
        return float(max(moves))

    assert furthest(needed) >= move > furthest(needed - 1)


def test_no_number_of_fakes_moves_an_estimate_beyond_their_own() -> None:
    assert fakes_needed(100, 3.0, 3.0) is None
    assert fakes_needed(100, math.nan, 3.0) is None
    assert fakes_needed(100, 2.0, 3.0) == 200
