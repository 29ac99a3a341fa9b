"""The best matrix for a mean: the least noise in the worst case, by linear programming.

Rows are at J equal steps x of [-1, 1], and R responses at equal steps have the values g_y. Of all
matrices P with sum_y P_xy g_y = x and m_y <= P_xy <= e^epsilon m_y, the best one minimises

    V = max_x (sum_y P_xy g_y^2 - x^2),

the noise that the mechanism adds to a report with the answer x. For given values this is a linear
program; the greatest value, the reach, is found by a search. Source: docs/mathematics.md, section
10.
"""

from functools import lru_cache
from math import expm1, gcd
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import SurveyMatrix, exact_epsilon
from deniable.mechanisms.kind import InvalidManifest
from deniable.mechanisms.mean import MAX_RESPONSES, MAX_ROWS, MeanMatrix

Floats = NDArray[np.float64]

_REACHES: Final = (1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4)
"""Reaches, in units of a single bit's reach: 1/t, t = (e^epsilon - 1)/(e^epsilon + 1)."""
_NEAR: Final = 1.005
"""Of reaches that add at most 0.5 % of noise, the shortest: fakes move it less."""
_UNUSED: Final = 1e-9
"""Probabilities below this are rounding errors."""
_TOLERANCE: Final = 1e-10
_ENOUGH: Final = 12.0
"""Above this epsilon most noise comes from the distance between responses, not from privacy."""
_MIXED: Final = [2.0**-power for power in range(40, 1, -2)]
"""Shares of uniform noise to mix in; the smallest one that repairs rounding is used."""

Weights = tuple[tuple[int, ...], ...]


def mean_weights(categories: int, epsilon: str, responses: int = MAX_RESPONSES) -> Weights:
    """Return the rows of the best matrix with this many responses, over 2^64, certified.

    Raises:
        InvalidManifest: for an epsilon that integers over 2^64 cannot resolve.
    """
    level = min(float(exact_epsilon(epsilon)), _ENOUGH)
    if (matrix := _best_matrix(min(categories, MAX_ROWS), level, responses)) is None:
        raise InvalidManifest("epsilon", "reveals nothing, or too little to be useful")
    for mixed in _MIXED:
        weights = _integers((1 - mixed) * matrix + mixed / matrix.shape[1])
        if min(map(min, weights)) < 1 or weights[0] == weights[1]:
            continue
        if MeanMatrix(categories, weights).privacy.satisfies(epsilon, "0"):
            return weights
    raise InvalidManifest("epsilon", "is too small for probabilities in steps of 2^-64; raise it")


@lru_cache(maxsize=64)  # a plan requests the same again
def _best_matrix(rows: int, level: float, responses: int) -> Floats | None:
    """Return the used columns of the matrix with the least noise, to rounding; None if none has."""
    solved = (_least_noise(rows, level, reach, responses) for reach in _REACHES if level > 0)
    programs = [one for one in solved if one is not None]
    if not programs:
        return None
    least = min(noise for noise, _ in programs)
    return _used(next(matrix for noise, matrix in programs if noise <= _NEAR * least))


def _least_noise(
    rows: int, level: float, reach: float, responses: int
) -> tuple[float, Floats] | None:
    """Return the least worst-case noise with responses up to this reach, and the matrix; or None.

    Mirrored, x to -x and g to -g, the best matrix is equally good, and so is the mean of both: half
    of the rows suffice. A probability is m_y + (E - 1) q_xy with 0 <= q_xy <= m_y, and values are
    u_y/t. So no number of the program is huge or tiny, whatever epsilon is.
    """
    from scipy import optimize, sparse

    excess, values = expm1(level), reach * np.linspace(-1, 1, responses)
    t = excess / (excess + 2)
    x = np.linspace(-1, 1, rows)[rows // 2 :]
    k, half = len(x), responses // 2
    fold = np.minimum(np.arange(responses), np.arange(responses)[::-1])
    count = k * responses

    def each_row(of_m: Floats, of_q: Floats, of_noise: float) -> Any:
        own = np.tile(np.bincount(fold, of_m, half), (k, 1))
        blocks: Any = [own, sparse.kron(sparse.identity(k), of_q), np.full((k, 1), of_noise)]
        return sparse.hstack(blocks)

    ones = np.ones(responses)
    # By symmetry the m_y have the mean 0: sum_y g_y P_xy = (E - 1)/t sum_y u_y q_xy.
    equal = sparse.vstack([each_row(ones, excess * ones, 0), each_row(0 * ones, values, 0)])
    below = sparse.hstack(
        [
            sparse.csr_matrix((-np.ones(count), (np.arange(count), np.tile(fold, k)))),
            sparse.identity(count),
            sparse.csr_matrix((count, 1)),
        ]
    )
    noise = each_row(values**2, excess * values**2, -1)
    result = optimize.linprog(
        np.append(np.zeros(half + count), 1),
        A_ub=sparse.vstack([below, noise]).tocsr(),
        b_ub=np.append(np.zeros(count), (t * x) ** 2),
        A_eq=equal.tocsr(),
        b_eq=np.append(np.ones(k), x / (excess + 2)),
        bounds=(0, None),
        method="highs-ds",
        options={"primal_feasibility_tolerance": _TOLERANCE},
    )
    if result.x is None:
        return None
    m = np.maximum(result.x[:half], 0)[fold]
    q = np.clip(result.x[half:-1].reshape(k, -1), 0, m)
    upper = m + excess * q
    if rows % 2:  # the row of 0 is its own mirror image
        upper[0] = (upper[0] + upper[0, ::-1]) / 2
    return float(result.x[-1]), np.vstack([upper[::-1, ::-1][: rows // 2], upper])


def _used(matrix: Floats) -> Floats:
    """Return the columns from the first used one to the last, or each n-th if that is all."""
    used = np.flatnonzero(matrix.max(axis=0) > _UNUSED)
    stride = gcd(*(int(at) for at in used - used[0]))
    kept = matrix[:, used[0] : used[-1] + 1 : stride]
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


def _integers(matrix: Floats) -> Weights:
    """Return rows over 2^64 whose mean responses rise in equal steps, exactly."""
    grid, (rows, responses) = SurveyMatrix.grid, matrix.shape
    places = range(responses)
    ends = [float(np.arange(responses) @ matrix[end]) for end in (-1, 0)]
    step = round((ends[0] - ends[1]) / (rows - 1) / 2 * grid)
    # Two neighbouring responses, as frequent as possible, compensate the rounding errors.
    rare = matrix.min(axis=0)
    at = int(np.minimum(rare[:-1], rare[1:]).argmax())
    made = []
    for j, row in enumerate(matrix):
        weights = [int(chance * grid) for chance in row]
        weights[at] += grid - sum(weights)
        wanted = grid // 2 * (responses - 1) + (2 * j - rows + 1) * step
        lacking = wanted - sum(y * weight for y, weight in zip(places, weights, strict=True))
        weights[at] -= lacking
        weights[at + 1] += lacking
        made.append(tuple(weights))
    return tuple(made)
