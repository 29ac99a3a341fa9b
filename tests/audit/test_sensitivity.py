"""Sensitivities by looking at all neighbours, and what joint releases really cost."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import Database, TooManyDatabases, released_epsilon, sensitivity
from deniable.central_model import LaplaceRelease, Neighbours, Query
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(100))

tables = st.integers(1, 3).flatmap(
    lambda cells: st.lists(
        st.lists(st.integers(-9, 9), min_size=cells, max_size=cells), min_size=12, max_size=12
    )
)


@PROPERTY
@given(tables, st.sampled_from(Neighbours))
def test_a_joint_sensitivity_is_the_largest_change_of_the_table(
    table: list[list[int]], neighbours: Neighbours
) -> None:
    # Two rows of three categories: 9 databases; and the 3 that one removal leaves.
    databases: list[Database] = [*product(range(3), repeat=2), *product(range(3), repeat=1)]
    numbers = dict(zip(databases, table, strict=True))
    pairs: list[tuple[Database, Database]]
    if neighbours is Neighbours.SUBSTITUTION:
        pairs = [
            (d, e)
            for d, e in product(numbers, repeat=2)
            if len(d) == len(e) == 2 and (d[0] == e[0]) != (d[1] == e[1])
        ]
    else:
        pairs = [((a, b), (c,)) for a, b, c in product(range(3), repeat=3) if c in (a, b)]
    changes = [[abs(x - y) for x, y in zip(numbers[d], numbers[e], strict=True)] for d, e in pairs]
    joint = sensitivity(numbers.__getitem__, 3, 2, neighbours)
    assert joint == max(map(sum, changes))
    assert sensitivity(numbers.__getitem__, 3, 2, neighbours, max) == max(map(max, changes))
    # Each query for itself, added up, is never too little.
    each = [
        sensitivity(lambda d, i=i: [numbers[d][i]], 3, 2, neighbours)  # type: ignore[misc]
        for i in range(len(table[0]))
    ]
    assert joint <= sum(each)
    # A release that declares these sensitivities keeps its epsilon; one that declares the joint
    # one as that of a single query has no more noise than it takes.
    if joint:
        together = LaplaceRelease(
            {"all": Query(joint, cells=len(each))}, "0.5", neighbours=neighbours
        )
        assert released_epsilon(together, numbers.__getitem__, 3, 2) == Fraction(1, 2)
    if min(each) > 0:
        apart = LaplaceRelease(
            {str(i): Query(s) for i, s in enumerate(each)}, "0.5", neighbours=neighbours
        )
        spent = released_epsilon(apart, numbers.__getitem__, 3, 2)
        assert spent == apart.noise.loss(int(joint)) <= Fraction(1, 2)


def histogram(database: Database) -> list[int]:
    return [database.count(x) for x in range(4)]


@pytest.mark.parametrize("neighbours", Neighbours)
def test_a_histogram_has_the_sensitivity_that_its_neighbours_give_it(
    neighbours: Neighbours,
) -> None:
    assert sensitivity(histogram, 4, 3, neighbours) == neighbours.histogram_sensitivity
    # And its cells, declared one by one, twice as much as it takes or more.
    release = LaplaceRelease({str(x): Query(1) for x in range(4)}, 1, neighbours=neighbours)
    assert released_epsilon(release, histogram, 4, 3) == Fraction(
        neighbours.histogram_sensitivity, 4
    )


def test_more_databases_than_can_be_looked_at_are_refused() -> None:
    with pytest.raises(TooManyDatabases):
        sensitivity(histogram, 2, 10**6, Neighbours.SUBSTITUTION)
