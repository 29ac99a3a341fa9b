"""Theorem 10 against linear programmes: nothing private errs less, and only one matrix so little.

The programme knows no theorem: it minimises an error over *all* stochastic matrices under
condition (5), which by its positive parts is linear: there are z >= 0 with

    z_dd's >= P_ds - E P_d's,      sum_s z_dd's <= delta      for all neighbours d, d'.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from deniable.audit import hamming_distance, least_error, odds_below

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
EPSILONS = ["0", "0.5", "1", "3"]
DELTAS = ["0", "0.1", "0.5"]


@dataclass(frozen=True)
class Programme:
    """All (epsilon, delta)-private mechanisms on the databases of n rows, as linear constraints.

    Variables: the entries of P, row by row, then every z, then t, the largest expected error.
    """

    categories: int
    rows: int
    epsilon: str
    delta: str

    @property
    def loss(self) -> Floats:
        """Return the Hamming distance of response s from database d."""
        databases = list(product(range(self.categories), repeat=self.rows))
        return np.array([[float(hamming_distance(d, s)) for s in databases] for d in databases])

    def minimise(self, cost: Floats, largest_error: float | None = None) -> tuple[float, Floats]:
        """Return the least cost of (entries, t), and the entries that have it.

        Args:
            cost: one number an entry, and one for t.
            largest_error: what t may be at most.
        """
        loss, odds = self.loss, float(odds_below(self.epsilon))
        size = len(loss)
        pairs = np.argwhere(loss == 1)
        entries, slacks = size * size, size * len(pairs)
        t = entries + slacks
        left: list[Floats] = []
        right: list[float] = []

        def at_most(limit: float, *terms: tuple[int, float]) -> None:
            row = np.zeros(t + 1)
            for column, factor in terms:
                row[column] = factor
            left.append(row)
            right.append(limit)

        for number, (d, other) in enumerate(pairs.tolist()):
            z = entries + size * number
            for s in range(size):
                at_most(0, (d * size + s, 1), (other * size + s, -odds), (z + s, -1))
            at_most(float(self.delta), *((z + s, 1) for s in range(size)))
        for d in range(size):
            at_most(0, *((d * size + s, loss[d, s]) for s in range(size)), (t, -1))
        stochastic = np.zeros((size, t + 1))
        for d in range(size):
            stochastic[d, d * size : (d + 1) * size] = 1
        result = linprog(
            np.concatenate([cost[:-1], np.zeros(slacks), cost[-1:]]),
            A_ub=np.array(left),
            b_ub=np.array(right),
            A_eq=stochastic,
            b_eq=np.ones(size),
            bounds=[*[(0, None)] * t, (0, largest_error)],
            method="highs",
            # Per constraint, and a tenth of what is asserted.
            options={
                "primal_feasibility_tolerance": TOLERANCE / 10,
                "dual_feasibility_tolerance": TOLERANCE / 10,
            },
        )
        assert result.success, result.message
        assert result.fun is not None
        assert result.x is not None
        return float(result.fun), np.asarray(result.x[:entries]).reshape(size, size)

    def least_largest_error(self) -> float:
        """Return the smallest possible largest expected error over the databases."""
        cost = np.zeros(self.loss.size + 1)
        cost[-1] = 1
        return self.minimise(cost)[0]

    def least_average_error(self) -> float:
        """Return the smallest possible expected error if all databases are equally likely."""
        weighted = self.loss / len(self.loss)
        return self.minimise(np.append(weighted.ravel(), 0.0))[0]


@pytest.mark.parametrize("categories", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_no_mechanism_has_a_smaller_largest_or_average_error_than_the_stated_one(
    categories: int, epsilon: str, delta: str
) -> None:
    programme = Programme(categories, 1, epsilon, delta)
    stated = float(least_error(categories, odds_below(epsilon), delta))
    assert programme.least_largest_error() == pytest.approx(stated, rel=0, abs=TOLERANCE)
    assert programme.least_average_error() == pytest.approx(stated, rel=0, abs=TOLERANCE)
