"""Influence: how far fake reports move an estimate, on average over what honest devices send.

The estimate of w.f is the mean over the reports y of a kernel g(y) with P g = w. A report of an
honest device with the answer x adds w_x on average; a fake one adds g(y) for whichever y it likes.
So if a share beta of the reports is fake, and f are the frequencies of the honest devices, the
estimate is off by beta (g(y) - w.f), up to beta (max g - w.f). Fakes that lie about their answer
but let the mechanism speak reach only beta (w_x - w.f).
"""

import math

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.inverse import extremes, tables
from deniable.estimates.queries import kernels
from deniable.mechanisms import Mechanism, TwoValuedMechanism

__all__ = [
    "fakes_needed",
    "influence",
    "lying_shifts",
    "query_influence",
    "query_shifts",
    "worst_distance",
    "worst_shifts",
]

Floats = NDArray[np.float64]


def influence(mechanism: Mechanism) -> float:
    """Return the largest kernel value: of G_jy and 1 - G_jy, for any category j and response y.

    One fake report moves n times an estimated frequency no further, on average, whatever it says
    and honest devices would answer: a share beta of fakes biases none by more than beta times this.

    Source: docs/mathematics.md, section 6.
    """
    reach = extremes(mechanism)
    return float(np.maximum(reach.most, 1 - reach.least).max())


def query_influence(mechanism: Mechanism, weights: Floats) -> float:
    """Return the largest kernel value, of g_y - min w and max w - g_y for any response y.

    One fake report moves n times the linear query no further, on average.

    Args:
        mechanism: what honest devices sample from.
        weights: w of the query sum_x w_x f_x, shape (categories,).

    Source: docs/mathematics.md, section 6.
    """
    g = kernels(mechanism, weights)
    return float(max(g.max() - weights.min(), weights.max() - g.min()))


def worst_shifts(mechanism: Mechanism, frequencies: Floats, share: float) -> tuple[Floats, Floats]:
    """Return how far down and up fake reports bias each estimated frequency at most.

    Either is attained, by fakes that all send one response.

    Args:
        mechanism: what honest devices sample from.
        frequencies: f of the honest devices, shape (categories,).
        share: of the reports that are fake, in [0, 1].

    Source: docs/mathematics.md, section 6.
    """
    reach = extremes(mechanism)
    return share * (reach.least - frequencies), share * (reach.most - frequencies)


def query_shifts(
    mechanism: Mechanism, weights: Floats, frequencies: Floats, share: float
) -> tuple[float, float]:
    """Return how far down and up fake reports bias a linear query at most.

    Args:
        mechanism: what honest devices sample from.
        weights: w of the query sum_x w_x f_x, shape (categories,); 1 on a set and 0 elsewhere for
            the share of the set.
        frequencies: f of the honest devices, shape (categories,).
        share: of the reports that are fake, in [0, 1].

    Source: docs/mathematics.md, section 6.
    """
    g, value = kernels(mechanism, weights), float(weights @ frequencies)
    return share * (float(g.min()) - value), share * (float(g.max()) - value)


def lying_shifts(frequencies: Floats, share: float) -> tuple[Floats, Floats]:
    """Return the bounds of :func:`worst_shifts` for fakes that lie, but let the mechanism speak.

    They are those of a survey without noise, whatever the mechanism: what remains to an attacker
    who has to use the app as it is.

    Args:
        frequencies: f of the honest devices, shape (categories,).
        share: of the reports that are fake, in [0, 1].

    Source: docs/mathematics.md, section 6.
    """
    return -share * frequencies, share * (1 - frequencies)


def worst_distance(mechanism: Mechanism, frequencies: Floats, share: float) -> float:
    """Return how far fake reports bias all estimated frequencies together, in l1, at most.

    Args:
        mechanism: what honest devices sample from.
        frequencies: f of the honest devices, shape (categories,).
        share: of the reports that are fake, in [0, 1].

    Source: docs/mathematics.md, section 6.
    """
    # The distance is convex in the mixture of responses, so that it is largest at a single one.
    if isinstance(mechanism, TwoValuedMechanism):
        # sum_j |G_jy - f_j| with G_yy = (1 - q)/kappa >= 1, and -q/kappa elsewhere; columns of G
        # sum to 1, so what y gains the others lose.
        top = float((1 - mechanism.lie) / mechanism.contraction)
        return 2 * share * (top - float(frequencies.min()))
    inverse = tables(mechanism).inverse
    return share * float(np.abs(inverse - frequencies[:, None]).sum(axis=0).max())


def fakes_needed(honest: int, move: float, reach: float) -> int | None:
    """Return the least number of fake reports that move an estimate so far; None if none do.

    Args:
        honest: how many honest reports there are besides.
        move: how far, more than 0.
        reach: the estimate's shift if all reports were fake: of :func:`worst_shifts`, the larger
            one at a share of 1.

    Source: docs/mathematics.md, section 6.
    """
    # M of n + M reports move it by M/(n + M) reach.
    if not move < reach:
        return None
    return math.ceil(honest * move / (reach - move))
