"""Questions about a histogram: who leads, two shares side by side, two questions together.

The intervals of all pairwise differences are computed at once, with their exact covariance
(Bonferroni). An answer that is ahead in one of these is truly ahead. So an answer's rank is at
least 1 plus the number of answers ahead of it, and at most the number of answers minus those behind
it. These bounds hold for all answers at once with at least the probability of the level, whichever
ones are read. Source: Mogstad, Romano, Shaikh and Wilhelm 2024; docs/mathematics.md, section 19.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import combinations, permutations
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from deniable.estimates.answers import affirmed, denies, not_together
from deniable.estimates.binomial import normal_quantile
from deniable.estimates.change import Test
from deniable.estimates.debiased import DebiasedCounts
from deniable.estimates.decoders import Decoder, Floats, Tally
from deniable.estimates.estimate import Estimate, query_of, share_within
from deniable.estimates.forms import Form, Sample, Unit
from deniable.estimates.frequencies import errors_of, uncut_intervals
from deniable.estimates.queries import Ends, cautious_values, difference_ends, query_values
from deniable.estimates.results import Documented, presented
from deniable.mechanisms.answering import sizes_of

_MOST: Final = 64
"""The answers with the largest estimates that are compared with all; others may be behind."""
_SHOWN: Final = 20


@dataclass(frozen=True)
class Beside(Documented):
    """A share and another of the same histogram: of two groups, or of two answers.

    Attributes:
        names: the names that distinguish the two.
        race: whether the question is which of the two is ahead; then only programs get the ratio.
        looked_at: the number of such differences for which the intervals hold together, if this is
            the largest.
    """

    histogram: DebiasedCounts
    names: tuple[str, str]
    one: Estimate
    other: Estimate
    race: bool = False
    looked_at: int = 1

    @cached_property
    def difference(self) -> Estimate:
        """Return the first minus the second."""
        if self.looked_at == 1:
            return self.one - self.other
        level = 1 - (1 - self.one.level) / self.looked_at
        made = self.one.at(level) - self.other.at(level)
        return replace(made, level=self.one.level, at_once=True)

    @cached_property
    def ratio(self) -> Estimate:
        """Return the first as a multiple of the second, which is above 1 if the first is ahead."""
        ratio = self.one / self.other
        if ratio.too_small or not self.difference.distinguishable:
            return ratio
        if self.difference.low > 0:
            return replace(ratio, low=max(ratio.low, 1.0))
        return replace(ratio, high=min(ratio.high, 1.0))

    @cached_property
    def unsettled(self) -> int:
        """Return how many answers may be first if the leading one is not certain; otherwise 0."""
        difference, histogram = self.difference, self.histogram
        if not self.race or difference.too_small or not difference.distinguishable:
            return 0
        question, other = map(histogram.question_of, self.names)
        if question != other or histogram.sample.fewest_fakes:
            return 0
        first = leaders_of(histogram, 1, question)
        ahead = self.one if difference.low > 0 else self.other
        return first.answers * (not first.certain and ahead.label in first.candidates)


@dataclass(frozen=True, slots=True)
class Ranked:
    """An answer, and the first and the last rank that it may have."""

    label: str
    share: Estimate
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Leaders(Documented):
    """The most frequent answers, as far as the reports can determine them.

    Attributes:
        rows: the possible answers with the largest estimates, in descending order.
        candidates: all possible answers; answers: the number of answers.
        affirmed: whether they are the yes answers of several questions.
    """

    histogram: DebiasedCounts
    count: int
    rows: tuple[Ranked, ...]
    candidates: tuple[str, ...]
    answers: int
    affirmed: bool = False

    @property
    def certain(self) -> tuple[str, ...]:
        """Return the answers that are certainly among the leaders, at the level."""
        if self.histogram.sample.fewest_fakes:
            return ()
        return tuple(row.label for row in self.rows if row.last <= self.count)

    @property
    def possible(self) -> tuple[str, ...]:
        """Return the other answers that may be among the leaders."""
        certain = self.certain
        return tuple(name for name in self.candidates if name not in certain)


def leaders_of(histogram: DebiasedCounts, count: int | None, question: str = "") -> Leaders:
    """Return the most frequent answers, by default three; for several questions, to one.

    Of yes/no questions that are not reported together, it compares the yes unless one is named.

    Raises:
        ValueError: if there are fewer answers, or several questions and none is named.
    """
    decoder, tally = histogram.sample.decoder, histogram.sample.tally
    names = [margin.question for margin in histogram.margins]
    if not (question or histogram.together) and (yes := affirmed(histogram.dimensions)):
        return _leading(histogram, count, yes)
    if question not in names and (question or len(decoder.parts) > 1):
        raise ValueError(f"name one of the questions: {', '.join(names) or 'there is only one'}")
    labels, weights = histogram.categories, None
    if histogram.texts is not None:  # the last category is all other texts together
        labels, weights = labels[:-1], np.eye(len(labels))[:-1]
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
    count = _count_of(count, k)
    if tally.n < 2:
        raise ValueError("a single report has no standard error; wait for more reports")
    first, last, order = ranks_of(decoder, tally, histogram.level, weights)
    may_lead = [at for at in order if first[at] <= count]

    def share(at: int) -> Estimate:
        answer = {question: margin.answers[at]} if question else labels[at]
        w, label = histogram.weights(answer)
        return query_of(histogram.sample, w, histogram.level, label=label, unit=Unit.SHARE)

    rows = [
        Ranked(labels[at], share(at), first[at], last[at]) for at in may_lead[: max(_SHOWN, count)]
    ]
    return Leaders(histogram, count, tuple(rows), tuple(labels[at] for at in may_lead), k)


def _count_of(count: int | None, k: int) -> int:
    if k < 2:
        raise ValueError("there are fewer than two answers, so nothing can be ranked")
    count = min(3, k - 1) if count is None else count
    if not 0 < count < k:
        raise ValueError(f"with {k} answers, the number of leaders must be 1 to {k - 1}")
    return count


def _leading(histogram: DebiasedCounts, count: int | None, labels: tuple[str, ...]) -> Leaders:
    """Return the most frequent of answers to different questions, by all pairwise differences."""
    k = len(labels)
    count = _count_of(count, k)
    if any(margin.n < 2 for margin in histogram.margins):
        raise ValueError("a question has fewer than two reports; wait for more reports")
    shares = [
        query_of(
            histogram.sample,
            histogram.weights(label)[0],
            histogram.level,
            label=label,
            unit=Unit.SHARE,
        )
        for label in labels
    ]
    at_once = 1 - (1 - histogram.level) / comb(k, 2)
    wide = [share.at(at_once) for share in shares]
    ahead = np.zeros((k, k), dtype=np.bool_)
    for one, other in combinations(range(k), 2):
        difference = wide[one] - wide[other]
        ahead[one, other], ahead[other, one] = difference.low > 0, difference.high < 0
    first, last = 1 + ahead.sum(axis=0), k - ahead.sum(axis=1)
    rows = [
        Ranked(labels[at], shares[at], int(first[at]), int(last[at]))
        for at in sorted(range(k), key=lambda at: -shares[at].value)
        if first[at] <= count
    ]
    names = tuple(row.label for row in rows)
    return Leaders(histogram, count, tuple(rows[: max(_SHOWN, count)]), names, k, affirmed=True)


def ranks_of(
    decoder: Decoder, tally: Tally, level: float, weights: Floats | None = None
) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Return the first and the last rank of each answer, and the answers in order of estimates.

    Answers are categories; with weights, one row per answer, they are sums of categories.
    """
    k = decoder.categories if weights is None else len(weights)
    at_once = min(1 - (1 - level) / (k * (k - 1) / 2), np.nextafter(1.0, 0.0))
    if weights is None:
        value, errors = decoder.frequencies(tally), errors_of(decoder, tally)
        low, high, _ = uncut_intervals(decoder, tally, at_once)
    else:
        errors = query_values(decoder, tally, weights)[1]
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
    """Return the covariances of some answers' estimates with all, also of several epochs."""
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


_EXPECTED: Final = 10


class Of(StrEnum):
    """The total to which the cells' shares refer."""

    ROWS = "rows"
    COLUMNS = "columns"
    ALL = "all"


@dataclass(frozen=True)
class CrossTable(Documented):
    """The shares of two questions' answers together.

    Attributes:
        rows, columns: the questions' names, followed by the questions' answers.
        cells: by rows and columns; for row shares, with a last row for all devices, for column
            shares with a last column.
        test: whether the answers are related; None if there are too few reports.
    """

    histogram: DebiasedCounts
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    of: Of
    cells: tuple[tuple[Estimate, ...], ...]
    test: Test | None

    @property
    def together(self) -> bool:
        """Return whether the answers go together, by the test."""
        return self.test is not None and self.test.p_value < 1 - self.histogram.level

    @cached_property
    def contrast(self) -> Beside | None:
        """Return the largest clear difference of two groups, if any.

        Groups are those of the columns' answers if shares are of columns, otherwise of the rows'.
        """
        histogram = self.histogram
        (question, *answers), (by, *groups) = self.columns, self.rows
        if self.of is Of.COLUMNS:
            (by, *groups), (question, *answers) = self.columns, self.rows
        shares = []
        for answer in answers:
            w, label = histogram.weights({question: answer})
            for group in groups:
                within, name = histogram.weights({by: group})
                both, whole = (Form({histogram.sample: v}) for v in (w * within, within))
                shares.append(share_within(both, whole, histogram.level, label, name))
        pairs = [
            (one, other)
            for one, other in permutations(shares, 2)
            if one.label == other.label and one.value > other.value
            if not (one.too_small or other.too_small)
        ]
        # If there are two answers, one is more frequent by as much as the other is less frequent.
        count = comb(len(groups), 2) * (len(answers) if len(answers) > 2 else 1)

        def order(pair: tuple[Estimate, Estimate]) -> tuple[float, bool]:
            return round(pair[1].value - pair[0].value, 9), denies(pair[0].label)

        for one, other in sorted(pairs, key=order):
            made = Beside(histogram, (one.group, other.group), one, other, looked_at=count)
            if made.difference.distinguishable:
                return made
        return None

    def to_csv(self) -> str:
        """Return CSV with one row per cell."""
        return str(presented(self, "csv"))


def cross_table(histogram: DebiasedCounts, rows: str, columns: str, of: Of) -> CrossTable:
    """Return the two-way table of two questions.

    Raises:
        ValueError: if the questions are not reported together, or do not exist.
    """
    sample = histogram.sample
    names = [name for name, *_ in histogram.dimensions]
    if len(sample.decoder.parts) > 1 or not names:
        raise not_together(rows, columns, names)
    if rows == columns or not {rows, columns} <= set(names):
        raise ValueError(f"name two of the questions: {', '.join(names)}")
    at = names.index(rows), names.index(columns)
    questions = [histogram.dimensions[place] for place in at]
    grid = np.indices(sizes_of(histogram.dimensions)).reshape(len(names), -1)
    one, other = (
        (grid[place] == np.arange(len(question) - 1)[:, None]).astype(np.float64)
        for place, question in zip(at, questions, strict=True)
    )

    level = histogram.level_at_once  # for at least as many rows as there are cells

    def share(name: str, w: Floats, group: str = "", within: Floats | None = None) -> Estimate:
        if within is None:
            own = query_of(sample, w, level, label=name, unit=Unit.SHARE)
        else:
            both, whole = (Form({sample: v}) for v in (w * within, within))
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
    """Return the test whether the answers to two questions are related; None if impossible.

    The weights are those of each answer. d_ij = f_ij - f_i f_j, which is 0 if they are unrelated,
    has the covariance V = J C J^T, where C is that of the f_ij and J the derivative of d. Then d^T
    V^-1 d has Hotelling's distribution, in large samples chi-square, with (r - 1)(c - 1) degrees of
    freedom. If a combination is expected from less than 10 devices, chance makes it too large too
    often. Of several epochs' reports, C is at least that of devices that are in all of them (see
    :func:`deniable.estimates.decoders.decoder.recurring_errors`).
    """
    decoder, tally = sample.decoder, sample.tally
    r, c = len(one), len(other)
    weights = (one[:, None] * other[None]).reshape(r * c, -1)
    kernels = decoder.kernels(weights)
    f = (kernels @ tally.shares).reshape(r, c)
    spread = (kernels * tally.shares) @ kernels.T - np.outer(f, f)
    row, column = f.sum(axis=1), f.sum(axis=0)
    devices = tally.n / tally.epochs  # at least
    if not devices * np.outer(row, column).min() >= _EXPECTED:
        return None
    # Each epoch after the first may draw no new devices, but noise only.
    true = np.maximum(f.ravel(), 0) / np.maximum(f, 0).sum()
    spread += (tally.epochs - 1) * (np.diag(true) - np.outer(true, true))
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
