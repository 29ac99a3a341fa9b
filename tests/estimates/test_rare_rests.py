"""Shares within a group, and differences, where what is left over is rare: by the exact law."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from deniable.estimates import Histogram
from deniable.mechanisms import RandomisedResponse


@pytest.mark.long
@pytest.mark.parametrize("epsilon", ["4", "6"])
@pytest.mark.parametrize(("n", "truth"), [(30, 0.95), (30, 0.99), (60, 0.95)])
def test_intervals_hold_where_the_rest_is_rare(epsilon: str, n: int, truth: float) -> None:
    mechanism = RandomisedResponse(3, epsilon)
    f = np.array([truth, (1 - truth) / 2, (1 - truth) / 2])
    q, kappa = float(mechanism.lie), float(mechanism.truth - mechanism.lie)
    few = range(16)  # of the second and third; more have a chance below 1e-4
    tables = [(n - a - b, a, b) for a, b in product(few, few) if a + b <= 15]
    law = stats.multinomial.pmf(tables, n, q + kappa * f)
    assert law.sum() > 1 - 1e-4
    told, held = np.zeros(2), np.zeros(2)
    for table, mass in zip(tables, law.tolist(), strict=True):
        found = Histogram.of_counts(mechanism, table, ["0", "1", "2"])
        share, first, last = found.share("0", given=["0", "1"]), found.share("0"), found.share("2")
        for i, (figure, true) in enumerate(
            ((share, f[0] / (f[0] + f[1])), (first - last, f[0] - f[2]))
        ):
            if not figure.too_small:
                told[i] += mass
                held[i] += mass * (figure.low - 1e-9 <= true <= figure.high + 1e-9)
    assert (held / told).min() >= 0.935
