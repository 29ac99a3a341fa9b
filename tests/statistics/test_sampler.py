"""The real sampler, with the operating system's randomness, against its stated probabilities."""

import random
from collections import Counter
from collections.abc import Callable

import pytest
from scipy.stats import chi2

from deniable.mechanisms import Draw, RandomisedResponse, os_random_word

CATEGORIES = 4
PER_ANSWER = 50_000

# Exact enumeration (tests/mechanisms) shows that uniform words give the stated probabilities; what
# is left to see is that words are uniform where it matters. One test over all answers: the counts
# of each are multinomial with known probabilities, so
#     X² = sum over answers x and responses y of (count_xy - n P_xy)² / (n P_xy)
# has k(k - 1) = 12 degrees of freedom.
DEGREES = CATEGORIES * (CATEGORIES - 1)

# False alarms: P(X² > quantile) is 1e-9 in the limit. The limit errs by the skewness g of the
# counts: a tail in which the z of the counts have sum of squares z0² is off by a factor of about
# exp(z0³ g/6) at most, and g <= 1/sqrt(n q). Here n q = 50,000 × 0.1749 = 8,744, so g < .0107, and
# z0 = sqrt(quantile) = 8.21: a factor below 3. So a sound sampler fails this test with a
# probability below 3e-9, far less than 1e-6.
QUANTILE = float(chi2.isf(1e-9, DEGREES))


def pearson(mechanism: RandomisedResponse, draw: Draw) -> float:
    """Return X² of the responses to PER_ANSWER repeats of each answer."""
    total = 0.0
    for answer in range(CATEGORIES):
        counts = Counter(mechanism.randomise(answer, draw) for _ in range(PER_ANSWER))
        for response in range(CATEGORIES):
            expected = float(PER_ANSWER * mechanism.probability(answer, response))
            total += (counts[response] - expected) ** 2 / expected
    return total


def test_the_operating_systems_words_give_the_stated_probabilities() -> None:
    mechanism = RandomisedResponse(CATEGORIES, "1")
    assert pearson(mechanism, os_random_word) <= QUANTILE


# What the test above is able to see. Seeds are fixed, so these cannot fail by chance.
@pytest.mark.parametrize(
    "flaw",
    [
        lambda word: word >> 1,  # the top bit is always 0
        lambda word: word | 1 << 63,  # or always 1
        lambda word: word & ~(1 << 62),
        lambda word: word - word // 50,  # the top fiftieth never occurs
        lambda word: word >> 32,  # only 32 bits
    ],
)
def test_a_flawed_source_of_words_is_noticed(flaw: Callable[[int], int]) -> None:
    source = random.Random(20160706)
    mechanism = RandomisedResponse(CATEGORIES, "1")
    assert pearson(mechanism, lambda: flaw(source.getrandbits(64))) > QUANTILE
