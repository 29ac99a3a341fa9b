"""The true frequencies: their unbiased estimates, covariance and intervals, and views of them.

The unbiased estimate may leave [0, 1]; sums and averages of it are correct. Other views stay within
it and sum to 1, but are biased: they are for display, and never added up or averaged. Which view
people see first does not depend on the counts, so the choice adds no bias: it follows from the
mechanism and the number of reports (``first_view``).
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from deniable.estimates.binomial import IntervalMethod, check_level
from deniable.estimates.decoders import (
    Decoder,
    Floats,
    Model,
    Tally,
    decoder_of,
    recurring_errors,
)
from deniable.mechanisms import Mechanism

_MOST_WEIGHTS: Final = 1 << 22
_DUST: Final = 1e-9
"""Rounding alone may exceed the possible range by this fraction."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Confidence intervals for the frequencies of all categories, within [0, 1].

    They are about the estimate, or the nearest possible one: otherwise they would be shortest where
    chance misleads most. If that is further than the interval reaches, it is ``outside``: the data
    are surprising, because of chance or false reports.
    """

    low: Floats
    high: Floats
    methods: tuple[IntervalMethod, ...]
    outside: NDArray[np.bool_]


def errors_of(decoder: Decoder, tally: Tally) -> Floats:
    """Return the error of each frequency; unbiased variance: docs/mathematics.md, section 4."""
    errors = decoder.standard_errors(tally, Model.SAMPLED)
    if tally.epochs == 1:
        return errors
    return recurring_errors(tally, errors, decoder.standard_errors(tally, Model.FIXED))


def covariance(mechanism: Mechanism, frequencies: Floats, n: int, model: Model) -> Floats:
    """Return the exact covariance of n reports' estimate, given the true frequencies.

    With several questions, n/d reports are about each. ValueError for fixed devices, since it is
    unknown how answers to two questions are related.
    """
    decoder = decoder_of(mechanism)
    if len(decoder.parts) > 1 and model is Model.FIXED:
        raise ValueError("with fixed devices, no report shows how two questions are related")
    # It is 0 between questions: their reports share no device.
    covariance = np.zeros((decoder.categories, decoder.categories))
    for part in decoder.parts:
        f = frequencies[part.categories]
        own = report_covariance(part.decoder, f, part.decoder.response_shares(f), model)
        covariance[part.categories, part.categories] = own * len(decoder.parts) / n
    return covariance


def report_covariance(decoder: Decoder, f: Floats, shares: Floats, model: Model) -> Floats:
    """Return G C G^T, where C is the covariance of the indicator of one report's response.

    C = diag lam - lam lam^T in the sampled model, diag lam - P^T diag(f) P in the fixed one.
    """
    # G lam = f and, since G P^T = I, G P^T diag(f) P G^T = diag f.
    mean = decoder.sums(shares)
    covariance = np.outer(-mean, mean) if model is Model.SAMPLED else np.diag(-f)
    # Some rows of G at a time: it may have 2^20 columns.
    k = decoder.categories
    step = max(1, _MOST_WEIGHTS // decoder.responses)
    for first in range(0, k, step):
        rows = covariance[first : first + step]
        rows += decoder.sums(decoder.kernels(np.eye(len(rows), k, first)) * shares)
    return covariance


def intervals_of(decoder: Decoder, tally: Tally, level: float) -> Intervals:
    """Return an interval for each category's true frequency.

    For randomised response, and any other mechanism with binomial counts for the categories, it is
    Wilson's, or Clopper-Pearson's if a count or its complement is below 5, or more at levels above
    95 %. For any other matrix it is the normal interval, labelled as such. Its variance adds z^2/2
    to each response's count, and is never below the least in any population. There a single report
    is uninformative.
    """
    low, high, methods = uncut_intervals(decoder, tally, level, possible=True)
    value = decoder.frequencies(tally)
    # An interval about a limit begins there, despite rounding of its count.
    low = np.clip(np.where(value <= 0, 0.0, low), 0, 1)
    high = np.clip(np.where(value >= 1, 1.0, high), 0, 1)
    return Intervals(low, high, methods, np.asarray(beyond(value, low, high)))


def beyond(value: Any, low: Any, high: Any, least: float = 0.0, most: float = 1.0) -> Any:
    """Return whether estimates are further from all possible values than their intervals reach.

    It is for numbers and for arrays. The interval is the one about the nearest possible value,
    clipped to the possible range; one that was clipped on both sides reaches any estimate.
    """
    dust = _DUST * max(abs(least), abs(most)) if math.isfinite(most - least) else 0.0
    below = (high < most) & (least - value > high - least + dust)
    return below | ((low > least) & (value - most > most - low + dust))


def uncut_intervals(
    decoder: Decoder, tally: Tally, level: float, *, possible: bool = False
) -> tuple[Floats, Floats, tuple[IntervalMethod, ...]]:
    """Return the ends of the intervals before they are clipped to [0, 1], and their methods."""
    check_level(level)
    low, high, methods = decoder.intervals(tally, level, possible=possible)
    if tally.epochs > 1 and tally.n > 1:
        # Widened, about the estimate, in proportion to its error.
        value, errors = decoder.frequencies(tally), decoder.standard_errors(tally, Model.SAMPLED)
        wider = errors_of(decoder, tally) / np.where(errors > 0, errors, np.inf)
        wider = np.fmax(wider, 1.0)
        value = np.clip(value, 0, 1) if possible else value
        low, high = value + wider * (low - value), value + wider * (high - value)
    return low, high, methods


_FEW: Final = 10
"""Up to this many answers are read one by one."""


class View(StrEnum):
    """A way to display frequencies."""

    UNBIASED = "unbiased"
    """As they are estimated."""

    PROJECTED = "projected"
    """The frequencies nearest to the estimate, never further from the truth than it is."""


def first_view(decoder: Decoder, tally: Tally) -> View:
    """Return the view that people see first: projected, if noise makes shares impossible.

    That is the case if at least one estimate is expected below 0, even with equally frequent
    answers, and if there are many: few estimates are read one by one.
    """
    # For k answers, with the standard error s at even ones, k Phi(-1/(k s)). If answers differ,
    # with similar errors, it is more: Phi(-f/s) is convex in f >= 0 (Jensen). The variance of one
    # report at even answers has at most the second moment (own + (k - 1) other)/k.
    negative = 0.0
    for part in decoder.parts:
        n, k, moments = part.tally(tally).n, part.decoder.categories, part.decoder.moments
        if not n:
            return View.UNBIASED  # a question without reports has no other
        if k <= _FEW:
            continue
        variance = (moments.own + (k - 1) * moments.other) / k - 1 / k**2
        negative += float(np.sum(np.broadcast_to(ndtr(-np.sqrt(n / variance) / k), k)))
    return View.PROJECTED if negative >= 1 else View.UNBIASED


def viewed(view: View, decoder: Decoder, tally: Tally) -> Floats:
    """Return the frequencies in a view; for several questions, each question's.

    ValueError for a question without reports, unless the view is the unbiased one.
    """
    if view is View.UNBIASED:
        return decoder.frequencies(tally)
    frequencies = np.empty(decoder.categories)
    for part in decoder.parts:
        own = part.tally(tally)
        if not own.n:
            raise ValueError("one of the questions has no reports yet")
        frequencies[part.categories] = projected(part.decoder.frequencies(own))
    return frequencies


def projected(frequencies: Floats) -> Floats:
    """Return the nearest frequencies that are not negative and sum to 1, in O(k log k).

    Source: Duchi et al. 2008; docs/mathematics.md, section 19.
    """
    # This is (f - t)_+ for the t at which it sums to 1. With f sorted in descending order, the
    # support is the longest head in which every member is above the t of that head.
    head = np.sort(frequencies)[::-1]
    t = (np.cumsum(head) - 1) / np.arange(1, len(head) + 1)
    return np.asarray(np.maximum(frequencies - t[np.flatnonzero(head > t)[-1]], 0.0))
