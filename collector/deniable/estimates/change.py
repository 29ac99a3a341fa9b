"""Tests on the noisy counts: whether frequencies changed, or equal given ones.

Both weight a vector d of differences by the covariance V that it has if there are none. Then d^T
V^-1 d is chi-square with k - 1 degrees of freedom. If there are as many responses as categories,
this is Pearson's X^2 of the counts of responses, since d is an invertible linear map of them. So
responses that nobody sent have no influence.

If some counts are expected to be below 5, it is not chi-square: its p-value is then counted among
tables that are equally likely if nothing changed. For two samples those are all with the same total
counts; for one, all that the given frequencies produce.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from deniable.estimates.decoders import Decoder, Floats, Model, Part, SupportDecoder, Tally
from deniable.estimates.forms import Sample
from deniable.estimates.frequencies import report_covariance
from deniable.estimates.results import presented

_MOST_CATEGORIES: Final = 1024
_TOO_ALIKE: Final = "the reports are too few, or too alike, to show whether anything changed"
_ONE_EPOCH: Final = (
    "devices may be in several epochs: test a single epoch, or one epoch against another"
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


class _Question(NamedTuple):
    """The tested differences of one question, and their distribution if there are none.

    They are sums of kernels over moves of the responses; ``drawn`` draws this many of these.
    """

    differences: Floats
    covariance: Floats
    sparse: bool
    responses: NDArray[np.int64]
    drawn: Callable[[np.random.Generator, int], Floats]


def changed(one: Sample, other: Sample) -> Test:
    """Return the test whether the frequencies of two samples of one survey are the same.

    Devices that are in both, with equal answers, make it find fewer changes, never more.

    Raises:
        ValueError: if they share reports or noise, or have different mechanisms or categories.
    """
    if one.tally.epochs > 1 or other.tally.epochs > 1:
        raise ValueError(_ONE_EPOCH)
    if one.mechanism != other.mechanism:
        raise ValueError("a test of all shares needs one mechanism; compare single shares")
    if one.same_as(other):
        raise ValueError("both sides are the same figures")

    def of_question(part: Part) -> _Question:
        first, second = part.tally(one.tally), part.tally(other.tally)
        if not first.n or not second.n:
            raise ValueError(_TOO_ALIKE)
        d = part.decoder.frequencies(first) - part.decoder.frequencies(second)
        together = Tally(first.n + second.n, first.counts + second.counts)
        shares = together.shares
        if not shares.all():
            # V could not be inverted. One additional report, with even answers, supplies the
            # directions missing from d, which only covers responses that were sent.
            shares = (together.counts + part.decoder.even_shares) / (together.n + 1)
        f = part.decoder.frequencies(together)
        spread = report_covariance(part.decoder, f, shares, Model.SAMPLED)
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

        return _Question(
            d,
            spread * (1 / first.n + 1 / second.n),
            _sparse(part.decoder, together.shares, min(first.n, second.n)),
            sent,
            drawn,
        )

    return _tested(one, of_question)


def fits(sample: Sample, frequencies: Floats) -> Test:
    """Return the test whether all categories have these frequencies."""
    if sample.tally.epochs > 1:
        raise ValueError(_ONE_EPOCH)
    if frequencies.shape != (sample.decoder.categories,):
        raise ValueError(f"{sample.decoder.categories} frequencies are expected, one per category")

    def of_question(part: Part) -> _Question:
        own, f = part.tally(sample.tally), frequencies[part.categories]
        if not own.n:
            raise ValueError(_TOO_ALIKE)
        if (f < 0).any() or not np.isclose(f.sum(), 1):
            raise ValueError("frequencies must not be negative, and must sum to 1")
        shares = part.decoder.response_shares(f)
        spread = report_covariance(part.decoder, f, shares, Model.SAMPLED)
        (possible,) = np.nonzero(shares > 0)
        expected = shares[possible] / shares[possible].sum()
        ends = expected.cumsum()[:-1]  # of a draw in [0, 1); draws beyond are in the last

        def drawn(generator: np.random.Generator, tables: int) -> Floats:
            if own.n >= len(possible):
                counts = generator.multinomial(own.n, expected, tables)
            else:
                reports = np.searchsorted(ends, generator.random((tables, own.n)), side="right")
                placed = reports + len(possible) * np.arange(tables)[:, None]
                counts = np.bincount(placed.ravel(), minlength=tables * len(possible))
            return np.asarray(counts.reshape(tables, -1) / own.n - expected)

        return _Question(
            part.decoder.frequencies(own) - f,
            spread / own.n,
            _sparse(part.decoder, shares, own.n),
            possible,
            drawn,
        )

    return _tested(sample, of_question)


def _sparse(decoder: Decoder, shares: Floats, n: int) -> bool:
    """Return whether any count that the test uses is expected to be below 5."""
    if isinstance(decoder, SupportDecoder):
        shares = decoder.supports(shares)
        shares = np.minimum(shares, 1 - shares)
    return bool(n * shares.min() < _FEW)


def _tested(sample: Sample, of_question: Callable[[Part], _Question]) -> Test:
    if sample.decoder.categories > _MOST_CATEGORIES:
        raise ValueError(
            f"compare more than {_MOST_CATEGORIES:,} categories one by one, using simultaneous "
            "intervals"
        )
    statistic, degrees, sparse = 0.0, 0, False
    tested = []
    for part in sample.decoder.parts:
        question = of_question(part)
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
        tested.append((part.decoder, question, factor))
    kernels = sum(decoder.categories * len(question.responses) for decoder, question, _ in tested)
    if sparse and kernels <= _MOST_KERNELS:
        maps = [(pair[1].drawn, _whitened(*pair)) for pair in tested]
        return Test(statistic, degrees, *_counted(statistic, maps))
    return Test(statistic, degrees, float(special.chdtrc(degrees, statistic)))


def _whitened(decoder: Decoder, question: _Question, factor: Floats) -> Floats:
    """Return L^-1 G of the responses, one row each, so that squares add up to the statistic."""
    k, maps = decoder.categories, np.empty((decoder.categories, len(question.responses)))
    step = max(1, _MOST_WEIGHTS // decoder.responses)
    for first in range(0, k, step):
        rows = maps[first : first + step]
        rows[:] = decoder.kernels(np.eye(len(rows), k, first))[:, question.responses]
    return np.asarray(linalg.solve_triangular(factor, maps[:-1], lower=True).T)


_Drawn = Callable[[np.random.Generator, int], Floats]


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
