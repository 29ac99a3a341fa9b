"""Levels of a tree over ordered answers: least squares over all levels, in two passes.

A report is about one of d levels, each with probability 1/d. A query w.f has the kernel

    g(j, y) = r + d g_j(y),    P_j g_j = h_j,    h_j(node) = l(node) - l(the node around it),

where l assigns a number to each node, w_x to the single answer x, and r to the root, which contains
all answers. It is unbiased whatever numbers the other nodes have, since the differences add up
along the path to an answer: (1/d) sum_j (r + d h_j) = w_x. These numbers are chosen for the least
variance. If all answers are equally frequent, the variance of d g_j is d v_j sum h_j^2 over the
nodes of the level, where v_j is that of a node's share. So the sum of v_j (l(node) - l(the node
around it))^2 must be least: it is the heat in a network of conductors v_j along the tree's
branches. In series and in parallel,

    from above, a node is a conductor c to a potential p:  c = v s/(v + s), p = (sum c' p')/s,
    s = sum c' over the nodes below (a single answer: c = v, p = w_x); then, from the root down,
    l = (v l' + s p)/(v + s) with l' of the node around it, and l = p at the root.

This is generalised least squares for the frequencies, whose sum is known: the frequencies are the
same two passes, transposed. (A last node with fewer answers is treated as equally frequent.)
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.binomial import IntervalMethod, normal_quantile
from deniable.estimates.decoders.decoder import (
    Decoder,
    Extremes,
    Floats,
    Model,
    Moments,
    Tally,
    mean_squares,
)
from deniable.mechanisms import ceil_div
from deniable.mechanisms.levels import Levels

_MOST_WEIGHTS: Final = 1 << 22


class LevelsDecoder(Decoder):
    """The decoders of all levels, and the tree that connects them; see ``decoder_of``."""

    kernels_tested = True

    def __init__(self, mechanism: Levels, decoder_of: Callable[..., Decoder]) -> None:
        super().__init__(mechanism.categories, mechanism.responses)
        self._levels = [decoder_of(part) for part in mechanism.parts]
        ends = np.cumsum([level.responses for level in self._levels])
        self._slices = [slice(e - o.responses, e) for e, o in zip(ends, self._levels, strict=True)]
        answers = np.arange(self.categories)
        self._nodes = [answers // width for width in mechanism.widths]
        # For each level, where the nodes below each parent begin, and the index of that parent.
        self._starts, self._around = [], []
        outer = self.categories
        for level, width in zip(self._levels, mechanism.widths, strict=True):
            below = ceil_div(outer, width)
            self._starts.append(np.arange(0, level.categories, below))
            self._around.append(np.arange(level.categories) // below)
            outer = width
        self._squared: WeakKeyDictionary[Tally, Floats] = WeakKeyDictionary()
        self._conduct(mechanism)

    def _conduct(self, mechanism: Levels) -> None:
        """Compute v of each level, c of its nodes as seen from above, and s of their parents."""
        d, self._v = len(self._levels), []
        for part in mechanism.parts:
            hit, miss = (part.truth, part.lie) if part.hit is None else (part.hit, part.miss)
            share = float(miss + (hit - miss) / part.categories)
            # The share of a node is (S/n - q)/kappa, and the shares sum to 1.
            own = share * (1 - share) / float(hit - miss) ** 2
            self._v.append(own * part.categories / (part.categories - 1))
        self._c: list[Floats] = [np.array([])] * d
        self._s: list[Floats] = [np.array([])] * d
        self._c[-1] = np.full(self.categories, self._v[-1])
        for at in reversed(range(d)):
            self._s[at] = np.add.reduceat(self._c[at], self._starts[at])
            if at:
                v = self._v[at - 1]
                self._c[at - 1] = v * self._s[at] / (v + self._s[at])

    def _differences(self, weights: Floats) -> tuple[Floats, list[Floats]]:
        """Return r, and h of each level's nodes; weights are (…, categories)."""
        p, potentials = weights, [weights]
        for c, s, starts in reversed([*zip(self._c, self._s, self._starts, strict=True)]):
            p = np.add.reduceat(c * p, starts, axis=-1) / s
            potentials.append(p)
        root, *below = reversed(potentials)
        labels, differences = root, []
        for at, p in enumerate(below):
            outer = labels[..., self._around[at]]
            if at < len(below) - 1:
                v, s = self._v[at], self._s[at + 1]
                labels = (v * outer + s * p) / (v + s)
            else:
                labels = p
            differences.append(labels - outer)
        return root, differences

    def _transposed(self, root: Floats, differences: list[Floats]) -> Floats:
        """Return the transpose of :meth:`_differences`: (…), and of each level's nodes."""
        d = len(differences)
        p_parts: list[Floats] = []
        # Upwards, the weight of each label: in its own difference, and in those of the nodes below.
        label = differences[-1]
        below = np.add.reduceat(-differences[-1], self._starts[-1], axis=-1)
        for at in reversed(range(d - 1)):
            v, s = self._v[at], self._s[at + 1]
            label_here = differences[at] + below
            p_parts.append(label_here * s / (v + s))
            outer = label_here * v / (v + s) - differences[at]
            below = np.add.reduceat(outer, self._starts[at], axis=-1)
        # Downwards, the weight of each potential: in its label, and in the potential around it.
        p = root + below
        for at, own in enumerate([*reversed(p_parts), label]):
            p = own + (self._c[at] * (p / self._s[at])[..., self._around[at]])
        return p

    def kernels(self, weights: Floats) -> Floats:
        """Return r + d g_j(y) for all levels."""
        root, differences = self._differences(np.asarray(weights, dtype=np.float64))
        d = len(self._levels)
        parts = [level.kernels(d * h) for level, h in zip(self._levels, differences, strict=True)]
        return np.asarray(root + np.concatenate(parts, axis=-1))

    def sums(self, values: Floats) -> Floats:
        """Return sum_y v_y G_jy for each category j."""
        d = len(self._levels)
        own = [
            d * level.sums(values[..., at])
            for level, at in zip(self._levels, self._slices, strict=True)
        ]
        return self._transposed(values.sum(axis=-1, keepdims=True), own)

    def means(self, values: Floats) -> Floats:
        """Return P v."""
        parts = (
            level.means(values[..., at])[..., nodes]
            for level, at, nodes in zip(self._levels, self._slices, self._nodes, strict=True)
        )
        return np.asarray(sum(parts) / len(self._levels))

    def response_shares(self, frequencies: Floats) -> Floats:
        """Return P^T f."""
        f = np.asarray(frequencies, dtype=np.float64)
        shares = [
            level.response_shares(np.bincount(nodes, f, level.categories).astype(np.float64))
            for level, nodes in zip(self._levels, self._nodes, strict=True)
        ]
        return np.concatenate(shares) / len(self._levels)

    def frequencies(self, tally: Tally) -> Floats:
        """Return the least-squares estimates; they sum to 1."""
        return self.sums(tally.shares)

    @cached_property
    def moments(self) -> Moments:
        """Return the second moments of each frequency's kernel."""
        own, other, least = np.empty((3, self.categories))
        for rows, kernels in self._kernels():
            at = np.arange(len(kernels))
            moments = self.means(kernels**2)
            own[rows] = moments[at, rows]
            # The variance if x is true: the mean is 1 for the category itself, and otherwise 0.
            moments[at, rows] -= 1
            least[rows] = moments.min(axis=1)
            moments[at, rows] = -np.inf
            other[rows] = moments.max(axis=1)
        return Moments(own, np.maximum(other, 0.0), np.maximum(least, 0.0))

    @cached_property
    def extremes(self) -> Extremes:
        """Return the ends of the kernels, and the mean probabilities of supporting a node or not.

        The node is the one that contains a category, on the report's level.
        """
        least, most = np.empty((2, self.categories))
        for rows, kernels in self._kernels():
            least[rows], most[rows] = kernels.min(axis=1), kernels.max(axis=1)
        d, ends = len(self._levels), [level.extremes for level in self._levels]
        rarest = sum(e.rarest[nodes] for e, nodes in zip(ends, self._nodes, strict=True)) / d
        likeliest = sum(e.likeliest[nodes] for e, nodes in zip(ends, self._nodes, strict=True)) / d
        return Extremes(least, most, np.asarray(rarest), np.asarray(likeliest))

    def _kernels(self) -> Iterator[tuple[NDArray[np.intp], Floats]]:
        """Yield the kernels of some categories at a time: there may be 2^20 responses."""
        k = self.categories
        step = max(1, _MOST_WEIGHTS // self.responses)
        for first in range(0, k, step):
            rows = np.arange(first, min(first + step, k))
            yield rows, self.kernels(np.eye(len(rows), k, first))

    def standard_errors(self, tally: Tally, model: Model) -> Floats:
        """Return the roots of the variances, as for any unbiased kernels."""
        f = self.frequencies(tally)
        less = f**2 if model is Model.SAMPLED else f
        return np.sqrt(np.maximum(self._squares(tally) - less, 0.0) / tally.degrees(model))

    def _squares(self, tally: Tally) -> Floats:
        """Return the mean square of each frequency's kernel, added up once for all figures."""
        squares = self._squared.get(tally)
        if squares is None:
            parts = [mean_squares(kernels, tally.shares) for _, kernels in self._kernels()]
            squares = self._squared[tally] = np.concatenate(parts)
        return squares

    def intervals(
        self, tally: Tally, level: float, *, possible: bool = False
    ) -> tuple[Floats, Floats, tuple[IntervalMethod, ...]]:
        """Return normal intervals."""
        # As for a linear query: a kernel has many values on many responses, and rare ones do not
        # dominate its variance.
        estimate, z = self.frequencies(tally), normal_quantile(level)
        if tally.n < 2:
            half = np.full(self.categories, np.inf)
        else:
            errors = self.standard_errors(tally, Model.SAMPLED)
            half = z * np.maximum(errors, np.sqrt(self.moments.least_variance / tally.n))
        if possible:
            estimate = np.clip(estimate, 0, 1)
        return estimate - half, estimate + half, (IntervalMethod.NORMAL,) * self.categories

    def tested_counts(self, tally: Tally) -> NDArray[np.int64]:
        """Return how many reports support each category's node on their level."""
        counts = (
            level.tested_counts(tally.within(at))[nodes]
            for level, at, nodes in zip(self._levels, self._slices, self._nodes, strict=True)
        )
        return np.asarray(sum(counts), dtype=np.int64)
