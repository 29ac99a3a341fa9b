"""A dense matrix of numbers, near ones alike: two-sided geometric noise, clamped to the range."""

from fractions import Fraction
from itertools import pairwise
from math import exp

from deniable.mechanisms import SurveyMatrix

_GRID = 1 << 64


def clamped(categories: int, ratio: Fraction) -> SurveyMatrix:
    """Return the matrix of noise whose chance falls by this ratio a step."""
    # P(Z >= j) = P(Z <= -j) = r^j/(1 + r); what leads out of the range is set to its end.
    tails = [_GRID * ratio**j / (1 + ratio) for j in range(1, categories)]
    beyond = [-(-tail.numerator // tail.denominator) for tail in tails]
    noise = [_GRID - 2 * beyond[0], *(near - far for near, far in pairwise(beyond))]
    last, rows = categories - 1, []
    for x in range(categories):
        low = beyond[x - 1] if x else _GRID - beyond[0]
        between = [noise[abs(x - y)] for y in range(1, last)]
        rows.append((low, *between, _GRID - low - sum(between)))
    return SurveyMatrix(tuple(rows), truthful=True)


def clamped_geometric(categories: int, epsilon: str) -> SurveyMatrix:
    """Return that whose pure level is about so much."""
    ratio = Fraction(exp(-float(epsilon) / (categories - 1))).limit_denominator(10**6)
    return clamped(categories, ratio)
