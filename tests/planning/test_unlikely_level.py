"""What a device's reports favour its answers by, against the laws of the mechanisms themselves."""

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.messages import Schedule, Specification
from deniable.planning import best
from deniable.planning.facts import choice_facts
from tests.support.effort import some
from tests.support.surveys import DAY, START, manifest


def _chance_above(rows: NDArray[np.float64], reports: int, level: float) -> float:
    """Return the chance of a loss above a level, of the worst histories of so many reports.

    Two that differ in any number of reports; all pairs of a design's rows are alike.
    """
    loss = np.log(rows[0] / rows[1])
    step = loss.max()
    places = np.rint(loss / step).astype(int)
    assert np.allclose(places * step, loss)
    one = np.bincount(places + 1, rows[0], minlength=3)
    law, worst = np.ones(1), 0.0
    for differing in range(1, reports + 1):
        law = np.convolve(law, one)
        sums = step * np.arange(-differing, differing + 1)
        worst = max(worst, law[sums > level + 1e-9].sum())
    return float(worst)


@pytest.mark.parametrize("categories", some([3, 2, 20, 105]))
@pytest.mark.parametrize(("epsilon", "reports"), [("0.5", 52), ("0.5", 10), ("1", 30), ("2", 8)])
def test_the_stated_level_is_exceeded_no_more_often_than_the_fact_says(
    categories: int, epsilon: str, reports: int
) -> None:
    chosen = best(categories, epsilon).candidate
    survey = manifest(
        categories=tuple(f"answer {number}" for number in range(categories)),
        epsilon=epsilon,
        schedule=Schedule(START, DAY, reports, DAY),
        specification=Specification(chosen.kind, chosen.parameters),
    )
    (fact,) = (fact.text for fact in choice_facts(survey) if fact.label == "adds up")
    said = re.search(r"at most epsilon ([\d.]+), except with a chance of 1 in ([\d,]+)", fact)
    assert said is not None, fact
    level, chance = float(said[1]), 1 / int(said[2].replace(",", ""))
    mechanism = survey.mechanism
    rows = np.array([mechanism.row(0), mechanism.row(1)], dtype=float) / float(mechanism.grid)
    assert _chance_above(rows, reports, level) <= chance
    assert _chance_above(rows, reports, level - float(epsilon)) > chance  # it is the least
