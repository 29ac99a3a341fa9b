"""How hard the tests try: `make test` takes samples of what `make test-all` takes whole."""

import os
from collections.abc import Sequence
from typing import Final, TypeVar

from hypothesis import settings

_T = TypeVar("_T")

THOROUGH: Final = os.environ.get("TESTS_THOROUGH") == "1"  # whether this is `make test-all`

settings.register_profile("deniable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("deniable")


def effort(examples: int) -> int:
    """Return how many examples are tried: all of them, or a fifth and at least 10."""
    return examples if THOROUGH else max(examples // 5, min(examples, 10))


def every(instants: int) -> range:
    """Return which of so many instants are tried: all, or each third from the first on."""
    return range(0, instants, 1 if THOROUGH else 3)


def some(cases: Sequence[_T]) -> Sequence[_T]:
    """Return which of the cases of a table are tried: all, or each third from the first on."""
    return cases if THOROUGH else cases[::3]
