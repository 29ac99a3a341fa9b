"""The test on the noisy counts whether frequencies changed.

It weights a vector d of differences by the covariance V that it has if there are none. Then d^T
V^-1 d is chi-square with k - 1 degrees of freedom. If there are as many responses as categories,
this is Pearson's X^2 of the counts of responses, since d is an invertible linear map of them. If
some counts are expected to be below 5, it is not chi-square, and there is no test.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
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


@dataclass(frozen=True, slots=True)
class Test:
    """The result of a test.

    Attributes:
        statistic: chi-square with this many degrees of freedom, if nothing changed or differs.
        p_value: the probability that chance alone makes it as large.
    """

    statistic: float
    degrees: int
    p_value: float

    def __str__(self) -> str:
        return str(presented(self, "text"))


def changed(one: Sample, other: Sample) -> Test:
    """Return the test whether the frequencies of two samples of one survey are the same.

    Devices that are in both, with equal answers, make it find fewer changes, never more.

    Raises:
        ValueError: if they share reports or noise, have different mechanisms or categories, or are
            so small that some counts are expected to be below 5.
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
    statistic, degrees = 0.0, 0
    for part in one.decoder.parts:
        d, spread = _differences(part.decoder, part.tally(one.tally), part.tally(other.tally))
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
    return Test(statistic, degrees, float(special.chdtrc(degrees, statistic)))


def _differences(decoder: Decoder, first: Tally, second: Tally) -> tuple[Floats, Floats]:
    """Return a question's differences but one, as they sum to 0; and their covariance."""
    if not first.n or not second.n:
        raise ValueError(_TOO_ALIKE)
    d = decoder.frequencies(first) - decoder.frequencies(second)
    together = Tally(first.n + second.n, first.counts + second.counts)
    counted = together.shares
    if isinstance(decoder, SupportDecoder):
        supported = decoder.supports(counted)
        counted = np.minimum(supported, 1 - supported)
    if min(first.n, second.n) * counted.min() < _FEW:
        raise ValueError(_TOO_ALIKE)
    f = decoder.frequencies(together)
    spread = report_covariance(decoder, f, together.shares, Model.SAMPLED)
    return d[:-1], spread[:-1, :-1] * (1 / first.n + 1 / second.n)
