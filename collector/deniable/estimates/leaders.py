"""The most frequent answers, and which places are certain: confidence sets of ranks.

Of all pairs of answers the interval of their difference is made, with its exact covariance, all at
once (Bonferroni). Whoever is ahead in one of these is so; so an answer's rank is at least 1 plus
how many are ahead of it, and at most the number of answers less how many are behind it. These
bounds hold for all answers at once with the probability of the level, or more, whichever are
looked at. Source: Mogstad, Romano, Shaikh and Wilhelm 2024; docs/mathematics.md, section 19.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.binomial import normal_quantile
from deniable.estimates.debiased import DebiasedCounts
from deniable.estimates.decoders import Decoder, Floats, Model, Tally
from deniable.estimates.estimate import Estimate, query_of
from deniable.estimates.forms import Unit
from deniable.estimates.frequencies import errors_of, uncut_intervals
from deniable.estimates.queries import cautious_values, query_values
from deniable.estimates.ratios import Ends, difference_ends
from deniable.estimates.results import Documented
from deniable.mechanisms.answering import sizes_of

_MOST: Final = 64
"""So many with the largest estimates are set against all: more may only be behind them."""
_SHOWN: Final = 20


@dataclass(frozen=True)
class Beside(Documented):
    """A share and another of the same histogram: of two groups, or of two answers.

    Attributes:
        names: what tells them apart.
        race: whether the question is which of them is ahead; the ratio is left to programs then.
    """

    histogram: DebiasedCounts
    names: tuple[str, str]
    one: Estimate
    other: Estimate
    race: bool = False

    @cached_property
    def difference(self) -> Estimate:
        """Return one less the other."""
        return self.one - self.other

    @cached_property
    def ratio(self) -> Estimate:
        """Return one as a multiple of the other."""
        return self.one / self.other


@dataclass(frozen=True, slots=True)
class Ranked:
    """An answer, and the first and the last rank that it may have."""

    label: str
    share: Estimate
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Leaders(Documented):
    """The most frequent answers, so many, as far as the reports tell which they are.

    Attributes:
        rows: of those that may be among them the ones with the largest estimates, these first.
        candidates: all that may be; answers: how many answers there are.
    """

    histogram: DebiasedCounts
    count: int
    rows: tuple[Ranked, ...]
    candidates: tuple[str, ...]
    answers: int

    @property
    def certain(self) -> tuple[str, ...]:
        """Return the answers that are among them, with the confidence of the level."""
        if self.histogram.sample.fewest_fakes:
            return ()
        return tuple(row.label for row in self.rows if row.last <= self.count)

    @property
    def possible(self) -> tuple[str, ...]:
        """Return the other answers that may be."""
        certain = self.certain
        return tuple(name for name in self.candidates if name not in certain)


def leaders_of(histogram: DebiasedCounts, count: int, question: str = "") -> Leaders:
    """Return the most frequent answers, so many; to a question, of several.

    Raises:
        ValueError: if there are not so many, or several questions, and none of them is named.
    """
    decoder, tally = histogram.sample.decoder, histogram.sample.tally
    names = [margin.question for margin in histogram.margins]
    if question not in names and (question or len(decoder.parts) > 1):
        raise ValueError(f"name one of the questions: {', '.join(names) or 'there is only one'}")
    labels, weights = histogram.categories, None
    if question:
        margin = histogram.margins[names.index(question)]
        labels = tuple(f"{question}: {answer}" for answer in margin.answers)
        if len(decoder.parts) > 1:
            part = decoder.parts[names.index(question)]
            decoder, tally = part.decoder, part.tally(tally)
        else:
            sizes, at = sizes_of(histogram.dimensions), names.index(question)
            grid = np.indices(sizes)[at].reshape(-1)
            weights = (grid == np.arange(len(labels))[:, None]).astype(np.float64)
    k = len(labels)
    if not 0 < count < k:
        raise ValueError(f"of {k} answers the 1 to {k - 1} most frequent have a meaning")
    if tally.n < 2:
        raise ValueError("one report has no standard error; wait for more")
    first, last, order = ranks_of(decoder, tally, histogram.level, weights)
    may_lead = [at for at in order if first[at] <= count]

    def share(at: int) -> Estimate:
        answer = {question: margin.answers[at]} if question else labels[at]
        w, label = histogram.weights(answer)
        return query_of(
            histogram.sample, w, histogram.level, histogram.model, label=label, unit=Unit.SHARE
        )

    rows = [
        Ranked(labels[at], share(at), first[at], last[at]) for at in may_lead[: max(_SHOWN, count)]
    ]
    return Leaders(histogram, count, tuple(rows), tuple(labels[at] for at in may_lead), k)


def ranks_of(
    decoder: Decoder, tally: Tally, level: float, weights: Floats | None = None
) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Return the first and the last rank of each answer, and the answers by their estimates.

    Answers are categories; with weights, a row an answer, sums of them.
    """
    k = decoder.categories if weights is None else len(weights)
    at_once = min(1 - (1 - level) / (k * (k - 1) / 2), np.nextafter(1.0, 0.0))
    if weights is None:
        value, errors = decoder.frequencies(tally), errors_of(decoder, tally, Model.SAMPLED)
        low, high, _ = uncut_intervals(decoder, tally, at_once)
    else:
        errors = query_values(decoder, tally, weights, Model.SAMPLED)[1]
        value, cautious = cautious_values(decoder, tally, weights)
        half = normal_quantile(at_once) * cautious
        low, high = value - half, value + half
    order = np.argsort(-value, kind="stable")
    top = order[:_MOST]
    covariance = _covariances(decoder, tally, weights, top, value)
    scale = np.outer(errors[top], errors)
    correlation = np.clip(covariance / np.where(scale > 0, scale, np.inf), -1.0, 1.0)
    one = Ends(*(column[top, None] for column in (low, value, high)))
    below, _ = difference_ends(one, Ends(low, value, high), correlation)
    ahead = (below > 0) & (top[:, None] != np.arange(k))
    last = np.full(k, k)
    last[top] = k - ahead.sum(axis=1)
    return (1 + ahead.sum(axis=0)).tolist(), last.tolist(), order.tolist()


def _covariances(
    decoder: Decoder, tally: Tally, weights: Floats | None, top: NDArray[np.int64], value: Floats
) -> Floats:
    """Return the covariances of some answers' estimates with all answers', a row an answer.

    As :func:`deniable.estimates.frequencies.covariance_of` has them, of several epochs too.
    """
    if weights is None:
        rows = np.zeros((len(top), decoder.categories))
        rows[np.arange(len(top)), top] = 1
    else:
        rows = weights[top]
    products = decoder.sums(decoder.kernels(rows) * tally.shares)
    own = rows * decoder.frequencies(tally)
    if weights is not None:
        products, own = products @ weights.T, own @ weights.T
    sampled = (products - np.outer(value[top], value)) / (tally.n - 1)
    fixed = (products - own) / tally.n
    return np.asarray(sampled + (tally.epochs - 1) * (sampled - fixed))
