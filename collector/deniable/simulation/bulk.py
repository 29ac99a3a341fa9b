"""Randomising many answers at once, exact to the same integers as a device."""

from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms import (
    Circular,
    ClampedGeometric,
    Mechanism,
    Metric,
    Ordinal,
    SolutionMatrix,
    TwoRound,
    TwoValuedMechanism,
)
from deniable.simulation.words import CipherWords, Words

__all__ = ["randomise_many"]

_CHUNK = 1 << 16
"""Words at a time: half a MiB stays in the cache."""

_GRID = 1 << 64

Indices = NDArray[np.integer]
Block = NDArray[np.uint64]
Sampler = Callable[[Indices, Block, Indices], None]
"""Writes a response for each answer and its word; the words may be overwritten."""


def randomise_many(
    mechanism: Mechanism, answers: ArrayLike, words: Words | None = None
) -> NDArray[np.integer]:
    """Return one response an answer, each drawn as one device would draw it.

    Args:
        mechanism: any of ``deniable.mechanisms`` on the 2^64 grid, as surveys use it, or two rounds
            of such.
        answers: indices of true categories, any integer type, any shape.
        words: the source of randomness; by default cryptographic.

    Returns:
        Responses, of the answers' shape and type (which holds all of them, or is refused).

    Raises:
        TypeError: for answers that are not integers, or a mechanism of another kind.
        ValueError: for a mechanism on another grid, or an integer type too small for it.
        IndexError: for an answer outside the domain. Nothing is drawn then.
    """
    truth = np.asarray(answers)
    if truth.dtype.kind not in "iu":
        raise TypeError("answers must be integer category indices")
    if isinstance(mechanism, TwoRound):
        # One report of each device, so that what it keeps need not be kept.
        kept = randomise_many(mechanism.kept, truth, words)
        return randomise_many(mechanism.fresh, kept, words)
    if mechanism.grid != _GRID:
        raise ValueError("bulk randomising needs the mechanism's grid to be 2^64")
    if truth.size and not (truth.min() >= 0 and truth.max() < mechanism.categories):
        raise IndexError(f"a category index must be in [0, {mechanism.categories})")
    if mechanism.responses - 1 > np.iinfo(truth.dtype).max:
        raise ValueError(f"{truth.dtype} does not hold {mechanism.responses} responses")
    source = words or CipherWords()
    flat = truth.reshape(-1)
    responses = np.empty(flat.size, dtype=truth.dtype)
    sampler, size = _sampler(mechanism, flat.size)
    block = np.empty(size, dtype=np.uint64)
    for start in range(0, flat.size, size):
        chunk = flat[start : start + size]
        fresh = block[: chunk.size]
        for at in range(0, chunk.size, _CHUNK):
            source.fill(fresh[at : at + _CHUNK])
        sampler(chunk, fresh, responses[start : start + size])
    return responses.reshape(truth.shape)


def _sampler(mechanism: Mechanism, answers: int) -> tuple[Sampler, int]:
    """Return how to sample, and from how many answers at a time."""
    if isinstance(mechanism, TwoValuedMechanism):
        return _telling_truth_or_lie(mechanism), _CHUNK
    if isinstance(mechanism, Circular):
        return _turning(mechanism), _CHUNK
    if isinstance(mechanism, ClampedGeometric):
        return _adding_noise(mechanism), _CHUNK
    if isinstance(mechanism, Ordinal | Metric | SolutionMatrix):
        # All at once: each row is made once, for all who give its answer.
        return _looking_up(mechanism), max(answers, 1)
    raise TypeError(f"there is no bulk sampler for {type(mechanism).__name__}")


def _telling_truth_or_lie(mechanism: TwoValuedMechanism) -> Sampler:
    # As on the device, word // a names a category, or with k and more tells the truth. 2^64 itself
    # does not fit 64 bits; as the last bound it needs no test.
    lies, categories = np.uint64(mechanism.lies), np.uint64(mechanism.categories)

    def sample(truth: Indices, words: Block, responses: Indices) -> None:
        np.floor_divide(words, lies, out=words)
        responses[...] = truth
        np.copyto(responses, words.view(np.int64), where=words < categories, casting="unsafe")

    return sample


def _turning(mechanism: Circular) -> Sampler:
    # As on the device, row 0 says how far round, whatever the answer.
    boundaries, k = _boundaries(mechanism.row(0)), mechanism.categories

    def sample(truth: Indices, words: Block, responses: Indices) -> None:
        responses[...] = (truth.astype(np.int64) + _below(boundaries, words)) % k

    return sample


def _adding_noise(mechanism: ClampedGeometric) -> Sampler:
    # As on the device: the noise is j or more upwards if word < A_j, downwards if N - 1 - word is.
    # From the low end, A_j is the weight of all responses from j on; they rise from A_m to A_1.
    m = mechanism.categories - 1
    rising = _boundaries(mechanism.row(0)[::-1])

    def sample(truth: Indices, words: Block, responses: Indices) -> None:
        up, down = m - _below(rising, words), m - _below(rising, ~words)
        responses[...] = np.clip(truth.astype(np.int64) + up - down, 0, m)

    return sample


def _looking_up(mechanism: Ordinal | Metric | SolutionMatrix) -> Sampler:
    # As on the device, the response is the first whose boundary in the answer's row is above the
    # word.
    def sample(truth: Indices, words: Block, responses: Indices) -> None:
        order = np.argsort(truth, kind="stable")
        answers, starts = np.unique(truth[order], return_index=True)
        for answer, devices in zip(answers, np.split(order, starts[1:]), strict=True):
            boundaries = _boundaries(mechanism.row(int(answer)))
            responses[devices] = _below(boundaries, words[devices])

    return sample


def _boundaries(weights: Sequence[int]) -> Block:
    """Return where each response's words end, but for the last one's, at 2^64."""
    ends = list(accumulate(weights[:-1]))
    # Responses of no weight at the end have their boundaries at 2^64 too, which no word reaches.
    return np.array([end for end in ends if end < _GRID], dtype=np.uint64)


def _below(boundaries: Block, words: Block) -> NDArray[np.int64]:
    """Return how many boundaries are not above each word."""
    return np.asarray(np.searchsorted(boundaries, words, side="right"), dtype=np.int64)
