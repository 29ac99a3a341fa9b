"""One question of several: each question's frequencies, from the reports about it.

The device draws the question independently of its answers. So given the number n_j of reports about
the question j, they are those of n_j devices drawn at random, each with the question's own
mechanism, and its decoder evaluates them. The categories here are the answers to all questions, one
after the other; frequencies sum to 1 within each question. A kernel, its moments and its extremes
apply to a report about the kernel's question.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.binomial import IntervalMethod
from deniable.estimates.decoders.decoder import (
    Decoder,
    Extremes,
    Floats,
    Model,
    Moments,
    Part,
    Tally,
    chosen_errors,
)
from deniable.mechanisms.one_question import OneQuestion


class OneQuestionDecoder(Decoder):
    """The decoders of all questions, side by side; ``decoder_of`` returns the decoder of one."""

    kernels_tested = False

    def __init__(self, mechanism: OneQuestion, decoder_of: Callable[..., Decoder]) -> None:
        made = {part: decoder_of(part) for part in set(mechanism.parts)}
        self._decoders = [made[part] for part in mechanism.parts]
        categories = _slices([decoder.categories for decoder in self._decoders])
        responses = _slices([decoder.responses for decoder in self._decoders])
        super().__init__(categories[-1].stop, responses[-1].stop)
        self._parts = tuple(map(Part, self._decoders, categories, responses))

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the questions' decoders, and their categories and responses."""
        return self._parts

    @property
    def moments(self) -> Moments:
        """Return the questions' own moments."""
        moments = [part.moments for part in self._decoders]
        return Moments(
            np.concatenate([one.own for one in moments]),
            np.concatenate([one.other for one in moments]),
            np.concatenate([one.least_variance for one in moments]),
        )

    @property
    def extremes(self) -> Extremes:
        """Return the questions' own extremes; probabilities include that of a report about it."""
        extremes, count = [part.extremes for part in self._decoders], len(self._parts)
        return Extremes(
            np.concatenate([one.least for one in extremes]),
            np.concatenate([one.most for one in extremes]),
            np.concatenate([one.rarest for one in extremes]) / count,
            np.concatenate([one.likeliest for one in extremes]) / count,
        )

    def kernels(self, weights: Floats) -> Floats:
        """Return each question's kernel for its weights."""
        return np.concatenate(
            [part.decoder.kernels(weights[..., part.categories]) for part in self._parts], axis=-1
        )

    def sums(self, values: Floats) -> Floats:
        """Return the questions' own sums."""
        return np.concatenate(
            [part.decoder.sums(values[..., part.responses]) for part in self._parts], axis=-1
        )

    def means(self, values: Floats) -> Floats:
        """Return the questions' own means."""
        return np.concatenate(
            [part.decoder.means(values[..., part.responses]) for part in self._parts],
            axis=-1,
        )

    def response_shares(self, frequencies: Floats) -> Floats:
        """Return the frequency of each response, over all questions."""
        shares = [
            part.decoder.response_shares(frequencies[..., part.categories]) for part in self._parts
        ]
        return np.concatenate(shares, axis=-1) / len(self._parts)

    @property
    def even_shares(self) -> Floats:
        """Return the frequency of each response if all answers are equally frequent."""
        return np.concatenate([decoder.even_shares for decoder in self._decoders]) / len(
            self._parts
        )

    def frequencies(self, tally: Tally) -> Floats:
        """Return the unbiased estimates; equal ones for a question without reports."""
        frequencies = np.empty(self.categories)
        for part in self._parts:
            own = part.tally(tally)
            frequencies[part.categories] = (
                part.decoder.frequencies(own) if own.n else 1 / part.decoder.categories
            )
        return frequencies

    def standard_errors(self, tally: Tally, model: Model) -> Floats:
        """Return each estimate's error; NaN if the question has too few reports."""
        errors = np.full(self.categories, np.nan)
        for part in self._parts:
            if (own := part.tally(tally)).n > 1:
                errors[part.categories] = chosen_errors(
                    partial(part.decoder.standard_errors, own), model, own.n / tally.n
                )
        return errors

    def intervals(
        self, tally: Tally, level: float, *, possible: bool = False
    ) -> tuple[Floats, Floats, tuple[IntervalMethod, ...]]:
        """Return each question's intervals; [0, 1] if it has no reports."""
        low, high = np.zeros(self.categories), np.ones(self.categories)
        methods = [IntervalMethod.CLOPPER_PEARSON] * self.categories
        for part in self._parts:
            if (own := part.tally(tally)).n:
                at = part.categories
                low[at], high[at], methods[at] = part.decoder.intervals(
                    own, level, possible=possible
                )
        return low, high, tuple(methods)

    def tested_counts(self, tally: Tally) -> NDArray[np.int64]:
        """Return how many reports support each answer to each question."""
        return np.concatenate(
            [part.decoder.tested_counts(part.tally(tally)) for part in self._parts]
        )


def _slices(sizes: Sequence[int]) -> list[slice]:
    ends = list(accumulate(sizes))
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
