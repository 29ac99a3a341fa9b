"""Audit: exact guarantees of a matrix without structure, against bare numpy floats."""

import tracemalloc
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.rounds import Rounds, interleave, seconds_each
from benchmarks.table import Row, show
from deniable.audit import pure_level, tight_delta, tight_epsilon
from deniable.mechanisms import SolutionMatrix

Floats = NDArray[np.float64]

_SIZES: Final = ((100, 5, 7), (1000, 1, 3))
_GRID: Final = 1 << 62
_EPSILON: Final = "1"
_DELTA: Final = "0.1"


def run() -> None:
    """Measure and print."""
    for categories, times, rounds in _SIZES:
        _show(categories, times, rounds)


def _show(categories: int, times: int, rounds: int) -> None:
    matrix = _dense(categories)
    floats = np.array([[w / _GRID for w in matrix.row(x)] for x in range(categories)])
    works: dict[str, Callable[[], object]] = {
        "pure": lambda: pure_level(matrix),
        "delta": lambda: tight_delta(matrix, _EPSILON),
        "epsilon": lambda: tight_epsilon(matrix, _DELTA),
        "bare pure": lambda: _bare_odds(floats),
        "bare delta": lambda: _bare_delta(floats, float(np.exp(1))),
    }
    found = interleave({name: seconds_each(work, times) for name, work in works.items()}, rounds)
    memory = {name: _megabytes(works[name]) for name in ("pure", "delta", "epsilon")}
    show(
        f"audit of a dense matrix of {categories:,} categories and as many responses",
        [
            Row("pure level, in integers", found["pure"].scaled(1e3), "ms"),
            Row(f"tight delta at epsilon {_EPSILON}", found["delta"].scaled(1e3), "ms"),
            Row(f"tight epsilon at delta {_DELTA}", found["epsilon"].scaled(1e3), "ms"),
            Row("pure level ÷ numpy in floats", found["pure"] / found["bare pure"]),
            Row("tight delta ÷ numpy in floats", found["delta"] / found["bare delta"]),
            Row("tight epsilon ÷ one delta in floats", found["epsilon"] / found["bare delta"]),
            Row("pure level, memory at the most", memory["pure"], "MB"),
            Row("tight delta, memory at the most", memory["delta"], "MB"),
            Row("tight epsilon, memory at the most", memory["epsilon"], "MB"),
        ],
    )


def _dense(categories: int) -> SolutionMatrix:
    """Return a random matrix of which no entry is small, on a grid that 64 bits hold."""
    generator = np.random.default_rng(2016)
    weights = generator.integers(1, _GRID // (2 * categories), (categories, categories))
    weights[:, 0] += _GRID - weights.sum(axis=1)
    return SolutionMatrix(weights.tolist(), _GRID)


def _bare_odds(matrix: Floats) -> float:
    return float((matrix.max(axis=0) / matrix.min(axis=0)).max())


def _bare_delta(matrix: Floats, odds: float) -> float:
    return max(float(np.maximum(row - odds * matrix, 0).sum(axis=1).max()) for row in matrix)


def _megabytes(work: Callable[[], object]) -> Rounds:
    """Return the most memory that a call takes beside the matrix."""
    tracemalloc.start()
    try:
        work()
        return Rounds((tracemalloc.get_traced_memory()[1] / 1e6,))
    finally:
        tracemalloc.stop()
