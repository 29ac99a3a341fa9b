"""Affine designs: the mechanism for large domains, and for any size.

q is a prime, and S a set of s of its residues. A category is a vector x of m digits base q, of
which there are k <= q^m; a response is a pair (a, b) of a vector a other than 0 and a residue b,
and supports x if <a, x> + b is in S. With all vectors a,

    K = q (q^m - 1),    r = s (q^m - 1),    t = q^(m-1) s^2 - s,

S consists of cosets of the group H of h residues, where h is the greatest common divisor of q - 1
and s, or s - 1 if 0 is in S. So one in n = lcm(2, h) vectors a is enough, chosen by its first digit
other than 0, that of the highest power of q (n = 1 for q = 2). K, r and t are 1/n of those above,
and no two blocks are equal (docs/mathematics.md, section 17).
"""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from math import gcd, lcm
from typing import Final

from deniable.mechanisms.block_design import MAX_RESPONSES, Design, DesignKind

MAX_ORDER: Final = 1 << 17
"""The upper limit of q: the least primes above 2^16 suit the most categories."""


class Affine(Design):
    """Blocks of about a share s/q of all categories, from a prime q.

    A response is the index i q + b of the i-th vector a. Vectors are sorted by the power of their
    first digit, then by its exponent, then by the number formed by the following digits.
    """

    def __init__(self, categories: int, order: int, dimension: int, size: int) -> None:
        check_affine(order, dimension, size)
        points = order**dimension
        if categories > points:
            raise ValueError(f"q^m = {order}^{dimension} allows at most {points:,} categories")
        self.order, self.dimension = order, dimension
        responses, replication, together = incidences(order, dimension, size)
        super().__init__(
            (categories, order, dimension, size),
            responses=responses,
            replication=replication,
            together=together,
            positions=order,
            size=size,
            points=points,
        )
        firsts = (order - 1) // class_size(order, size)
        self._starts = [firsts * (order**j - 1) // (order - 1) for j in range(dimension)]

    @property
    def residues(self) -> Sequence[int]:
        """Return the residue of each position, the s of S first."""
        return _residues(self.order, self.size)

    @property
    def firsts(self) -> Sequence[int]:
        """Return the possible first digits other than 0 of the vectors a."""
        return _powers(self.order)[: (self.order - 1) // class_size(self.order, self.size)]

    def supports(self, response: int, category: int) -> bool:
        """Return whether the response supports the category."""
        index, turn = divmod(response, self.order)
        residue = (self._product(self.vector(index), category) + turn) % self.order
        return residue in _members(self.order, self.size)

    def turned(self, base: int, position: int, category: int) -> int:
        """Return the (a, b) with <a, x> + b at the position and the same a as the base."""
        index = base // self.order
        product = self._product(self.vector(index), category)
        return index * self.order + (self.residues[position] - product) % self.order

    def vector(self, index: int) -> int:
        """Return the vector a with this index, as a number in base q."""
        power = bisect_right(self._starts, index) - 1
        unit = self.order**power
        exponent, rest = divmod(index - self._starts[power], unit)
        number: int = _powers(self.order)[exponent] * unit + rest
        return number

    def _product(self, one: int, other: int) -> int:
        total = 0
        for _ in range(self.dimension):
            one, digit = divmod(one, self.order)
            other, factor = divmod(other, self.order)
            total += digit * factor
        return total


def check_affine(order: object, dimension: object, size: object) -> None:
    """Check that q, m and s form a design of at most 2^20 responses."""
    if not (type(order) is type(dimension) is type(size) is int):
        raise TypeError("q, m and s must be whole numbers")
    if not (1 <= dimension <= 20 and 2 <= order < MAX_ORDER and is_prime(order)):
        raise ValueError(f"q must be a prime below {MAX_ORDER:,}, and m must be from 1 to 20")
    if not 1 <= size < order:
        raise ValueError("s must be from 1 to q - 1")
    if (blocks := incidences(order, dimension, size)[0]) > MAX_RESPONSES:
        raise ValueError(
            f"q = {order}, m = {dimension} and s = {size} give {blocks:,} responses, more than "
            f"{MAX_RESPONSES:,}. Use a smaller q or m, or an s such that s or s - 1 has a larger "
            "common divisor with q - 1"
        )


def incidences(order: int, dimension: int, size: int) -> tuple[int, int, int]:
    """Return K, r and t."""
    vectors = class_size(order, size)
    blocks, replication, together = proportions(order, dimension, size)
    return blocks // vectors, replication // vectors, together // vectors


def proportions(order: int, dimension: int, size: int) -> tuple[int, int, int]:
    """Return K, r and t for all vectors a, of which one in n is enough."""
    others = order**dimension - 1
    return order * others, size * others, order ** (dimension - 1) * size**2 - size


def class_size(order: int, size: int) -> int:
    """Return n: one in n vectors a is used."""
    return signed_group_size(order, _multipliers(order, size)[0])


def signed_group_size(order: int, multipliers: int) -> int:
    """Return the size of the group generated by -1 and a group of this many multipliers."""
    return lcm(multipliers, gcd(2, order - 1))


def _multipliers(order: int, size: int) -> tuple[int, bool]:
    """Return h, the number of multipliers that leave S unchanged, and whether 0 is in S."""
    without, holding = gcd(size, order - 1), gcd(size - 1, order - 1)
    zero = signed_group_size(order, holding) >= signed_group_size(order, without)
    return (holding if zero else without), zero


@lru_cache(maxsize=16)
def _powers(order: int) -> Sequence[int]:
    """Return the powers of g in order, where g is the least generator of the nonzero residues."""
    for base in range(1, order):
        powers = array("L", [1])
        while (power := powers[-1] * base % order) != 1:
            powers.append(power)
        if len(powers) == order - 1:
            return powers
    raise AssertionError("a prime must have a generator")


@lru_cache(maxsize=16)
def _residues(order: int, size: int) -> Sequence[int]:
    """Return S coset by coset, then other residues; 0 is first if in S, otherwise last."""
    multipliers, zero = _multipliers(order, size)
    powers, step = _powers(order), (order - 1) // multipliers
    cosets = array("L")
    for exponent in range(step):
        cosets.extend(powers[exponent::step])
    return array("L", [0]) + cosets if zero else cosets + array("L", [0])


@lru_cache(maxsize=16)
def _members(order: int, size: int) -> frozenset[int]:
    return frozenset(_residues(order, size)[:size])


def is_prime(number: int) -> bool:
    """Return whether a small number is a prime."""
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))


class _Kind(DesignKind):
    name = "affine"
    fields = ("q", "m", "s")
    form = Affine
    check_form = staticmethod(check_affine)


KIND: Final = _Kind()
