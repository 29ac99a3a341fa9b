"""Answers of a population, of which some are more likely than others."""

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.integer]


def likely_answers(categories: int, users: int) -> Indices:
    """Return answers of which the i-th most likely is 1/i as frequent as the first."""
    weights = 1 / np.arange(1, categories + 1)
    generator = np.random.default_rng(2016)
    return generator.choice(categories, size=users, p=weights / weights.sum()).astype(np.int32)
