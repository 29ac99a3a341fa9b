"""Block designs in bulk: a device's use of its three words, for many answers at once."""

from collections.abc import Callable
from functools import singledispatch
from itertools import combinations
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.decoders.designs import affine_vectors
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.block_design import Design, TurnedDesign
from deniable.mechanisms.difference_set import DifferenceSet
from deniable.mechanisms.subset import Subset

WORDS: Final = 3
"""Random words per answer."""

Indices = NDArray[np.integer]
Integers = NDArray[np.int64]
Block = NDArray[np.uint64]

Turn = Callable[[Integers, Integers, Indices], Integers]
"""A function: base blocks, the positions to place at the answers, and the answers; responses."""


def sampler(mechanism: TurnedDesign) -> Callable[[Indices, Block], Integers]:
    """Return a function from answers and all their first, second and third words to responses."""
    n, s = mechanism.design.positions, mechanism.design.size
    first = (n - s) * mechanism.outside
    blank, turned = first + s * mechanism.inside, turner(mechanism.design)

    def sample(truth: Indices, words: Block) -> Integers:
        word, high, low = words.reshape(WORDS, -1)
        missed, supported = s + word // mechanism.outside, (word - first) // mechanism.inside
        position = np.where(word < first, missed, supported).view(np.int64)
        base = base_blocks(mechanism.design, high, low)
        blocks = turned(base, position, truth)
        if blank < 1 << 64:
            blocks = np.where(word < blank, blocks, base)
        return blocks

    return sample


def base_blocks(design: Design, high: Block, low: Block) -> Integers:
    """Return floor(w K / 2^128), where w is the 128 bits of each pair of words."""
    bases = design.responses  # below 2^32, so that its products with half a word fit one
    blocks = (high >> 32) * bases
    blocks += (high & 0xFFFFFFFF) * bases >> 32
    blocks >>= 32
    # The low words add less than K: this matters where it carries, once in 2^44 answers.
    for at in np.flatnonzero(high * bases >= (1 << 64) - bases):
        blocks[at] = (int(high[at]) << 64 | int(low[at])) * bases >> 128
    return blocks.view(np.int64)


@singledispatch
def turner(design: Design) -> Turn:
    """Return a vectorised ``design.turned``; this version suits every design, and is slow."""

    def turned(base: Integers, position: Integers, category: Indices) -> Integers:
        triples = zip(base.tolist(), position.tolist(), category.tolist(), strict=True)
        return np.array([design.turned(*triple) for triple in triples], dtype=np.int64)

    return turned


@turner.register
def _affine(design: Affine) -> Turn:
    q, m = design.order, design.dimension
    vectors, points = (
        _digits(numbers, q, m) for numbers in (affine_vectors(design), np.arange(design.categories))
    )
    residues = np.array(design.residues, dtype=np.int64)

    def turned(base: Integers, position: Integers, category: Indices) -> Integers:
        at, first = category.astype(np.int64), base // q
        turn = residues.take(position)
        for a, x in zip(vectors, points, strict=True):
            turn -= a.take(first) * x.take(at)
        # Like % q, but numpy divides vectors faster than it takes remainders.
        return first * q + turn - turn // q * q

    return turned


@turner.register
def _difference_set(design: DifferenceSet) -> Turn:
    translates = np.array(
        [
            [design.turned(0, position, x) for x in range(design.categories)]
            for position in range(design.positions)
        ]
    )

    def turned(_: Integers, position: Integers, category: Indices) -> Integers:
        return np.asarray(translates[position, category])

    return turned


@turner.register
def _subset(design: Subset) -> Turn:
    k, d, blocks = design.categories, design.size, design.responses
    # Descending tuples of a descending range come in the reverse of colexicographic order. Here,
    # row i has the i-th least member of each block.
    listed = combinations(range(k - 1, -1, -1), d)
    descending = np.fromiter(listed, dtype=np.dtype((np.int32, d)), count=blocks)
    members: NDArray[np.int32] = np.ascontiguousarray(descending[::-1, ::-1].T)
    # What each category c adds to the rank if it was the i-th least member, and p members were
    # turned past the end. These come first, so such a category, c + k, is now the (i+p-d)-th, and
    # any other the (i+p)-th. Values above all ranks are never looked up.
    places = [(p, i) for p in range(d + 1) for i in range(1, d + 1)]
    added = [
        [min(comb(c, max(place, 0)), blocks) for place in (i + p, i + p - d) for c in range(k)]
        for p, i in places
    ]
    ranks = np.array(added, dtype=np.int32).ravel()
    starts = np.arange(0, 2 * k * d, 2 * k, dtype=np.int32)[:, None]

    def turned(base: Integers, position: Integers, category: Indices) -> Integers:
        block = members.take(base, axis=1)
        # The first d positions are the members from the greatest down, the next ones the others
        # from the least up.
        supported = members.take((d - 1 - np.minimum(position, d - 1)) * blocks + base)
        other = position.astype(np.int32) - d
        for member in block:
            other += other >= member
        turn = category.astype(np.int32) - np.where(position < d, supported, other)
        block += turn + k * (turn < 0)
        past = (block >= k).sum(axis=0, dtype=np.int32)
        block += starts + 2 * k * d * past
        return np.asarray(ranks.take(block).sum(axis=0))

    return turned


def _digits(numbers: Integers, base: int, places: int) -> list[Integers]:
    return [numbers // base**place % base for place in range(places)]
