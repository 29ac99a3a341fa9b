"""The samplers of surveys, with the operating system's words, against their rows."""

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import log

import pytest

from deniable.audit import SolutionMatrix
from deniable.mechanisms import (
    ClampedGeometric,
    Draw,
    Mechanism,
    RandomisedResponse,
    os_random_word,
)
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.block_design import DesignMechanism
from tests.support.effort import THOROUGH

PER_ANSWER = 8_000 if THOROUGH else 5_000

MECHANISMS: list[Mechanism] = [
    RandomisedResponse(4, "1"),
    ClampedGeometric(4, Fraction(2, 3)),
    SolutionMatrix.approximate([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.25, 0.25, 0.5]], bits=64),
    DesignMechanism(Affine(4, 5, 1, 2), "1"),
]

# Exact enumeration (tests/mechanisms) shows that uniform words give the rows; what is left to see
# is that each sampler draws its words where it should. The count of each response is binomial, and
# by Chernoff's bound
#     P(n KL(count/n || p) >= t, and the count on a given side of np) <= e^-t
# at any n and p, with no limit theorem. Each cell has two sides, and there are
# 16 + 16 + 9 + 80 = 121 cells: with t = ln(2 * 121 * 10^9) a sound sampler fails
# the test of its mechanism, or any of the four, with a probability of at most 1e-9.
CELLS = sum(mechanism.categories * mechanism.responses for mechanism in MECHANISMS)
LIMIT = log(2 * CELLS * 10**9)


def divergence(share: float, probability: float) -> float:
    """Return the Kullback-Leibler divergence of two coins."""
    parts = ((share, probability), (1 - share, 1 - probability))
    return sum(p * log(p / q) for p, q in parts if p > 0)


def strangeness(mechanism: Mechanism, sampled: Mechanism, draw: Draw) -> float:
    """Return the largest n KL of any cell: responses of ``sampled``, rows of ``mechanism``."""
    worst = 0.0
    for answer in range(mechanism.categories):
        counts = Counter(sampled.randomise(answer, draw) for _ in range(PER_ANSWER))
        assert set(counts) <= set(range(mechanism.responses))
        for response in range(mechanism.responses):
            probability = float(mechanism.probability(answer, response))
            found = PER_ANSWER * divergence(counts[response] / PER_ANSWER, probability)
            worst = max(worst, found)
    return worst


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_operating_systems_words_give_the_rows(mechanism: Mechanism) -> None:
    assert strangeness(mechanism, mechanism, os_random_word) < LIMIT


# What the test above is able to see. Seeds are fixed, so these cannot fail by chance.
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize(
    "flaw",
    [
        lambda word: word >> 1,  # the top bit is always 0
        lambda word: word | 1 << 63,  # or always 1
        lambda word: word - word // 10,  # the top tenth never occurs
        lambda word: word >> 32,  # only 32 bits
    ],
)
def test_a_flawed_source_of_words_is_noticed(
    mechanism: Mechanism, flaw: Callable[[int], int]
) -> None:
    source = random.Random(20160706)
    assert strangeness(mechanism, mechanism, lambda: flaw(source.getrandbits(64))) > LIMIT


@pytest.mark.parametrize(
    ("stated", "sampled"),
    [
        (ClampedGeometric(4, Fraction(2, 3)), ClampedGeometric(4, Fraction(3, 5))),
    ],
    ids=repr,
)
def test_another_mechanism_than_the_stated_one_is_noticed(
    stated: Mechanism, sampled: Mechanism
) -> None:
    source = random.Random(20160706)
    assert strangeness(stated, sampled, lambda: source.getrandbits(64)) > LIMIT
