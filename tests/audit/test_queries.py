"""Queries of sanitised databases: X_Q = Q o X, its law and its privacy, by brute force."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import (
    Condition,
    Database,
    DiscreteExponential,
    MatrixMechanism,
    ProductMechanism,
    Queried,
    SanitisedResponse,
    SolutionMatrix,
    distance_utility,
    is_private,
    least_delta,
    parent_matrix,
    query_matrix,
    theorem_2,
    theorem_2_plus,
)
from tests.audit.matrices import (
    deltas,
    entries,
    matrices,
    mechanisms,
    odds,
    rational,
    term,
    worst_by_definition,
)
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(40))

labels = st.lists(st.sampled_from("abc"), min_size=8, max_size=8)


def pushed_forward(
    mechanism: MatrixMechanism, query: Callable[[Database], str]
) -> dict[Database, Counter[str]]:
    """Return the integers of the law of Q for each database: the matrix, column by column."""
    laws: dict[Database, Counter[str]] = {d: Counter() for d in mechanism.databases}
    for x, law in enumerate(laws.values()):
        for s, weight in zip(mechanism.databases, mechanism.matrix.row(x), strict=True):
            law[query(s)] += weight
    return laws


@PROPERTY
@given(mechanisms(), labels, odds, deltas)
def test_a_query_has_the_law_of_its_inverse_images_and_every_rule_judges_it(
    mechanism: MatrixMechanism, names: list[str], level: Fraction, delta: Fraction
) -> None:
    value = dict(zip(mechanism.databases, names, strict=False))
    queried = Queried(mechanism, value.__getitem__)
    laws, grid = pushed_forward(mechanism, value.__getitem__), mechanism.matrix.grid
    assert set(queried.responses) == set(value.values())
    for d, law in laws.items():
        for v in queried.responses:
            assert rational(queried.likelihood(d, [v])) == Fraction(law[v], grid)
    # Condition (5) at every set of values, for all databases that differ in one row.
    sets = list(
        chain.from_iterable(combinations(queried.responses, n) for n in range(len("abc") + 1))
    )
    needed = max(
        Fraction(sum(laws[d][v] - level * laws[e][v] for v in chosen), grid)
        for d in laws
        for e in laws
        if sum(x != y for x, y in zip(d, e, strict=True)) == 1
        for chosen in sets
    )
    assert rational(least_delta(queried, term(level))) == needed
    for rule in (theorem_2, theorem_2_plus):
        assert is_private(queried, Condition.at_odds(level, delta), rule) == (needed <= delta)
    # Theorem 1.
    assert not least_delta(mechanism, term(level)) < least_delta(queried, term(level))


@PROPERTY
@given(matrices(), st.lists(st.sampled_from("abc"), min_size=5, max_size=5), odds)
def test_the_matrix_of_a_query_adds_up_columns_and_is_no_less_private(
    matrix: SolutionMatrix, names: list[str], level: Fraction
) -> None:
    values = names[: matrix.responses]
    queried = matrix @ query_matrix(values)
    columns = list(dict.fromkeys(values))
    assert entries(queried) == [
        [sum((p for p, v in zip(row, values, strict=True) if v == c), Fraction(0)) for c in columns]
        for row in entries(matrix)
    ]
    needed, _ = worst_by_definition(matrix, level)
    assert queried.privacy.delta_at_odds(level) <= needed
    if matrix.privacy.odds is not None:
        assert queried.privacy.odds is not None
        assert queried.privacy.odds <= matrix.privacy.odds


@pytest.mark.parametrize(
    "mechanism",
    [DiscreteExponential(2, 2, distance_utility), ProductMechanism(parent_matrix(2, "0.3"), 3)],
)
def test_what_a_query_tells_is_between_nothing_and_everything(
    mechanism: SanitisedResponse[Database],
) -> None:
    whole: Queried[Database, str] = Queried(mechanism, str)
    assert whole.tight_odds() == mechanism.tight_odds()
    assert Queried(mechanism, lambda _s: None).tight_epsilon() == 0
