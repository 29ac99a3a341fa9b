"""Words that a test chooses."""

import itertools
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray


class ListedWords:
    """Hands out the listed words, in order, as often as they are asked for.

    Attributes:
        asked: how many words each call wanted.
    """

    def __init__(self, words: Iterable[int]) -> None:
        self._words = iter(words)
        self.asked: list[int] = []

    def fill(self, words: NDArray[np.uint64]) -> None:
        assert words.flags.c_contiguous
        assert words.dtype == np.uint64
        self.asked.append(len(words))
        words[...] = list(itertools.islice(self._words, len(words)))


def draws(words: Iterable[int]) -> Callable[[], int]:
    """Return the same words as a device draws them, one a call."""
    return iter(words).__next__
