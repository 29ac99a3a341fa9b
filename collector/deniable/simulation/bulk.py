"""Randomising many answers at once, exact to the same integers as a device."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms import RandomisedResponse
from deniable.simulation.words import CipherWords, Words

__all__ = ["randomise_many"]

_CHUNK = 1 << 16
"""Words at a time: half a MiB stays in the cache."""


def randomise_many(
    mechanism: RandomisedResponse, answers: ArrayLike, words: Words | None = None
) -> NDArray[np.integer]:
    """Return one response an answer, each drawn as one device would draw it.

    Args:
        mechanism: on the 2^64 grid, as surveys use it.
        answers: indices of true categories, any integer type, any shape.
        words: the source of randomness; by default cryptographic.

    Returns:
        Responses, of the answers' shape and type (which holds the whole domain, or is refused).

    Raises:
        TypeError: for answers that are not integers.
        ValueError: for a mechanism on another grid, or an integer type too small for it.
        IndexError: for an answer outside the domain. Nothing is drawn then.
    """
    truth = np.asarray(answers)
    if truth.dtype.kind not in "iu":
        raise TypeError("answers must be integer category indices")
    if mechanism.grid != 1 << 64:
        raise ValueError("bulk randomising needs the mechanism's grid to be 2^64")
    if truth.size and not (truth.min() >= 0 and truth.max() < mechanism.categories):
        raise IndexError(f"a category index must be in [0, {mechanism.categories})")
    if mechanism.categories - 1 > np.iinfo(truth.dtype).max:
        raise ValueError(f"{truth.dtype} does not hold {mechanism.categories} categories")
    source = words or CipherWords()
    flat = truth.reshape(-1)
    responses = np.empty(flat.size, dtype=truth.dtype)
    block = np.empty(_CHUNK, dtype=np.uint64)
    # As on the device, word // a names a category, or with k and more tells the truth. 2^64 itself
    # does not fit 64 bits; as the last bound it needs no test.
    lies, categories = np.uint64(mechanism.lies), np.uint64(mechanism.categories)
    for start in range(0, flat.size, _CHUNK):
        stop = min(start + _CHUNK, flat.size)
        named = block[: stop - start]
        source.fill(named)
        np.floor_divide(named, lies, out=named)
        chunk = responses[start:stop]
        chunk[...] = flat[start:stop]
        np.copyto(chunk, named.view(np.int64), where=named < categories, casting="unsafe")
    return responses.reshape(truth.shape)
