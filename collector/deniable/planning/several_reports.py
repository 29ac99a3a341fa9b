"""Several reports of one device: the cheapest candidates that together keep an epsilon."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf, log, log1p, sqrt
from typing import Final

from deniable.planning.candidates import DESIGNS, PLAIN, Candidate

# For few reports the total depends on the odds in steps, so the cost has many minima over the sizes
# of blocks: all are considered, in floating point. The choice from the result is then computed
# exactly.


_SHARES: Final = 200
"""Of blocks whose fractions of all categories agree within 1/200, one design is considered."""

_STRIDE: Final = 31
"""A stride: it finds a cost near the least early, which excludes most designs at once."""

_HALVINGS: Final = 30


@dataclass(frozen=True, slots=True)
class Total:
    """A number of reports of one device, and the epsilon and delta of all reports together."""

    reports: int
    epsilon: float
    delta: float

    def kept_by(self, candidate: Candidate, excess: float) -> bool:
        """Return whether reports with the odds 1 + ``excess`` keep the total."""
        import numpy as np  # only here; the choice for one report does not need it

        # A report has a log odds of step, 0 or -step, with the chances E a, the rest and a. The
        # distribution of their sum is the inverse transform of the power of its transform. Beyond
        # 12 standard deviations and 32 steps there is almost nothing that could wrap around.
        step = log1p(excess)
        apart = candidate.separating / (candidate.responses + candidate.replication * excess)
        mean, deviation = apart * excess, sqrt(self.reports * apart * (2 + excess))
        width = 1 << min(2 * self.reports, int(24 * deviation) + 64).bit_length()
        first = int(self.reports * mean) - width // 2
        turn = np.exp(-2j * np.pi * np.arange(width) / width)
        one = 1 + apart * ((1 + excess) * (turn - 1) + (turn.conj() - 1))
        losses = step * ((np.arange(width) - first) % width + first)
        law = np.fft.ifft(one**self.reports).real
        beyond = losses > self.epsilon
        delta = law[beyond] @ -np.expm1(self.epsilon - losses[beyond])
        return bool(delta <= self.delta)


def cheapest(
    those: Sequence[Candidate],
    total: Total,
    slack: float,
    within: float,
    most: int,
    largest_share: float,
) -> dict[Candidate, float]:
    """Return the design of each kind with the fewest responses among the nearly cheapest.

    The designs have about the epsilon of one report at which all reports keep the total, blocks no
    larger than these, and at most this many responses; ``within`` is the tolerance.
    """
    chosen = {}
    for kind in (PLAIN, *DESIGNS):
        near: list[tuple[Candidate, float, float]] = []
        least = inf
        of_kind = sorted((one for one in those if one.kind == kind), key=lambda one: one.points)
        for one in _smaller_blocks(of_kind, most):
            # Costs fall as odds rise, so the odds required for a nearly least cost exclude most.
            low = max(
                _excess_at(one, least * within, min(largest_share, 0.5)), one.excess(0.0, slack)
            )
            if low == inf or not total.kept_by(one, low):
                continue
            high = max(1.0, 2 * low)
            while total.kept_by(one, high):
                low, high = high, 2 * high
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                low, high = (middle, high) if total.kept_by(one, middle) else (low, middle)
            cost = one.cost_at(low, largest_share)
            least = min(least, cost)
            near.append((one, low, cost))
        enough = (entry for entry in near if entry[2] <= least * within)
        for one, excess, _ in sorted(enough, key=lambda entry: entry[0].responses)[:1]:
            chosen[one] = one.epsilon_of(excess, slack)
    return chosen


def _smaller_blocks(those: Sequence[Candidate], most: int) -> list[Candidate]:
    """Return designs with blocks no larger than these, in strides over their fractions.

    Smaller blocks may be more numerous: those above ``most`` are omitted.
    """
    by_share: dict[int, Candidate] = {}
    for one in those:
        unit = one.block / one.points / one.size
        for size in reversed(one.sizes(most)):
            if size <= one.size and (share := round(_SHARES * log(size * unit))) not in by_share:
                with suppress(ValueError):  # there may be too many subsets
                    smaller = one.of_size(size)
                    if smaller.responses <= most:
                        by_share[share] = smaller
    return [by_share[share] for share in sorted(by_share, key=lambda share: share % _STRIDE)]


def _excess_at(one: Candidate, cost: float, largest_share: float) -> float:
    """Return E - 1 at which a design has this cost, infinite if it always costs more."""
    # With e = E - 1, c = K - r, a = r - t and a share f, v = cost/k is v a^2 e^2 = (t e + r)(a e +
    # c) + f a e (c - r - t e):   A e^2 = B e + C, or, if that is less, its value at f = 0. The
    # greater cost requires the greater e.
    if cost == inf:
        return 0.0
    r, t, a = one.replication, one.together, one.separating
    lacking, variance = one.responses - r, cost / one.categories
    excess = 0.0
    for share in (0.0, max(largest_share, 1 / one.categories)):
        square = variance * a**2 - t * a * (1 - share)
        linear = t * lacking + r * a + share * a * (lacking - r)
        if square <= 0:
            return inf
        root = sqrt(linear**2 + 4 * square * r * lacking)
        excess = max(excess, (linear + root) / (2 * square))
    return excess
