"""Single entries of solution matrices, exactly."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from deniable.mechanisms import Mechanism


def probability(mechanism: Mechanism, category: int, response: int) -> Fraction:
    """Return the probability of a response given a true category."""
    return Fraction(_row(mechanism, category)[response], mechanism.grid)


@lru_cache(maxsize=256)
def _row(mechanism: Mechanism, category: int) -> Sequence[int]:
    return mechanism.row(category)
