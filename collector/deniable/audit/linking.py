"""Linking: how well two reports show that they share a kept response."""

import numpy as np

from deniable.estimates.decoders.designs import design_decoder
from deniable.mechanisms import TwoRound


def linked_at_best(mechanism: TwoRound) -> float:
    """Return the probability of telling two reports of one kept response from two of two.

    Of the best guess, where either is as likely and each point is kept as often; 1/2 is chance.
    """
    # Two of two are any two blocks. Of two of one the first is any block, say 0, since all are
    # alike; the second is y with the probability K/v sum_u D(u, 0) D(u, y), where u is in both of
    # them for their i common points, in one only for 2 (b - i), and in none for v - 2 b + i.
    fresh, design = mechanism.fresh, mechanism.fresh.design
    decoder = design_decoder(fresh)
    first = [design.supports(0, u) for u in range(design.points)]
    common = decoder.supported(np.array(first, dtype=np.float64))
    b, (inside, outside) = design.block, (fresh.supporting, fresh.other)
    weights = (
        common * (inside**2 / fresh.grid**2)
        + 2 * (b - common) * (inside * outside / fresh.grid**2)
        + (design.points - 2 * b + common) * (outside**2 / fresh.grid**2)
    )
    second = weights * fresh.responses / design.points
    return 0.5 + float(np.abs(second - 1 / fresh.responses).sum()) / 4
