"""Mechanisms whose responses support sets of categories: closed forms, without a matrix.

Each response supports some of the categories. Its weight is ``inside`` in the rows of those and
``outside`` in all others. A report supports the true category with the probability p ("hit"), and
each other one with the probability q ("miss"), whatever the answer. So the support count S_j of a
category is binomial with q + kappa f_j, kappa = p - q, and everything follows from the counts:

    f_j = (S_j/n - q)/kappa,   G_jy = (1[y supports j] - q)/kappa.
"""

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.binomial import IntervalMethod, binomial_intervals, support_moments
from deniable.estimates.decoders.decoder import Decoder, Extremes, Floats, Model, Moments, Tally
from deniable.mechanisms import RandomisedResponse
from deniable.mechanisms.block_design import BlockMechanism

Number = TypeVar("Number", np.float64, np.int64)


class SupportDecoder(Decoder):
    """The closed forms; each kind defines how a response is spread over what it supports."""

    kernels_tested = False
    # f_j is below 0 if S_j is below n q, which has been tested.

    def __init__(
        self,
        categories: int,
        responses: int,
        hit: Fraction,
        miss: Fraction,
        inside: Fraction,
        outside: Fraction,
    ) -> None:
        super().__init__(categories, responses)
        self._hit, self._miss, self._kappa = hit, miss, hit - miss
        self._inside, self._outside = inside, outside
        self._tested: WeakKeyDictionary[Tally, NDArray[np.int64]] = WeakKeyDictionary()

    @abstractmethod
    def supports(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the sum of the responses' values for each category that they support.

        It works along the last axis, so also from (many, responses) to (many, categories).
        """

    @abstractmethod
    def supported(self, weights: Floats) -> Floats:
        """Return the sum of the weights of the categories that each response supports, likewise.

        The transpose of :meth:`supports`.
        """

    @cached_property
    def moments(self) -> Moments:
        """Return the moments of kernels with two values."""
        return Moments(*map(self._alike, support_moments(self._hit, self._miss)))

    @cached_property
    def extremes(self) -> Extremes:
        """Return -q/kappa and (1 - q)/kappa, q and p."""
        p, q = self._hit, self._miss
        return Extremes(*(self._alike(x) for x in (-q / self._kappa, (1 - q) / self._kappa, q, p)))

    def kernels(self, weights: Floats) -> Floats:
        """Return the supported weights minus q times all, divided by kappa."""
        total = weights.sum(axis=-1, keepdims=True)
        g = (self.supported(weights) - float(self._miss) * total) / float(self._kappa)
        return np.asarray(g)

    def sums(self, values: Floats) -> Floats:
        """Return (supports of the values - q times the sum of all) / kappa."""
        total = values.sum(axis=-1, keepdims=True)
        sums = (self.supports(values) - float(self._miss) * total) / float(self._kappa)
        return np.asarray(sums)

    def means(self, values: Floats) -> Floats:
        """Return P v, from the responses inside and outside."""
        step, total = float(self._inside - self._outside), values.sum(axis=-1, keepdims=True)
        return np.asarray(step * self.supports(values) + float(self._outside) * total)

    def response_shares(self, frequencies: Floats) -> Floats:
        """Return P^T f."""
        step = float(self._inside - self._outside)
        return np.asarray(float(self._outside) + step * self.supported(frequencies))

    def frequencies(self, tally: Tally) -> Floats:
        """Return (S/n - q)/kappa, in integers: nothing cancels however small kappa is."""
        n, grid = tally.n, self._miss.denominator * self._kappa.denominator
        missed, denominator = n * int(self._miss * grid), n * int(self._kappa * grid)
        supports = self.tested_counts(tally).tolist()
        return np.array([(count * grid - missed) / denominator for count in supports])

    def standard_errors(self, tally: Tally, model: Model) -> Floats:
        """Return the errors in closed form."""
        kappa, degrees = float(self._kappa), tally.degrees(model)
        if model is Model.SAMPLED:
            # Var f_j = lam_j (1 - lam_j) / (n kappa^2), estimated with n - 1.
            share = self.tested_counts(tally).astype(np.float64) / tally.n
            return np.asarray(np.sqrt(share * (1 - share) / degrees) / kappa)
        # n Var f_j = [f p (1-p) + (1-f) q (1-q)] / kappa^2, linear in f.
        p, q = float(self._hit), float(self._miss)
        f = self.frequencies(tally)
        variance = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / degrees
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)) / kappa)

    def intervals(
        self, tally: Tally, level: float, *, possible: bool = False
    ) -> tuple[Floats, Floats, tuple[IntervalMethod, ...]]:
        """Return the binomial intervals of the support counts, mapped back.

        f = (lambda - q)/kappa rises, so an interval covers f exactly as often as lambda.
        """
        supports = self.tested_counts(tally).astype(np.float64)
        q, kappa = float(self._miss), float(self._kappa)
        if possible:  # the count at the nearest possible frequency
            supports = np.clip(supports, q * tally.n, (q + kappa) * tally.n)
        low, high, methods = binomial_intervals(supports, tally.n, level)
        return (low - q) / kappa, (high - q) / kappa, methods

    def tested_counts(self, tally: Tally) -> NDArray[np.int64]:
        """Return the support counts, added up once for all figures of a tally."""
        supported = self._tested.get(tally)
        if supported is None:
            supported = self._tested[tally] = self.supports(tally.counts)
        return supported

    def _alike(self, value: Fraction) -> Floats:
        return np.full(self.categories, float(value))


class TwoValuedDecoder(SupportDecoder):
    """Randomised response in any form: every response supports only the category that it names."""

    def __init__(self, mechanism: RandomisedResponse | BlockMechanism) -> None:
        d, q = mechanism.privacy.truth, mechanism.privacy.lie
        super().__init__(mechanism.categories, mechanism.responses, d, q, d, q)

    def supports(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the values unchanged."""
        return values

    def supported(self, weights: Floats) -> Floats:
        """Return the weights unchanged."""
        return weights
