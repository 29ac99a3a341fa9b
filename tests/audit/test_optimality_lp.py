"""Theorem 10 against linear programmes: nothing private errs less, and only one matrix so little.

The programme knows no theorem: it minimises an error over *all* stochastic matrices under
condition (5), which by its positive parts is linear: there are z >= 0 with

    z_dd's >= P_ds - E P_d's,      sum_s z_dd's <= delta      for all neighbours d, d'.
"""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from tests.audit.theorems import least_error, odds_below
from tests.support.effort import some

Floats = NDArray[np.float64]

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Programme:
    """All (epsilon, delta)-private mechanisms of one row, as linear constraints.

    Variables: the entries of P, row by row, then every z, then t, the largest expected error.
    """

    categories: int
    epsilon: str
    delta: str

    def minimise(self, cost: Floats) -> float:
        """Return the least cost of (entries, t), one number each."""
        k, odds = self.categories, float(odds_below(self.epsilon))
        pairs = list(permutations(range(k), 2))
        entries, slacks = k * k, k * len(pairs)
        t = entries + slacks
        left: list[Floats] = []
        right: list[float] = []

        def at_most(limit: float, *terms: tuple[int, float]) -> None:
            row = np.zeros(t + 1)
            for column, factor in terms:
                row[column] = factor
            left.append(row)
            right.append(limit)

        for number, (d, other) in enumerate(pairs):
            z = entries + k * number
            for s in range(k):
                at_most(0, (d * k + s, 1), (other * k + s, -odds), (z + s, -1))
            at_most(float(self.delta), *((z + s, 1) for s in range(k)))
        for d in range(k):
            at_most(0, *((d * k + s, s != d) for s in range(k)), (t, -1))
        result = linprog(
            np.concatenate([cost[:-1], np.zeros(slacks), cost[-1:]]),
            A_ub=np.array(left),
            b_ub=np.array(right),
            A_eq=np.hstack([np.kron(np.eye(k), np.ones(k)), np.zeros((k, slacks + 1))]),
            b_eq=np.ones(k),
            method="highs",
            options={  # per constraint
                "primal_feasibility_tolerance": TOLERANCE / 10,
                "dual_feasibility_tolerance": TOLERANCE / 10,
            },
        )
        assert result.success, result.message
        assert result.fun is not None
        return float(result.fun)


@pytest.mark.parametrize("categories", some([2, 3, 4, 5, 6]))
@pytest.mark.parametrize("epsilon", ["0", "0.5", "1", "3"])
@pytest.mark.parametrize("delta", ["0", "0.1", "0.5"])
def test_no_mechanism_has_a_smaller_largest_or_average_error_than_the_stated_one(
    categories: int, epsilon: str, delta: str
) -> None:
    stated = float(least_error(categories, odds_below(epsilon), delta))
    largest = np.append(np.zeros(categories**2), 1.0)
    average = np.append((1 - np.eye(categories)).ravel() / categories, 0.0)
    for cost in (largest, average):
        found = Programme(categories, epsilon, delta).minimise(cost)
        assert found == pytest.approx(stated, rel=0, abs=TOLERANCE)
