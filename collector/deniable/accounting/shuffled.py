"""Shuffled reports: what their histogram reveals about one of them, by the privacy blanket.

With probability gamma = sum_y w(y) a response is drawn from the same distribution for all answers,
w(y)/gamma with w(y) = min_x P(x, y). So about gamma n of n honest reports reveal nothing, and each
of the others is hidden among them. With U = P(x, Y)/w(Y), V = P(x', Y)/w(Y) for Y from that
distribution, and E = e^eps,

    delta(eps) <= (1/n) max over x, x' of E[(sum of L_1 .. L_M)_+],  L = U - E V,  M ~ Bin(n, gamma)

(Balle, Bell, Gascon and Nissim 2019). It bounds every function of the histogram alone.

The sum is one of n independent X, each L with probability gamma and otherwise 0. Its distribution
is computed on a lattice, and no step makes the result smaller:

1. A value between two lattice points is split onto both, preserving the mean. The joint
   distribution of all pairs of answers is also used, which is above each in convex order: E(X -
   c)_+ is the greatest of theirs.
2. Masses grow by more than their rounding. Their sum exceeds 1 by that amount.
3. The masses are tilted, p e^(theta x)/M(theta), so that the sum is centred where it begins to
   count. The n-fold sum is a Fourier transform, whose error is bounded and added, and so is the
   probability (Chernoff's bound) of values beyond its period.

Source: docs/mathematics.md, section 21.
"""

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from deniable.accounting.privacy_loss import epsilon_ceiling
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Mechanism,
    Number,
    OneQuestion,
    TwoValuedPrivacy,
    exact_delta,
    exact_epsilon,
    log_ceiling,
)
from deniable.mechanisms.privacy import column_extremes

Floats = NDArray[np.float64]

MOST_REPORTS: Final = 10**8
"""More reports hide at least as much: they count as this many."""
_MOST_PAIRED: Final = 32
"""The most rows that are compared pair by pair; for more, gamma and the odds give a bound."""
_POINTS: Final = 1 << 17
_DEVIATIONS: Final = 9.0
_FINEST: Final = 256
_WIDEST: Final = 1024
_ROUNDING: Final = 2.0**-50
_PRECISION: Final = 1e-4
_UNIT: Final = 10**12


def shuffled_delta(mechanism: Mechanism, reports: int, epsilon: Number) -> Fraction:
    """Return an upper bound of the delta of a report among this many honest ones in a histogram.

    Raises:
        ValueError: for fewer than one report, or a mechanism that is not pure.
    """
    level, _, laws = _parameters(mechanism)
    n = _counted(reports)
    if (epsilon := exact_epsilon(epsilon)) >= level:
        return Fraction(0)
    return Fraction(min(1.0, _delta(laws, n, float(epsilon))))


def shuffled_epsilon(mechanism: Mechanism, reports: int, delta: Number) -> Decimal:
    """Return an epsilon that holds with this delta, about 0.1 % above the least.

    It never exceeds the mechanism's own. ValueError as for :func:`shuffled_delta`.
    """
    level, _, _ = _parameters(mechanism)
    if (slack := exact_delta(delta)) == 0:
        return epsilon_ceiling(level)
    return _epsilon(mechanism, _counted(reports), float(slack))


def shuffled_level(mechanism: Mechanism, reports: int, chance: Number) -> Decimal:
    """Return a level that the loss of one report exceeds with at most this chance.

    Its histogram is at most e^level times as likely with the report's answer as with *any* other.
    It never exceeds the mechanism's own epsilon. ValueError as for :func:`shuffled_delta`.
    """
    level, _, _ = _parameters(mechanism)
    # delta(e) is E[(1 - exp(e - L))+], at least 1/m of Pr[L > e - ln(1 - 1/m)], for any m; against
    # some of k - 1 other answers the probability that L is above is at most k - 1 times that. The
    # best m is about that of a Gaussian loss.
    one = exact_delta(chance) / (mechanism.categories - 1)
    if one == 0:
        return epsilon_ceiling(level)
    near = float(shuffled_epsilon(mechanism, reports, one))
    m = math.ceil(2 + 2 * math.log(1 / one) / max(near, _PRECISION))
    below = Fraction(shuffled_epsilon(mechanism, reports, one / m))
    beyond = Fraction(log_ceiling(Fraction(m, m - 1), _UNIT), _UNIT)
    return epsilon_ceiling(min(level, below + beyond))


@lru_cache(maxsize=256)
def _epsilon(mechanism: Mechanism, n: int, target: float) -> Decimal:
    level, spread, laws = _parameters(mechanism)
    most = float(level)

    def excess(epsilon: float) -> float:
        """Return ln(delta/target), clipped where it is no longer useful."""
        delta = _delta(laws, n, epsilon) if epsilon < most else 0.0
        return math.log(max(delta, target * 1e-9) / target)

    if excess(0.0) <= 0:
        return Decimal(0)
    # Approximately Gaussian: delta(eps) is of the order of exp(-eps^2/2 s^2), s = spread/sqrt(n).
    low, high = 0.0, spread * math.sqrt(2 * math.log(1 / target) / n) / 2
    while high < most and excess(high) > 0:
        low, high = high, 2 * high
    bound = optimize.brentq(excess, low, min(high, most), rtol=_PRECISION)
    while excess(bound) > 0:
        bound *= 1 + _PRECISION
    return epsilon_ceiling(min(level, Fraction(bound)))


def _counted(reports: int) -> int:
    if reports < 1:
        raise ValueError("there must be at least one report")
    return min(reports, MOST_REPORTS)


Laws = tuple[Floats, Floats, Floats]
"""The masses w(y), U and V of some pairs of answers, one row per pair."""


@lru_cache(maxsize=32)
def _parameters(mechanism: Mechanism) -> tuple[Fraction, float, Laws]:
    """Return the pure level of a report, the deviation of U - V, and the pairs of answers."""
    if mechanism.privacy.odds is None:
        raise InvalidPrivacyParameter("the bound for shuffled reports requires a pure guarantee")
    masses, one, other = (
        np.array(rows, dtype=float) for rows in zip(*_pairs(mechanism), strict=True)
    )
    spread = math.sqrt((masses * (one - other) ** 2).sum(axis=1).max())
    return Fraction(mechanism.privacy.epsilon), spread, (masses, one, other)


def _pairs(mechanism: Mechanism) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yield the masses w, U and V of pairs of answers that no other pair exceeds."""
    privacy = mechanism.privacy
    if isinstance(privacy, TwoValuedPrivacy):
        # Of K responses r support x, and c of these not x': K q + (d - q) r = 1, w = q everywhere.
        size, separating = mechanism.responses, privacy.separating
        supporting = (1 - size * privacy.lie) / (privacy.truth - privacy.lie or 1)
        both = supporting - separating
        counts = (separating, separating, both, size - 2 * separating - both)
        yield _four([float(count * privacy.lie) for count in counts], float(privacy.odds))
    elif isinstance(mechanism, OneQuestion):
        # Answers that differ in every question: where they agree, U and V agree, and L is as near
        # as possible to its mean.
        parts = [next(_pairs(part)) for part in mechanism.parts]
        masses, one, other = (np.concatenate(column) for column in zip(*parts, strict=True))
        yield masses / len(parts), one, other
    elif mechanism.categories <= _MOST_PAIRED:
        rows = np.array([mechanism.row(x) for x in range(mechanism.categories)], dtype=float)
        rows = rows[:, rows.any(axis=0)] / float(mechanism.grid)
        least = rows.min(axis=0)
        for one, other in permutations(rows / least, 2):
            yield least, one, other
    else:
        # Of all U, V within [1, E] with the mean 1/gamma, E(U - E V - c)_+ is greatest where each
        # is 1 or E, and the two are simultaneously E as seldom as that allows.
        most = float(privacy.odds or 1)
        gamma = sum(column_extremes(mechanism)[1]) / mechanism.grid
        high = (1 / gamma - 1) / (most - 1) if most > 1 else 0.0
        together = max(0.0, 2 * high - 1)
        apart, none = high - together, max(0.0, 1 - 2 * high + together)
        yield _four([gamma * share for share in (apart, apart, together, none)], most)


def _four(masses: list[float], odds: float) -> tuple[Floats, Floats, Floats]:
    """Return the distribution of blocks that contain x only, x' only, both, and neither."""
    one, other = [odds, 1.0, odds, 1.0], [1.0, odds, odds, 1.0]
    return np.array(masses), np.array(one), np.array(other)


def _delta(laws: Laws, n: int, epsilon: float) -> float:
    masses, one, other = laws
    # A lower bound of e^epsilon makes every value, and so delta, larger.
    values = one - math.exp(epsilon) * (1 - 4e-16) * other
    top = float(values[masses > 0].max())
    if top <= 0:
        return 0.0
    deviation = math.sqrt(float((masses * values**2).sum(axis=1).max()))
    width = max(top, 0.0 - float(values.min()))
    reach = min(n * 2 * width, 2 * _DEVIATIONS * deviation * math.sqrt(n))
    # The greatest value is a point, unless others are much further below 0.
    step = top / min(max(int(_POINTS * top / reach), 1), _FINEST)
    step = max(step, width / _WIDEST)
    low, law = _lattice(masses, values, step)
    return _positive_part(low, law, step, n) / n


def _lattice(masses: Floats, values: Floats, step: float) -> tuple[int, Floats]:
    """Return X's distribution at consecutive multiples of the step, from the first on."""
    places = values / step
    floors = np.floor(places)
    low = min(int(floors.min()), 0)
    size = max(int(floors.max()), 0) + 2 - low
    pairs = len(masses)
    at = (floors.astype(np.int64) - low) + size * np.arange(pairs)[:, None]
    upper = masses * (places - floors)
    law = np.zeros(pairs * size)
    for where, weights in ((at, masses - upper), (at + 1, upper)):
        law += np.bincount(where.ravel(), weights.ravel(), minlength=pairs * size)
    laws = law.reshape(pairs, size)
    laws[:, -low] += np.maximum(0.0, 1 - masses.sum(axis=1))
    law = laws[0]
    scale = 1 + float(np.abs(places).max())
    if pairs > 1:
        # sum_(i > j) (i - j) p_i at each point j, the greatest of all pairs: its second differences
        # are the masses of a distribution that is above each pair's.
        beyond = np.cumsum(laws[:, ::-1], axis=1)[:, ::-1]
        stop = np.zeros((pairs, size + 2))
        stop[:, 1:size] = np.cumsum(beyond[:, :0:-1], axis=1)[:, ::-1]
        stop[:, 0] = stop[:, 1] + 1  # below the least point its slope is the total mass
        greatest = stop.max(axis=0)
        law = np.maximum(np.diff(greatest, 2), 0.0)
        scale *= size
    # Also beside those, where a value is on a point up to its rounding.
    kept = np.convolve(law > 0, np.ones(3), "same") > 0
    return low, np.where(kept, law + _ROUNDING * scale, 0.0)


def _positive_part(low: int, law: Floats, step: float, n: int) -> float:
    """Return an upper bound of E(S)_+ for the sum S of n independent X with this distribution."""
    points, law = np.flatnonzero(law) + low, law[law > 0]
    values = np.multiply(step, points, dtype=np.float64)
    theta = _tilt(law, values)
    growth = _growth(law, values, theta)
    tilted = law * np.exp(theta * values - growth)
    deviation = math.sqrt(float((tilted * values**2).sum()) * n)
    whole = n * int(np.abs(points).max()) + 1
    period = 1 << (2 * min(whole, math.ceil(_DEVIATIONS * deviation / step)) + 2).bit_length()
    wrapped = np.bincount(points % period, tilted, minlength=period)
    transform = np.fft.rfft(wrapped)
    powered = np.exp(n * np.log(np.where(transform == 0, 1e-300, transform)))
    sums = np.maximum(np.fft.irfft(powered, period)[1 : period // 2], 0.0)
    # The error of a transform of length N is below 4 u log2(N) of its norm (Higham 2002, theorem
    # 24.2), at most sqrt(N) in any place; that of its n-th power is n times that; and the inverse
    # adds the same again.
    rounding = 2.0**-51 * math.log2(period)
    error = rounding * math.sqrt(period)
    size = np.abs(transform)
    powers = np.exp((n - 1) * np.log(size + error))
    relative = n * (error + 2.0**-50 * size * (1 + np.abs(np.log(np.maximum(size, 1e-300)))))
    slack = 2 * float((powers * relative).sum()) / period + rounding
    places = step * np.arange(1, period // 2)
    weights = places * np.exp(-theta * places)
    beyond = 0.0
    if whole >= period // 2:
        # P(S >= b) <= exp(n (K(theta + s) - K(theta)) - s b) under the tilted distribution, for any
        # s; and x e^(-theta x) is at most 1/(e theta).
        s = _DEVIATIONS / deviation
        shift = n * (_growth(law, values, theta + s) - growth) - s * step * (period // 2)
        beyond = math.exp(min(shift, 0.0)) / (math.e * theta)
    total = float((sums * weights).sum()) + slack * float(weights.sum()) + beyond
    return math.exp(n * growth) * total * (1 + 1e-9)


def _growth(law: Floats, values: Floats, theta: float) -> float:
    """Return ln M(theta) = ln sum p e^(theta x), accurate enough to be multiplied by n."""
    with np.errstate(over="ignore"):  # infinity is a valid bound
        above = float((law * np.expm1(theta * values)).sum())
    return math.log1p(above + (float(law.sum()) - 1))


def _tilt(law: Floats, values: Floats) -> float:
    """Return about the theta with the least M(theta), at which the tilted mean is 0."""
    low, high = 0.0, 1 / float(values[-1])

    def mean(theta: float) -> float:
        return float((law * values * np.exp(theta * (values - values[-1]))).sum())

    while mean(high) < 0:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) < 0 else (low, middle)
    return high
