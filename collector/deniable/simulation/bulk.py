"""Reports of simulated devices, from the exact distribution of their responses."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deniable.estimates import decoder_of
from deniable.mechanisms import Mechanism

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
