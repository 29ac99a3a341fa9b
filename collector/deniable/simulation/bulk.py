"""Randomising many answers at once, exact to the same integers as a device."""

from collections.abc import Callable, Sequence
from functools import singledispatch
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms import Circular, ClampedGeometric, Mechanism, TwoRound, TwoValuedMechanism
from deniable.mechanisms.design import TurnedDesign
from deniable.mechanisms.levels import Levels
from deniable.mechanisms.one_question import OneQuestion
from deniable.simulation import designs
from deniable.simulation.words import CipherWords, Words

_CHUNK = 1 << 16
"""Words at a time: half a MiB stays in the cache."""

_GRID = 1 << 64

Indices = NDArray[np.integer]
Block = NDArray[np.uint64]


def randomise_many(mechanism: Mechanism, answers: ArrayLike, words: Words | None = None) -> Indices:
    """Return one response an answer, each with the exact probabilities of the matrix.

    The words, cryptographic by default, give what they give on a device, for every kind that
    devices know. Answers are indices of categories, of any integer type and shape: TypeError and
    IndexError for others. Responses have the same shape and type, or the next type that holds them
    all. The mechanism is on the 2^64 grid, as surveys use it, a block design, or two rounds of
    such: ValueError otherwise.
    """
    truth = np.asarray(answers)
    if truth.dtype.kind not in "iu":
        raise TypeError("answers must be integer category indices")
    if truth.size and not (truth.min() >= 0 and truth.max() < mechanism.categories):
        raise IndexError(f"a category index must be in [0, {mechanism.categories})")
    last = mechanism.responses - 1
    if last > np.iinfo(truth.dtype).max:
        truth = truth.astype(np.promote_types(truth.dtype, np.min_scalar_type(last)))
    drawn = _drawn(mechanism, truth.reshape(-1), words or CipherWords())
    return drawn.reshape(truth.shape)


@singledispatch
def _drawn(mechanism: Mechanism, truth: Indices, source: Words) -> Indices:
    """Return responses by looking the words up in the rows: right for every matrix.

    The response is the first whose boundary in the answer's row is above the word. All words are
    drawn at once, so that each row is made once, for all who give its answer.
    """
    _check_grid(mechanism)
    words = np.empty(truth.size, dtype=np.uint64)
    for at in range(0, truth.size, _CHUNK):
        source.fill(words[at : at + _CHUNK])
    responses = np.empty_like(truth)
    order = np.argsort(truth, kind="stable")
    answers, starts = np.unique(truth[order], return_index=True)
    for answer, devices in zip(answers, np.split(order, starts)[1:], strict=True):
        boundaries = _boundaries(mechanism.row(int(answer)))
        responses[devices] = _below(boundaries, words[devices])
    return responses


@_drawn.register
def _two_rounds(mechanism: TwoRound, truth: Indices, source: Words) -> Indices:
    # One report of each device, so that what it keeps need not be kept.
    return _drawn(mechanism.fresh, _drawn(mechanism.kept, truth, source), source)


@_drawn.register
def _truth_or_lie(mechanism: TwoValuedMechanism, truth: Indices, source: Words) -> Indices:
    _check_grid(mechanism)
    # As on the device, word // a names a category, or with k and more tells the truth. 2^64 itself
    # does not fit 64 bits; as the last bound it needs no test.
    lies, categories = np.uint64(mechanism.lies), np.uint64(mechanism.categories)

    def sample(truth: Indices, words: Block) -> Indices:
        np.floor_divide(words, lies, out=words)
        return np.where(words < categories, words.astype(truth.dtype), truth)

    return _in_chunks(truth, source, sample)


@_drawn.register
def _blocks(mechanism: TurnedDesign, truth: Indices, source: Words) -> Indices:
    return _in_chunks(truth, source, designs.sampler(mechanism), designs.WORDS)


@_drawn.register
def _turned(mechanism: Circular, truth: Indices, source: Words) -> Indices:
    _check_grid(mechanism)
    # As on the device, row 0 says how far round, whatever the answer.
    boundaries, k = _boundaries(mechanism.row(0)), mechanism.categories

    def sample(truth: Indices, words: Block) -> Indices:
        return np.asarray((truth.astype(np.int64) + _below(boundaries, words)) % k)

    return _in_chunks(truth, source, sample)


@_drawn.register
def _with_noise(mechanism: ClampedGeometric, truth: Indices, source: Words) -> Indices:
    _check_grid(mechanism)
    # As on the device: the noise is j or more upwards if word < A_j, downwards if N - 1 - word is.
    # From the low end, A_j is the weight of all responses from j on; they rise from A_m to A_1.
    m = mechanism.categories - 1
    rising = _boundaries(mechanism.row(0)[::-1])

    def sample(truth: Indices, words: Block) -> Indices:
        up, down = m - _below(rising, words), m - _below(rising, ~words)
        return np.asarray(np.clip(truth.astype(np.int64) + up - down, 0, m))

    return _in_chunks(truth, source, sample)


@_drawn.register
def _one_of(mechanism: OneQuestion, truth: Indices, source: Words) -> Indices:
    def answers(number: int, left: Indices) -> tuple[Indices, Indices]:
        # The last question's answer changes first.
        return np.divmod(left, mechanism.parts[number].categories)

    return _by_parts(mechanism, truth, source, answers)


@_drawn.register
def _one_level(mechanism: Levels, truth: Indices, source: Words) -> Indices:
    def nodes(number: int, left: Indices) -> tuple[Indices, Indices]:
        return left, left // mechanism.widths[number]

    return _by_parts(mechanism, truth, source, nodes)


def _by_parts(
    mechanism: OneQuestion,
    truth: Indices,
    source: Words,
    answers: Callable[[int, Indices], tuple[Indices, Indices]],
) -> Indices:
    """Return responses; ``answers`` takes those to a question, from the last one on, off the rest.

    As on the device, a word's last bits are the question if there is one of that number, and then
    its mechanism answers.
    """
    count = len(mechanism.parts)
    mask = np.uint64((1 << (count - 1).bit_length()) - 1)
    chosen = np.zeros(truth.size, dtype=np.uint64)
    undrawn = np.arange(truth.size if count > 1 else 0)  # one by itself takes no word
    while undrawn.size:
        words = np.empty(undrawn.size, dtype=np.uint64)
        source.fill(words)
        chosen[undrawn] = words & mask
        undrawn = undrawn[chosen[undrawn] >= count]
    responses, behind = np.empty_like(truth), mechanism.responses
    for number in reversed(range(count)):
        part = mechanism.parts[number]
        behind -= part.responses
        devices = np.flatnonzero(chosen == number)
        truth, own = answers(number, truth)
        responses[devices] = behind + _drawn(part, own[devices], source)
    return responses


def _in_chunks(
    truth: Indices, source: Words, sample: Callable[[Indices, Block], Indices], words_each: int = 1
) -> Indices:
    """Return the responses that ``sample`` makes of answers and words, which it may overwrite."""
    responses = np.empty_like(truth)
    step = _CHUNK // words_each
    words = np.empty(words_each * min(step, truth.size), dtype=np.uint64)
    for start in range(0, truth.size, step):
        chunk = truth[start : start + step]
        fresh = words[: words_each * chunk.size]
        source.fill(fresh)
        responses[start : start + step] = sample(chunk, fresh)
    return responses


def _check_grid(mechanism: Mechanism) -> None:
    if mechanism.grid != _GRID:
        raise ValueError("bulk randomising needs the mechanism's grid to be 2^64")


def _boundaries(weights: Sequence[int]) -> Block:
    """Return where each response's words end, but for the last one's, at 2^64."""
    ends = list(accumulate(weights[:-1]))
    # Responses of no weight at the end have their boundaries at 2^64 too, which no word reaches.
    return np.array([end for end in ends if end < _GRID], dtype=np.uint64)


def _below(boundaries: Block, words: Block) -> NDArray[np.int64]:
    """Return how many boundaries are not above each word."""
    return np.asarray(np.searchsorted(boundaries, words, side="right"), dtype=np.int64)
