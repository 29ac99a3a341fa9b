"""Levels of a tree: the row, the sampler and the guarantee, by those of the levels."""

from fractions import Fraction

import pytest

from deniable.audit import tight_epsilon
from deniable.mechanisms import KINDS, Levels, MatrixPrivacy
from deniable.mechanisms.answering import Answering
from deniable.mechanisms.kind import InvalidManifest
from deniable.mechanisms.levels import node_labels
from deniable.planning.calibration import CALIBRATIONS
from tests.mechanisms.laws import matrix_of
from tests.support.entries import probability

RR: Answering = ("randomised-response",)
TREES: list[tuple[int, dict[int, Answering]]] = [
    (5, {2: RR, 1: ("affine", 5, 1, 2)}),
    (8, {4: RR, 2: ("subset", 2), 1: RR}),
    (9, {3: RR, 1: ("affine", 3, 2, 1)}),
]


def levels(
    categories: int, tree: dict[int, Answering], epsilon: str = "1", delta: str = "0"
) -> Levels:
    settings = {"widths": tuple(tree), "mechanisms": tuple(tree.values())}
    parameters = CALIBRATIONS["levels"](settings, categories, epsilon)
    mechanism = KINDS["levels"].mechanism(parameters, categories, epsilon, delta)
    assert isinstance(mechanism, Levels)
    return mechanism


@pytest.mark.parametrize(("categories", "tree"), TREES)
def test_a_row_is_those_of_the_nodes_side_by_side(
    categories: int, tree: dict[int, Answering]
) -> None:
    mechanism, d = levels(categories, tree), len(tree)
    for x in range(categories):
        expected = [
            probability(part, x // width, y) / d
            for width, part in zip(tree, mechanism.parts, strict=True)
            for y in range(part.responses)
        ]
        assert [probability(mechanism, x, y) for y in range(mechanism.responses)] == expected
        assert [Fraction(weight, mechanism.grid) for weight in mechanism.row(x)] == expected
        assert sum(expected) == 1


@pytest.mark.parametrize(("categories", "tree"), TREES)
@pytest.mark.parametrize("delta", ["0", "0.01"])
def test_it_guarantees_what_its_entries_say(
    categories: int, tree: dict[int, Answering], delta: str
) -> None:
    mechanism = levels(categories, tree, "0.7", delta)
    matrix = matrix_of(mechanism)
    exact = MatrixPrivacy(matrix)
    assert mechanism.privacy.odds == exact.odds
    assert mechanism.privacy.satisfies("0.7", delta)
    for odds in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(9)):
        assert mechanism.privacy.delta_at_odds(odds) == exact.delta_at_odds(odds)
    for slack in ("0", "0.001", "0.02", "0.4"):
        assert tight_epsilon(mechanism, slack).odds == tight_epsilon(matrix, slack).odds


def test_trees_differ_by_their_widths() -> None:
    assert levels(9, {4: RR, 1: RR}) != levels(9, {3: RR, 1: RR}) == levels(9, {3: RR, 1: RR})
    # Of as many nodes: in fours and in threes seven answers make groups of others.
    one, other = levels(9, {4: RR, 1: RR}), levels(9, {3: RR, 1: RR})
    assert {one: 1, other: 2}[levels(9, {3: RR, 1: RR})] == 2
    with pytest.raises(ValueError, match="that level's nodes"):
        Levels(9, (2, 1), other.parts)


def test_nodes_are_called_by_their_first_and_last_answers() -> None:
    assert node_labels(3, "abcdefg") == ("a – c", "d – f", "g")
    with pytest.raises(InvalidManifest, match="below the number of answers"):
        levels(4, {4: RR, 1: RR})
