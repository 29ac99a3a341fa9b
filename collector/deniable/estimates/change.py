"""The test on the noisy counts whether frequencies changed.

It weights a vector d of differences by the covariance V that it has if there are none. Then d^T
V^-1 d is chi-square with k - 1 degrees of freedom. If there are as many responses as categories,
this is Pearson's X^2 of the counts of responses, since d is an invertible linear map of them. So
responses that nobody sent have no influence.

If some counts are expected to be below 5, it is not chi-square: its p-value is then counted among
tables that are equally likely if nothing changed, which are all with the same total counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from deniable.estimates.decoders import Decoder, Floats, Model, SupportDecoder, Tally
from deniable.estimates.forms import Sample
from deniable.estimates.frequencies import report_covariance
from deniable.estimates.results import presented

_MOST_CATEGORIES: Final = 1024
_TOO_ALIKE: Final = (
    "there are too few reports, or they are too similar, to show whether anything changed"
)
_ONE_EPOCH: Final = (
    "a device may report in several epochs: test a single epoch, or compare one epoch with another"
)

_FEW: Final = 5
_SEED: Final = 1
"""The seed of the drawn tables: the same counts have the same p-value."""
_TABLES: Final = 1_999
_AS_LARGE: Final = 100
"""Drawing ends after this many tables as large; this keeps the level (Besag and Clifford 1991)."""
_AT_ONCE: Final = 1 << 18
_BY_RESPONSE: Final = 100
_MOST_KERNELS: Final = 1 << 24
_MOST_WEIGHTS: Final = 1 << 22
_ROUNDED: Final = 1e-9
"""Tolerance for rounding when comparing the sums of tables."""


@dataclass(frozen=True, slots=True)
class Test:
    """The result of a test.

    Attributes:
        statistic: chi-square with this many degrees of freedom, if nothing changed or differs, and
            all expected counts are 5 or more.
        p_value: the probability that chance alone makes it as large.
        tables: the number of tables behind the p-value if counts are expected to be below 5; 0 if
            chi-square is used.
    """

    statistic: float
    degrees: int
    p_value: float
    tables: int = 0

    def __str__(self) -> str:
        return str(presented(self, "text"))


_Drawn = Callable[[np.random.Generator, int], Floats]


class _Question(NamedTuple):
    """The tested differences of one question, and their distribution if there are none.

    They are sums of kernels over moves of the responses; ``drawn`` draws this many of these.
    """

    decoder: Decoder
    differences: Floats
    covariance: Floats
    sparse: bool
    responses: NDArray[np.int64]
    drawn: _Drawn

    @classmethod
    def of(cls, decoder: Decoder, first: Tally, second: Tally) -> "_Question":
        """Return the differences of two tallies of the question; ValueError without reports."""
        if not first.n or not second.n:
            raise ValueError(_TOO_ALIKE)
        d = decoder.frequencies(first) - decoder.frequencies(second)
        together = Tally(first.n + second.n, first.counts + second.counts)
        shares = together.shares
        if not shares.all():
            # V could not be inverted. One additional report, with even answers, supplies the
            # directions missing from d, which only covers responses that were sent.
            shares = (together.counts + decoder.even_shares) / (together.n + 1)
        f = decoder.frequencies(together)
        spread = report_covariance(decoder, f, shares, Model.SAMPLED)
        (sent,) = np.nonzero(together.counts)
        counts = together.counts[sent]
        # Report by report, or response by response: whichever needs fewer draws. The latter take
        # some hundred times as long.
        few = min(first.n, second.n) < _BY_RESPONSE * len(sent) and together.n <= _MOST_KERNELS

        def drawn(generator: np.random.Generator, tables: int) -> Floats:
            ours = generator.multivariate_hypergeometric(
                counts, first.n, size=tables, method="count" if few else "marginals"
            )
            return np.asarray(ours / first.n - (counts - ours) / second.n)

        sparse = _sparse(decoder, together.shares, min(first.n, second.n))
        return cls(decoder, d, spread * (1 / first.n + 1 / second.n), sparse, sent, drawn)


def changed(one: Sample, other: Sample) -> Test:
    """Return the test whether the frequencies of two samples of one survey are the same.

    Devices that are in both, with equal answers, make it find fewer changes, never more.

    Raises:
        ValueError: if they share reports or noise, or have different mechanisms or categories.
    """
    if one.tally.epochs > 1 or other.tally.epochs > 1:
        raise ValueError(_ONE_EPOCH)
    if one.mechanism != other.mechanism:
        raise ValueError(
            "all shares can be tested together only if both sides use the same mechanism; compare "
            "single shares instead"
        )
    if one.same_as(other):
        raise ValueError("both sides show the same figures")
    if one.decoder.categories > _MOST_CATEGORIES:
        raise ValueError(
            f"compare more than {_MOST_CATEGORIES:,} categories one by one, with simultaneous "
            "intervals"
        )
    statistic, degrees, sparse = 0.0, 0, False
    tested = []
    for part in one.decoder.parts:
        question = _Question.of(part.decoder, part.tally(one.tally), part.tally(other.tally))
        # The differences sum to 0, so one of them is redundant.
        d, spread = question.differences[:-1], question.covariance[:-1, :-1]
        # d spread^-1 d = |L^-1 d|^2. If there are too few reports for some sum of frequencies to
        # vary, a pivot is 0, or a rounding error.
        try:
            factor = linalg.cholesky(spread, lower=True)
        except linalg.LinAlgError:
            raise ValueError(_TOO_ALIKE) from None
        pivots = np.diag(factor) ** 2
        if pivots.min() <= len(d) * np.finfo(np.float64).eps * pivots.max():
            raise ValueError(_TOO_ALIKE)
        statistic += float((linalg.solve_triangular(factor, d, lower=True) ** 2).sum())
        degrees += len(d)
        sparse |= question.sparse
        tested.append((question, factor))
    kernels = sum(q.decoder.categories * len(q.responses) for q, _ in tested)
    if sparse and kernels <= _MOST_KERNELS:
        maps = [(question.drawn, _whitened(question, factor)) for question, factor in tested]
        return Test(statistic, degrees, *_counted(statistic, maps))
    return Test(statistic, degrees, float(special.chdtrc(degrees, statistic)))


def _sparse(decoder: Decoder, shares: Floats, n: int) -> bool:
    """Return whether any count that the test uses is expected to be below 5."""
    if isinstance(decoder, SupportDecoder):
        shares = decoder.supports(shares)
        shares = np.minimum(shares, 1 - shares)
    return bool(n * shares.min() < _FEW)


def _whitened(question: _Question, factor: Floats) -> Floats:
    """Return L^-1 G of the responses, one row each, so that squares add up to the statistic."""
    decoder = question.decoder
    k, maps = decoder.categories, np.empty((decoder.categories, len(question.responses)))
    step = max(1, _MOST_WEIGHTS // decoder.responses)
    for first in range(0, k, step):
        rows = maps[first : first + step]
        rows[:] = decoder.kernels(np.eye(len(rows), k, first))[:, question.responses]
    return np.asarray(linalg.solve_triangular(factor, maps[:-1], lower=True).T)


def _counted(statistic: float, maps: list[tuple[_Drawn, Floats]]) -> tuple[float, int]:
    """Return the share of tables that differ as much, and how many there are.

    The given table is one of them, unless so many are as large that it does not matter.
    """
    generator = np.random.default_rng(_SEED)
    least = statistic * (1 - _ROUNDED)
    step = max(1, _AT_ONCE // max(len(whitened) for _, whitened in maps))
    as_large, tables = 0, 0
    while tables < _TABLES:
        size = min(step, _TABLES - tables, 2 * _AS_LARGE + tables)  # most tests end early
        statistics = sum(
            ((drawn(generator, size) @ linear_map) ** 2).sum(axis=1) for drawn, linear_map in maps
        )
        reached = as_large + np.cumsum(statistics >= least)
        if reached[-1] >= _AS_LARGE:
            tables += int(np.searchsorted(reached, _AS_LARGE)) + 1
            return _AS_LARGE / tables, tables
        as_large, tables = int(reached[-1]), tables + size
    return (as_large + 1) / (tables + 1), tables
