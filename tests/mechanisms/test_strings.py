"""Texts that nobody listed: hashing, the matrix and its guarantee, and what becomes of a text."""

import sys
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import product
from math import sqrt
from random import Random
from typing import Any

import pytest

from deniable.client import Survey, UndeclaredAnswer
from deniable.fakes.capture import text_of
from deniable.mechanisms import KINDS, RandomisedResponse, Strings
from deniable.mechanisms.answering import text_index
from deniable.mechanisms.exact import odds_floor
from deniable.messages import InvalidManifest
from deniable.messages.texts import alphabet_signs, check_alphabet, text_signs
from tests.mechanisms.laws import assert_sound_rows, matrix_of, undrawable, worst_ratio

TEXTS = [bytes(text) for size in range(4) for text in product(range(3), repeat=size)]
"""The first texts of two signs, and one for all others."""


def small(epsilon: str = "1.1", hashes: int = 3, values: int = 3) -> Strings:
    """Return texts of up to two of two signs, with few hash functions."""
    return Strings(2, (1, 2), hashes, RandomisedResponse(values, epsilon))


@pytest.mark.parametrize("hashes", [1, 2, 5])
@pytest.mark.parametrize("values", [2, 3])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_odds_are_tight_whatever_the_hashes_are(epsilon: str, hashes: int, values: int) -> None:
    mechanism = small(epsilon, hashes, values)
    assert_sound_rows(mechanism)
    assert mechanism.categories == 13
    rows = {tuple(mechanism.row(x)) for x in range(13)}
    assert len(rows) > 1
    odds, allowed = mechanism.privacy.odds, odds_floor(Fraction(epsilon))
    assert odds is not None
    assert odds == worst_ratio(mechanism)
    assert odds <= allowed
    # Of the best integers below e^epsilon: one word of 2^64 more for the truth would exceed it.
    assert odds / allowed > 1 - Fraction(1, 2**60)


def test_delta_is_a_bound_of_what_any_two_texts_show() -> None:
    mechanism = small()
    listed = matrix_of(mechanism)
    for odds in (Fraction(1), Fraction(3, 2), Fraction(3), Fraction(7)):
        assert mechanism.privacy.delta_at_odds(odds) >= listed.privacy.delta_at_odds(odds)
    assert not mechanism.privacy.alike


def test_it_samples_its_rows() -> None:
    # 2^64 words and 6 hash functions: that many are not listed, but each hash function's words are
    # randomised response's, whose every word tests/mechanisms/test_kinds.py tries.
    mechanism = small()
    m = mechanism.value.categories
    for x, number in product(range(mechanism.categories), range(6)):
        own = mechanism.hashed(TEXTS[x], number)
        assert own // m == number
        for word in (0, mechanism.value.lies, 2**63, 2**64 - 1):
            words = iter([number, word])
            drawn = mechanism.value.randomise(own % m, partial(int, word))
            assert mechanism.randomise(x, words.__next__) == number * m + drawn
            assert mechanism.row(x)[number * m + own % m] > mechanism.grid // 6 // m // 2
    for foreign in (-1, 3**65):
        with pytest.raises(IndexError, match="a category index"):
            mechanism.randomise(foreign, undrawable)


def test_a_longer_text_is_cut_at_the_longest_prefix() -> None:
    mechanism = small()
    responses = []
    for text in ([1, 2, 0, 1], [1, 2]):
        draw = partial(Random(3).getrandbits, 64)
        index = text_index(text, 2)
        responses.append([mechanism.randomise(index, draw) for _ in range(20)])
    assert responses[0] == responses[1]


def test_texts_are_numbered_without_a_gap() -> None:
    assert [text_index(text, 2) for text in TEXTS] == list(range(len(TEXTS)))


def test_values_of_two_texts_agree_as_if_they_were_drawn() -> None:
    # Of 2,048 hash functions each pair shares 1/m, give or take sqrt((1 - 1/m)/(2,048 m)); of 780
    # pairs none by 6 of these, whose chance is below 1e-5 (fixed hash functions: it is no chance).
    m, hashes = 8, 2048
    mechanism = Strings(20, (2,), hashes, RandomisedResponse(m, "1"))
    texts = [bytes(text) for text in product(range(20), repeat=2)][:40]
    values = [[mechanism.hashed(text, j) % m for j in range(hashes)] for text in texts]
    for one in values:
        assert max(Counter(one).values()) < hashes / m + 6 * sqrt(hashes / m)
    deviation = sqrt((1 - 1 / m) / (hashes * m))
    for at, one in enumerate(values):
        for other in values[:at]:
            share = sum(a == b for a, b in zip(one, other, strict=True)) / hashes
            assert abs(share - 1 / m) < 6 * deviation


GOOD = {"lengths": (2, 4), "hashes": 1024, "values": 8, "least": 50}


@pytest.mark.parametrize(
    "changed",
    [
        {"lengths": ()},
        {"lengths": (4, 2)},
        {"lengths": (2, 2)},
        {"lengths": (0, 2)},
        {"lengths": (2, 65)},
        {"lengths": 2},
        {"lengths": (2, "4")},
        {"hashes": 1023},
        {"hashes": "1024"},
        {"values": 1},
        {"values": 513},
        {"least": 0},
        {"least": 1 << 32},
    ],
)
def test_other_parameters_are_refused(changed: dict[str, Any]) -> None:
    KINDS["strings"].check(GOOD)
    with pytest.raises(InvalidManifest):
        KINDS["strings"].check(GOOD | changed)


def test_labels_are_made_when_asked_for() -> None:
    labels = KINDS["strings"].responses(GOOD | {"lengths": (2, 4)}, ())
    assert len(labels) == 2 * 1_024 * 8
    assert labels[(1_024 + 6) * 8 + 2] == "first 4, hash 7: value 3"
    assert sys.getsizeof(labels) < 1_000


def test_alphabets_are_ranges_and_signs() -> None:
    assert alphabet_signs("a-c0-2-") == tuple("abc012-")
    assert "␣" in alphabet_signs("text")
    check_alphabet(alphabet_signs("text"))
    for bad in ("a", "aA", "a\ufffd", "ab "):
        with pytest.raises(InvalidManifest):
            check_alphabet(alphabet_signs(bad))


def test_any_text_is_taken_folded_and_cut() -> None:
    survey = Survey.strings("engine", "Which?", max_epsilon="2", alphabet="a-z␣")
    for text, folded in {
        "DuckDuckGo": "duckduckgo",
        "  Ｗｅｂ\tsearch ": "web␣search",
        "Straße": "strasse",
        "naïve": "na\ufffdve",
        "": "\ufffd",
        "x" * 100: "x" * 64,
        "a\u200db": "ab",
        " " * 1_023 + "ab": "a",
        "a" + "\u0323\u0301" * 100_000: "\ufffd" * 64,  # its whole would take minutes
    }.items():
        assert text_of(survey, text) == folded
        assert survey.index_of(text) == text_index(text_signs(text, "".join(survey.categories)), 27)
    for other in (None, 5, ["a"], b"a"):
        with pytest.raises(UndeclaredAnswer) as refused:
            survey.index_of(other)  # type: ignore[arg-type]
        assert "5" not in str(refused.value)
