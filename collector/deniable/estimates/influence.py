"""Influence: how far fake reports move an estimate, on average over what honest devices send.

The estimate of w.f is the mean over the reports y of a kernel g(y) with P g = w. A report of an
honest device with the answer x adds w_x on average; a fake one adds g(y) for whichever y it likes.
So if a share beta of the reports is fake, and f are the frequencies of the honest devices, the
estimate is off by beta (g(y) - w.f), up to beta (max g - w.f). Fakes that lie about their answer
but let the mechanism speak reach only beta (w_x - w.f). Source: docs/mathematics.md, section 6.
"""

import math

import numpy as np

from deniable.estimates.decoders import Floats, decoder_of
from deniable.mechanisms import Mechanism


def influence(mechanism: Mechanism) -> float:
    """Return the largest kernel value: of G_jy and 1 - G_jy, for any category j and response y.

    One fake report moves n times an estimated frequency no further, on average, whatever it says
    and honest devices would answer: a share beta of fakes biases none by more than beta times this.
    """
    reach = decoder_of(mechanism).extremes
    return float(np.maximum(reach.most, 1 - reach.least).max())


def query_influence(mechanism: Mechanism, weights: Floats) -> float:
    """Return the largest kernel value, of g_y - min w and max w - g_y for any response y."""
    g = decoder_of(mechanism).kernels(weights)
    return float(max(g.max() - weights.min(), weights.max() - g.min()))


def set_influence(mechanism: Mechanism, size: int | None = None) -> float:
    """Return the largest influence on the share of a set of so many categories; by default, of any.

    As :func:`query_influence` has it of the weights 1 within the set and 0 without, for the worst
    set. A report that supports many categories moves them all at once.
    """
    decoder, k = decoder_of(mechanism), mechanism.categories
    if size is None:
        return decoder.most_of_sets(None)
    if not 0 <= size <= k:
        raise ValueError(f"a set has 0 to {k} categories")
    return max(decoder.most_of_sets(size), decoder.most_of_sets(k - size))


def worst_shifts(mechanism: Mechanism, frequencies: Floats, share: float) -> tuple[Floats, Floats]:
    """Return how far down and up fake reports bias each estimated frequency at most.

    Either is attained, by fakes that all send one response.
    """
    reach = decoder_of(mechanism).extremes
    return share * (reach.least - frequencies), share * (reach.most - frequencies)


def query_shifts(
    mechanism: Mechanism, weights: Floats, frequencies: Floats, share: float
) -> tuple[float, float]:
    """Return how far down and up fake reports bias a linear query at most."""
    g, value = decoder_of(mechanism).kernels(weights), float(weights @ frequencies)
    return share * (float(g.min()) - value), share * (float(g.max()) - value)


def fakes_needed(honest: int, move: float, reach: float) -> int | None:
    """Return how many fakes beside so many honest reports move an estimate so far; None if none do.

    The reach is how far it would move if all reports were fake: the larger of :func:`worst_shifts`
    at a share of 1.
    """
    # M of n + M reports move it by M/(n + M) reach. Both are rounded: a move that falls short of
    # the reach by no more than that is as far.
    return math.ceil(honest * move / (reach - move)) if move < reach * (1 - 1e-9) else None
