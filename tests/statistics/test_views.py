"""Intervals beside projected shares hold as often as they say: benchmarks/views.py in short."""

from itertools import product

import pytest

from benchmarks.views import SIZES, TRUTHS, measured, population
from deniable.estimates import View, decoder_of
from deniable.planning import best
from tests.statistics.test_coverage import least
from tests.support.effort import some


@pytest.mark.parametrize(("truth", "k"), some([*product(TRUTHS, SIZES)]))
def test_simultaneous_intervals_hold_the_truth_and_the_projected_shares(truth: str, k: int) -> None:
    # Each of the 18 bounds fails right code with less than 1e-9.
    decoder, runs = decoder_of(best(k, "1").mechanism()), 100
    found = measured(decoder, population(truth, k), 10_000, runs=runs, seed=1)
    assert found.held.sum() >= least(runs)
    assert found.around.sum() >= least(runs)
    # Never further from the truth, in any run: the simplex is convex.
    assert (found.squares[View.PROJECTED] <= found.squares[View.UNBIASED] + 1e-15).all()


@pytest.mark.long
def test_own_intervals_of_the_largest_hold_neither() -> None:
    # Of 1,024 answers 10 % hold the truth, and 7 % the projected share (docs/coverage.md): by
    # Chernoff's bound, half of the ten of 200 runs do with less than 1e-40.
    found = measured(
        decoder_of(best(1024, "1").mechanism()), population("most", 1024), 10_000, runs=200, seed=1
    )
    assert found.own.mean() < 0.5
    assert found.inside.mean() < 0.5
