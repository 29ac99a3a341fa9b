"""Estimates: debiasing and intervals, against the same formulas in bare numpy floats."""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from benchmarks.rounds import interleave, seconds_each
from benchmarks.table import Row, show
from deniable.estimates import debias, frequency_intervals
from deniable.mechanisms import RandomisedResponse

Floats = NDArray[np.float64]

_SIZES: Final = ((16, 400), (1024, 40), (65_536, 2))
_REPORTS: Final = 1_000_000
_LEVEL: Final = 0.95


def run() -> None:
    """Measure and print."""
    for categories, times in _SIZES:
        _show(categories, times)


def _show(categories: int, times: int) -> None:
    mechanism = RandomisedResponse(categories, "2")
    truth = 1 / np.arange(1, categories + 1)
    q, kappa = float(mechanism.lie), float(mechanism.contraction)
    generator = np.random.default_rng(2016)
    counts = generator.multinomial(_REPORTS, q + kappa * truth / truth.sum()).tolist()
    found = interleave(
        {
            "debias": seconds_each(lambda: debias(mechanism, counts), times),
            "bare debias": seconds_each(lambda: _bare_debias(counts, q, kappa), times),
            "intervals": seconds_each(
                lambda: frequency_intervals(mechanism, counts, _LEVEL), times
            ),
            "bare wilson": seconds_each(lambda: _bare_wilson(counts, q, kappa), times),
        }
    )
    show(
        f"estimates of {categories:,} categories from {_REPORTS:,} reports",
        [
            Row("debias, in exact integers", found["debias"].scaled(1e6), "µs"),
            Row("frequency_intervals, Wilson or exact", found["intervals"].scaled(1e6), "µs"),
            Row("debias ÷ the formula in floats", found["debias"] / found["bare debias"]),
            Row("intervals ÷ Wilson alone in floats", found["intervals"] / found["bare wilson"]),
        ],
    )


def _bare_debias(counts: list[int], q: float, kappa: float) -> Floats:
    seen = np.asarray(counts, dtype=np.float64)
    estimate: Floats = (seen / seen.sum() - q) / kappa
    return estimate


def _bare_wilson(counts: list[int], q: float, kappa: float) -> tuple[Floats, Floats]:
    seen = np.asarray(counts, dtype=np.float64)
    n = seen.sum()
    z2 = special.ndtri((1 + _LEVEL) / 2) ** 2
    share = seen / n
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return (centre - half - q) / kappa, (centre + half - q) / kappa
