"""How surely two reports of one kept response can be told from those of two."""

from typing import Final

import numpy as np

from deniable.estimates.decoders import SupportDecoder, decoder_of
from deniable.mechanisms import TwoRound

_FIRST_BLOCKS: Final = 16
"""Blocks that represent all. For most designs one would suffice: symmetries map any block to any
other. In affine ones whose blocks are not closed under x -> -x they differ in the third digit."""


def linking_probability(mechanism: TwoRound) -> float:
    """Return the probability of telling two reports of one kept response from those of two.

    It is that of the best guess, if both are equally likely and each point is kept equally often;
    1/2 is chance.
    """
    # Two reports of two are any two blocks. For two reports of one, the first is any block y, and
    # the second is y' with the probability K/v sum_u D(u, y) D(u, y'), where u is in both of them
    # for their i common points, in one only for 2 (b - i), and in none for v - 2 b + i.
    fresh, design = mechanism.fresh, mechanism.fresh.design
    decoder, b, blocks = decoder_of(fresh), design.block, fresh.responses
    assert isinstance(decoder, SupportDecoder)
    inside, outside = fresh.supporting, fresh.other
    both, one, none = (
        weight / fresh.grid**2 for weight in (inside**2, inside * outside, outside**2)
    )
    firsts = range(0, blocks, -(-blocks // _FIRST_BLOCKS))
    apart = 0.0
    for first in firsts:
        block = [design.supports(first, u) for u in range(design.points)]
        common = decoder.supported(np.array(block, dtype=np.float64))
        weights = common * both + 2 * (b - common) * one + (design.points - 2 * b + common) * none
        apart += float(np.abs(weights * blocks / design.points - 1 / blocks).sum())
    return 0.5 + apart / len(firsts) / 4
