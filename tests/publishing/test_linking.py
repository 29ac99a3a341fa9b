"""Linking two reports of one kept response, against all pairs of blocks counted in fractions."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from benchmarks.linking import linking_probability
from deniable.mechanisms import TwoRound
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.difference_set import DifferenceSet
from deniable.mechanisms.subset import Subset


@pytest.mark.parametrize(
    "mechanism",
    [
        *(TwoRound(Subset(2, 1), "1", "2"), TwoRound(Subset(30, 1), "3.9", "4")),
        *(TwoRound(Subset(6, 2), "0.9", "3"), TwoRound(Subset(6, 4), "0.5", "4")),
        *(TwoRound(Affine(5, 7, 1, 3), "0.5", "3"), TwoRound(Affine(6, 2, 3, 1), "1", "4")),
        *(TwoRound(Affine(9, 3, 2, 1), "1", "4"), TwoRound(DifferenceSet(14, 16), "0.5", "3")),
    ],
    ids=repr,
)
def test_the_best_guess_is_right_as_often_as_counting_says(mechanism: TwoRound) -> None:
    points = range(mechanism.design.points)
    fresh = [
        [Fraction(weight, mechanism.fresh.grid) for weight in mechanism.fresh.row(u)]
        for u in points
    ]
    right, every = Fraction(0), Fraction(1, len(points))
    for one, other in product(range(mechanism.responses), repeat=2):
        kept_once = sum((row[one] * row[other] for row in fresh), Fraction(0)) * every
        kept_twice = every**2 * sum(row[one] for row in fresh) * sum(row[other] for row in fresh)
        right += max(kept_once, kept_twice) / 2
    assert linking_probability(mechanism) == pytest.approx(float(right), abs=1e-13)


def test_blocks_that_are_not_all_alike_are_averaged() -> None:
    # 13 turns of each of two blocks, and the opposite of neither is one.
    mechanism = TwoRound(Affine(13, 13, 1, 3), "0.5", "4")
    laws = np.array([mechanism.fresh.row(u) for u in range(13)], dtype=float)
    laws /= float(mechanism.fresh.grid)
    assert laws.shape == (13, 26)
    of_one = np.einsum("uy,uz->yz", laws, laws) / 13
    of_two = np.outer(laws.mean(axis=0), laws.mean(axis=0))
    right = np.maximum(of_one, of_two).sum() / 2
    assert linking_probability(mechanism) == pytest.approx(right, abs=2e-3)
