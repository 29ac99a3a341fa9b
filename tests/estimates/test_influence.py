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
from tests.estimates.matrices import FREQUENCIES, MECHANISMS, NON_SQUARE, SURVEYED, sampled_law

SMALL: dict[str, Mechanism] = {**MECHANISMS, "two-round": TwoRound(Subset(3, 1), "1", "2")}
ALL = {**SMALL, **{f"seven {name}": mechanism for name, mechanism in SURVEYED.items()}}
every = pytest.mark.parametrize("mechanism", ALL.values(), ids=ALL)


@pytest.mark.parametrize("mechanism", SMALL.values(), ids=SMALL)
def test_no_fakes_bias_an_estimate_or_query_further_and_some_as_far(mechanism: Mechanism) -> None:
    # The exact bias, whatever two fakes beside two devices send.
    shares, fakes = FREQUENCIES[mechanism.categories], 2
    f, weights = np.array(shares, dtype=float), np.array([0.5, -2.0, 3.0])[: len(shares)]
    law, biases = [*sampled_law(mechanism, shares, 2)], []
    for sent in combinations_with_replacement(range(mechanism.responses), fakes):
        mean = np.zeros(len(shares))
        for counts, chance in law:
            seen = [count + sent.count(y) for y, count in enumerate(counts)]
            mean += float(chance) * debias(mechanism, seen)
        biases.append(mean - f)
    found, moved = np.array(biases), np.array(biases) @ weights
    down, up = worst_shifts(mechanism, f, 0.5)
    assert found.min(axis=0) == pytest.approx(down, rel=1e-9)
    assert found.max(axis=0) == pytest.approx(up, rel=1e-9)
    shifts = query_shifts(mechanism, weights, f, 0.5)
    assert (moved.min(), moved.max()) == pytest.approx(shifts, rel=1e-9)


@every
def test_influence_is_the_worst_shift_in_the_worst_population(mechanism: Mechanism) -> None:
    populations = np.eye(k := mechanism.categories)
    furthest = [np.abs(worst_shifts(mechanism, answer, 1.0)).max() for answer in populations]
    assert influence(mechanism) == pytest.approx(max(furthest), rel=1e-12)
    weights = np.arange(k, dtype=np.float64) ** 2 - 3
    shifts = [np.abs(query_shifts(mechanism, weights, answer, 1.0)).max() for answer in populations]
    assert query_influence(mechanism, weights) == pytest.approx(max(shifts), rel=1e-12)
    # No report moves what is the same for all answers, but one that never occurs does.
    for weight in (1.0, -0.3):
        assert query_influence(mechanism, np.full(k, weight)) == 0.0
    assert query_influence(NON_SQUARE["a response that never occurs"], np.ones(3)) == 1.0


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
