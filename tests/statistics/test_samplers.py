"""The samplers of surveys, with the operating system's words, against their rows."""

from collections import Counter
from fractions import Fraction
from math import log

import pytest

from deniable.audit import SolutionMatrix
from deniable.mechanisms import Draw, Mechanism, RandomisedResponse
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.block_design import DesignMechanism
from deniable.mechanisms.mechanism import os_random_word
from tests.support.effort import THOROUGH
from tests.support.entries import probability
from tests.support.geometric import clamped

PER_ANSWER = 8_000 if THOROUGH else 5_000

MECHANISMS: list[Mechanism] = [
    RandomisedResponse(4, "1"),
    clamped(4, Fraction(2, 3)),
    SolutionMatrix.exact([["0.6", "0.3", "0.1"], ["0.2", "0.5", "0.3"], ["0.25", "0.25", "0.5"]]),
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
            chance = float(probability(mechanism, answer, response))
            found = PER_ANSWER * divergence(counts[response] / PER_ANSWER, chance)
            worst = max(worst, found)
    return worst


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_operating_systems_words_give_the_rows(mechanism: Mechanism) -> None:
    assert strangeness(mechanism, mechanism, os_random_word) < LIMIT
