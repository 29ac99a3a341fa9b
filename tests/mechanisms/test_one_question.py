"""One question of several: the row, the sampler and the guarantee, by those of the questions."""

from fractions import Fraction
from itertools import product

import pytest

from deniable.audit import tight_epsilon
from deniable.mechanisms import KINDS, MatrixPrivacy
from deniable.mechanisms.answering import Answering, Dimensions, combined, separated
from deniable.mechanisms.kind import InvalidManifest
from deniable.mechanisms.one_question import OneQuestion
from deniable.planning.calibration import CALIBRATIONS
from tests.mechanisms.laws import matrix_of
from tests.support.entries import probability

RR: Answering = ("randomised-response",)
ANSWERED: list[list[tuple[int, Answering]]] = [
    [(2, ("affine", 3, 1, 1)), (4, ("subset", 2))],
    [(2, RR), (3, RR), (4, ("affine", 2, 2, 1))],
    [(5, ("affine", 5, 1, 2)), (3, RR)],
]


def several(*sizes: int) -> Dimensions:
    return tuple((f"q{i}", *(f"a{j}" for j in range(k))) for i, k in enumerate(sizes))


def made(answered: list[tuple[int, Answering]], epsilon: str, delta: str = "0") -> OneQuestion:
    sizes = [size for size, _ in answered]
    parameters = CALIBRATIONS["one-question"](
        {"dimensions": several(*sizes), "mechanisms": tuple(each for _, each in answered)},
        sum(sizes),
        epsilon,
    )
    mechanism = KINDS["one-question"].mechanism(parameters, sum(sizes), epsilon, delta)
    assert isinstance(mechanism, OneQuestion)
    return mechanism


@pytest.mark.parametrize("answered", ANSWERED)
def test_a_row_is_those_of_the_questions_side_by_side(
    answered: list[tuple[int, Answering]],
) -> None:
    mechanism, sizes = made(answered, "1"), [size for size, _ in answered]
    d = len(sizes)
    for index, answers in enumerate(product(*map(range, sizes))):
        assert combined(answers, sizes) == index
        assert tuple(separated(index, sizes)) == answers
        rows = zip(mechanism.parts, answers, strict=True)
        expected = [
            probability(part, answer, y) / d for part, answer in rows for y in range(part.responses)
        ]
        assert [probability(mechanism, index, y) for y in range(mechanism.responses)] == expected
        assert [Fraction(w, mechanism.grid) for w in mechanism.row(index)] == expected
        # The answer's own responses are the likelier ones of its question.
        hits = Fraction(0)
        for part, answer in zip(mechanism.parts, answers, strict=True):
            row = part.row(answer)
            hits += Fraction(sum(weight for weight in row if weight == max(row)), part.grid)
        assert mechanism.hit == hits / d


@pytest.mark.parametrize("answered", ANSWERED)
@pytest.mark.parametrize("delta", ["0", "0.01"])
def test_it_guarantees_what_its_entries_say(
    answered: list[tuple[int, Answering]], delta: str
) -> None:
    mechanism = made(answered, "0.7", delta)
    matrix = matrix_of(mechanism)
    exact = MatrixPrivacy(matrix)
    assert mechanism.privacy.odds == exact.odds
    assert mechanism.privacy.satisfies("0.7", delta)
    for odds in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(9)):
        assert mechanism.privacy.delta_at_odds(odds) == exact.delta_at_odds(odds)
    for slack in ("0", "0.001", "0.02", "0.4"):
        assert tight_epsilon(mechanism, slack).odds == tight_epsilon(matrix, slack).odds


def test_more_combinations_than_anybody_could_list() -> None:
    many = made([(2, RR)] * 200, "1")
    assert (many.categories, many.responses) == (2**200, 400)
    assert many.privacy.odds == many.parts[0].privacy.odds
    yes = many.categories - 1
    assert all(many.randomise(yes) < 400 for _ in range(20))
    assert probability(many, yes, 1) == many.parts[0].privacy.truth / 200
    with pytest.raises(IndexError):
        many.randomise(2**200)


def test_what_answers_no_question_is_refused() -> None:
    kind, dimensions = KINDS["one-question"], several(2, 3)
    wrong: list[object] = [(RR,), (RR, ("mean",)), (RR, ("affine", 5, 1)), (RR, ()), "x"]
    for mechanisms in [*wrong, (RR, RR, RR)]:
        with pytest.raises(InvalidManifest):
            kind.check({"dimensions": dimensions, "mechanisms": mechanisms})
    wrong = [several(2), several(1, 2), (), "x", (("a", "b", "c"), ("d", "e", 1)), [["a"]]]
    for each in wrong:
        with pytest.raises(InvalidManifest):
            kind.check({"dimensions": each, "mechanisms": (RR, RR)})
    large: list[tuple[int, Answering]] = [(10_000, ("affine", 101, 2, 27)), (10_000, RR)]
    with pytest.raises(InvalidManifest, match="responses"):
        made([*large, *large], "1")
    with pytest.raises(InvalidManifest, match="combinations"):
        KINDS["joint"].check({"dimensions": several(256, 257), "mechanism": RR})
