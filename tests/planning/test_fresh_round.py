"""The design of a fresh round, against all designs of its categories."""

from collections.abc import Iterator
from itertools import product

import pytest

from deniable.budget import RangeCost
from deniable.mechanisms import InvalidPrivacyParameter, TwoRound
from deniable.mechanisms.affine import Affine, is_prime
from deniable.mechanisms.answering import Answering
from deniable.mechanisms.block_design import Design
from deniable.mechanisms.subset import Subset
from deniable.messages import Specification
from deniable.planning import Candidate, lower_bound
from deniable.planning.specification import best_fresh

Fresh = tuple[Answering, Design]


def designs(categories: int) -> Iterator[Fresh]:
    for d in range(1, categories):
        yield ("subset", d), Subset(categories, d)
    for q in filter(is_prime, range(2, 60)):
        m = next(m for m in range(1, 9) if q**m >= categories)
        for s in range(1, q):
            yield ("affine", q, m, s), Affine(categories, q, m, s)


def cost(fresh: Answering, categories: int, epsilon: str) -> float:
    return Candidate.of_answering(categories, fresh).cost(float(epsilon))


@pytest.mark.parametrize(
    ("categories", "epsilon", "kept", "reports"),
    [(5, "1", "2", 7), (9, "0.5", "3", 2), (12, "0.5", "2.5", 30), (9, "1.5", "1.75", 3)],
)
def test_nothing_that_keeps_to_the_kept_level_is_better_and_charged_less(
    categories: int, epsilon: str, kept: str, reports: int
) -> None:
    fitting: dict[Answering, TwoRound] = {}
    for fresh, design in designs(categories):
        try:
            made = TwoRound(design, epsilon, kept)
        except InvalidPrivacyParameter:
            continue
        if made.fresh.privacy.odds <= made.kept.privacy.odds:
            fitting[fresh] = made
    chosen = best_fresh(categories, epsilon, kept, reports, 0.0)
    if not fitting:
        assert chosen == ("subset", 1)
        return
    least = min(cost(fresh, categories, epsilon) for fresh in fitting)
    near = {fresh for fresh in fitting if cost(fresh, categories, epsilon) <= 1.02 * least}
    charges = {fresh: RangeCost.of(fitting[fresh]).cumulative(reports) for fresh in near}
    assert chosen in near
    assert charges[chosen] <= 1.001 * min(charges.values())


@pytest.mark.parametrize(
    ("categories", "epsilon", "kept", "ratio", "fewer"),
    [(26, "1", "3", 1.02, 2.8), (105, "1", "4", 1.02, 9.9), (1_024, "2", "6", 1.19, 29)],
)
def test_the_published_sizes_need_as_much_fewer_users(
    categories: int, epsilon: str, kept: str, ratio: float, fewer: float
) -> None:
    for reports in (2, 30):
        fresh = best_fresh(categories, epsilon, kept, reports, 0.0)
        needed = cost(fresh, categories, epsilon)
        assert needed <= ratio * lower_bound(categories, float(epsilon))
        assert fewer * needed <= cost(("subset", 1), categories, epsilon)
        parameters = {"kept": kept, "fresh": fresh}
        made = Specification("two-round", parameters).mechanism(categories, epsilon, "0")
        assert isinstance(made, TwoRound)
        assert made.fresh.privacy.odds <= made.kept.privacy.odds


@pytest.mark.parametrize(
    ("epsilon", "kept"), [*product(("1", "2"), ("0", "1")), ("0", "1"), ("1", "41")]
)
def test_levels_that_are_none_are_refused(epsilon: str, kept: str) -> None:
    with pytest.raises(InvalidPrivacyParameter):
        best_fresh(9, epsilon, kept, 7)
