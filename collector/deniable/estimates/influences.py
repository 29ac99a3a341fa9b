"""Influence: how far fake reports move an estimate, averaged over honest devices' responses.

The estimate of w.f is the mean over the reports y of a kernel g(y) with P g = w. A report of an
honest device with the answer x adds w_x on average; a fake one adds g(y) for any y that it chooses.
So if a share beta of the reports is fake, and f are the frequencies of the honest devices, the
estimate is off by beta (g(y) - w.f), up to beta (max g - w.f). Fakes that lie about their answer
but use the mechanism reach only beta (w_x - w.f). Source: docs/mathematics.md, section 6.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from deniable.estimates.decoders import Decoder, Floats, decoder_of
from deniable.mechanisms import Mechanism

_ROUNDING: Final = 1e-9


def influence(mechanism: Mechanism) -> float:
    """Return the largest kernel value: of G_jy and 1 - G_jy, for any category j and response y.

    One fake report moves n times an estimated frequency no further, on average, whatever it and
    honest devices send: a share beta of fakes biases no frequency by more than beta times this. If
    honest devices draw one of d questions, all fakes may answer the same one, and it is d times
    that.
    """
    return float(influences(mechanism).max())


def influences(mechanism: Mechanism) -> Floats:
    """Return each category's influence: its frequency's shift, relative to the fakes' share."""
    decoder = decoder_of(mechanism)
    reach = decoder.extremes
    return len(decoder.parts) * np.maximum(reach.most, 1 - reach.least)


def furthest_shifts(mechanism: Mechanism, weights: Floats) -> tuple[float, float]:
    """Return the most that a linear query moves down and up, relative to the share of fakes.

    This holds for all frequencies of the honest devices: w.f is at its greatest and its least.
    """
    parts = decoder_of(mechanism).parts
    shifts = []
    for part in parts:
        # With d questions, 1/d of the reports is about each: the kernel is d times as large.
        w = len(parts) * weights[part.categories]
        least, most = _kernel_ends(part.decoder, w)
        shifts.append((w.max() - least, most - w.min()))
    return max(float(down) for down, _ in shifts), max(float(up) for _, up in shifts)


def _kernel_ends(decoder: Decoder, weights: Floats) -> tuple[float, float]:
    (chosen,) = np.nonzero(weights)
    if len(chosen) == 1:  # for single categories the decoder caches them
        reach, weight = decoder.extremes, weights[chosen[0]]
        ends = weight * reach.least[chosen[0]], weight * reach.most[chosen[0]]
        return float(min(ends)), float(max(ends))
    g = decoder.kernels(weights)
    if not np.ptp(weights):
        # Rows of P sum to 1, so the kernel is this number, too, and fakes cannot move it. For
        # responses that never occur it is 0.
        g = np.where(np.abs(g - weights[0]) <= _ROUNDING * abs(weights[0]), weights[0], g)
    return float(g.min()), float(g.max())


def report_shifts(mechanism: Mechanism, weights: Floats, frequencies: Floats) -> Floats:
    """Return the shift of a linear query by each response if all reports were that response."""
    parts = decoder_of(mechanism).parts
    return np.concatenate(
        [
            len(parts) * (part.decoder.kernels(w) - w @ frequencies[part.categories])
            if w.any()
            else np.zeros(part.decoder.responses)
            for part in parts
            for w in [weights[part.categories]]
        ]
    )


def ratio_shift(
    above: tuple[float, Sequence[Floats]],
    below: tuple[float, Sequence[Floats]],
    counted: Sequence[Floats],
    share: float,
) -> float:
    """Return the greatest error of a ratio if this share of each sample's reports is fake.

    Above and below are values, and the amounts that a sample's responses would add to them;
    ``counted`` are the shares of each response in its reports. It is infinite if without some fakes
    the value below would be 0, or the ratio meaningless.
    """
    (a, added), (b, divided) = above, below
    odds = 1 / (1 - share)

    def without(up_weight: float, down_weight: float) -> tuple[float, float]:
        """Return both values without the fakes that add most to a weighted sum of them."""
        honest, under = a, b
        for up, down, reports in zip(added, divided, counted, strict=True):
            order = np.argsort(-(up_weight * up + down_weight * down))
            before = np.cumsum(reports[order]) - reports[order]
            fakes = np.clip(share - before, 0.0, reports[order])
            honest -= odds * float(fakes @ up[order])
            under -= odds * float(fakes @ down[order])
        return honest, under

    if not without(0.0, 1.0)[1] > 0:
        return math.inf
    furthest = 0.0
    for direction in (1.0, -1.0):
        # The largest ratio of sums is where the largest a' - r b' is 0 (Dinkelbach 1967): each
        # step's ratio exceeds the previous one, and there are finitely many.
        bound = direction * a / b
        while True:
            honest, under = without(-direction, bound)
            if not direction * honest / under > bound:
                break
            bound = direction * honest / under
        furthest = max(furthest, bound - direction * a / b)
    return furthest
