"""Vectors of mechanisms and samplers, made again from docs/protocol.md, and by our own."""

from fractions import Fraction
from hashlib import sha256
from typing import Any

import pytest

from deniable.mechanisms import RandomisedResponse, SurveyMechanism, TwoRound
from deniable.mechanisms.answering import combined
from deniable.messages import Specification
from tests.mechanisms.by_protocol import ByProtocol, lies, named, numbers, outside, points, rows
from tests.mechanisms.by_protocol import two_rounds as levels_of_two_rounds
from tests.vectors.stored import mechanism_of, name_of, read, vectors_of

N = 2**64


def ours(test: dict[str, Any]) -> SurveyMechanism:
    """Return the package's mechanism."""
    return Specification.from_map(mechanism_of(test)).mechanism(
        test["categories"], test.get("epsilon", "40"), test.get("delta", "0")
    )


@pytest.mark.parametrize("test", vectors_of("mechanisms", "RandomisedResponse"), ids=name_of)
def test_randomised_response_is_the_ceiling_of_n_q(test: dict[str, Any]) -> None:
    given = test["categories"], test["epsilon"], test["delta"]
    assert lies(*given) == int(test["lies"]) == RandomisedResponse(*given).lies


@pytest.mark.parametrize("test", vectors_of("mechanisms", "Design"), ids=name_of)
def test_designs_follow_from_their_levels(test: dict[str, Any]) -> None:
    mechanism, k = test["mechanism"], test["categories"]
    n, s, blocks, _, _ = numbers(mechanism, k)
    o = outside(mechanism, k, test["epsilon"], test["delta"])
    inside, blank = divmod(N - (n - s) * o, s)
    assert (test["responses"], test["outside"], test["inside"]) == (blocks, str(o), str(inside))
    assert Fraction(*map(int, test["odds"])) == Fraction(n * inside + blank, n * o + blank)


@pytest.mark.parametrize("test", vectors_of("mechanisms", "TwoRound"), ids=name_of)
def test_two_rounds_follow_from_their_levels(test: dict[str, Any]) -> None:
    k, fresh = test["categories"], named(test["mechanism"]["fresh"])
    (n, s, blocks, _, _), v = numbers(fresh, k), points(fresh, k)
    a, o = levels_of_two_rounds(test["mechanism"], k, test["epsilon"])
    true, (inside, blank) = N - v * a, divmod(N - (n - s) * o, s)
    weights = [true * (n * w + blank) + a * v * N for w in (inside, o)]
    names = ("kept_lies", "inside", "outside", "supporting", "other")
    assert [int(test[name]) for name in names] == [a, inside, o, *weights]
    # A row of the matrix weighs K N^2.
    r = blocks * (v * s // n) // v
    assert r * weights[0] + (blocks - r) * weights[1] == blocks * N**2


@pytest.mark.parametrize("test", vectors_of("mechanisms", "Table"), ids=name_of)
def test_rows_of_means_are_mixtures_of_two(test: dict[str, Any]) -> None:
    k, by_rule = test["categories"], rows(test["mechanism"], test["categories"])
    assert [str(weight) for weight in by_rule[0]] == test["first_row"]
    assert [str(weight) for weight in by_rule[k // 2]] == test["middle_row"]
    digest = sha256(b"".join(w.to_bytes(24, "big") for row in by_rule for w in row))
    assert digest.hexdigest() == test["matrix_sha256"]
    odds = max(Fraction(max(column), min(column)) for column in zip(*by_rule, strict=True))
    assert [str(odds.numerator), str(odds.denominator)] == test["odds"]
    mechanism = ours(test)
    assert [list(mechanism.row(x)) for x in range(k)] == by_rule
    assert mechanism.privacy.odds == odds


GROUPS = read("samplers")["testGroups"]


@pytest.mark.parametrize(
    "group", GROUPS, ids=lambda group: f"{group['mechanism']['kind']} {group['categories']}"
)
def test_words_make_the_responses_of_the_vectors(group: dict[str, Any]) -> None:
    given = group["categories"], group["epsilon"], group["delta"]
    by_protocol, mechanism = ByProtocol(group["mechanism"], *given), ours(group)
    assert by_protocol.responses == mechanism.responses == group["responses"]
    for test in group["tests"]:
        words = [int(word) for word in test["words"]]
        answer = test.get("answer", test.get("answers"))
        index = combined(answer, by_protocol.sizes) if "answers" in test else answer
        left, rest = iter(words), iter(words)
        responses = by_protocol.response(answer, left), mechanism.randomise(index, rest.__next__)
        assert responses == (test["response"],) * 2, name_of(test)
        consumed = len(words) - test["consumed"]
        assert len(list(left)) == len(list(rest)) == consumed, name_of(test)
        if "kept" in test:
            assert isinstance(mechanism, TwoRound)
            kept = mechanism.kept.randomise(index, iter(words).__next__)
            assert kept == by_protocol.kept(answer, words[0]) == test["kept"]


def test_each_outcome_of_small_samplers_comes() -> None:
    for group in GROUPS:
        one_word = group["mechanism"]["kind"] in {"randomised-response", "mean"}
        if one_word and (k := group["categories"]) <= 7:
            pairs = {(test["answer"], test["response"]) for test in group["tests"]}
            assert len(pairs) == k * group["responses"]
