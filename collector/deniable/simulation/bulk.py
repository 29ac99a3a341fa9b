"""Many answers randomised at once, with the same integers as on a device, and their reports."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from itertools import accumulate
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import ArrayLike, NDArray

from deniable.estimates import decoder_of
from deniable.mechanisms import MeanMatrix, Mechanism, TwoRound, TwoValuedMechanism
from deniable.mechanisms.block_design import TurnedDesign
from deniable.mechanisms.levels import Levels
from deniable.mechanisms.one_question import OneQuestion
from deniable.simulation import designs


class Words(Protocol):
    """A source of uniform 64-bit words."""

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite a contiguous array with fresh words."""


class CipherWords:
    """Cryptographic words: AES-256 in counter mode, keyed once from the operating system.

    The key lasts as long as this object; without it, nobody can distinguish the words from uniform.
    """

    def __init__(self) -> None:
        cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16)))
        self._encryptor = cipher.encryptor()
        self._zeros = b""

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite the array with the next words of the key stream."""
        if len(self._zeros) < words.nbytes:
            self._zeros = bytes(words.nbytes)
        target = words.view(np.uint8).data
        self._encryptor.update_into(memoryview(self._zeros)[: words.nbytes], target)

    def __repr__(self) -> str:
        return "CipherWords(<key>)"


class SimulatedWords:
    """Reproducible words from a seeded generator: for simulations, never for anybody's answer."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite the array with the generator's next words."""
        words[...] = self._generator.integers(2**64, size=words.shape, dtype=np.uint64)


# The reports of simulated devices that a collector would count, by the exact distribution. A device
# drawn from a population with the frequencies f sends each response y with the probability lambda_y
# = sum_x f_x P_xy. Devices are independent, so the counts of n of them are multinomial with lambda,
# and drawn as quickly for 10^9 devices as for a thousand.

_CHUNK_OF_DEVICES = 1 << 16
"""Devices that are drawn together from one state of the generator, needed or not."""


@dataclass(frozen=True, eq=False)
class SimulatedReports:
    """Reports of simulated devices with one truth: the same seed gives the same reports.

    Attributes:
        mechanism: the devices' mechanism.
        truth: the share of each answer; for several questions, within each of them.
        seed: the only other input of the reports.
    """

    mechanism: Mechanism
    truth: NDArray[np.float64]
    seed: int
    _law: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        law = np.maximum(decoder_of(self.mechanism).response_shares(self.truth), 0.0)
        object.__setattr__(self, "_law", law / law.sum())

    def counts(self, devices: int, run: int = 0) -> NDArray[np.int64]:
        """Return the count of each response from this many devices, in one of many runs."""
        generator = np.random.default_rng([self.seed, 0, run])
        return generator.multinomial(devices, self._law)

    def responses(self, first: int, last: int, epoch: int = 0) -> NDArray[np.int64]:
        """Return the responses of the devices from ``first`` to before ``last`` in an epoch.

        A device sends the same however many there are; in each epoch, its answer and its noise are
        new. (These are not the devices of ``counts``.)
        """
        ends = np.cumsum(self._law)
        responses = np.empty(last - first, dtype=np.int64)
        for chunk in range(first // _CHUNK_OF_DEVICES, -(-last // _CHUNK_OF_DEVICES)):
            drawn = (
                np.random.default_rng([self.seed, 1, epoch, chunk]).random(_CHUNK_OF_DEVICES)
                * ends[-1]
            )
            start = chunk * _CHUNK_OF_DEVICES
            low, high = max(first, start), min(last, start + _CHUNK_OF_DEVICES)
            within = drawn[low - start : high - start]
            responses[low - first : high - first] = np.searchsorted(ends, within, side="right")
        return np.minimum(responses, len(ends) - 1)


_CHUNK = 1 << 16
"""Words at a time: half a MiB, which stays in the cache."""

_GRID = 1 << 64

Indices = NDArray[np.integer]
Block = NDArray[np.uint64]


def randomise_many(mechanism: Mechanism, answers: ArrayLike, words: Words | None = None) -> Indices:
    """Return one response per answer, each with the exact probabilities of the matrix.

    Each word, cryptographic by default, gives the same response as on a device, for every kind that
    devices know. Answers are indices of categories, of any integer type and shape: TypeError and
    IndexError for others. Responses have the same shape and type, or the next type that can
    represent them all. The mechanism must be on the 2^64 grid, as for surveys, a block design, or
    two rounds of these; otherwise ValueError.
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
    """Return responses by looking the words up in the rows; this works for every matrix.

    The response is the first whose boundary in the answer's row is above the word. All words are
    drawn at once, so that each row is computed once for all its answers.
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
    # One report of each device, so the kept response need not be stored.
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
def _of_rows(mechanism: MeanMatrix, truth: Indices, source: Words) -> Indices:
    places = np.array([mechanism.place(answer) for answer in range(mechanism.categories)])
    rows, rests = places[truth].T
    between = mechanism.grid // mechanism.rows.grid
    above = _below_bound(between, truth.size, source) < rests
    drawn = _drawn(mechanism.rows, rows + above, source)
    return drawn.astype(truth.dtype)


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
    """Return responses; ``answers`` takes those to a question from the rest, the last first.

    As on the device, a word's last bits are the question if there is one with that number, and then
    its mechanism answers.
    """
    chosen = _below_bound(len(mechanism.parts), truth.size, source)
    responses, behind = np.empty_like(truth), mechanism.responses
    for number in reversed(range(len(mechanism.parts))):
        part = mechanism.parts[number]
        behind -= part.responses
        devices = np.flatnonzero(chosen == number)
        truth, own = answers(number, truth)
        responses[devices] = behind + _drawn(part, own[devices], source)
    return responses


def _below_bound(bound: int, size: int, source: Words) -> Block:
    """Return uniform integers in [0, bound) from the last bits of words, as on a device."""
    mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
    drawn = np.zeros(size, dtype=np.uint64)
    undrawn = np.arange(size if bound > 1 else 0)  # a bound of one needs no word
    while undrawn.size:
        words = np.empty(undrawn.size, dtype=np.uint64)
        source.fill(words)
        drawn[undrawn] = words & mask
        undrawn = undrawn[drawn[undrawn] >= bound]
    return drawn


def _in_chunks(
    truth: Indices, source: Words, sample: Callable[[Indices, Block], Indices], words_each: int = 1
) -> Indices:
    """Return the responses of ``sample`` to answers and words, which it may overwrite."""
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
    """Return the end of each response's words, except the last one's, which is 2^64."""
    ends = list(accumulate(weights[:-1]))
    # Responses without weight at the end also have boundaries at 2^64, which no word reaches.
    return np.array([end for end in ends if end < _GRID], dtype=np.uint64)


def _below(boundaries: Block, words: Block) -> NDArray[np.int64]:
    """Return the number of boundaries that are not above each word."""
    return np.asarray(np.searchsorted(boundaries, words, side="right"), dtype=np.int64)
