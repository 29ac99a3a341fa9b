"""The tight guarantee of any matrix: exact, with a witness, and never too small."""

from decimal import Decimal
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import example, given, settings

from deniable.audit import (
    Finding,
    SolutionMatrix,
    Witness,
    pure_level,
    tight_delta_at_odds,
    tight_epsilon,
)
from deniable.audit.tight import tight_delta
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    exp_enclosure,
)
from tests.accounting.curves import curve
from tests.audit.matrices import (
    G,
    deltas,
    entries,
    excess,
    matrices,
    odds,
    of_weights,
    worst_by_definition,
)
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(80))


def shown_by(finding: Finding) -> Fraction:
    """Return P(x, S) - E P(x', S), after checking that the probabilities are those of S."""
    assert finding.odds is not None
    return excess(witness_of(finding), finding.odds)


def witness_of(finding: Finding) -> Witness:
    assert finding.witness is not None
    return finding.witness


def check_witness(matrix: SolutionMatrix, finding: Finding) -> None:
    witness, p = witness_of(finding), entries(matrix)
    assert witness.category != witness.other
    assert all(p[witness.category][y] for y in witness.responses)
    assert sorted(set(witness.responses)) == list(witness.responses)
    assert witness.probability == sum(p[witness.category][y] for y in witness.responses)
    assert witness.other_probability == sum(p[witness.other][y] for y in witness.responses)


def test_epsilon_takes_strings_decimals_and_fractions_and_no_floats() -> None:
    same = [tight_delta(G, e).delta for e in ("0.5", Decimal("0.5"), Fraction(1, 2))]
    assert len(set(same)) == 1
    low, high = exp_enclosure(Fraction(1, 2), 200)
    # Linear from 2/5 at E = 1 to 0 at E = 5.
    assert 0 <= same[0] - Fraction(5 - Fraction(high, 2**200)) / 10 < Fraction(1, 2**127)
    assert low <= high
    for wrong, call in product((0.5, np.float64(0.5), True), (tight_delta, tight_epsilon)):
        with pytest.raises(TypeError):
            call(G, wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            tight_delta_at_odds(G, wrong)  # type: ignore[arg-type]
    for call, beyond in (
        (tight_delta_at_odds, "0.99"),
        (tight_delta_at_odds, "0"),
        (tight_epsilon, "1"),
        (tight_delta, "40.5"),
    ):
        with pytest.raises(InvalidPrivacyParameter):
            call(G, beyond)


@PROPERTY
@given(matrices(), odds)
def test_the_tight_delta_is_that_of_the_definition_and_its_pair_the_first(
    matrix: SolutionMatrix, level: Fraction
) -> None:
    finding = tight_delta_at_odds(matrix, level)
    delta, pair = worst_by_definition(matrix, level)
    assert (finding.odds, finding.delta) == (level, delta)
    if delta == 0:
        assert finding.witness is None
        return
    check_witness(matrix, finding)
    assert (witness_of(finding).category, witness_of(finding).other) == pair
    assert shown_by(finding) == delta


@PROPERTY
@given(matrices(), deltas)
# Equal rows; a response that nobody gives; one that excludes a category, at and below its mass; a
# pair that needs the same delta at every epsilon, and so proves nothing.
@example(of_weights([[1, 2, 0], [2, 4, 0], [1, 2, 0]]), Fraction(1, 10))
@example(of_weights([[1, 0, 9], [4, 0, 6]]), Fraction(1, 10))
@example(of_weights([[1, 9, 0], [0, 5, 5]]), Fraction(49, 100))
@example(of_weights([[1, 9, 0], [0, 5, 5]]), Fraction(1, 2))
@example(of_weights([[1, 6, 3], [0, 1, 9]]), Fraction(1, 10))
@example(of_weights([[2, 0, 3], [4, 0, 1], [2, 0, 2], [4, 3, 4]]), Fraction(3, 11))
def test_the_tight_epsilon_holds_and_its_witness_rules_out_any_smaller_one(
    matrix: SolutionMatrix, delta: Fraction
) -> None:
    finding = tight_epsilon(matrix, delta)
    assert finding.delta == delta
    if finding.odds is None:
        check_witness(matrix, finding)
        assert witness_of(finding).probability > delta
        assert witness_of(finding).other_probability == 0
        return
    assert worst_by_definition(matrix, finding.odds)[0] <= delta
    if finding.odds == 1:
        assert finding.witness is None
        return
    check_witness(matrix, finding)
    witness = witness_of(finding)
    assert witness.other_probability > 0
    assert shown_by(finding) == delta
    if delta:  # the pair is the first that needs it
        p, just_below = entries(matrix), finding.odds - Fraction(1, 10**9)
        needing = (
            (x, z)
            for x, z in permutations(range(matrix.categories), 2)
            if curve(p[x], p[z], finding.odds) == delta < curve(p[x], p[z], just_below)
        )
        assert (witness.category, witness.other) == next(needing)


@PROPERTY
@given(matrices())
def test_the_pure_level_is_attained_by_the_first_pair_in_its_responses(
    matrix: SolutionMatrix,
) -> None:
    finding = pure_level(matrix)
    p = entries(matrix)
    attaining = [
        (x, z, y)
        for x, z in permutations(range(matrix.categories), 2)
        for y in range(matrix.responses)
        if p[x][y] and (p[z][y] == 0 if finding.odds is None else p[x][y] == finding.odds * p[z][y])
    ]
    if finding.odds == 1:
        assert finding.witness is None
        return
    check_witness(matrix, finding)
    witness = witness_of(finding)
    x, z, _ = min(attaining)
    of_pair = [y for *pair, y in attaining if pair == [x, z]]
    assert (witness.category, witness.other, *witness.responses) == (x, z, *of_pair)


def test_a_pair_that_is_worse_by_less_than_floats_can_tell_is_found() -> None:
    # Rows 0 and 2 differ by 1 in 10^30. Against row 1, row 2 is the worse.
    grid = 10**30
    rows = [
        [6 * grid // 10, 4 * grid // 10 - 1000, 1000],
        [2 * grid // 10, 8 * grid // 10 - 1, 1],
        [6 * grid // 10 + 1, 4 * grid // 10 - 1001, 1000],
    ]
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        matrix = SolutionMatrix([rows[x] for x in order], grid)
        worse = (order.index(2), order.index(1))
        for finding in (tight_epsilon(matrix, "0.1"), tight_delta_at_odds(matrix, 2)):
            assert (witness_of(finding).category, witness_of(finding).other) == worse


def test_a_tie_at_exactly_the_odds_is_no_excess() -> None:
    # P(0, y)/P(1, y) = 3 exactly for y = 0, with thirds that no float holds.
    matrix = of_weights([[21, 9, 33], [7, 9, 47]])
    assert pure_level(matrix).odds == 3
    finding = tight_delta_at_odds(matrix, 3)
    assert finding.delta == 0
    assert finding.witness is None
    below = tight_delta_at_odds(matrix, 3 - Fraction(1, 10**30))
    assert below.delta == Fraction(1, 9 * 10**30)
    assert witness_of(below).responses == (0,)
