"""Poisoning: the effects of fake reports on a histogram, and counts that only they explain.

Honest devices send the response y with a probability of at least min_x P_xy and at most max_x P_xy,
and no honest population has a frequency below 0. Counts that contradict this beyond chance are
impossible for honest devices. Fakes that lie about their answer, but use the mechanism, contradict
nothing: they always look honest. Source: docs/mathematics.md, section 6.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.estimates.decoders import Counts, Decoder, Floats, Tally, decoder_of
from deniable.estimates.influences import influence
from deniable.mechanisms import Mechanism

Flags = NDArray[np.bool_]

FALSE_ALARM: Final = 0.01
"""The greatest chance that counts of honest devices alone have a flag anywhere."""


@dataclass(frozen=True, slots=True, eq=False)
class Poisoning:
    """The effects that fake reports can have on a histogram, and seem to have had.

    Attributes:
        influence: the largest kernel value, from :func:`~deniable.estimates.influence`.
        detectable_share: the least share of fake reports at which a category that no honest device
            has would be flagged at even odds, if the fakes avoid it; None if there is none. Fakes
            that use the mechanism can never be distinguished from honest devices.
        false_alarm: the greatest chance that honest devices alone cause any flag, and that there
            were fewer fakes than ``fewest_fakes``.
        fewest_fakes: at least this many of the reports are fake; 0 if nothing is flagged.
        impossible: which categories' counts honest devices cannot cause, including those that a
            response supports which was sent too often. Unflagged categories may be equally wrong:
            the fakes that leave one category too rare are elsewhere.
    """

    influence: float
    detectable_share: float | None
    false_alarm: float
    fewest_fakes: int
    impossible: Flags
    impossible_responses: Flags

    def bias(self, share: float) -> float:
        """Return the greatest average error of any frequency if this share is fake."""
        return share * self.influence


def poisoning(mechanism: Mechanism, counts: Counts, *, same: bool = True) -> Poisoning:
    """Return the effects of fake reports on estimates, and their signs."""
    decoder = decoder_of(mechanism)
    tally = decoder.tally(counts)
    tests = Tests(decoder, FALSE_ALARM)
    responses, categories = tests.flags(tally)
    if not decoder.kernels_tested:
        categories = responses
    if (often := tests.too_often(tally)).any():
        categories = responses = responses | decoder.supported_by(often)
    return Poisoning(
        influence=influence(mechanism),
        detectable_share=tests.detectable_share(tally.n),
        false_alarm=FALSE_ALARM,
        fewest_fakes=tests.fewest_fakes(tally),
        impossible=responses | categories if same else categories,
        impossible_responses=responses | categories if same else responses,
    )


class Tests:
    """Tests of a mechanism's counts, each with the same part of the false alarm.

    A union bound adds their chances: two for each tested count, and one for each kernel. For a
    design the support counts use one half of the false alarm, and the responses the other.
    """

    def __init__(self, decoder: Decoder, false_alarm: float) -> None:
        self._decoder, self._reach = decoder, decoder.extremes
        kernels = decoder.categories if decoder.kernels_tested else 0
        self.chance = false_alarm / (2 * len(self._reach.rarest) + kernels)
        self._rarest_others = 1 - (decoder.likeliest_response or 1)
        if decoder.likeliest_response is not None:
            self.chance /= 2
            self._chance_of_response = false_alarm / (2 * decoder.responses)

    def flags(self, tally: Tally) -> tuple[Flags, Flags]:
        """Return which tested counts and which categories' estimates are flagged."""
        # A count of independent devices, each of which adds to it with at least the probability p,
        # is stochastically at least a binomial one. A count is too large if the reports that do
        # not add to it are too few.
        n, seen = tally.n, self._seen(tally)
        counted = _too_few(seen, n, self._reach.rarest, self.chance) | _too_few(
            n - seen, n, 1 - self._reach.likeliest, self.chance
        )
        if not self._decoder.kernels_tested:
            return counted, np.zeros(self._decoder.categories, dtype=np.bool_)
        return counted, self._decoder.frequencies(tally) < -self.chance_below_zero(n)

    def too_often(self, tally: Tally) -> Flags:
        """Return which responses were sent too often for any honest answers; only for designs."""
        if not self._rarest_others:
            return np.zeros(len(tally.counts), dtype=np.bool_)
        others = (tally.n - tally.counts).astype(np.float64)
        return _too_few(others, tally.n, self._rarest_others, self._chance_of_response)

    def detectable_share(self, n: int) -> float | None:
        """Return the share of fakes above which a flag is more likely than none."""
        # A count of mean (1 - beta) n p and deviation sqrt(n p (1 - p)) falls below n p by z of
        # these.
        p, z = self._reach.rarest.max(), -float(special.ndtri(self.chance))
        share = z * math.sqrt((1 - p) / (p * n)) if p > 0 else math.inf
        if self._decoder.kernels_tested:
            # Fakes that send the response with the least G_j bring the estimate from 0 to beta
            # min_y G_jy.
            depth, below = -self._reach.least, self.chance_below_zero(n)
            share = min(share, float((below[depth > 0] / depth[depth > 0]).min(initial=math.inf)))
        return share if share <= 1 else None

    def fewest_fakes(self, tally: Tally) -> int:
        """Return the least number of fakes that explains each flag."""
        counted, below_zero = self.flags(tally)
        n, seen = tally.n, self._seen(tally)[counted]
        # Of h honest reports at most as many were seen as of all, so h is at most this.
        most = [
            _most_honest(seen, n, self._reach.rarest[counted], self.chance),
            _most_honest(n - seen, n, 1 - self._reach.likeliest[counted], self.chance),
        ]
        if self._rarest_others:
            # They all have the same probability: the most frequent one gives the strictest bound.
            others = np.array([n - tally.counts.max()], dtype=np.float64)
            most.append(_most_honest(others, n, self._rarest_others, self._chance_of_response))
        if below_zero.any():
            sums = n * self._decoder.frequencies(tally)
            most.append(self._most_honest_sums(sums, n)[below_zero])
        return n - int(min(float(honest.min(initial=n)) for honest in most))

    def _seen(self, tally: Tally) -> Floats:
        return self._decoder.tested_counts(tally).astype(np.float64)

    def _most_honest_sums(self, sums: Floats, n: int) -> Floats:
        """Return the most honest reports at which these sums are not too far below 0."""
        depth = -self._reach.least
        low, high = np.zeros(len(sums)), np.full(len(sums), float(n))
        while (low < high).any():
            middle = np.ceil((low + high) / 2)
            # Each fake takes away at most depth. The sum of the remainder and of the possible
            # deficit by chance, sums + (n - h) depth + h t_h, is concave in h, since h t_h is a
            # minimum of linear functions. At h = 0 it is not negative, so it falls below 0 at most
            # once.
            lack = middle * self.chance_below_zero(np.maximum(middle, 1))
            flagged = sums + (n - middle) * depth + lack < 0
            low, high = np.where(flagged, low, middle), np.where(flagged, middle - 1, high)
        return low

    def chance_below_zero(self, n: int | Floats) -> Floats:
        """Return how far below 0 an honest estimate is with at most a test's chance.

        The bound applies to n reports, or to a number per category, by an inequality that holds for
        every n and every population.
        """
        # Bernstein's, with second moments about 0. For g >= -B and s > 0, sB < 3, E e^(-sg) <= 1 -
        # s E g + E g^2 h,   h = (e^sB - 1 - sB)/B^2 <= s^2 / (2 (1 - sB/3)). For category j, E g is
        # 1 if a device's answer is j and 0 if not, and E g^2 is at most "own" or "other". While
        # (own - other) h <= s the second case is the worse one, whatever the devices: P(mean of g
        # <= -t) <= exp(n (-st + other h)) = chance   at   t = r^2/(2s) + other h, with r^2 = 2
        # ln(1/chance)/n. The best s makes t = r sqrt(other) + r^2 B/6, or is where the condition
        # ends, at 1/s = (own - other)/2 + B/3.
        moments, depth = self._decoder.moments, -self._reach.least
        deviation, excess = np.sqrt(moments.other), np.maximum(moments.own - moments.other, 0.0)
        r = np.broadcast_to(np.sqrt(-2 * math.log(self.chance) / n), deviation.shape)
        capped = r * excess > 2 * deviation
        best = r * deviation
        best[capped] = r[capped] ** 2 * excess[capped] / 4 + moments.other[capped] / excess[capped]
        return np.asarray(best + r * r * depth / 6)


def _too_few(seen: Floats, n: int, p: Floats | float, chance: float) -> Flags:
    """Return which binomial counts have a lower tail below this chance."""
    p = np.broadcast_to(p, seen.shape)
    deviations = (seen - n * p) / np.sqrt(np.maximum(n * p * (1 - p), np.finfo(np.float64).tiny))
    # Tails are slow to compute, and are at least about e^(-z^2) at z deviations below the mean:
    # half of a normal quantile is too near. At z = 0 nothing is too few.
    flags = deviations < special.ndtri(chance) / 2
    few, rare = seen[flags], p[flags]
    flags[flags] = special.betaincc(few + 1, n - few, rare) < chance
    return np.asarray(flags)


def _most_honest(seen: Floats, n: int, p: Floats | float, chance: float) -> Floats:
    """Return the most honest reports at which these binomial counts have no such lower tail."""
    low, high = np.minimum(seen, n), np.full(len(seen), float(n))
    low[~_too_few(seen, n, p, chance)] = n
    while (low < high).any():
        middle = np.ceil((low + high) / 2)
        # The tail is 1 for as many reports as were seen, and falls with every further one.
        tail = special.betaincc(seen + 1, np.maximum(middle - seen, 1), p)
        flagged = (middle > seen) & (tail < chance)
        low, high = np.where(flagged, low, middle), np.where(flagged, middle - 1, high)
    return low
