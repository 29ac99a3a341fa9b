"""The true frequencies: their unbiased estimates, covariance and intervals."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, overload

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.binomial import IntervalMethod, check_level
from deniable.estimates.decoders import (
    Counts,
    Decoder,
    Floats,
    Model,
    Part,
    Tally,
    decoder_of,
    recurring_errors,
)
from deniable.mechanisms import Mechanism

_MOST_WEIGHTS: Final = 1 << 22
_DUST: Final = 1e-9
"""By so much of what is possible rounding alone may leave it."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Confidence intervals for the frequencies of all categories, within [0, 1].

    About the estimate, or the possible one that is nearest to it: else they would be shortest where
    chance led furthest astray. Where that is further than the interval reaches, it is ``outside``:
    the data are surprising, for chance or because somebody sent false reports.
    """

    low: Floats
    high: Floats
    methods: tuple[IntervalMethod, ...]
    outside: NDArray[np.bool_]


def debias(mechanism: Mechanism, counts: Counts) -> Floats:
    """Return the unbiased estimate of the true frequencies, which may leave [0, 1].

    They sum to 1, or less if responses were counted that never occur. docs/mathematics.md,
    section 3.
    """
    decoder = decoder_of(mechanism)
    return decoder.frequencies(decoder.tally(counts))


def standard_errors(mechanism: Mechanism, counts: Counts, model: Model) -> Floats:
    """Return the error of each frequency; unbiased variance: docs/mathematics.md, section 4."""
    decoder = decoder_of(mechanism)
    return errors_of(decoder, decoder.tally(counts), model)


def errors_of(decoder: Decoder, tally: Tally, model: Model) -> Floats:
    """Return the errors, of checked counts."""
    errors = decoder.standard_errors(tally, model)
    if model is Model.FIXED or tally.epochs == 1:
        return errors
    return recurring_errors(tally, errors, decoder.standard_errors(tally, Model.FIXED))


def covariance(mechanism: Mechanism, frequencies: Floats, n: int, model: Model) -> Floats:
    """Return the exact covariance of n reports' estimate, given the true frequencies.

    Of several questions, with n/d reports about each; ValueError for fixed devices, of which
    nothing tells how answers to two questions go together.
    """
    decoder = decoder_of(mechanism)

    def of_question(part: Part) -> Floats:
        f = frequencies[part.categories]
        shares = part.decoder.response_shares(f)
        return report_covariance(part.decoder, f, shares, model) * len(decoder.parts) / n

    return _blocks(decoder, of_question, model)


def estimated_covariance(mechanism: Mechanism, counts: Counts, model: Model) -> Floats:
    """Return an unbiased estimate of that covariance from the counts."""
    decoder = decoder_of(mechanism)
    return covariance_of(decoder, decoder.tally(counts), model)


def covariance_of(decoder: Decoder, tally: Tally, model: Model) -> Floats:
    """Return the covariance, of checked counts."""

    def of_question(part: Part) -> Floats:
        # The responses' frequencies are taken as they were counted: in the sampled model that is
        # the sample covariance of G's columns, never negative, even if G is not square.
        own = part.tally(tally)
        f = part.decoder.frequencies(own)

        def variance(model: Model) -> Floats:
            return report_covariance(part.decoder, f, own.shares, model) / own.degrees(model)

        if model is Model.FIXED or own.epochs == 1:
            return variance(model)
        # As of a single query, see ``recurring_errors``.
        sampled = variance(Model.SAMPLED)
        return sampled + (own.epochs - 1) * (sampled - variance(Model.FIXED))

    return _blocks(decoder, of_question, model)


def _blocks(decoder: Decoder, of_question: Callable[[Part], Floats], model: Model) -> Floats:
    """Return the covariance with 0 between questions: reports about them share no device."""
    if len(decoder.parts) > 1 and model is Model.FIXED:
        raise ValueError("if devices are fixed, no report tells how two questions go together")
    covariance = np.zeros((decoder.categories, decoder.categories))
    for part in decoder.parts:
        covariance[part.categories, part.categories] = of_question(part)
    return covariance


def report_covariance(decoder: Decoder, f: Floats, shares: Floats, model: Model) -> Floats:
    """Return G C G^T, with C the covariance of the indicator of one report's response.

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


def frequency_intervals(mechanism: Mechanism, counts: Counts, level: float) -> Intervals:
    """Return an interval for each category's true frequency.

    Randomised response, and whatever else has binomial counts for the categories: Wilson, or
    Clopper-Pearson where a count or its complement is below 5, or more at levels above 95 %. Any
    other matrix: the normal interval, and labelled so; its variance takes each response to have
    been seen z^2/2 times more than it was, and is never below the least that any population has.
    One report says nothing there.
    """
    decoder = decoder_of(mechanism)
    return intervals_of(decoder, decoder.tally(counts), level)


def intervals_of(decoder: Decoder, tally: Tally, level: float) -> Intervals:
    """Return the intervals, of checked counts."""
    low, high, methods = uncut_intervals(decoder, tally, level, possible=True)
    value = decoder.frequencies(tally)
    # An interval about a limit begins there, whatever rounding of its count says.
    low = np.clip(np.where(value <= 0, 0.0, low), 0, 1)
    high = np.clip(np.where(value >= 1, 1.0, high), 0, 1)
    return Intervals(low, high, methods, np.asarray(beyond(value, low, high)))


@overload
def beyond(value: float, low: float, high: float, least: float, most: float) -> bool: ...


@overload
def beyond(value: Floats, low: Floats, high: Floats) -> NDArray[np.bool_]: ...


def beyond(
    value: "float | Floats",
    low: "float | Floats",
    high: "float | Floats",
    least: float = 0.0,
    most: float = 1.0,
) -> "bool | NDArray[np.bool_]":
    """Tell whether an estimate is further from all that is possible than its interval reaches.

    The interval is the one about the nearest possible value, cut to what is possible; one that was
    cut on both sides reaches any estimate.
    """
    dust = _DUST * max(abs(least), abs(most)) if math.isfinite(most - least) else 0.0
    below = (high < most) & (least - value > high - least + dust)
    return below | ((low > least) & (value - most > most - low + dust))


def uncut_intervals(
    decoder: Decoder, tally: Tally, level: float, *, possible: bool = False
) -> tuple[Floats, Floats, tuple[IntervalMethod, ...]]:
    """Return the ends of the intervals before they are cut to [0, 1], and how they were made."""
    check_level(level)
    low, high, methods = decoder.intervals(tally, level, possible=possible)
    if tally.epochs > 1 and tally.n > 1:
        # As much wider, about the estimate, as its error is.
        value, errors = decoder.frequencies(tally), decoder.standard_errors(tally, Model.SAMPLED)
        wider = errors_of(decoder, tally, Model.SAMPLED) / np.where(errors > 0, errors, np.inf)
        wider = np.fmax(wider, 1.0)
        value = np.clip(value, 0, 1) if possible else value
        low, high = value + wider * (low - value), value + wider * (high - value)
    return low, high, methods
