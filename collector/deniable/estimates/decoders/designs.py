"""Block designs: support counts of all categories at once, by Fourier transforms or lists."""

from collections.abc import Callable
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.binomial import IntervalMethod
from deniable.estimates.decoders.decoder import Extremes, Floats, Model, Moments, Tally
from deniable.estimates.decoders.support import Number, SupportDecoder, TwoValuedDecoder
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.block_design import BlockMechanism, Design
from deniable.mechanisms.difference_set import DifferenceSet
from deniable.mechanisms.subset import Subset


class DesignDecoder(SupportDecoder):
    """A block design; the survey may use only some of its points.

    In that case their estimates alone do not sum to 1, and the deficit is distributed evenly,

        f~_j = f^_j + (1 - sum f^)/k,    with the kernel    g_j(y) + (1 - G(y))/k,  G = sum_j g_j,

    which is unbiased, since f sums to 1, and varies less in total; a frequent category may vary
    more.
    """

    def __init__(self, mechanism: BlockMechanism, *, whole: bool) -> None:
        guarantee = mechanism.privacy
        super().__init__(
            mechanism.categories,
            mechanism.responses,
            mechanism.hit,
            mechanism.miss,
            guarantee.truth,
            guarantee.lie,
        )
        self._whole = whole
        self.likeliest_response = float(guarantee.truth)

    def supported_by(self, responses: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the categories that any of these responses supports."""
        return np.asarray(self.supports(responses.astype(np.int64)) > 0)

    @cached_property
    def _missing(self) -> Floats:
        """Return (1 - G(y))/k for each response."""
        ones = np.ones(self.categories)
        return np.asarray((1 - super().kernels(ones)) / self.categories)

    def kernels(self, weights: Floats) -> Floats:
        """Return g with P g = w."""
        g = super().kernels(weights)
        if self._whole:
            return g
        return np.asarray(g + weights.sum(axis=-1, keepdims=True) * self._missing)

    def sums(self, values: Floats) -> Floats:
        """Return sum_y v_y G_jy for each category j."""
        sums = super().sums(values)
        return sums if self._whole else np.asarray(sums + (values @ self._missing)[..., None])

    def frequencies(self, tally: Tally) -> Floats:
        """Return the unbiased estimate of the true frequencies; it sums to 1."""
        f = super().frequencies(tally)
        return f if self._whole else f + (1 - f.sum()) / self.categories

    def standard_errors(self, tally: Tally, model: Model) -> Floats:
        """Return the errors of the estimates, exactly, in as many steps as the estimates need."""
        if self._whole:
            return super().standard_errors(tally, model)
        # With c = (1 - G)/k, E (g_j + c)^2 = E g_j^2 + 2 E g_j c + E c^2; g_j has two values, and E
        # g_j c is a support count of the responses weighted by c. As for any unbiased kernel, n Var
        # is that minus f^2 if devices are sampled, or minus f if they are fixed.
        kappa, q = float(self._kappa), float(self._miss)
        missing = self._missing
        share = self.tested_counts(tally).astype(np.float64) / tally.n
        squares = (share * (1 - q) ** 2 + (1 - share) * q**2) / kappa**2
        weighed = tally.shares * missing
        products = super().sums(weighed)
        f = self.frequencies(tally)
        less = f**2 if model is Model.SAMPLED else f
        variance = squares + 2 * products + weighed @ missing - less
        return np.asarray(np.sqrt(np.maximum(variance, 0.0) / tally.degrees(model)))

    def intervals(
        self, tally: Tally, level: float, *, possible: bool = False
    ) -> tuple[Floats, Floats, tuple[IntervalMethod, ...]]:
        """Return the support counts' intervals, shifted with the estimates if these vary less.

        They are narrowed accordingly. The other intervals keep their place, and extend to their
        estimates. So do those of few reports, whose variation is due to chance.
        """
        low, high, methods = super().intervals(tally, level, possible=possible)
        if self._whole or tally.n < 2:
            return low, high, methods
        estimate, supported = self.frequencies(tally), super().frequencies(tally)
        if possible:
            estimate, supported = np.clip(estimate, 0, 1), np.clip(supported, 0, 1)
        own = self.standard_errors(tally, Model.SAMPLED)
        counted = super().standard_errors(tally, Model.SAMPLED)
        moved = own <= counted
        moved &= np.array([method is IntervalMethod.WILSON for method in methods])
        centre = np.where(moved, estimate, supported)
        narrower = np.where(moved, own / np.where(counted > 0, counted, 1.0), 1.0)
        return (
            np.minimum(centre - narrower * (supported - low), estimate),
            np.maximum(centre + narrower * (high - supported), estimate),
            methods,
        )

    @property
    def moments(self) -> Moments:
        """Return the second moments of the kernels; another category's and the least are bounds."""
        raw = super().moments
        if self._whole:
            return raw
        # E (g + c)^2 = E g^2 + 2 E g c + E c^2. If j is true, a response that supports it has the
        # probability "inside": E g_j c is (inside (1-q) S_j(c) - outside q (sum c - S_j(c)))/kappa.
        # If another is true, (sqrt E g^2 + sqrt E c^2)^2 is no less (Cauchy and Schwarz), and the
        # variance is no less than with both signs reversed.
        inside, outside, q = (float(weight) for weight in (self._inside, self._outside, self._miss))
        missing = self._missing
        held, squares = self.supports(missing), self.means(missing**2)
        rest = missing.sum() - held
        products = (inside * (1 - q) * held - outside * q * rest) / float(self._kappa)
        worst = np.sqrt(squares.max())
        return Moments(
            raw.own + 2 * products + squares,
            (np.sqrt(raw.other) + worst) ** 2,
            np.maximum(np.sqrt(raw.least_variance) - worst, 0.0) ** 2,
        )

    @cached_property
    def extremes(self) -> Extremes:
        """Return the ends of the kernels, and of the probability of supporting a category."""
        reach = super().extremes
        if self._whole:
            return reach
        return Extremes(
            reach.least + self._extreme_missing(np.max, held=False),
            reach.most + self._extreme_missing(np.min, held=True),
            reach.rarest,
            reach.likeliest,
        )

    def _extreme_missing(self, nearest: Callable[[Floats], Any], *, held: bool) -> Floats:
        """Return the deficit of a response that supports each category, or does not.

        It is that of the response with the most or fewest supported: the fewer, the larger.
        """
        sizes = np.rint(self.supported(np.ones(self.categories)))
        missing = np.full(self.categories, np.nan)
        left = np.unique(sizes)
        while np.isnan(missing).any():
            size = nearest(left)
            of_size = (sizes == size).astype(np.float64)
            holding = self.supports(of_size)
            new = holding > 0.5 if held else holding < of_size.sum() - 0.5
            missing[np.isnan(missing) & new] = self._missing[of_size.argmax()]
            left = left[left != size]
        return missing


class SubsetDecoder(DesignDecoder):
    """All subsets of a size, listed: K d numbers."""

    def __init__(self, mechanism: BlockMechanism, design: Subset) -> None:
        super().__init__(mechanism, whole=True)
        # Descending tuples of a descending range come in the reverse of colexicographic order.
        listed = combinations(range(design.categories - 1, -1, -1), design.size)
        members = np.fromiter((member for one in listed for member in one), dtype=np.int32)
        self._members = members.reshape(-1, design.size)[::-1]

    def supports(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the sum of the responses' values for each category that they support."""
        sums = np.zeros((self.categories, *values.shape[:-1]), dtype=values.dtype)
        for member in self._members.T:
            np.add.at(sums, member, np.moveaxis(values, -1, 0))
        return np.moveaxis(sums, 0, -1)

    def supported(self, weights: Floats) -> Floats:
        """Return the sum of the weights of the categories that each response supports."""
        return np.asarray(sum(weights[..., member] for member in self._members.T))


class AffineDecoder(DesignDecoder):
    """An affine design, by one Fourier transform along b and one over the vectors.

    A response (a, b) tests z = <a, x> with T(z + b), where T is 1 on S and 0 elsewhere. Its part of
    the support count of x is W_a(<a, x>), W_a(z) = sum_b C_ab T(z + b). The transform of that is
    T^(w) times the conjugate of C_a^(w); and e^(2 pi i w <a, x>/q) is the same for all (w, a) with
    the same product w a. So the parts are added up for each such vector, and transformed back once.
    """

    def __init__(self, mechanism: BlockMechanism, design: Affine) -> None:
        self._q, self._m = design.order, design.dimension
        super().__init__(mechanism, whole=design.categories == self._q**self._m)
        tested = np.zeros(self._q)
        tested[np.array(design.residues[: design.size])] = 1
        self._tests = np.fft.rfft(tested)
        frequencies, numbers = np.arange(self._q // 2 + 1), affine_vectors(design)
        # A frequency w that is not its own opposite also represents q - w, see ``supports``.
        self._folded = np.where(2 * frequencies % self._q, 2, 1)
        multiples = np.zeros((len(numbers), len(frequencies)), dtype=np.int64)
        for power in self._q ** np.arange(self._m):
            digit = numbers // power % self._q
            multiples += power * (digit[:, None] * frequencies % self._q)
        self._multiples = multiples.ravel()  # the rank of w a, for each a and w

    def supports(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the sum of the responses' values for each category that they support."""
        many: tuple[int, ...] = values.shape[:-1]
        points = self._q**self._m
        # The part of q - w is the conjugate of w's, at the opposite vector: transformed back, it
        # adds the conjugate of what w's adds. So twice the real part of w's covers both.
        rows = values.reshape((-1, self.responses // self._q, self._q)).astype(np.float64)
        sums = np.empty((len(rows), points), dtype=np.complex128)
        for row, each_b in zip(sums, rows, strict=True):
            parts = (self._folded * self._tests * np.fft.rfft(each_b).conj()).ravel()
            row.real = np.bincount(self._multiples, parts.real, points)
            row.imag = np.bincount(self._multiples, parts.imag, points)
        shape, axes = self._vectors(many)
        sums_by_block = np.fft.ifftn(sums.reshape(shape), axes=axes).real.reshape(*many, -1)
        sums_by_block = sums_by_block[..., : self.categories] * self._q ** (self._m - 1)
        # Counts of integers are integers; the error of the transforms is far below a half.
        whole = np.issubdtype(values.dtype, np.integer)
        return np.asarray(np.rint(sums_by_block) if whole else sums_by_block, dtype=values.dtype)

    def supported(self, weights: Floats) -> Floats:
        """Return the sum of the weights of the categories that each response supports."""
        many = weights.shape[:-1]
        points = np.zeros((*many, self._q**self._m))
        points[..., : self.categories] = weights
        shape, axes = self._vectors(many)
        spectrum = np.fft.fftn(points.reshape(shape), axes=axes).reshape(*many, -1)
        parts = spectrum[..., self._multiples].reshape((-1, len(self._tests))).conj()
        return np.fft.irfft(self._tests * parts, self._q).reshape((*many, -1))

    def _vectors(self, many: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the shape of values of all vectors, digit by digit, and the axes of these."""
        return (*many, *(self._q,) * self._m), tuple(range(-self._m, 0))


class DifferenceSetDecoder(DesignDecoder):
    """A difference set: its few blocks, one by one."""

    def __init__(self, mechanism: BlockMechanism, design: DifferenceSet) -> None:
        k, v = design.categories, design.responses
        super().__init__(mechanism, whole=k == v)
        self._blocks = np.array([[design.supports(y, x) for x in range(k)] for y in range(v)])

    def supports(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the sum of the responses' values for each category that they support."""
        return np.asarray(values @ self._blocks, dtype=values.dtype)

    def supported(self, weights: Floats) -> Floats:
        """Return the sum of the weights of the categories that each response supports."""
        return np.asarray(weights @ self._blocks.T)


def affine_vectors(design: Affine) -> NDArray[np.int64]:
    """Return the vectors of an affine design in order, as numbers in base q."""
    firsts = np.array(design.firsts, dtype=np.int64)[:, None]
    units = design.order ** np.arange(design.dimension)
    return np.concatenate([(firsts * unit + np.arange(unit)).ravel() for unit in units])


# Other designs register their decoders here.
_DECODERS: Final[dict[type[Design], Callable[[BlockMechanism, Any], DesignDecoder]]] = {
    Affine: AffineDecoder,
    DifferenceSet: DifferenceSetDecoder,
    Subset: SubsetDecoder,
}


def block_decoder(mechanism: BlockMechanism) -> SupportDecoder:
    """Return the decoder of a mechanism: randomised response's if a block is an answer."""
    if mechanism.design == Subset(mechanism.categories, 1):
        return TwoValuedDecoder(mechanism)
    return _DECODERS[type(mechanism.design)](mechanism, mechanism.design)
