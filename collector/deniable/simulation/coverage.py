"""Estimates from simulated counts compared with the truth, in one run and in many."""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.estimates import decoder_of, frequency_intervals, linear_query, mean
from deniable.estimates.binomial import normal_quantile
from deniable.estimates.numeric import group_labels, group_weights
from deniable.estimates.quantiles import QUARTILES, TIE, ShareQueries, blur_of
from deniable.estimates.views import View, first_view, viewed
from deniable.mechanisms import Mechanism
from deniable.mechanisms.answering import sizes_of
from deniable.messages import Manifest

Floats = NDArray[np.float64]


class RunFigures(NamedTuple):
    """The figures of a histogram, each a number a figure.

    They are shares; or a mean, the quartiles and the shares of groups.
    """

    estimates: Floats
    low: Floats
    high: Floats


def figures(manifest: Manifest, counts: NDArray[np.int64], level: float) -> RunFigures:
    """Return the figures that a histogram of these counts has.

    Of groups of values whose ends are blurred, with the interval of that share.
    """
    mechanism = manifest.mechanism
    decoder = decoder_of(mechanism)
    tally = decoder.tally(counts.tolist())
    if manifest.values is not None:
        blur = blur_of(mechanism, tally.n)
        groups = group_weights(len(manifest.categories), blur)
        shares = (linear_query(mechanism, tally, weights, level) for weights in groups.tolist())
        average = mean(mechanism, tally, manifest.values, level)
        rows = [(average.value, average.low, average.high)]
        assert isinstance(mechanism, Hashable)
        bounds, z = _share_queries(mechanism, blur).bounds(tally), normal_quantile(level)
        for probability in QUARTILES:
            value, low, high = (manifest.values[i] for i in bounds.places(probability, z))
            rows.append((float(value), float(low), float(high)))
        rows += [(share.value, share.low, share.high) for share in shares]
        return RunFigures(*np.array(rows).T)
    intervals = frequency_intervals(mechanism, tally, level)
    return RunFigures(decoder.frequencies(tally), intervals.low, intervals.high)


def shown_figures(
    manifest: Manifest, counts: NDArray[np.int64], level: float
) -> tuple[View, RunFigures] | None:
    """Return the shares as people see them first, as of a histogram; None of numbers.

    Their intervals hold for all rows at once.
    """
    if manifest.values is not None:
        return None
    decoder = decoder_of(manifest.mechanism)
    tally, view = decoder.tally(counts.tolist()), View.UNBIASED
    crossed = bool(manifest.dimensions) and len(decoder.parts) == 1
    rows = decoder.categories + sum(sizes_of(manifest.dimensions)) * crossed
    if not crossed:
        view = first_view(decoder, tally)
    at_once = min(1 - (1 - level) / rows, math.nextafter(1.0, 0.0))
    intervals = frequency_intervals(manifest.mechanism, tally, at_once)
    return view, RunFigures(viewed(view, decoder, tally), intervals.low, intervals.high)


@lru_cache(maxsize=1)  # all runs ask the same of their counts
def _share_queries(mechanism: Mechanism, blur: int) -> ShareQueries:
    return ShareQueries.of(decoder_of(mechanism), blur)


def true_figures(manifest: Manifest, truth: Floats, devices: int) -> dict[str, float]:
    """Return the names of these figures of so many devices, and what they would be without noise.

    All groups of a numeric survey follow from how many devices there are, and their blur does.
    """
    if manifest.values is None:
        return dict(zip(manifest.categories, truth.tolist(), strict=True))
    values = [float(value) for value in manifest.values]
    means = {"mean": float(np.dot(truth, values))}
    rising = np.cumsum(truth) + TIE
    means |= {name: values[int(np.argmax(rising >= p))] for p, name in QUARTILES.items()}
    blur = blur_of(manifest.mechanism, devices)
    shares = group_weights(len(truth), blur) @ truth
    return means | dict(zip(group_labels(manifest.categories, blur), shares.tolist(), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """The figures of many runs compared with the truth, each a number a figure.

    Attributes:
        runs: how many there were.
        covered: in how many of them the interval held the truth.
        bias: the mean of the estimates, less the truth.
        error: the root of the mean squared distance of the estimate from the truth.
        half_width: the mean of half the interval's width.
    """

    runs: int
    covered: NDArray[np.int64]
    bias: Floats
    error: Floats
    half_width: Floats

    @classmethod
    def of(cls, truth: Iterable[float], made: Iterable[RunFigures]) -> "Coverage":
        """Return the coverage of at least one run."""
        true, runs = np.array(list(truth)), 0
        covered = np.zeros(len(true), dtype=np.int64)
        bias, squares, widths = np.zeros((3, len(true)))
        for run in made:
            runs += 1
            covered += (run.low <= true) & (true <= run.high)
            bias += run.estimates - true
            squares += (run.estimates - true) ** 2
            widths += run.high - run.low
        return cls(runs, covered, bias / runs, np.sqrt(squares / runs), widths / (2 * runs))
