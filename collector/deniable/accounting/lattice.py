"""Lattices of likelihood ratios: if every ratio is a power of one base, composing is convolving.

A pair of distributions is a list of atoms ``(p, q)``: the masses, over a common grid, that the two
distributions give to all responses of one likelihood ratio p/q. Randomised response and block
designs have the ratios r, 1 and 1/r, so they are on a lattice already. Any other atoms are spread
onto one:

1. An atom between two lattice points is split in two, one on either side, with the same p and the
   same q in total. Merging the two gives the atom again, so they distinguish the answers at least
   as well (post-processing).
2. Masses are rounded to 2^-128 by rounding the cumulative masses down: no mass is lost, and moved
   mass goes to a larger ratio.

Both can only overstate delta and epsilon, whatever the base; floats merely choose a good one.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import accumulate, chain, combinations, pairwise
from typing import Final, NamedTuple, TypeVar

from deniable.mechanisms import (
    Levels,
    Mechanism,
    OneQuestion,
    Privacy,
    TwoValuedPrivacy,
    ceil_div,
)
from deniable.mechanisms.answering import combined
from deniable.mechanisms.one_question import MeanPrivacy

Atom = tuple[int, int]
"""Masses (p, q) of one likelihood ratio p/q, both positive, over a grid."""

Factor = TypeVar("Factor")

_PRECISION = 128
_ONE = 1 << _PRECISION


def power(factor: Factor, times: int, multiply: Callable[[Factor, Factor], Factor]) -> Factor:
    """Return the ``times``-fold product (times >= 1), by squaring."""
    result = None
    while True:
        if times & 1:
            result = factor if result is None else multiply(result, factor)
        times >>= 1
        if not times:
            assert result is not None
            return result
        factor = multiply(factor, factor)


def convolve(one: list[int], other: list[int]) -> list[int]:
    """Return sum_i one_i other_{j-i} for every j, by a single product of two long integers."""
    # Kronecker's substitution: polynomials are evaluated at 2^(8 slot), where no coefficient of the
    # product, a sum of at most min(len) products, overflows into the next.
    length = len(one) + len(other) - 1
    largest = max(*one, 1) * max(*other, 1) * min(len(one), len(other))
    slot = ceil_div(largest.bit_length(), 8)
    packed = _packed(one, slot)
    product = packed * (packed if one is other else _packed(other, slot))
    data = product.to_bytes(slot * length, "little")
    return [int.from_bytes(data[i : i + slot], "little") for i in range(0, len(data), slot)]


def _packed(weights: list[int], slot: int) -> int:
    return int.from_bytes(b"".join(w.to_bytes(slot, "little") for w in weights), "little")


def _log(atom: Atom) -> float:
    """Return ln(p/q) approximately: accurate enough to start a search, but not to decide."""
    p, q = atom
    if p < q:
        return -_log((q, p))
    if p.bit_length() - q.bit_length() > 1000:  # out of range for floats
        return math.log(p) - math.log(q)
    return math.log1p((p - q) / q)


def common_base(atoms: Iterable[Atom]) -> Fraction | None:
    """Return a base > 1 such that every atom's ratio is an integer power, or None.

    Only the ratio nearest to 1 is tried, which is the base of every lattice without a gap there.
    """
    uneven = [atom for atom in atoms if atom[0] != atom[1]]
    if not uneven:
        return Fraction(2)
    nearest = min(uneven, key=lambda atom: abs(_log(atom)))
    base = Fraction(max(nearest), min(nearest))
    if _log(base.as_integer_ratio()) == 0:  # too near to 1 for floats
        return None
    return base if all(_exponent(atom, base) is not None for atom in uneven) else None


def _exponent(atom: Atom, base: Fraction) -> int | None:
    """Return the j with p/q = base^j, or None."""
    step = _log(base.as_integer_ratio())
    j = round(_log(atom) / step)
    high, low = atom if j >= 0 else atom[::-1]
    # base^j is in lowest terms, so its numerator cannot exceed the atom's; check that first.
    if abs(j) * (base.numerator.bit_length() - 1) > high.bit_length():
        return None
    equal = high * base.denominator ** abs(j) == low * base.numerator ** abs(j)
    return j if equal else None


def placed(atoms: Iterable[Atom], base: Fraction) -> tuple[list[int], list[int]]:
    """Return both distributions' masses at consecutive powers of the base that have all atoms."""
    exponents: dict[int, Atom] = {}
    for atom in atoms:
        j = _exponent(atom, base)
        if j is None:
            raise ValueError("the atoms do not lie on this lattice")
        exponents[j] = atom
    both = [exponents.get(j, (0, 0)) for j in range(min(exponents), max(exponents) + 1)]
    return [p for p, _ in both], [q for _, q in both]


def fitting_base(losses: Sequence[tuple[Sequence[Atom], int]], steps: int) -> Fraction:
    """Return a base for which the repeated losses span about this many lattice points.

    They take at least two points for each report.
    """
    points = max(steps, 2 * sum(times for _, times in losses))
    width = top = 0.0
    for atoms, times in losses:
        logs = [_log(atom) for atom in atoms]
        width += times * (max(logs) - min(logs))
        top = max(top, *logs)
    # The largest ratio becomes a lattice point (up to 2^-50 of its logarithm) if it is more than
    # one step away from 1, so that the pure level hardly grows.
    step = width / points
    if top > step:
        step = top / math.floor(top / step) if step else top
    excess = math.ceil(math.expm1(min(step, 500)) * (1 + 2**-50) * 2**60)
    return 1 + Fraction(max(1, excess), 1 << 60)


@dataclass(frozen=True, slots=True)
class Lattice:
    """A distribution of the ratios base^j, certified to dominate the atoms from which it was made.

    Weights are masses over 2^128 at the exponents low, low + 1, …; their deficit from 1 has an
    infinite ratio.
    """

    base: Fraction
    low: int
    weights: list[int]

    @classmethod
    def spread(cls, grid: int, atoms: Sequence[Atom], base: Fraction) -> "Lattice":
        """Return atoms over ``grid``, each on its lattice point or split between the two around it.

        For atoms on the lattice only masses are rounded.
        """
        step = _log(base.as_integer_ratio())
        logs = [_log(atom) / step for atom in atoms]
        low, high = math.floor(min(logs)), math.floor(max(logs)) + 2
        bits, powers = _lower_powers(base, low, high)
        # One slot more than is kept: values beyond the lattice would count as infinite.
        weights = [0] * (len(powers) + 1)
        for p, q in atoms:
            mass = p << _PRECISION
            j = _exponent((p, q), base)
            if j is not None:
                weights[j - low] += mass
                continue
            j = bisect_right(powers, (p << bits) // q) - 1
            if j < 0:
                weights[0] += mass
                continue
            # p1 + p2 = p and p1/b^j + p2/b^(j+1) = q  =>  p2 = (p - q b^j) b/(b - 1). A lower
            # bound of b^j, and rounding up, only put more of the mass on the larger ratio.
            excess = ((p << bits) - q * powers[j]) * base.numerator << _PRECISION
            upper = ceil_div(excess, (base.numerator - base.denominator) << bits)
            weights[j + 1] += min(upper, mass)
            weights[j] += mass - min(upper, mass)
        return cls._rounded(base, low, weights[:-1], grid << _PRECISION)

    @classmethod
    def _rounded(cls, base: Fraction, low: int, weights: Iterable[int], grid: int) -> "Lattice":
        """Return weights over ``grid`` rounded to 2^-128."""
        # Each cumulative mass F falls by less than 2^-128. delta(E) = sum w_j g_j with
        # g_j = (1 - E/ratio_j)_+ rising within [0, 1], so by summation by parts it grows by
        # sum (F_j - F'_j)(g_{j+1} - g_j) < 2^-128, and never falls.
        cumulative = [(total << _PRECISION) // grid for total in accumulate(weights)]
        # Zeros at the low end remain zeros in every power.
        empty = bisect_right(cumulative, 0)
        kept = cumulative[empty:]
        before = [0, *kept]
        return cls(base, low + empty, [b - a for a, b in zip(before, kept, strict=False)])

    def compose(self, other: "Lattice") -> "Lattice":
        """Return the loss of both together, on the same lattice."""
        if not (self.weights and other.weights):
            return Lattice(self.base, 0, [])
        weights = convolve(self.weights, other.weights)
        return self._rounded(self.base, self.low + other.low, weights, _ONE * _ONE)

    def atoms(self) -> tuple[int, list[Atom]]:
        """Return ``(grid, atoms)``, with each q rounded down."""
        high = self.low + len(self.weights) - 1
        bits, inverses = _lower_powers(self.base, -high, -self.low)
        pairs = zip(self.weights, reversed(inverses), strict=True)
        return _ONE << bits, [(w << bits, w * inverse) for w, inverse in pairs if w]


def _lower_powers(base: Fraction, low: int, high: int) -> tuple[int, list[int]]:
    """Return ``(bits, powers)``: lower bounds of base^low, …, base^high over 2^bits, rising."""
    up, down = base.as_integer_ratio()
    # 1.5 > log2(e): the smallest power still has 128 bits after its leading zeros.
    bits = _PRECISION + math.ceil(1.5 * max(0, -low) * _log((up, down)))
    falling, rising = [1 << bits], [1 << bits]
    for _ in range(-low):
        falling.append(falling[-1] * down // up)
    for _ in range(high):
        rising.append(rising[-1] * up // down)
    powers = falling[:0:-1] + rising
    start = low - min(low, 0)
    return bits, powers[start : start + high - low + 1]


Pair = tuple[int, tuple[Atom, ...]]
"""Two distributions P and Q by likelihood ratios: the grid, and in order of falling ratio the
masses that they give to the responses. If Q never gives a response, the ratio is infinite: that
mass is the part of the grid missing from the p."""

_EXACT_BITS: Final = 1 << 22


def merged(grid: int, atoms: Iterable[Atom]) -> Pair:
    """Return atoms given in any order as a pair: equal ratios merged, everything in lowest terms.

    Merging loses nothing: (p - E q)_+ + (p' - E q')_+ = (p + p' - E (q + q'))_+ if the ratios are
    equal.
    """
    # Different ratios of integers up to N are at least 1/N^2 apart, so these binary places
    # distinguish and order them.
    places = 2 * grid.bit_length()
    sums: dict[int, Atom] = {}
    for p, q in atoms:
        # Without p the atom is unobservable; without q it is part of the infinite rest.
        if p and q:
            w, z = sums.get(key := (p << places) // q, (0, 0))
            sums[key] = (p + w, q + z)
    ordered = [sums[key] for key in sorted(sums, reverse=True)]
    unit = math.gcd(grid, *chain.from_iterable(ordered))
    return grid // unit, tuple((p // unit, q // unit) for p, q in ordered)


class Apart(NamedTuple):
    """Responses that one row makes more likely than another, all by the same factor.

    Their total probability is ``more`` in the one row, and ``less`` in the other.
    """

    more: Fraction
    less: Fraction
    responses: int


def rows_apart(privacy: Privacy) -> tuple[Apart, ...] | None:
    """Return the largest difference of any two rows; None if they must be compared.

    As many other responses differ in the opposite way; the rest are equal in both rows.
    """
    if isinstance(privacy, MeanPrivacy):
        share = Fraction(1, len(privacy.parts))
        return tuple(_apart(part, share) for part in privacy.parts)
    return (_apart(privacy),) if isinstance(privacy, TwoValuedPrivacy) else None


def _apart(privacy: TwoValuedPrivacy, share: Fraction = Fraction(1)) -> Apart:
    c = privacy.separating
    return Apart(c * privacy.truth * share, c * privacy.lie * share, c)


def furthest_rows(mechanism: Mechanism) -> tuple[int, int]:
    """Return two categories whose rows differ as in :func:`rows_apart`."""
    if isinstance(mechanism, Levels):
        return 0, mechanism.categories - 1
    if isinstance(mechanism, OneQuestion):
        parts = mechanism.parts
        return 0, combined([1] * len(parts), [part.categories for part in parts])
    return 0, 1


def pair_apart(apart: Iterable[Apart]) -> Pair:
    """Return the pair for two rows with these differences, in both directions."""
    grid = math.lcm(*(mass.denominator for more, less, _ in apart for mass in (more, less)))
    masses = [(int(more * grid), int(less * grid)) for more, less, _ in apart]
    rest = grid - sum(map(sum, masses))
    return merged(grid, [*masses, (rest, rest), *((q, p) for p, q in masses)])


def dominating_pair(mechanism: Mechanism) -> Pair:
    """Return the least pair of distributions whose curve is nowhere below that of any two rows.

    Source: Zhu, Dong and Wang 2022 (dominating pairs); docs/mathematics.md, section 12.
    """
    if (apart := rows_apart(mechanism.privacy)) is not None:
        return pair_apart(apart)
    # delta(E) = max over sets S of P(S) - E Q(S), so the largest delta of all pairs of rows follows
    # from the upper hull of all points (Q(S), P(S)); sets of the largest ratios suffice (Neyman and
    # Pearson). The hull is itself the curve of one pair of distributions: its edges are the atoms
    # (q, p), already in the grid's integers.
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
    # Responses with equal probabilities in both rows join at once.
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
        # Andrew's monotone chain: a corner on or below the line that passes it is removed.
        while len(hull) > 1:
            (a, b), (c, d) = hull[-2:]
            if (c - a) * (y - b) < (d - b) * (x - a):
                break
            hull.pop()
        hull.append((x, y))
    return hull


def composed_pairs(parts: Sequence[tuple[Pair, int]], steps: int) -> Pair:
    """Return the pair of independent responses together, with the repetitions of each part (>= 1).

    It is exact up to 2^22 bits, otherwise on a lattice of about ``steps`` steps, and certified to
    dominate the exact one.
    """
    if not all(atoms for (_, atoms), _ in parts):
        return 1, ()
    times = [n for _, n in parts]
    bits = sum(n * grid.bit_length() for (grid, _), n in parts)
    base = common_base(chain.from_iterable(atoms for (_, atoms), _ in parts))
    if base is None:
        # As many atoms as there are unordered ways to draw one for each response.
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
            # Each part first uses a lattice of its own.
            parts = [
                (composed_pairs([part], steps) if part[1] > 1 else part[0], 1) for part in parts
            ]
        base = fitting_base([(atoms, n) for (_, atoms), n in parts], steps)
    lattices = (
        power(Lattice.spread(grid, atoms, base), n, Lattice.compose) for (grid, atoms), n in parts
    )
    return merged(*reduce(Lattice.compose, lattices).atoms())


def _product(one: Pair, other: Pair) -> Pair:
    # P(y) P'(y') and Q(y) Q'(y'): masses multiply, and so do ratios. Responses that either Q
    # excludes are excluded by both together, and are again the masses' deficit.
    (grid, atoms), (factor, others) = one, other
    return merged(grid * factor, ((p * w, q * z) for p, q in atoms for w, z in others))
