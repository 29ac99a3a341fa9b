"""Listed texts: the matrix of a level for some of its prefixes, their hashed values, and decoder.

With B_xy = 1 where a response y is a value of the text x, the support of x is B_x n, and M as
:mod:`deniable.estimates.found_texts` has it, G = (M - q)^-1 (B - q) estimates the shares of the
listed texts; 1 less their sum is that of all others. With their row, of responses that are all
alike, that is a left inverse: G P^T = I.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy import linalg
from numpy.typing import NDArray

from deniable.estimates.binomial import IntervalMethod, binomial_intervals, normal_quantile
from deniable.estimates.decoders.decoder import Decoder, Extremes, Floats, Model, Tally
from deniable.estimates.decoders.dense import DenseDecoder
from deniable.mechanisms import Draw, Strings, TwoValuedPrivacy
from deniable.mechanisms.mechanism import os_random_word, uniform_below
from deniable.mechanisms.strings import multipliers, text_halves

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
_AT_ONCE: Final = 1 << 14
"""Values that are computed together: of few prefixes, those by several hash functions."""


def level_multipliers(mechanism: Strings, level: int) -> Words:
    """Return the numbers of a level's hash functions, (hashes, 3)."""
    first = level * mechanism.hashes
    numbers = map(multipliers, range(first, first + mechanism.hashes))
    return np.array(list(numbers), dtype=np.uint64)


def level_tally(mechanism: Strings, level: int, tally: Tally) -> Tally:
    """Return the counts of one level, whose places begin at 0."""
    size = mechanism.hashes * mechanism.value.categories
    return tally.within(slice(level * size, (level + 1) * size))


def halves_of(prefixes: Iterable[bytes], level: int) -> Words:
    """Return the halves that stand for prefixes of a level, (prefixes, 2)."""
    halves = [text_halves(prefix, level) for prefix in prefixes]
    return np.array(halves, dtype=np.uint64).reshape(-1, 2)


def hash_values(halves: Words, numbers: Words, values: int) -> Iterator[Integers]:
    """Yield the values of prefixes by each hash function, in an array that is used again.

    As :func:`deniable.mechanisms.strings.hash_value`: sums and products wrap at 2^64.
    """
    first, second = np.ascontiguousarray(halves.T)
    at_once = max(1, _AT_ONCE // max(1, len(first)))
    kept = np.empty((2, min(at_once, len(numbers)), len(first)), dtype=np.uint64)
    m, half = np.uint64(values), np.uint64(32)
    for at in range(0, len(numbers), at_once):
        a, b, c = numbers[at : at + at_once].T[:, :, None]
        mixed, factor = kept[:, : len(a)]
        np.add(first, a, out=mixed)
        np.add(second, b, out=factor)
        np.multiply(mixed, factor, out=mixed)
        np.add(mixed, c, out=mixed)
        np.right_shift(mixed, half, out=mixed)
        np.multiply(mixed, m, out=mixed)
        np.right_shift(mixed, half, out=mixed)
        yield from mixed.view(np.int64)


class ListedTexts:
    """The matrix of one level for some prefixes, and for all other texts together.

    The row of the others is what they are on average over the hash functions: all responses alike.
    Among them are hidden texts, which have no row; collisions with them are corrected all the same.
    """

    rounds: Final = None
    truth: Final = None
    hit: Final = None
    miss: Final = None

    def __init__(
        self,
        mechanism: Strings,
        level: int,
        texts: Iterable[bytes],
        hidden: tuple[bytes, ...] = (),
    ) -> None:
        self.mechanism, self.level, self.texts = mechanism, level, tuple(texts)
        self.hidden = hidden
        self.categories = len(self.texts) + 1
        self.responses = mechanism.hashes * mechanism.value.categories
        self.grid = self.responses * mechanism.value.grid

    @property
    def privacy(self) -> TwoValuedPrivacy:
        """Return the guarantee of a report of this level."""
        value, hashes = self.mechanism.value, self.mechanism.hashes
        return TwoValuedPrivacy(value.truth / hashes, value.lie / hashes, hashes, alike=False)

    @cached_property
    def supported(self) -> NDArray[np.bool_]:
        """Return which responses each prefix supports, (prefixes, responses); hidden ones last."""
        texts = (*self.texts, *self.hidden)
        m, hashes = self.mechanism.value.categories, self.mechanism.hashes
        numbers = level_multipliers(self.mechanism, self.level)
        supported = np.zeros((len(texts), hashes, m), dtype=np.bool_)
        for number, values in enumerate(hash_values(halves_of(texts, self.level), numbers, m)):
            supported[np.arange(len(texts)), number, values] = True
        return supported.reshape(len(texts), self.responses)

    def row(self, category: int) -> list[int]:
        """Return one row's weights over the grid."""
        value, m = self.mechanism.value, self.mechanism.value.categories
        if category == len(self.texts):
            return [value.grid] * self.responses
        weights = m * value.lies, m * (value.grid - (m - 1) * value.lies)
        return [weights[supports] for supports in self.supported[category].tolist()]

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to a listed text, or to any other."""
        if answer == len(self.texts):
            return uniform_below(self.responses, draw)
        m, number = self.mechanism.value.categories, uniform_below(self.mechanism.hashes, draw)
        value = int(self.supported[answer, number * m : (number + 1) * m].argmax())
        return number * m + self.mechanism.value.randomise(value, draw)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListedTexts):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.mechanism, self.level, self.texts, self.hidden


class TextsDecoder(DenseDecoder):
    """The decoder of one level's counts, for a list of texts and all others together."""

    kernels_tested = False

    def __init__(self, mechanism: ListedTexts) -> None:
        Decoder.__init__(self, mechanism.categories, mechanism.responses)
        value, hashes = mechanism.mechanism.value, mechanism.mechanism.hashes
        p, w, q = float(value.truth), float(value.lie), 1 / value.categories
        supported, texts = mechanism.supported, len(mechanism.texts)
        self._supported = supported[:texts]
        self._truth, self._lie, self._kappa = p, w, p - q
        matrix = np.full((len(supported) + 1, self.responses), 1 / self.responses)
        matrix[:-1] = np.where(supported, p, w) / hashes
        # B P^T is M: a support is the sum of a row's weights on its responses.
        inverse = np.empty_like(matrix)
        supporting = matrix[:-1] @ supported.T - q
        inverse[:-1] = linalg.solve(supporting.T, supported - q)
        inverse[-1] = 1 - inverse[:-1].sum(axis=0)
        self._whole, self._matrix, self._inverse = (matrix, inverse), matrix, inverse
        if mechanism.hidden:  # the others' share is all that the rows leave
            self._matrix = np.delete(matrix, np.s_[texts:-1], axis=0)
            self._inverse = np.delete(inverse, np.s_[texts:-1], axis=0)
            self._inverse[-1] += inverse[texts:-1].sum(axis=0)
        self._matrix.flags.writeable = self._inverse.flags.writeable = False
        self._deviations = WeakKeyDictionary[Tally, float]()

    @cached_property
    def extremes(self) -> Extremes:
        """Return the ends of the kernels; any text supports a given one as a lie or as the truth.

        All others together have no count of their own: it is that of all reports.
        """
        rarest, likeliest = np.full(self.categories, self._lie), np.full(self.categories, 1.0)
        likeliest[:-1] = self._truth
        return Extremes(self._inverse.min(axis=1), self._inverse.max(axis=1), rarest, likeliest)

    def tested_counts(self, tally: Tally) -> NDArray[np.int64]:
        """Return the supports of the texts, and the number of reports for all others."""
        supports = [int(tally.counts[row].sum()) for row in self._supported]
        return np.array([*supports, tally.n])

    def shifts(self, tally: Tally, weights: Floats) -> Floats:
        """Return the shifts by collisions with texts that are not listed, (…, texts)."""
        if (deviation := self._deviations.get(tally)) is None:
            deviation = self._deviations[tally] = self._deviation(tally)
        return np.asarray((weights[..., :-1] - weights[..., -1:]) * deviation)

    def _deviation(self, tally: Tally) -> float:
        """Return the standard deviation of the shift of one listed text."""
        # They shift each count by some b, beyond its noise. The squared residuals exceed the counts
        # by the sum of b^2, on average. A support has one count in m, of each hash function: over
        # random hash functions, it is shifted by a sum with the variance sum b^2/m. Two supports
        # are shifted independently, since hash functions are pairwise independent; and a text's
        # share is shifted as much as that of all others together, the other way.
        matrix, inverse = self._whole
        left = tally.counts - matrix.T @ (inverse @ tally.counts)
        moved = (self._truth - self._kappa) * max(0.0, float(left @ left) - tally.n)
        return float(np.sqrt(moved)) / (tally.n * self._kappa)

    def standard_errors(self, tally: Tally, model: Model) -> Floats:
        """Return the errors, with the shifts."""
        noise = super().standard_errors(tally, model)
        return np.asarray(
            np.hypot(noise, linalg.norm(self.shifts(tally, np.eye(self.categories)), axis=-1))
        )

    def intervals(
        self, tally: Tally, level: float, *, possible: bool = False
    ) -> tuple[Floats, Floats, tuple[IntervalMethod, ...]]:
        """Return the binomial intervals of the supports, about the corrected estimates."""
        estimate = self.frequencies(tally)
        centre = np.clip(estimate, 0, 1) if possible else estimate
        supports = self.tested_counts(tally)[:-1] + tally.n * self._kappa * (centre - estimate)[:-1]
        supports = np.clip(supports, 0, tally.n)
        low, high, methods = binomial_intervals(supports, tally.n, level)
        share = supports / tally.n
        # What is subtracted for collisions varies as well.
        own = np.sqrt(np.maximum(share * (1 - share), 1 / tally.n) / tally.n) / self._kappa
        errors = self.standard_errors(tally, Model.FIXED if tally.n < 2 else Model.SAMPLED)
        wider = np.maximum(errors[:-1] / own, 1) / self._kappa
        half = normal_quantile(level) * errors[-1]
        return (
            np.append(centre[:-1] - wider * (share - low), centre[-1] - half),
            np.append(centre[:-1] + wider * (high - share), centre[-1] + half),
            (*methods, IntervalMethod.NORMAL),
        )
