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
    ExponentialRatio,
    ExponentialSum,
    MatrixMechanism,
    ProductMechanism,
    Queried,
    SanitisedResponse,
    count_checks,
    distance_utility,
    is_private,
    least_delta,
    parent_matrix,
    query_matrix,
    theorem_2,
    theorem_2_plus,
)
from deniable.mechanisms import SolutionMatrix
from tests.audit.matrices import deltas, entries, matrices, mechanisms, odds, worst_by_definition

PROPERTY = settings(derandomize=True, deadline=None, max_examples=40)

term = ExponentialSum.term
labels = st.lists(st.sampled_from("abc"), min_size=8, max_size=8)


def rational(ratio: ExponentialRatio) -> Fraction:
    """Return a ratio that is rational."""
    exact = ratio.as_term()
    assert exact is not None
    return sum((coefficient for coefficient, _ in exact.terms), Fraction(0))


def pushed_forward(
    mechanism: MatrixMechanism, query: Callable[[Database], str]
) -> dict[Database, Counter[str]]:
    """Return the integers of the law of Q for each database: the matrix, column by column."""
    laws: dict[Database, Counter[str]] = {}
    for x, d in enumerate(mechanism.databases):
        laws[d] = Counter()
        for s, weight in zip(mechanism.databases, mechanism.matrix.row(x), strict=True):
            laws[d][query(s)] += weight
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


def test_a_count_of_two_rows_is_strictly_more_private_than_the_rows() -> None:
    # d = 3/4, q = 1/4. Ones among the two: 9/16, 6/16, 1/16 for (0, 0) and 3/16, 10/16, 3/16 for
    # (0, 1). At E = 2 the rows need 3/4 - 2/4 = 1/4, the count 9/16 - 6/16 = 3/16.
    rows = ProductMechanism(parent_matrix(2, "0.25"), 2)
    count = Queried(rows, sum)
    assert [rational(count.likelihood((0, 0), [v])) * 16 for v in (0, 1, 2)] == [9, 6, 1]
    assert [rational(count.likelihood((0, 1), [v])) * 16 for v in (0, 1, 2)] == [3, 10, 3]
    assert rational(least_delta(rows, term(2))) == Fraction(1, 4)
    assert rational(least_delta(count, term(2))) == Fraction(3, 16)
    # Whether the two agree: 10/16 or 6/16, odds 5/3 instead of 3.
    agree = Queried(rows, lambda s: s[0] == s[1])
    assert rational(agree.tight_odds()) == Fraction(5, 3)
    assert rational(rows.tight_odds()) == 3


def test_a_query_of_a_query_is_the_query_of_both() -> None:
    rows = ProductMechanism(parent_matrix(3, "0.2"), 2)
    counted: Queried[Database, int] = Queried(rows, lambda s: s.count(0))
    nested = Queried(counted, lambda c: c > 0)
    direct = Queried(rows, lambda s: 0 in s)
    for d in rows.databases:
        assert nested.likelihood(d, [True]) == direct.likelihood(d, [True])


def of_everything(mechanism: SanitisedResponse[Database]) -> None:
    """See that a query that tells everything loses all that X loses, one of nothing nothing."""
    whole: Queried[Database, str] = Queried(mechanism, str)
    assert whole.tight_odds() == mechanism.tight_odds()
    assert Queried(mechanism, lambda _s: None).tight_epsilon() == 0


def test_what_a_query_tells_is_between_nothing_and_everything() -> None:
    of_everything(DiscreteExponential(3, 2, distance_utility))
    of_everything(ProductMechanism(parent_matrix(2, "0.3"), 3))


def test_sufficient_sets_of_a_query_are_sets_of_its_values() -> None:
    # Example 2 of the paper, of whose 510 sets for each of 36 pairs Theorem 2 leaves 7 or 63. Its
    # sum has the values 0 … 4: 30 sets. By the law of a sum of two rows: a row of 0 has weights
    # 1, x, x^2 and one of 1 has x, 1, x, with x = 1/e.
    queried = Queried(DiscreteExponential(3, 2, distance_utility), sum)
    checks = count_checks(queried, Condition.at(0), theorem_2)
    assert checks.without == 36 * 30
    assert set(queried.responses) == {0, 1, 2, 3, 4}
    x = term(1, -1)
    one = term(1)
    low, middle = one + x + x * x, one + 2 * x
    # (0, 1) gives 2 by 0 + 2, 1 + 1, 2 + 0: 1 * x + x * 1 + x^2 * x.
    expected = ExponentialRatio(2 * x + x * x * x, low * middle)
    assert queried.likelihood((0, 1), [2]) == expected
    assert queried.tight_epsilon() <= 2


@pytest.mark.parametrize("rule", [theorem_2, theorem_2_plus])
def test_the_tight_level_of_a_query_is_tight(rule: Callable[..., object]) -> None:
    queried = Queried(DiscreteExponential(3, 2, distance_utility), lambda s: len(set(s)))
    tight = queried.tight_epsilon()
    assert 0 < tight < 2
    assert is_private(queried, Condition.at(tight), rule)  # type: ignore[arg-type]
    below = Condition.at(tight - Fraction(1, 10**11))
    assert not is_private(queried, below, rule)  # type: ignore[arg-type]
