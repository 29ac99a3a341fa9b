"""Bulk randomising: ten million users, against the sources of randomness that it could have had."""

import os
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.rounds import interleave, seconds_each
from benchmarks.table import Row, show
from deniable.mechanisms import RandomisedResponse
from deniable.simulation import SimulatedWords, randomise_many

_USERS: Final = 10_000_000
_ROUNDS: Final = 5
_CASES: Final[tuple[tuple[int, type[np.integer]], ...]] = (
    (16, np.uint8),
    (16, np.uint16),
    (16, np.int64),
    (1024, np.uint16),
    (1024, np.int64),
)


class _SystemWords:
    """One word a user from the operating system, in the same chunks."""

    def fill(self, words: NDArray[np.uint64]) -> None:
        words[...] = np.frombuffer(os.urandom(words.nbytes), dtype=np.uint64)


def run() -> None:
    """Measure and print."""
    for categories, dtype in _CASES:
        _show(categories, dtype)


def _show(categories: int, dtype: type[np.integer]) -> None:
    mechanism = RandomisedResponse(categories, "1")
    generator = np.random.default_rng(2016)
    answers = generator.integers(categories, size=_USERS).astype(dtype)
    target = np.empty_like(answers)
    insecure = SimulatedWords(np.random.default_rng(2016))
    found = interleave(
        {
            "ours": seconds_each(lambda: randomise_many(mechanism, answers), 1),
            "system": seconds_each(lambda: randomise_many(mechanism, answers, _SystemWords()), 1),
            "insecure": seconds_each(lambda: randomise_many(mechanism, answers, insecure), 1),
            "copy": seconds_each(lambda: np.copyto(target, answers), 1),
        },
        _ROUNDS,
    )
    millions = _USERS / 1e6
    show(
        f"{_USERS:,} users at once, k = {categories}, {dtype.__name__} answers",
        [
            Row("randomise_many", millions / found["ours"], "M users/s"),
            Row("os.urandom words, same arithmetic", millions / found["system"], "M users/s"),
            Row("insecure numpy words, same", millions / found["insecure"], "M users/s"),
            Row("copying the answers", millions / found["copy"], "M users/s"),
            Row("time ÷ os.urandom words", found["ours"] / found["system"]),
            Row("time ÷ insecure words", found["ours"] / found["insecure"]),
            Row("time ÷ copy", found["ours"] / found["copy"]),
        ],
    )
