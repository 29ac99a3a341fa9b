"""A decoder for any mechanism, with its whole matrix and a left inverse; and one for means."""

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.binomial import IntervalMethod, NotInvertible, normal_quantile
from deniable.estimates.decoders.decoder import (
    MEAN_ALONE,
    Decoder,
    Extremes,
    Floats,
    Model,
    Moments,
    Tally,
    cautious_errors,
    mean_squares,
)
from deniable.mechanisms import MeanMatrix
from deniable.mechanisms.privacy import Rows

_WORST_CONDITION: Final = 1e13
"""Beyond this, floating point would leave fewer than three digits of an estimate."""


class DenseDecoder(Decoder):
    """The matrix P and G with G P^T = I, both of shape (categories, responses)."""

    kernels_tested = True

    def __init__(self, mechanism: Rows) -> None:
        super().__init__(mechanism.categories, mechanism.responses)
        self._matrix = solution_matrix(mechanism)
        self._inverse = left_inverse(self._matrix)
        self._matrix.flags.writeable = self._inverse.flags.writeable = False

    @cached_property
    def moments(self) -> Moments:
        """Return the second moments of each frequency's kernel."""
        moments = self._matrix @ (self._inverse**2).T
        own = moments.diagonal().copy()
        # The variance if x is true: the mean is (G P^T)_jx, 1 for x = j and otherwise 0.
        np.fill_diagonal(moments, own - 1)
        least = moments.min(axis=0)
        np.fill_diagonal(moments, -np.inf)
        return Moments(own, np.maximum(moments.max(axis=0), 0.0), np.maximum(least, 0.0))

    @cached_property
    def extremes(self) -> Extremes:
        """Return the least and the largest entries of G's rows and of P's columns."""
        return Extremes(
            self._inverse.min(axis=1),
            self._inverse.max(axis=1),
            self._matrix.min(axis=0),
            self._matrix.max(axis=0),
        )

    def kernels(self, weights: Floats) -> Floats:
        """Return G^T w."""
        return np.asarray(weights @ self._inverse)

    def sums(self, values: Floats) -> Floats:
        """Return G v."""
        return np.asarray(values @ self._inverse.T)

    def means(self, values: Floats) -> Floats:
        """Return P v."""
        return np.asarray(values @ self._matrix.T)

    def response_shares(self, frequencies: Floats) -> Floats:
        """Return P^T f."""
        return np.asarray(self._matrix.T @ frequencies)

    def frequencies(self, tally: Tally) -> Floats:
        """Return G lambda; its sum is 1, or less if impossible responses were counted."""
        return np.asarray(self._inverse @ tally.shares)

    def standard_errors(self, tally: Tally, model: Model) -> Floats:
        """Return the roots of the diagonal of G (diag lam - B) G^T, in O(k |Y|)."""
        # Sampled: B = lam lam^T, and G lam = f. Fixed: B = P^T diag(f) P, and G B G^T = diag f
        # since G P^T = I. So n Var f_j is
        #   sum_y lam_y G_jy^2 - f_j^2   or   sum_y lam_y G_jy^2 - f_j.
        f = self.frequencies(tally)
        less = f**2 if model is Model.SAMPLED else f
        variance = mean_squares(self._inverse, tally.shares) - less
        return np.sqrt(np.maximum(variance, 0.0) / tally.degrees(model))

    def intervals(
        self, tally: Tally, level: float, *, possible: bool = False
    ) -> tuple[Floats, Floats, tuple[IntervalMethod, ...]]:
        """Return normal intervals."""
        # A frequency's kernel is large on few responses, and the variance of a rare count differs
        # from that count: the score interval of a Poisson count c, |c - m| <= z sqrt(m), is centred
        # at c + z^2/2, about 2 more at 95 %. (This is Wilson's and Agresti and Coull's correction,
        # for many counts.)
        least, z = self.moments.least_variance, normal_quantile(level)
        errors = cautious_errors(tally, self._inverse, least, unseen=z * z / 2)
        half, estimate = z * errors, self.frequencies(tally)
        if possible:
            estimate = np.clip(estimate, 0, 1)
        return estimate - half, estimate + half, (IntervalMethod.NORMAL,) * self.categories

    def tested_counts(self, tally: Tally) -> NDArray[np.int64]:
        """Return the counts of the responses."""
        return tally.counts


class MeanDecoder(DenseDecoder):
    """Its categories are the rows, and each response represents a share of the range.

    Only weights in equal steps, rising or falling, have a kernel. The kernel of the mean is correct
    for any answers. ``frequencies`` are those of the most extreme population with this mean, all at
    either end, so that bounds computed from them hold for the answers.
    """

    tells_shares = False

    def __init__(self, mechanism: MeanMatrix) -> None:
        Decoder.__init__(self, mechanism.rows.categories, mechanism.responses)
        self._mechanism = mechanism
        self._matrix = solution_matrix(mechanism.rows)
        last = mechanism.categories - 1
        shares = [float(mechanism.stands_for(y) / last) for y in range(self.responses)]
        self._inverse = np.zeros_like(self._matrix)
        self._inverse[0], self._inverse[-1] = np.subtract(1, shares), shares
        self._matrix.flags.writeable = self._inverse.flags.writeable = False

    @cached_property
    def _rows_of(self) -> Floats:
        """Return how often each answer uses each row, (answers, rows)."""
        answers = range(self._mechanism.categories)
        rows = np.zeros((len(answers), self.categories + 1))
        between = self._mechanism.grid // self._mechanism.rows.grid
        for answer, (row, rest) in enumerate(map(self._mechanism.place, answers)):
            rows[answer, row : row + 2] = 1 - rest / between, rest / between
        return rows[:, :-1]

    def kernels(self, weights: Floats) -> Floats:
        """Return g with P g = w; ValueError for weights that are not in equal steps."""
        first, last = weights[..., :1], weights[..., -1:]
        line = first + (last - first) * np.linspace(0, 1, self.categories)
        if not np.allclose(weights, line, rtol=0, atol=1e-9 * max(1.0, float(np.abs(line).max()))):
            raise ValueError(MEAN_ALONE)
        return super().kernels(weights)

    def noise(self, weights: Floats, shares: Floats) -> Floats:
        """Return the least noise that a report can have; at most its variance."""
        g = self.kernels(weights)
        noise = self.means(g**2) - weights**2
        varies = g**2 @ shares - (g @ shares) ** 2
        return np.asarray(np.minimum(noise.min(axis=-1), varies))

    def response_shares(self, frequencies: Floats) -> Floats:
        """Return P^T f, for the rows' frequencies or those of all answers."""
        if len(frequencies) != self.categories:
            frequencies = frequencies @ self._rows_of
        return super().response_shares(frequencies)


def solution_matrix(mechanism: Rows) -> Floats:
    """Return P as floats, shape (categories, responses)."""
    grid = mechanism.grid
    # Each entry is rounded once on both paths. Dividing by a power of two is exact, so a whole row
    # of integers can be rounded at a time.
    binary = grid & (grid - 1) == 0 and grid <= 1 << 64
    matrix = np.empty((mechanism.categories, mechanism.responses))
    for x in range(mechanism.categories):
        row = mechanism.row(x)
        matrix[x] = (
            np.array(row, dtype=np.float64) / grid if binary else [weight / grid for weight in row]
        )
    return matrix


def left_inverse(matrix: Floats) -> Floats:
    """Return the G with G P^T = I that has the least variance at uniform frequencies.

    It has the shape of P. A response that never occurs has weight 0; each of G's other columns sums
    to 1. NotInvertible if the rows of P are not independent, or not certainly so in floats.

    Source: Aitken 1936; docs/mathematics.md, section 3.
    """
    mass = matrix.sum(axis=0)
    if not mass.all():
        inverse = np.zeros_like(matrix)
        inverse[:, mass > 0] = left_inverse(matrix[:, mass > 0])
        return inverse
    categories, responses = matrix.shape
    if responses < categories:
        raise NotInvertible("there are fewer different responses than categories")
    if responses == categories:
        # P = K D with D the masses of the columns, so (P^T)^-1 = (K^T)^-1 D^-1. Noise that
        # accumulates at the ends of a range makes masses very different, and K is better
        # conditioned.
        inverse = _inverted((matrix / mass).T)
        inverse /= mass
        return inverse
    # With f uniform, lambda = D 1/k, and a response has the covariance D/k - lambda lambda^T, which
    # any G with G P^T = I turns into G D G^T/k - f f^T. So D decides, and generalised least squares
    # have the least variance, G = C^-1 P D^-1,   C = P D^-1 P^T, since G D N^T = C^-1 P N^T = 0 for
    # every N with N P^T = 0, so that G + N has N D N^T more. C does not change if a response is
    # split into parts: only likelihoods count. With D^-1/2 P^T = Q R it is R^-1 Q^T D^-1/2; C
    # itself would square the condition of R.
    root = np.sqrt(mass)
    q, r = np.linalg.qr((matrix / root).T)
    return np.asarray(_inverted(r) @ q.T / root, dtype=np.float64)


def _inverted(matrix: Floats) -> Floats:
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError as error:
        raise NotInvertible("the solution matrix's rows are not linearly independent") from error
    condition = float(np.linalg.norm(matrix, 1) * np.linalg.norm(inverse, 1))
    if not condition <= _WORST_CONDITION:
        raise NotInvertible(
            f"floating point cannot invert the solution matrix (condition number {condition:.1g}); "
            "raise epsilon or use fewer categories"
        )
    return np.asarray(inverse, dtype=np.float64)
