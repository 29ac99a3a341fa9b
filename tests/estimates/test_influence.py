"""What one false report can do: no pair of responses moves an estimate further."""

import numpy as np
import pytest

from deniable.estimates import debias, influence
from deniable.mechanisms import Mechanism, RandomisedResponse, SolutionMatrix
from tests.estimates.matrices import MECHANISMS, SURVEYED

ALL = {**MECHANISMS, **{f"seven {name}": mechanism for name, mechanism in SURVEYED.items()}}


@pytest.mark.parametrize("mechanism", ALL.values(), ids=ALL)
def test_influence_is_the_furthest_that_one_changed_report_moves_any_estimate(
    mechanism: Mechanism,
) -> None:
    counts = np.full(mechanism.responses, 10)
    n, moved = int(counts.sum()), []
    for honest in range(mechanism.responses):
        for false in range(mechanism.responses):
            changed = counts.copy()
            changed[honest] -= 1
            changed[false] += 1
            difference = debias(mechanism, changed.tolist()) - debias(mechanism, counts.tolist())
            moved.append(np.abs(difference).max() * n)
    assert influence(mechanism) == pytest.approx(max(moved), rel=1e-9)


@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_structure_changes_no_influence(epsilon: str) -> None:
    mechanism = RandomisedResponse(6, epsilon)
    assert influence(mechanism) == pytest.approx(influence(SolutionMatrix.of(mechanism)), rel=1e-9)
