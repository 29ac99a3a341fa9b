"""The reports of imagined devices that a collector would count, by the exact law.

A device that is drawn from a population with the frequencies f sends each response y with the
probability lambda_y = sum_x f_x P_xy. Devices are independent, so the counts of n of them are
multinomial with lambda: as quickly drawn for 10^9 devices as for a thousand.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deniable.estimates import decoder_of
from deniable.mechanisms import Mechanism

_CHUNK = 1 << 16
"""Devices that are drawn from one state of the generator, whether they are asked for or not."""


@dataclass(frozen=True, eq=False)
class SimulatedReports:
    """Reports of imagined devices with one truth: the same ones for the same seed.

    Attributes:
        mechanism: what the devices would sample from.
        truth: how frequent each answer is: of several questions, within each of them.
        seed: all that the reports depend on besides.
    """

    mechanism: Mechanism
    truth: NDArray[np.float64]
    seed: int
    _law: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        law = np.maximum(decoder_of(self.mechanism).response_shares(self.truth), 0.0)
        object.__setattr__(self, "_law", law / law.sum())

    def counts(self, devices: int, run: int = 0) -> NDArray[np.int64]:
        """Return how often each response comes from so many devices, in one of many runs."""
        generator = np.random.default_rng([self.seed, 0, run])
        return generator.multinomial(devices, self._law)

    def responses(self, first: int, last: int, epoch: int = 0) -> NDArray[np.int64]:
        """Return the responses of the devices from ``first`` to before ``last`` in an epoch.

        A device sends the same however many there are; in each epoch, its answer and its noise are
        new. (Other devices than those of ``counts``.)
        """
        ends = np.cumsum(self._law)
        responses = np.empty(last - first, dtype=np.int64)
        for chunk in range(first // _CHUNK, -(-last // _CHUNK)):
            drawn = np.random.default_rng([self.seed, 1, epoch, chunk]).random(_CHUNK) * ends[-1]
            start = chunk * _CHUNK
            low, high = max(first, start), min(last, start + _CHUNK)
            within = drawn[low - start : high - start]
            responses[low - first : high - first] = np.searchsorted(ends, within, side="right")
        return np.minimum(responses, len(ends) - 1)
