"""Two-round and memoised reports in the estimates: their matrix, and what their epochs share."""

from fractions import Fraction

import pytest

from deniable.estimates import (
    estimate_histogram,
)
from deniable.mechanisms import TwoRound
from deniable.mechanisms.subset import Subset
from deniable.messages import Repeat, Specification
from tests.accounting.curves import kept_law
from tests.mechanisms.laws import entries
from tests.support.surveys import manifest

COUNTS = (40, 30, 20, 10)


def test_reports_of_one_range_are_not_independent() -> None:
    # Why epochs of a range are not pooled. Two reports of a device whose answer stays 0, and the
    # covariance of "the response is 0" in both: 0 if fresh, its variance if memoised, so that two
    # epochs have the error of one; and with two rounds kappa_2^2 of the kept response's variance.
    mechanism = TwoRound(Subset(3, 1), "1", "2")
    kept, fresh = entries(mechanism.kept), entries(mechanism.fresh)
    identity = [[Fraction(x == y) for y in range(3)] for x in range(3)]

    def covariance_of_two(law: list[Fraction]) -> Fraction:
        both, first = law[0], sum(law[:3], Fraction(0))
        assert sum(law[::3], Fraction(0)) == first
        return both - first**2

    d = mechanism.kept.truth
    assert covariance_of_two(kept_law(kept, identity, (0, 0))) == d * (1 - d)
    assert covariance_of_two(kept_law(kept, fresh, (0, 0))) == (
        (mechanism.fresh.hit - mechanism.fresh.miss) ** 2 * d * (1 - d)
    )
    assert covariance_of_two([a * b for a in kept[0] for b in kept[0]]) == 0


@pytest.mark.parametrize("two_round", [False, True])
def test_a_histogram_names_the_epochs_whose_noise_it_shares(two_round: bool) -> None:
    survey = manifest(repeat=Repeat("memoised", 3))
    if two_round:
        kind = Specification("two-round", {"kept": "2", "fresh": ("subset", 1)})
        survey = manifest(repeat=Repeat("memoised", 3), specification=kind)
    counts = (40, 30, 20, 10, 5)
    for epoch, shared in ((0, (0, 2)), (2, (0, 2)), (3, (3, 5)), (7, (6, 7))):
        histogram = estimate_histogram(survey, epoch, counts)
        assert histogram.kept_range == shared
        assert histogram.to_dict()["kept_range"] == list(shared)
        kept = f"epochs {shared[0]} to {shared[1]}: figures of these epochs share noise"
        assert kept in str(histogram)
    fresh = estimate_histogram(manifest(), 0, counts)
    assert fresh.kept_range is fresh.to_dict()["kept_range"] is None
    assert "share noise" not in str(fresh)
