"""Poisoning: what fake reports can do to a histogram, and which counts only they can explain.

Honest devices send the response y with a probability of at least min_x P_xy and at most max_x P_xy,
and no honest population has a frequency below 0. What contradicts this beyond chance is impossible
for honest devices. Fakes that lie about their answer, but let the mechanism speak, contradict
nothing: whatever they do looks honest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.estimates.influence import fakes_needed, influence
from deniable.estimates.inverse import check_counts, debias, extremes, tables
from deniable.mechanisms import Mechanism, TwoValuedMechanism

__all__ = [
    "FALSE_ALARM",
    "Poisoning",
    "detectable_share",
    "fewest_fakes",
    "impossible_counts",
    "poisoning",
]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FALSE_ALARM: Final = 0.01
"""The chance that counts of honest devices alone have a flag anywhere is at most this."""


@dataclass(frozen=True, slots=True, eq=False)
class Poisoning:
    """What fake reports can do to one histogram, and what they seem to have done.

    Attributes:
        influence: the largest kernel value: one fake report moves n times an estimated frequency no
            further, on average.
        fakes_for_one_error: this many more reports, all fake, move any one of the estimates by its
            standard error; None if no number does, or there is no standard error.
        detectable_share: from which share of fake reports on a category that no honest device holds
            would be flagged at even odds, if they shun it as best they can; None if never. Fakes
            that let the mechanism speak are never told from honest devices.
        false_alarm: the chance is at most this that honest devices alone cause any flag, and that
            fewer fakes were there than ``fewest_fakes``.
        fewest_fakes: at least so many of the reports are fake; 0 where nothing is flagged.
        impossible: whose counts are impossible for honest devices, shape (categories,). What is
            not flagged may be as wrong: the fakes that leave one category too rare are somewhere.
    """

    influence: float
    fakes_for_one_error: int | None
    detectable_share: float | None
    false_alarm: float
    fewest_fakes: int
    impossible: Flags

    def bias(self, share: float) -> float:
        """Return how far off any frequency is on average, at most, if this share is fake."""
        return share * self.influence

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON; what is told of each category is not among them."""
        return {
            "influence": self.influence,
            "bias_at_1_percent": self.bias(0.01),
            "bias_at_5_percent": self.bias(0.05),
            "fakes_for_one_error": self.fakes_for_one_error,
            "detectable_share": self.detectable_share,
            "false_alarm": self.false_alarm,
            "fewest_fakes": self.fewest_fakes,
        }


def poisoning(
    mechanism: Mechanism, counts: Sequence[int], estimate: Floats, errors: Floats
) -> Poisoning:
    """Return what is to be said of fake reports beside an estimate.

    Args:
        mechanism: what honest devices sample from; every category is a response, and vice versa.
        counts: how often each response was seen.
        estimate: of each frequency, shape (categories,).
        errors: the standard error of each, or NaN.

    Raises:
        ValueError: for counts that allow no estimate.
    """
    responses, categories = impossible_counts(mechanism, counts)
    n, reach = check_counts(mechanism, counts), extremes(mechanism)
    furthest = np.maximum(reach.most - estimate, estimate - reach.least)
    # The number of fakes rises with errors/furthest, so only the largest ratio counts.
    worst = int(np.argmax(errors / furthest))
    error = float(errors[worst])
    return Poisoning(
        influence=influence(mechanism),
        fakes_for_one_error=fakes_needed(n, error, float(furthest[worst])) if error > 0 else None,
        detectable_share=detectable_share(mechanism, n),
        false_alarm=FALSE_ALARM,
        fewest_fakes=_fewest(mechanism, counts, responses, categories, FALSE_ALARM),
        impossible=responses | categories,
    )


def impossible_counts(
    mechanism: Mechanism, counts: Sequence[int], false_alarm: float = FALSE_ALARM
) -> tuple[Flags, Flags]:
    """Return what is impossible for honest devices, up to chance.

    Args:
        mechanism: what honest devices sample from.
        counts: how often each response was seen.
        false_alarm: the chance that honest devices alone cause any flag is at most this, for every
            number of them and every population, drawn or fixed.

    Returns:
        Which responses were sent more rarely than by those who send them most rarely, or more often
        than by those who send them most often, shape (responses,); and which categories have
        estimates too far below 0, shape (categories,).

    Raises:
        ValueError: for counts that allow no estimate.

    Source: docs/mathematics.md, section 6.
    """
    n, reach = check_counts(mechanism, counts), extremes(mechanism)
    each = false_alarm / _tests(mechanism)
    # A count of independent devices, each of which sends y with at least the probability p, is
    # stochastically at least a binomial one, and none is sent less often if all others are more.
    seen = np.asarray(counts, dtype=np.float64)
    responses = _too_few(seen, n, reach.rarest, each) | _too_few(
        n - seen, n, 1 - reach.likeliest, each
    )
    if isinstance(mechanism, TwoValuedMechanism):
        # f_j = (c_j/n - q)/kappa is below 0 where c_j is below n q, which has been tested.
        return responses, np.zeros(mechanism.categories, dtype=np.bool_)
    return responses, debias(mechanism, counts) < -_chance_below_zero(mechanism, n, each)


def fewest_fakes(
    mechanism: Mechanism, counts: Sequence[int], false_alarm: float = FALSE_ALARM
) -> int:
    """Return a number of reports that are fake at least; 0 where no count is impossible.

    It is the least for which no test of :func:`impossible_counts` flags the honest rest, whatever
    the fakes said.

    Args:
        mechanism: what honest devices sample from.
        counts: how often each response was seen.
        false_alarm: the chance that fewer are fake is at most this, for every number of honest and
            of fake reports, and every population.

    Raises:
        ValueError: for counts that allow no estimate.

    Source: docs/mathematics.md, section 6.
    """
    flags = impossible_counts(mechanism, counts, false_alarm)
    return _fewest(mechanism, counts, *flags, false_alarm)


def detectable_share(
    mechanism: Mechanism, n: int, false_alarm: float = FALSE_ALARM
) -> float | None:
    """Return about which share of fake reports a category would show at best, at even odds.

    At best: no honest device holds the category, and the fakes shun it.

    Args:
        mechanism: what honest devices sample from.
        n: number of reports, honest and fake.
        false_alarm: the chance that honest devices alone cause any flag.

    Returns:
        The share; None if all reports could be fake and never be flagged so.

    Source: docs/mathematics.md, section 6.
    """
    reach, each = extremes(mechanism), false_alarm / _tests(mechanism)
    # A count of mean (1 - beta) n p and deviation sqrt(n p (1 - p)) falls below n p by z of these.
    p = reach.rarest.max()
    share = -float(special.ndtri(each)) * math.sqrt((1 - p) / (p * n)) if p > 0 else math.inf
    if not isinstance(mechanism, TwoValuedMechanism):
        # Fakes that say where G_j is least bring the estimate from 0 to beta min_y G_jy.
        depth = -reach.least
        below = _chance_below_zero(mechanism, n, each)
        share = min(share, float((below[depth > 0] / depth[depth > 0]).min(initial=math.inf)))
    return share if share <= 1 else None


def _too_few(seen: Floats, n: int, p: Floats, chance: float) -> Flags:
    """Return which binomial counts have a lower tail below this chance."""
    deviations = (seen - n * p) / np.sqrt(np.maximum(n * p * (1 - p), np.finfo(np.float64).tiny))
    # Tails take long to compute, and are at least about e^(-z^2) at z deviations below the mean: a
    # normal quantile's half is too near. At z = 0 nothing is too few.
    flags = deviations < special.ndtri(chance) / 2
    few, rare = seen[flags], p[flags]
    flags[flags] = special.betaincc(few + 1, n - few, rare) < chance
    return np.asarray(flags)


def _fewest(
    mechanism: Mechanism,
    counts: Sequence[int],
    responses: Flags,
    categories: Flags,
    false_alarm: float,
) -> int:
    """Return the least number of fakes that explains each flag."""
    n, reach, each = (
        check_counts(mechanism, counts),
        extremes(mechanism),
        false_alarm / _tests(mechanism),
    )
    seen = np.asarray(counts, dtype=np.float64)[responses]
    # Of h honest reports no more were seen than of all, so that h can be no more than this.
    most = [
        _most_honest(seen, n, reach.rarest[responses], each),
        _most_honest(n - seen, n, 1 - reach.likeliest[responses], each),
    ]
    if categories.any():
        sums = n * debias(mechanism, counts)
        most.append(_most_honest_sums(mechanism, sums, n, each)[categories])
    return n - int(min(float(honest.min(initial=n)) for honest in most))


def _most_honest(seen: Floats, n: int, p: Floats, chance: float) -> Floats:
    """Return of up to how many honest reports these binomial counts have no such lower tail."""
    low, high = np.minimum(seen, n), np.full(len(seen), float(n))
    low[~_too_few(seen, n, p, chance)] = n
    while (low < high).any():
        middle = np.ceil((low + high) / 2)
        # The tail is 1 for as many reports as were seen, and falls with every further one.
        flagged = (middle > seen) & (
            special.betaincc(seen + 1, np.maximum(middle - seen, 1), p) < chance
        )
        low, high = np.where(flagged, low, middle), np.where(flagged, middle - 1, high)
    return low


def _most_honest_sums(mechanism: Mechanism, sums: Floats, n: int, chance: float) -> Floats:
    """Return of up to how many honest reports these estimates times n are not too far below 0."""
    depth = -extremes(mechanism).least
    low, high = np.zeros(len(sums)), np.full(len(sums), float(n))
    while (low < high).any():
        middle = np.ceil((low + high) / 2)
        # Each fake takes away depth at most. The sum of what is left and may be lacking by chance,
        # sums + (n - h) depth + h t_h, is concave in h, since h t_h is a minimum of linear
        # functions; at h = 0 it is not negative: it falls below 0 once at most.
        lack = middle * _chance_below_zero(mechanism, np.maximum(middle, 1), chance)
        flagged = sums + (n - middle) * depth + lack < 0
        low, high = np.where(flagged, low, middle), np.where(flagged, middle - 1, high)
    return low


def _tests(mechanism: Mechanism) -> int:
    """Return how many tests share the false alarm: a union bound adds their chances."""
    kernels = 0 if isinstance(mechanism, TwoValuedMechanism) else mechanism.categories
    return 2 * mechanism.responses + kernels


def _chance_below_zero(mechanism: Mechanism, n: int | Floats, chance: float) -> Floats:
    """Return how far below 0 an honest estimate is with at most this chance, shape (categories,).

    Of n reports, or of another number for each category; by an inequality that holds for every n
    and every population.
    """
    # Bernstein's, with second moments about 0. For g >= -B and s > 0, sB < 3,
    #   E e^(-sg) <= 1 - s E g + E g^2 h,   h = (e^sB - 1 - sB)/B^2 <= s^2 / (2 (1 - sB/3)).
    # For category j, E g is 1 if a device's answer is j and 0 if not, and E g^2 is at most "own" or
    # "other". While (own - other) h <= s the second case is the worse one, whoever the devices are:
    #   P(mean of g <= -t) <= exp(n (-st + other h)) = chance   at   t = r^2/(2s) + other h,
    # with r^2 = 2 ln(1/chance)/n. The best s makes t = r sqrt(other) + r^2 B/6, or is where the
    # condition ends, at 1/s = (own - other)/2 + B/3.
    moments, depth = tables(mechanism).moments, -extremes(mechanism).least
    deviation, excess = np.sqrt(moments.other), np.maximum(moments.own - moments.other, 0.0)
    r = np.broadcast_to(np.sqrt(-2 * math.log(chance) / n), deviation.shape)
    capped = r * excess > 2 * deviation
    best = r * deviation
    best[capped] = r[capped] ** 2 * excess[capped] / 4 + moments.other[capped] / excess[capped]
    return np.asarray(best + r * r * depth / 6)
