"""Putting probabilities onto a grid of integers, without losing the guarantee.

Rounding moves each probability by less than 1/N and delta at any epsilon by at most
(1 + e^epsilon) |Y| / (4N), but it usually destroys delta = 0. Then a little uniform noise, mixed in
beforehand, pays for it, and an inequality between integers proves the result.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm

from deniable.mechanisms.exact import GridTooCoarse, InvalidPrivacyParameter
from deniable.mechanisms.exponential import exp_enclosure

__all__ = ["certified_rows", "common_denominator", "largest_remainder"]

Weights = Sequence[int]

_PRECISION = 160


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

    Args:
        weights: not negative, not all zero.
        grid: what the result sums to, N.
    """
    total = sum(weights)
    rounded = [weight * grid // total for weight in weights]
    remainders = [weight * grid % total for weight in weights]
    order = sorted(range(len(weights)), key=remainders.__getitem__, reverse=True)
    for y in order[: grid - sum(rounded)]:
        rounded[y] += 1
    return rounded


def certified_rows(
    rows: Sequence[Weights], epsilon: Fraction, delta: Fraction, grid: int
) -> list[list[int]]:
    """Return the rows over ``grid``, provably (epsilon, delta)-private.

    Rounded as they are if that already is; else with as little uniform noise mixed in beforehand as
    rounding can cost.

    Args:
        rows: integer weights; every row has the same sum.
        epsilon: not negative.
        delta: in [0, 1).
        grid: what each resulting row sums to, N.

    Raises:
        InvalidPrivacyParameter: if the rows themselves are not (epsilon, delta)-private.
        GridTooCoarse: if the grid cannot hold them.

    Source: docs/mathematics.md, section 8.
    """
    low, high = exp_enclosure(epsilon, _PRECISION)
    unit = 1 << _PRECISION
    rounded = [largest_remainder(row, grid) for row in rows]
    if _is_private(rounded, Fraction(low, unit), delta):
        return rounded
    if not _is_private(rows, Fraction(high, unit), delta):
        raise InvalidPrivacyParameter(
            "the matrix is not private at this epsilon and delta; raise them, or mix it with the "
            "uniform matrix first"
        )
    responses = len(rows[0])
    noise = _noise(Fraction(low, unit), Fraction(high, unit), delta, responses, grid)
    if noise is not None and noise < 1:
        # (1 - a/b) w/G + (a/b)/|Y| over the common denominator b |Y| G.
        a, b = noise.numerator, noise.denominator
        even = a * sum(rows[0])
        mixed = [[(b - a) * responses * weight + even for weight in row] for row in rows]
        rounded = [largest_remainder(row, grid) for row in mixed]
        if _is_private(rounded, Fraction(low, unit), delta):
            return rounded
    raise GridTooCoarse(
        "the grid cannot hold this matrix at this epsilon and delta; use a finer one, or raise "
        "epsilon or delta"
    )


def _noise(
    lower: Fraction, upper: Fraction, delta: Fraction, responses: int, grid: int
) -> Fraction | None:
    """Return the share of uniform noise that pays for rounding, between bounds of E = e^epsilon."""
    if delta:
        # Mixing a share of noise in takes that share off delta; rounding puts at most
        # (1+E)|Y|/(4N) onto it.
        return (1 + upper) * responses / (4 * grid * delta)
    if lower <= 1:
        return None
    # w <= E z becomes (1-share) w + share/|Y| <= E ((1-share) z + share/|Y|), with
    # (E-1) share/|Y| to spare; rounding puts at most 1/N on the left, takes E/N off the right.
    return responses * (upper + 1) / ((lower - 1) * grid)


def _is_private(rows: Sequence[Weights], odds: Fraction, delta: Fraction) -> bool:
    """Tell whether integer rows of one sum are private: v w <= u z (+ slack), odds = u/v."""
    u, v = odds.numerator, odds.denominator
    if delta == 0:
        return all(v * max(column) <= u * min(column) for column in zip(*rows, strict=True))
    slack = delta.numerator * v * sum(rows[0])
    return all(
        delta.denominator * sum(max(0, v * w - u * z) for w, z in zip(one, other, strict=True))
        <= slack
        for one in rows
        for other in rows
        if one is not other
    )
