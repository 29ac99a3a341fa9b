"""The real Laplace sampler, with the operating system's randomness, against its stated law."""

import random
from collections import Counter
from collections.abc import Callable
from math import exp

import pytest
from scipy.stats import chi2

from deniable.central_model.laplace import DiscreteLaplace
from deniable.mechanisms import Draw, os_random_word
from tests.support.effort import THOROUGH

SCALE = "2.5"
SAMPLES = 60_000 if THOROUGH else 15_000

# tests/mechanisms follows all ways through the sampler; what is left to see is that words are
# uniform where it matters. Cells: -5 … 5 by themselves and the two tails beyond, 13 in all.
WIDEST = 5
DEGREES = 2 * WIDEST + 2

# False alarms: P(X² > quantile) is 1e-9 in the limit. The limit errs by the skewness g of the
# counts: a tail in which the z of the counts have sum of squares z0² is off by a factor of about
# exp(z0³ g/6) at most, and g <= 1/sqrt(n p). Here the least n p is that of ±5, 15,000 × 0.0267 =
# 400, so g < .05, and z0 = sqrt(quantile) = 8.21: a factor below 102. So a sound sampler fails with
# a probability below 2e-7.
QUANTILE = float(chi2.isf(1e-9, DEGREES))


def pearson(draw: Draw) -> float:
    """Return X² of so many samples."""
    noise = DiscreteLaplace(SCALE)
    r = exp(-1 / float(noise.scale))
    counts = Counter(max(-WIDEST - 1, min(WIDEST + 1, noise.sample(draw))) for _ in range(SAMPLES))
    total = 0.0
    for z in range(-WIDEST - 1, WIDEST + 2):
        share = r ** abs(z) / (1 + r) * (1 if abs(z) > WIDEST else 1 - r)
        total += (counts[z] - SAMPLES * share) ** 2 / (SAMPLES * share)
    return total


def test_the_operating_systems_words_give_the_stated_law() -> None:
    assert pearson(os_random_word) <= QUANTILE


# What the test above is able to see. Seeds are fixed, so these cannot fail by chance.
@pytest.mark.parametrize(
    "flaw",
    [
        lambda word: word | 1,  # the lowest bit is always 1
        lambda word: word & ~1,  # or always 0
        lambda word: word & ~4,
        lambda word: word if word >> 60 else 0,  # a sixteenth of the words is 0
    ],
)
def test_a_flawed_source_of_words_is_noticed(flaw: Callable[[int], int]) -> None:
    source = random.Random(20160706)
    assert pearson(lambda: flaw(source.getrandbits(64))) > QUANTILE
