"""Decoders, which turn counts of a mechanism's responses into frequencies of categories.

If f are the true frequencies, responses come with frequencies lambda = P^T f. Any G with G P^T = I
gives an unbiased estimate G c/n of f. It is never clipped or rescaled: the estimate may leave [0,
1], and averages of it stay correct.

A linear query w.f is estimated by the mean over the reports y of a kernel g(y), where P g = w. With
any left inverse G, g = G^T w, since P G^T = I; a frequency f_j has the kernel G_jy.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.binomial import IntervalMethod

Floats = NDArray[np.float64]


MEAN_ALONE: Final = (
    "only the mean can be estimated from these reports; shares require a survey with tells = "
    '"distribution"'
)


class Model(StrEnum):
    """The model of chance in the data; the variances of a frequency differ by f(1 - f)/n.

    ``SAMPLED``: the devices are a random sample, and the estimate is for the population they came
    from. ``FIXED``: the devices are the whole population, and only the mechanism is random.
    """

    SAMPLED = "sampled"
    FIXED = "fixed"


@dataclass(frozen=True, eq=False)
class Tally:
    """Checked counts: the count of each response, and the number n of reports, at least 1.

    The counts come from ``epochs`` epochs, in which the same devices may have reported.
    """

    n: int
    counts: NDArray[np.int64]
    epochs: int = 1
    _parts: dict[int, "Tally"] = field(default_factory=dict, repr=False)

    def within(self, responses: slice) -> "Tally":
        """Return the tally of some of the responses, cached for later calls; n may be 0."""
        own = self._parts.get(responses.start)
        if own is None:
            counts = self.counts[responses]
            own = Tally(int(counts.sum()), counts, self.epochs)
            self._parts[responses.start] = own
        return own

    @cached_property
    def shares(self) -> Floats:
        """Return the counted frequencies of the responses."""
        return self.counts.astype(np.float64) / self.n

    def degrees(self, model: Model) -> int:
        """Return the divisor that makes the variance of one report unbiased."""
        # Sampled: E[lamhat - lamhat^2] = (n-1)/n (lam - lam^2), so n becomes n - 1. Fixed:
        # variances are linear in f, so inserting the unbiased fhat for f is unbiased as it stands.
        if model is Model.FIXED:
            return self.n
        if self.n < 2:
            raise ValueError("a single report has no standard error; wait for more reports")
        return self.n - 1


Counts = Sequence[int] | Mapping[int, int] | Tally
"""The count of each response; or only the nonzero ones, by their index; or a checked tally.

For several figures from the same counts, ``tally`` checks and adds them up once.
"""


def checked_tally(counts: Counts, responses: int, epochs: int = 1) -> Tally:
    """Return checked counts of this many responses, from this many epochs."""
    if isinstance(counts, Tally):
        if len(counts.counts) != responses:
            raise ValueError("these are counts of another mechanism's responses")
        return counts
    where: slice | NDArray[np.int64] = slice(None)
    if isinstance(counts, Mapping):
        where = np.array(list(counts) or [0])
        if where.dtype.kind not in "iu":
            raise TypeError("the keys of the counts must be the numbers of responses, as integers")
        if not ((where >= 0) & (where < responses)).all():
            raise ValueError(f"responses are numbered from 0 to {responses - 1}")
        counts = list(counts.values())
    elif len(counts) != responses:
        raise ValueError(f"{responses} counts are expected, one per response")
    listed = np.array(counts)
    if len(listed) and listed.dtype.kind not in "biu":
        raise TypeError("counts must be integers; do not scale them")
    # Python's own ints: numpy's overflow when they are summed.
    n = sum(listed.tolist())
    if len(listed) and listed.min() < 0:
        raise ValueError("counts must not be negative")
    if n < 1:
        raise ValueError("there are no reports to estimate from")
    if n >= 1 << 63:
        raise ValueError("there are more reports than 64 bits can count")
    dense = np.zeros(responses, dtype=np.int64)
    dense[where] = listed
    return Tally(n, dense, epochs)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """The means of G_jy^2 over the responses y, for each j: if j is true, or another (the largest).

    Also the least variance of G_jy, whichever category is true.
    """

    own: Floats
    other: Floats
    least_variance: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Extremes:
    """The ends of G_jy over the responses y, for each category j.

    Also the ends of the probability that a report adds to each tested count, over the answers.
    """

    least: Floats
    most: Floats
    rarest: Floats
    likeliest: Floats


class Decoder(ABC):
    """The evaluation of the counts of one mechanism's responses."""

    kernels_tested: bool
    """Whether estimates far below 0 reveal more about fake reports than the tested counts do."""

    tells_shares: bool = True
    """Whether reports reveal frequencies; otherwise only the mean."""

    likeliest_response: float | None = None
    """If responses support sets of categories, the greatest probability of any response to any
    answer. The test for fakes also checks that no single response was sent too often."""

    def __init__(self, categories: int, responses: int) -> None:
        self.categories, self.responses = categories, responses

    def tally(self, counts: Counts, epochs: int = 1) -> Tally:
        """Return checked counts, from this many epochs."""
        return checked_tally(counts, self.responses, epochs)

    @property
    def parts(self) -> tuple["Part", ...]:
        """Return the questions; each report is about one of them."""
        return (Part(self, slice(None), slice(None)),)

    def supported_by(self, responses: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the categories that any of these responses supports, usually one each."""
        return responses

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """Return the second moments of each frequency's kernel."""

    @property
    @abstractmethod
    def extremes(self) -> Extremes:
        """Return the extremes of a report's weight, and of the tested counts' probabilities."""

    @abstractmethod
    def kernels(self, weights: Floats) -> Floats:
        """Return g with P g = w: (…, categories) to (…, responses)."""

    def noise(self, weights: Floats, shares: Floats) -> Floats:
        """Return n Var of linear queries with fixed devices, or the least that it may be."""
        # n Var = g^T (diag lam - P^T diag(f) P) g = sum_y lam_y g_y^2 - sum_x f_x w_x^2, since
        # P g = w. Linear in lam and f; the second sum is itself a linear query.
        squares = self.kernels(weights) ** 2 @ shares
        return np.asarray(squares - self.kernels(weights**2) @ shares)

    def shifts(self, tally: Tally, weights: Floats) -> Floats:
        """Return the standard deviations of independent shifts of linear queries, (…, shifts).

        Answers without a row shift them, beside the noise of responses; usually there are none.
        """
        del tally
        return np.zeros((*weights.shape[:-1], 1))

    @abstractmethod
    def sums(self, values: Floats) -> Floats:
        """Return sum_y v_y G_jy for each category j: (…, responses) to (…, categories).

        The transpose of :meth:`kernels`.
        """

    @abstractmethod
    def means(self, values: Floats) -> Floats:
        """Return sum_y P_xy v_y for each true category x: (…, responses) to (…, categories)."""

    @abstractmethod
    def response_shares(self, frequencies: Floats) -> Floats:
        """Return lambda = P^T f."""

    @abstractmethod
    def frequencies(self, tally: Tally) -> Floats:
        """Return the unbiased estimate of the true frequencies."""

    @abstractmethod
    def standard_errors(self, tally: Tally, model: Model) -> Floats:
        """Return the root of an unbiased estimate of each frequency's variance, or 0."""

    @abstractmethod
    def intervals(
        self, tally: Tally, level: float, *, possible: bool = False
    ) -> tuple[Floats, Floats, tuple[IntervalMethod, ...]]:
        """Return both ends of each frequency's interval, not yet clipped, and its method.

        The intervals are about the unbiased estimate, or about the nearest possible one.
        """

    @abstractmethod
    def tested_counts(self, tally: Tally) -> NDArray[np.int64]:
        """Return the counts that honest devices limit on both sides: sums of independent draws.

        These are the responses' counts or, if ``kernels_tested`` is not set, one per category.
        """

    @property
    def even_shares(self) -> Floats:
        """Return the frequency of each response if all answers are equally frequent."""
        return self.response_shares(np.full(self.categories, 1 / self.categories))


class Part(NamedTuple):
    """One of several questions, with its decoder, categories and responses."""

    decoder: Decoder
    categories: slice
    responses: slice

    def tally(self, tally: Tally) -> Tally:
        """Return the tally of the reports about the question; there may be none."""
        return tally if self.responses == slice(None) else tally.within(self.responses)


def chosen_errors(errors: Callable[[Model], Floats], model: Model, share: float) -> Floats:
    """Return the errors of estimates from devices that were drawn, a given share of all.

    Even if the devices are fixed, the draw is random.
    """
    if model is Model.SAMPLED or share == 1:
        return errors(model)
    # Of N devices n are drawn, without replacement. Sampling a population adds f (1 - f)/n to the
    # mechanism's own variance; of that, 1 - n/N remains.
    sampled, fixed = errors(Model.SAMPLED), errors(Model.FIXED)
    return np.asarray(np.sqrt((1 - share) * sampled**2 + share * fixed**2))


def recurring_errors(tally: Tally, sampled: Floats, fixed: Floats) -> Floats:
    """Return standard errors if the same devices may be in several epochs; otherwise the sampled.

    Noise is drawn anew, so n reports of E epochs have its variance, that of fixed devices. But the
    devices may be drawn from the population only once. With n_e reports in an epoch, and m_e the
    variance of the queried quantity among its devices, that adds a variance of at most

        (sum_e sqrt(n_e m_e))^2 / n^2 <= E sum_e n_e m_e / n^2 <= E m / n

    (Cauchy and Schwarz; the mean of the m_e is at most m, that of all). Independent devices add
    m/n, the difference between the two models, so E - 1 times that is missing.
    """
    if tally.epochs == 1:
        return sampled
    drawn = np.maximum(sampled**2 - fixed**2, 0.0)
    return np.asarray(np.sqrt(sampled**2 + (tally.epochs - 1) * drawn))


def mean_squares(kernels: Floats, shares: Floats) -> Floats:
    """Return sum_y lambda_y g_y^2."""
    return np.asarray(np.einsum("...y,...y,y->...", kernels, kernels, shares))


def cautious_errors(tally: Tally, kernels: Floats, least: Floats, *, unseen: float = 0.0) -> Floats:
    """Return the standard errors for normal intervals, in the sampled model.

    If no report happens to fall where a kernel is large, its variance is unknown from the sample,
    but known from the matrix: an estimate below ``least``, the least variance of each g(y) in any
    population, is raised to it. ``unseen`` is added to the count of each response, for kernels that
    are large on few responses. One report has infinite errors.
    """
    n = tally.n
    if n < 2:
        return np.full(kernels.shape[:-1], np.inf)
    shares = tally.shares
    squares = mean_squares(kernels, shares + unseen / n)
    variance = (squares - (kernels @ shares) ** 2) * (n / (n - 1))
    return np.asarray(np.sqrt(np.maximum(variance, least) / n))
