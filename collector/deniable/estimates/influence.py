"""Influence: how far fake reports move an estimate, on average over what honest devices send.

The estimate of w.f is the mean over the reports y of a kernel g(y) with P g = w. A report of an
honest device with the answer x adds w_x on average; a fake one adds g(y) for whichever y it likes.
So if a share beta of the reports is fake, and f are the frequencies of the honest devices, the
estimate is off by beta (g(y) - w.f), up to beta (max g - w.f). Fakes that lie about their answer
but let the mechanism speak reach only beta (w_x - w.f). Source: docs/mathematics.md, section 6.
"""

import math
from collections.abc import Iterator

import numpy as np

from deniable.estimates.decoders import Floats, decoder_of
from deniable.mechanisms import Mechanism


def influence(mechanism: Mechanism) -> float:
    """Return the largest kernel value: of G_jy and 1 - G_jy, for any category j and response y.

    One fake report moves n times an estimated frequency no further, on average, whatever it says
    and honest devices would answer: a share beta of fakes biases none by more than beta times this.
    Where honest devices draw one of d questions, the fakes of all may answer the same one, and it
    is d times that.
    """
    decoder = decoder_of(mechanism)
    reach = decoder.extremes
    return len(decoder.parts) * float(np.maximum(reach.most, 1 - reach.least).max())


def query_influence(mechanism: Mechanism, weights: Floats) -> float:
    """Return the largest kernel value, of g_y - min w and max w - g_y for any response y."""
    return max(
        float(max(g.max() - w.min(), w.max() - g.min()))
        for g, w, _ in _questions(mechanism, weights, weights)
    )


def set_influence(mechanism: Mechanism, size: int | None = None) -> float:
    """Return the largest influence on the share of a set of so many categories; by default, of any.

    As :func:`query_influence` has it of the weights 1 within the set and 0 without, for the worst
    set. A report that supports many categories moves them all at once. Of several questions it is a
    set of answers to one of them.
    """
    each = [part.decoder for part in decoder_of(mechanism).parts]
    if size is None:
        return len(each) * max(one.most_of_sets(None) for one in each)
    if not 0 <= size <= (k := max(one.categories for one in each)):
        raise ValueError(f"a set has 0 to {k} categories")
    return len(each) * max(
        max(one.most_of_sets(size), one.most_of_sets(one.categories - size))
        for one in each
        if size <= one.categories
    )


def worst_shifts(mechanism: Mechanism, frequencies: Floats, share: float) -> tuple[Floats, Floats]:
    """Return how far down and up fake reports bias each estimated frequency at most.

    Either is attained, by fakes that all send one response. Where devices draw one of several
    questions it is the limit of few fakes: more of them move it less than in proportion.
    """
    decoder = decoder_of(mechanism)
    reach, share = decoder.extremes, share * len(decoder.parts)
    return share * (reach.least - frequencies), share * (reach.most - frequencies)


def query_shifts(
    mechanism: Mechanism, weights: Floats, frequencies: Floats, share: float
) -> tuple[float, float]:
    """Return how far down and up fake reports bias a linear query at most."""
    moved = [
        (g.min() - float(w @ f), g.max() - float(w @ f))
        for g, w, f in _questions(mechanism, weights, frequencies)
    ]
    return share * min(down for down, _ in moved), share * max(up for _, up in moved)


def _questions(
    mechanism: Mechanism, weights: Floats, frequencies: Floats
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yield a query's kernel, weights and frequencies in each question that one report is about.

    Of d questions, 1/d of the reports is about each: kernel and weights are d times as large.
    """
    parts = decoder_of(mechanism).parts
    for part in parts:
        w = len(parts) * weights[part.categories]
        yield part.decoder.kernels(w), w, frequencies[part.categories]


def fakes_needed(honest: int, move: float, reach: float) -> int | None:
    """Return how many fakes beside so many honest reports move an estimate so far; None if none do.

    The reach is how far it would move if all reports were fake: the larger of :func:`worst_shifts`
    at a share of 1.
    """
    # M of n + M reports move it by M/(n + M) reach. Both are rounded: a move that falls short of
    # the reach by no more than that is as far.
    return math.ceil(honest * move / (reach - move)) if move < reach * (1 - 1e-9) else None
