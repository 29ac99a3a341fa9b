"""The mechanism that is the most accurate for so many categories: :func:`best`.

For one report beside what is proved to be the least in the worst case; for many by a search.
"""

from deniable.choosing.candidates import DESIGNS, PLAIN, Candidate, candidates, lower_bound
from deniable.choosing.choice import (
    COMPOSED_DELTA,
    Alternative,
    Choice,
    best,
    compared,
    composed,
    unlikely_level,
)
from deniable.choosing.fresh_round import best_fresh

__all__ = [
    "COMPOSED_DELTA",
    "DESIGNS",
    "PLAIN",
    "Alternative",
    "Candidate",
    "Choice",
    "best",
    "best_fresh",
    "candidates",
    "compared",
    "composed",
    "lower_bound",
    "unlikely_level",
]
