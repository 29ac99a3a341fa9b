"""Putting probabilities onto a grid of integers, without losing the guarantee.

Rounding moves each probability by less than 1/N and delta at any epsilon by at most
(1 + e^epsilon) |Y| / (4N), but it usually destroys delta = 0. Then a little uniform noise, mixed in
beforehand, pays for it, and an inequality between integers proves the result. So it does for what
floats have destroyed: an optimal matrix has no room, and half of those written in floats are over
their epsilon in the sixteenth place.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm

from deniable.mechanisms.exact import GridTooCoarse, InvalidPrivacyParameter
from deniable.mechanisms.exponential import odds_ceiling, odds_floor
from deniable.mechanisms.privacy import pair_excess

Weights = Sequence[int]

_PRECISION = 160
_MOST_NOISE = Fraction(1, 10**9)
"""The share that may pay for the rows themselves: no estimate ever shows it."""


def common_denominator(denominators: Iterable[int], most_bits: int) -> int | None:
    """Return the least common multiple, or None if it has more bits: found out before it grows."""
    common = 1
    for denominator in set(denominators):
        common = lcm(common, denominator)
        if common.bit_length() > most_bits:
            return None
    return common


def largest_remainder(weights: Weights, grid: int) -> list[int]:
    """Return integers in proportion to the weights that sum to ``grid``, each within 1 of it.

    What rounding down leaves over goes, one each, to the largest remainders; of equal ones to the
    first.
    """
    total = sum(weights)
    rounded = [weight * grid // total for weight in weights]
    order = sorted(range(len(weights)), key=lambda y: weights[y] * grid % total, reverse=True)
    for y in order[: grid - sum(rounded)]:
        rounded[y] += 1
    return rounded


def certified_rows(
    rows: Sequence[Weights], epsilon: Fraction, delta: Fraction, grid: int
) -> list[list[int]]:
    """Return the rows over ``grid``, provably (epsilon, delta)-private.

    Rounded as they are if that already is; else with as little uniform noise mixed in beforehand as
    pays for rounding, and for rows that are over epsilon or delta by no more than floats are. The
    rows given all have the same sum.

    Raises:
        InvalidPrivacyParameter: if a share of 1e-9 of noise does not make the rows themselves
            (epsilon, delta)-private.
        GridTooCoarse: if the grid cannot hold them.

    Source: docs/mathematics.md, section 8.
    """
    # What is private at the lower bound of e^epsilon is private at epsilon; what is not at the
    # upper one is not.
    lower, upper = odds_floor(epsilon, _PRECISION), odds_ceiling(epsilon, _PRECISION)
    rounded = [largest_remainder(row, grid) for row in rows]
    if _excess(rounded, lower, delta) <= 0:
        return rounded
    # A positive excess a = w - E z over the common sum becomes (1 - share) a - share c if a share
    # of noise is mixed in, c = (E - 1)/|Y|; and one such column there is at least, so that the sum
    # H of all, which is to be delta at most, becomes no more than (1 - share) H - share c.
    responses, over = len(rows[0]), max(Fraction(0), _excess(rows, upper, delta))
    per_share = over + delta + (lower - 1) / responses
    if over > _MOST_NOISE * per_share:
        raise InvalidPrivacyParameter(
            "the matrix is not private at this epsilon and delta; raise them, or mix it with the "
            "uniform matrix first"
        )
    # Rounding puts at most 1/N on w and takes E/N off E z, and at most (1 + E)|Y|/(4N) onto H.
    cost = (1 + upper) * (Fraction(responses, 4) if delta else 1) / grid
    if over + cost < per_share:
        # (1 - a/b) w/G + (a/b)/|Y| over the common denominator b |Y| G.
        a, b = ((over + cost) / per_share).as_integer_ratio()
        even = a * sum(rows[0])
        mixed = [[(b - a) * responses * weight + even for weight in row] for row in rows]
        rounded = [largest_remainder(row, grid) for row in mixed]
        if _excess(rounded, lower, delta) <= 0:
            return rounded
    raise GridTooCoarse(
        "the grid cannot hold this matrix at this epsilon and delta; use a finer one, or raise "
        "epsilon or delta"
    )


def _excess(rows: Sequence[Weights], odds: Fraction, delta: Fraction) -> Fraction:
    """Return how far integer rows of one sum are from private; at most 0 if they are.

    The largest w - E z, or at delta > 0 the largest sum of these, less delta; odds = E = u/v.
    """
    u, v = odds.numerator, odds.denominator
    if delta == 0:
        worst = max(v * max(column) - u * min(column) for column in zip(*rows, strict=True))
    else:
        worst = max(pair_excess(one, other, odds) for one in rows for other in rows)
    return Fraction(worst, v * sum(rows[0])) - delta
