"""Bulk randomising is the device's sampler, word for word."""

import itertools
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import accumulate, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from deniable.audit import SolutionMatrix
from deniable.mechanisms import (
    Draw,
    Mechanism,
    RandomisedResponse,
    TwoRound,
    TwoValuedMechanism,
    os_random_word,
)
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.subset import Subset
from deniable.simulation import randomise_many
from tests.support.effort import effort, some
from tests.support.geometric import clamped_geometric

CHUNK = 1 << 16
TOP = 2**64 - 1

MECHANISMS = [
    *(RandomisedResponse(2, "40"), RandomisedResponse(2, "0.000001"), RandomisedResponse(5, "1")),
    *(RandomisedResponse(5, "1", "0.25"), RandomisedResponse(256, "3")),
    RandomisedResponse(65_536, "0.1"),
]


def extreme_words(mechanism: TwoValuedMechanism) -> list[int]:
    """Return the words on either side of every kind of block's ends."""
    a, k = mechanism.lies, mechanism.categories
    ends = {0, 2 * a, (k - 1) * a, k * a, 2**32, 2**63}
    near = {end + step for end in ends for step in (-1, 0, 1)} | {a - 1, a, a + 1, TOP - 1, TOP}
    return sorted(word for word in near if 0 <= word <= TOP)


OTHERS: list[Mechanism] = [
    clamped_geometric(2, "1"),
    clamped_geometric(3, "40"),
    clamped_geometric(300, "2"),
    SolutionMatrix([[2**64, 0, 0], [0, 2**63, 2**63], [1, 0, 2**64 - 1]], 2**64),
    SolutionMatrix([[1, 2**64 - 1], [2**64 - 1, 1], [2**63, 2**63]], 2**64),
]
every_other = pytest.mark.parametrize("mechanism", OTHERS, ids=repr)


def border_words(mechanism: Mechanism, answer: int) -> list[int]:
    """Return the words on either side of each place where the response may change."""
    row = [*mechanism.row(answer)]
    ends = {0, 2**63, *accumulate(row), *accumulate(reversed(row))}
    # Noise is found from either end of row 0, whatever the answer.
    first = [*mechanism.row(0)]
    ends |= {*accumulate(first), *accumulate(reversed(first))}
    ends |= {2**64 - end for end in ends}
    near = {end + step for end in ends for step in (-1, 0, 1)}
    return sorted(word for word in near if 0 <= word <= TOP)


@every_other
def test_every_mechanisms_border_words_give_what_they_give_on_a_device(
    mechanism: Mechanism,
) -> None:
    k = mechanism.categories
    for answer in sorted({0, 1, k // 2, k - 1}):
        words = border_words(mechanism, answer)
        device = [mechanism.randomise(answer, draws([word])) for word in words]
        bulk = randomise_many(mechanism, [answer] * len(words), ListedWords(words))
        assert bulk.tolist() == device
        assert len(set(device)) == sum(weight > 0 for weight in mechanism.row(answer))


@settings(max_examples=effort(200))
@given(
    st.sampled_from([*MECHANISMS[:-1], *OTHERS]),
    st.lists(st.tuples(st.integers(0, 65_535), st.integers(0, TOP)), max_size=60),
    st.sampled_from([np.int16, np.uint16, np.int64, np.uint64, np.dtype(">i4")]),
)
def test_every_mechanisms_words_give_what_they_give_on_a_device(
    mechanism: Mechanism, pairs: list[tuple[int, int]], dtype: type[np.integer]
) -> None:
    answers = [answer % mechanism.categories for answer, _ in pairs]
    words = [word for _, word in pairs]
    draw = draws(words)
    device = [mechanism.randomise(answer, draw) for answer in answers]
    bulk = randomise_many(mechanism, np.array(answers, dtype=dtype), ListedWords(words))
    assert bulk.dtype == dtype
    assert bulk.tolist() == device


@pytest.mark.parametrize("mechanism", [MECHANISMS[5], OTHERS[2]], ids=repr)
def test_every_mechanism_takes_one_word_an_answer_in_order_across_chunks(
    mechanism: Mechanism,
) -> None:
    generator, size = np.random.default_rng(4), 2 * CHUNK + 3
    answers = generator.integers(300, size=(size // 3, 3))
    words = generator.integers(2**64, size=answers.size, dtype=np.uint64).tolist()
    source = ListedWords(words)
    bulk = randomise_many(mechanism, answers, source)
    assert (sum(source.asked), max(source.asked)) == (answers.size, CHUNK)
    assert bulk.shape == answers.shape
    flat = answers.reshape(-1).tolist()
    for at in (*range(0, len(flat), 997), CHUNK - 1, CHUNK, len(flat) - 1):
        assert bulk.reshape(-1)[at] == mechanism.randomise(flat[at], draws([words[at]]))


ROUNDS = [
    *(TwoRound(Subset(2, 1), "1", "2"), TwoRound(Subset(10, 1), "0.5", "3")),
    *(TwoRound(Subset(65_536, 1), "3", "9"), TwoRound(Affine(105, 107, 1, 28), "1", "4")),
]


@pytest.mark.parametrize("mechanism", some(ROUNDS), ids=str)
def test_two_rounds_give_what_they_give_on_a_device(mechanism: TwoRound) -> None:
    seconds = [(word, word, 2**63) for word in (0, 2**63, 2**64 - 1)]
    firsts = [(word,) for word in extreme_words(mechanism.kept)]
    given = [first + second for first in firsts for second in seconds]
    for answer in (0, 1, mechanism.categories - 1):
        device = [mechanism.randomise(answer, draws(words)) for words in given]
        # In bulk all words of a place come one after the other.
        listed = ListedWords([word for place in zip(*given, strict=True) for word in place])
        assert randomise_many(mechanism, [answer] * len(given), listed).tolist() == device
        assert listed.asked == [len(given), 3 * len(given)]


def test_a_mechanism_that_is_no_kind_of_ours_is_sampled_by_its_rows() -> None:
    class Other:
        categories, responses, grid = 3, 3, 2**64
        privacy = RandomisedResponse(3, "1").privacy
        rounds = None

        def row(self, category: int) -> list[int]:
            return [[2**64, 0, 0], [0, 2**63, 2**63], [0, 0, 2**64]][category]

        def probability(self, category: int, response: int) -> Fraction:
            return Fraction(self.row(category)[response], 2**64)

        def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
            raise NotImplementedError

    words = ListedWords([TOP, 2**63 - 1, 2**63, 0])
    assert randomise_many(Other(), [0, 1, 1, 2], words).tolist() == [0, 1, 2, 2]


def test_answers_outside_the_domain_are_refused_before_a_word_is_drawn() -> None:
    source, one = ListedWords([]), RandomisedResponse(5, "1")
    two: Mechanism = TwoRound(Subset(5, 1), "1", "2")
    above = np.array([2**64 - 1], np.uint64)
    outside: list[Any] = [[0, -1], [5], [0, 2**62], [-(2**63)], above]
    for mechanism, answers in product([one, two], outside):
        with pytest.raises(IndexError) as caught:
            randomise_many(mechanism, answers, source)
        assert source.asked == []
        assert "-1" not in str(caught.value)
    others: list[Any] = [[0.0], [True], ["1"], [None], [2**64], [1 + 0j], np.array([0], "M8[s]")]
    for none in others:
        with pytest.raises(TypeError, match="integer category indices"):
            randomise_many(one, none)
    for bits in (8, 32, 63):
        with pytest.raises(ValueError, match="grid"):
            randomise_many(RandomisedResponse(3, "1", bits=bits), [0])


class ListedWords:
    """Hands out the listed words, in order, as often as they are asked for.

    Attributes:
        asked: how many words each call wanted.
    """

    def __init__(self, words: Iterable[int]) -> None:
        self._words = iter(words)
        self.asked: list[int] = []

    def fill(self, words: NDArray[np.uint64]) -> None:
        assert words.flags.c_contiguous
        assert words.dtype == np.uint64
        self.asked.append(len(words))
        words[...] = list(itertools.islice(self._words, len(words)))


def draws(words: Iterable[int]) -> Callable[[], int]:
    """Return the same words as a device draws them, one a call."""
    return iter(words).__next__
