"""Whether the answers to two questions that are asked together go together."""

from typing import Final

import numpy as np
from scipy import linalg, special

from deniable.estimates.change import Test
from deniable.estimates.decoders import Floats
from deniable.estimates.estimate import Sample

_EXPECTED: Final = 10


def association(sample: Sample, one: Floats, other: Floats) -> Test | None:
    """Return the test whether the answers to two questions go together; None if it cannot tell.

    The weights are those of each answer. d_ij = f_ij - f_i f_j, which is 0 if they do not, has the
    covariance V = J C J^T, C being that of the f_ij and J the slopes of d by them; and d^T V^-1 d
    has Hotelling's law, in large samples chi-square, with (r - 1)(c - 1) degrees of freedom. Where
    a combination is expected of less than 10 devices, it is larger by chance too often.
    """
    decoder, tally = sample.decoder, sample.tally
    r, c = len(one), len(other)
    if tally.epochs > 1:
        return None
    weights = (one[:, None] * other[None]).reshape(r * c, -1)
    kernels = decoder.kernels(weights)
    f = (kernels @ tally.shares).reshape(r, c)
    spread = (kernels * tally.shares) @ kernels.T - np.outer(f, f)
    row, column = f.sum(axis=1), f.sum(axis=0)
    if not tally.n * np.outer(row, column).min() >= _EXPECTED:
        return None
    kept = [(i, j) for i in range(r - 1) for j in range(c - 1)]
    slopes = np.zeros((len(kept), r, c))
    for at, (i, j) in enumerate(kept):
        slopes[at, i, j] += 1
        slopes[at, i, :] -= column[j]
        slopes[at, :, j] -= row[i]
    d = np.array([f[i, j] - row[i] * column[j] for i, j in kept])
    jacobian = slopes.reshape(len(kept), -1)
    covariance = jacobian @ spread @ jacobian.T / max(tally.n - 1, 1)
    try:
        statistic = float(d @ linalg.solve(covariance, d, assume_a="pos"))
    except (linalg.LinAlgError, ValueError):
        return None
    p, n = len(kept), tally.n
    if n <= p:
        return None
    return Test(statistic, p, float(special.fdtrc(p, n - p, statistic * (n - p) / ((n - 1) * p))))
