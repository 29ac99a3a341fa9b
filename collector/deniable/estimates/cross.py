"""Two questions that are asked together: a two-way table, and whether their answers go together."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np
from scipy import linalg, special

from deniable.estimates.answers import NOTHING_TOGETHER
from deniable.estimates.change import Test
from deniable.estimates.debiased import DebiasedCounts
from deniable.estimates.decoders import Floats
from deniable.estimates.estimate import Estimate, query_of, share_within
from deniable.estimates.forms import Form, Sample, Unit
from deniable.estimates.results import Documented, presented
from deniable.mechanisms.answering import sizes_of

_EXPECTED: Final = 10


class Of(StrEnum):
    """Whose shares the cells are."""

    ROWS = "rows"
    COLUMNS = "columns"
    ALL = "all"


@dataclass(frozen=True)
class CrossTable(Documented):
    """The shares of two questions' answers together.

    Attributes:
        rows, columns: the questions' names, and their answers behind them.
        cells: by rows and columns; of row shares, a last row for all devices, of column shares a
            last column.
        test: whether the answers go together at all; None if the reports are too few to tell.
    """

    histogram: DebiasedCounts
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    of: Of
    cells: tuple[tuple[Estimate, ...], ...]
    test: Test | None

    def to_csv(self) -> str:
        """Return a row a cell as CSV."""
        return str(presented(self, "csv"))


def cross_table(histogram: DebiasedCounts, rows: str, columns: str, of: Of) -> CrossTable:
    """Return the two-way table of two questions.

    Raises:
        ValueError: if nothing tells of both together, or there are no such questions.
    """
    sample = histogram.sample
    names = [name for name, *_ in histogram.dimensions]
    if len(sample.decoder.parts) > 1:
        raise ValueError(NOTHING_TOGETHER)
    if rows == columns or not {rows, columns} <= set(names):
        there = ", ".join(names) or "none, since the survey asks one"
        raise ValueError(f"name two of the questions: {there}")
    at = names.index(rows), names.index(columns)
    questions = [histogram.dimensions[place] for place in at]
    grid = np.indices(sizes_of(histogram.dimensions)).reshape(len(names), -1)
    one, other = (
        (grid[place] == np.arange(len(question) - 1)[:, None]).astype(np.float64)
        for place, question in zip(at, questions, strict=True)
    )

    level = histogram.level_at_once  # of as many rows as there are cells, or more

    def share(name: str, w: Floats, group: str = "", within: Floats | None = None) -> Estimate:
        if within is None:
            own = query_of(sample, w, level, histogram.model, label=name, unit=Unit.SHARE)
        else:
            both, whole = (Form({sample: v}, histogram.model) for v in (w * within, within))
            own = share_within(both, whole, level, name, group)
        return replace(own, level=histogram.level, at_once=True)

    def cell(i: int, j: int) -> Estimate:
        row, column = (
            f"{name}: {answers[place]}"
            for (name, *answers), place in zip(questions, (i, j), strict=True)
        )
        if of is Of.ROWS:
            return share(column, other[j], row, one[i])
        if of is Of.COLUMNS:
            return share(row, one[i], column, other[j])
        return share(f"{row} and {column}", one[i] * other[j])

    cells = [[cell(i, j) for j in range(len(other))] for i in range(len(one))]
    if of is Of.ROWS:
        cells.append([share(f"{columns}: {questions[1][j + 1]}", w) for j, w in enumerate(other)])
    if of is Of.COLUMNS:
        for i, w in enumerate(one):
            cells[i].append(share(f"{rows}: {questions[0][i + 1]}", w))
    test = association(sample, one, other)
    return CrossTable(histogram, questions[0], questions[1], of, tuple(map(tuple, cells)), test)


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
