"""Atoms: two laws of the responses, told apart by nothing but the likelihood ratio.

A :data:`Pair` of laws P and Q is a common grid and, for each ratio, the masses (p, q) that they
give to the responses of that ratio. Responses that Q never gives have an infinite ratio: their mass
is what the p lack of the grid.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain, combinations, pairwise
from typing import Final

from deniable.accounting.lattice import (
    Atom,
    Lattice,
    common_base,
    convolve,
    fitting_base,
    placed,
    power,
)
from deniable.mechanisms import Mechanism
from deniable.mechanisms.privacy import Apart

Pair = tuple[int, tuple[Atom, ...]]
"""The grid, and the atoms by falling ratio."""

_EXACT_BITS: Final = 1 << 22


def merged(grid: int, atoms: Iterable[Atom]) -> Pair:
    """Return atoms given in any order as a pair: equal ratios merged, everything in lowest terms.

    Merging loses nothing: (p - E q)_+ + (p' - E q')_+ = (p + p' - E (q + q'))_+ if the ratios are
    equal.
    """
    # Different ratios of integers up to N are at least 1/N^2 apart, so these binary places tell
    # them apart, and order them.
    places = 2 * grid.bit_length()
    sums: dict[int, Atom] = {}
    for p, q in atoms:
        # Without p there is nothing to see; without q it is part of the infinite rest.
        if p and q:
            w, z = sums.get(key := (p << places) // q, (0, 0))
            sums[key] = (p + w, q + z)
    ordered = [sums[key] for key in sorted(sums, reverse=True)]
    unit = math.gcd(grid, *chain.from_iterable(ordered))
    return grid // unit, tuple((p // unit, q // unit) for p, q in ordered)


def pair_apart(apart: Iterable[Apart]) -> Pair:
    """Return the pair of two rows that differ so, both ways round."""
    grid = math.lcm(*(mass.denominator for more, less, _ in apart for mass in (more, less)))
    masses = [(int(more * grid), int(less * grid)) for more, less, _ in apart]
    rest = grid - sum(map(sum, masses))
    return merged(grid, [*masses, (rest, rest), *((q, p) for p, q in masses)])


def dominating_pair(mechanism: Mechanism) -> Pair:
    """Return the least pair of laws whose curve lies nowhere below that of any two rows.

    Source: Zhu, Dong and Wang 2022 (dominating pairs); docs/mathematics.md, section 12.
    """
    if (apart := mechanism.privacy.apart) is not None:
        return pair_apart(apart)
    # delta(E) = max over sets S of P(S) - E Q(S), so the largest delta of all pairs of rows is read
    # off the upper hull of all points (Q(S), P(S)); sets of the largest ratios suffice (Neyman and
    # Pearson). The hull is itself the curve of one pair of laws: its edges are the atoms (q, p),
    # already in the grid's integers.
    grid = mechanism.grid
    hull = [(0, 0), (grid, grid)]
    for other, one in combinations(map(mechanism.row, range(mechanism.categories)), 2):
        points = list(_frontier(one, other, grid))
        # In the other order the complements of the same sets have the largest ratios.
        mirrored = [(grid - above, grid - below) for below, above in points]
        hull = _upper_hull([*hull, *points, *mirrored])
    return merged(grid, ((w - p, z - q) for (q, p), (z, w) in pairwise(hull)))


def _frontier(one: Sequence[int], other: Sequence[int], grid: int) -> Iterator[tuple[int, int]]:
    """Yield (other(S), one(S)) for the sets S of the largest ratios, from none to all."""
    places = 2 * grid.bit_length()
    beyond = grid << places + 1
    # Responses that are alike to both rows join at once.
    columns = [
        ((p << places) // q if q else beyond, q * count, p * count)
        for (p, q), count in Counter(zip(one, other, strict=True)).items()
    ]
    below = above = 0
    yield below, above
    for _, q, p in sorted(columns, reverse=True):
        below, above = below + q, above + p
        yield below, above


def _upper_hull(points: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the corners of the least concave curve above all points, from left to right."""
    hull: list[tuple[int, int]] = []
    for x, y in sorted(points):
        # Andrew's monotone chain: a corner on or below the line that passes it by is none.
        while len(hull) > 1:
            (a, b), (c, d) = hull[-2:]
            if (c - a) * (y - b) < (d - b) * (x - a):
                break
            hull.pop()
        hull.append((x, y))
    return hull


def composed_pairs(parts: Sequence[tuple[Pair, int]], steps: int) -> Pair:
    """Return the pair of independent responses together, each part so many times (at least once).

    Exact while it fits 2^22 bits, else on a lattice of about so many steps, and certified to
    dominate the exact one.
    """
    if not all(atoms for (_, atoms), _ in parts):
        return 1, ()
    times = [n for _, n in parts]
    bits = sum(n * grid.bit_length() for (grid, _), n in parts)
    base = common_base(chain.from_iterable(atoms for (_, atoms), _ in parts))
    if base is None:
        # As many atoms as there are ways to draw one for each response, in no order.
        size = math.prod(math.comb(n + len(atoms) - 1, n) for (_, atoms), n in parts)
        if size * bits <= _EXACT_BITS:
            return reduce(_product, (power(pair, n, _product) for pair, n in parts))
    else:
        rows = [placed(atoms, base) for (_, atoms), _ in parts]
        size = 1 + sum(n * (len(p) - 1) for (p, _), n in zip(rows, times, strict=True))
        if size * bits <= _EXACT_BITS:
            grid = math.prod(grid**n for (grid, _), n in parts)
            one, other = (
                reduce(convolve, (power(r, n, convolve) for r, n in zip(law, times, strict=True)))
                for law in zip(*rows, strict=True)
            )
            return merged(grid, zip(one, other, strict=True))
    if base is None or size > max(steps, 1 + 2 * sum(times)):
        # Not on a lattice, or on a needlessly fine one; three points per response are the least.
        if len(parts) > 1:
            # Each part is best served by a lattice of its own first.
            parts = [
                (composed_pairs([part], steps) if part[1] > 1 else part[0], 1) for part in parts
            ]
        base = fitting_base([(atoms, n) for (_, atoms), n in parts], steps)
    lattices = (
        power(Lattice.spread(grid, atoms, base), n, Lattice.compose) for (grid, atoms), n in parts
    )
    return merged(*reduce(Lattice.compose, lattices).atoms())


def _product(one: Pair, other: Pair) -> Pair:
    # P(y) P'(y') and Q(y) Q'(y'): masses multiply, and so do ratios. What either Q excludes both
    # together exclude, and it is again what the masses lack.
    (grid, atoms), (factor, others) = one, other
    return merged(grid * factor, ((p * w, q * z) for p, q in atoms for w, z in others))
