"""Tests on the noisy counts: whether frequencies changed, or are what somebody says.

Both weigh a vector d of differences by the covariance V that it has if there are none, d^T V^-1 d,
which is chi-square with k - 1 degrees of freedom then. If responses are as many as categories, that
is Pearson's X^2 of the counts of responses: d is a linear map of these, which can be inverted. So
it has no say in responses that nobody sent, and finds the fewer changes the more of them there are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import linalg, special

from deniable.estimates.decoders import Floats, Model, Part, Tally
from deniable.estimates.estimate import Sample
from deniable.estimates.frequencies import report_covariance

_MOST_CATEGORIES: Final = 1024
_TOO_ALIKE: Final = "the reports are too few, or too alike, to tell whether anything changed"
_ONE_EPOCH: Final = "devices may be in several epochs: test one epoch, or one against another"


@dataclass(frozen=True, slots=True)
class Test:
    """What a test found.

    Attributes:
        statistic: chi-square with so many degrees of freedom, if nothing changed or differs.
        p_value: how often chance alone makes it as large.
    """

    statistic: float
    degrees: int
    p_value: float

    def __str__(self) -> str:
        found = f"chi-square {self.statistic:.4g}, {self.degrees} degrees of freedom"
        return f"{found}, p {self.p_value:.2g}"


def changed(one: Sample, other: Sample) -> Test:
    """Return the test whether the frequencies of two samples of one survey are the same.

    Devices that are in both, and answer alike, make it find fewer changes, never more.

    Raises:
        ValueError: if they share reports or noise, or are not of the same mechanism and categories.
    """
    if one.tally.epochs > 1 or other.tally.epochs > 1:
        raise ValueError(_ONE_EPOCH)
    if one.mechanism != other.mechanism:
        raise ValueError("only figures of one mechanism are compared as a whole; compare shares")
    if one.same_as(other):
        raise ValueError("these are the same figures")

    def of_question(part: Part) -> tuple[Floats, Floats]:
        first, second = part.tally(one.tally), part.tally(other.tally)
        if not first.n or not second.n:
            raise ValueError(_TOO_ALIKE)
        d = part.decoder.frequencies(first) - part.decoder.frequencies(second)
        together = Tally(first.n + second.n, first.counts + second.counts)
        shares = together.shares
        if not shares.all():
            # V could not be inverted. One report more, of even answers, gives it what d has no part
            # in, since d is of responses that were sent.
            shares = (together.counts + part.decoder.even_shares) / (together.n + 1)
        f = part.decoder.frequencies(together)
        spread = report_covariance(part.decoder, f, shares, Model.SAMPLED)
        return d, spread * (1 / first.n + 1 / second.n)

    return _tested(one, of_question)


def fits(sample: Sample, frequencies: Floats) -> Test:
    """Return the test whether the frequencies are these, of all categories."""
    if sample.tally.epochs > 1:
        raise ValueError(_ONE_EPOCH)
    if frequencies.shape != (sample.decoder.categories,):
        raise ValueError(f"{sample.decoder.categories} frequencies are expected, one a category")

    def of_question(part: Part) -> tuple[Floats, Floats]:
        own, f = part.tally(sample.tally), frequencies[part.categories]
        if not own.n:
            raise ValueError(_TOO_ALIKE)
        if (f < 0).any() or not np.isclose(f.sum(), 1):
            raise ValueError("frequencies are not negative, and sum to 1")
        shares = part.decoder.response_shares(f)
        spread = report_covariance(part.decoder, f, shares, Model.SAMPLED)
        return part.decoder.frequencies(own) - f, spread / own.n

    return _tested(sample, of_question)


def _tested(sample: Sample, of_question: Callable[[Part], tuple[Floats, Floats]]) -> Test:
    if sample.decoder.categories > _MOST_CATEGORIES:
        raise ValueError(
            f"more than {_MOST_CATEGORIES:,} categories are compared one by one, by their "
            "simultaneous intervals"
        )
    statistic, degrees = 0.0, 0
    for part in sample.decoder.parts:
        d, spread = of_question(part)
        # They sum to 0, so that one of them says nothing new.
        d, spread = d[:-1], spread[:-1, :-1]
        # d spread^-1 d = |L^-1 d|^2. Where reports are so few that some sum of frequencies does not
        # vary, a pivot is 0, or what rounding leaves of it.
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
