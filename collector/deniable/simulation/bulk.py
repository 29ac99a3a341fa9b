"""Reports of simulated devices, from the exact distribution of their responses.

A device drawn from a population with the frequencies f sends each response y with the probability
lambda_y = sum_x f_x P_xy. Devices are independent, so the counts of n of them are multinomial with
lambda, and drawn as quickly for 10^9 devices as for a thousand.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.estimates import decoder_of
from deniable.mechanisms import Mechanism

_CHUNK_OF_DEVICES: Final = 1 << 16
"""Devices that are drawn together from one state of the generator, needed or not."""


class SimulatedReports:
    """Reports of simulated devices with one truth: the same seed gives the same reports.

    Args:
        mechanism: the devices' mechanism.
        truth: the share of each answer; for several questions, within each of them.
        seed: the only other input of the reports.
    """

    def __init__(self, mechanism: Mechanism, truth: NDArray[np.float64], seed: int) -> None:
        self.truth: Final = truth
        self.seed: Final = seed
        law = np.maximum(decoder_of(mechanism).response_shares(truth), 0.0)
        self._law = law / law.sum()

    def counts(self, devices: int, run: int = 0) -> NDArray[np.int64]:
        """Return the count of each response from this many devices, in one of many runs."""
        generator = np.random.default_rng([self.seed, 0, run])
        return generator.multinomial(devices, self._law)

    def responses(self, devices: int, epoch: int = 0) -> NDArray[np.int64]:
        """Return the responses of this many devices in an epoch.

        A device sends the same however many there are; in each epoch, its answer and its noise are
        new. (These are not the devices of ``counts``.)
        """
        ends = np.cumsum(self._law)
        chunks = [
            np.random.default_rng([self.seed, 1, epoch, chunk]).random(_CHUNK_OF_DEVICES)
            for chunk in range(devices // _CHUNK_OF_DEVICES + 1)
        ]
        drawn = np.concatenate(chunks)[:devices] * ends[-1]
        responses: NDArray[np.int64] = np.searchsorted(ends, drawn, side="right")
        return np.minimum(responses, len(ends) - 1)
