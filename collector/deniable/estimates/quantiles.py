"""Quantiles of ordered categories, by testing every value."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Generic, TypeVar, overload

import numpy as np

from deniable.documents import Caution, level_text
from deniable.estimates.binomial import check_level, normal_quantile
from deniable.estimates.cumulative import averaged_shares, blur_of, cuts_of, rising_shares
from deniable.estimates.decoders import Counts, Decoder, Floats, Tally, decoder_of
from deniable.estimates.queries import Queries
from deniable.mechanisms import Mechanism
from deniable.reading.epochs import reporters

TIE: Final = 1e-9
"""A share this near to a quantile's probability has reached it: rounding decides no tie."""
QUARTILES: Final = {0.25: "lower quartile", 0.5: "median", 0.75: "upper quartile"}
_Value = TypeVar("_Value", float, str)


@dataclass(frozen=True, slots=True)
class Quantile(Generic[_Value]):
    """The smallest value at or below which at least a share ``probability`` of the answers lies.

    Estimate and ends of the interval are among the values, numbers or the names of answers; in
    large samples it covers as often as its level says, or more. ``whom`` are those who answered;
    ``cautions`` those of its use.
    """

    probability: float
    value: _Value
    low: _Value
    high: _Value
    level: float
    whom: str = field(default=reporters(), compare=False)
    cautions: tuple[Caution, ...] = field(default=(), compare=False)

    @property
    def name(self) -> str:
        """Return which quantile it is, for people."""
        return QUARTILES.get(self.probability, f"{level_text(self.probability)} quantile")

    @property
    def sentence(self) -> str:
        """Return the quantile in words, as it can be published."""
        value, low, high = map(answer_text, (self.value, self.low, self.high))
        interval = f"{level_text(self.level)} interval {low} to {high}"
        statement = f"The {self.name} of what {self.whom} answered: {value} ({interval})."
        return " ".join((statement, *(one.text for one in self.cautions if one.brief)))


def answer_text(answer: str | float) -> str:
    """Return an answer, a name or a number, as it is written in a sentence."""
    return answer if isinstance(answer, str) else f"{answer:.12g}"


@overload
def quantiles(
    mechanism: Mechanism,
    counts: Counts,
    values: Sequence[Fraction],
    probabilities: Sequence[float] = ...,
    level: float = ...,
) -> tuple[Quantile[float], ...]: ...


@overload
def quantiles(
    mechanism: Mechanism,
    counts: Counts,
    values: Sequence[str],
    probabilities: Sequence[float] = ...,
    level: float = ...,
) -> tuple[Quantile[str], ...]: ...


def quantiles(
    mechanism: Mechanism,
    counts: Counts,
    values: Sequence[Fraction] | Sequence[str],
    probabilities: Sequence[float] = (0.25, 0.5, 0.75),
    level: float = 0.95,
) -> tuple[Quantile[float], ...] | tuple[Quantile[str], ...]:
    """Estimate quantiles, by test inversion (Woodruff 1952; docs/mathematics.md, section 10)."""
    check_level(level)
    decoder, k = decoder_of(mechanism), mechanism.categories
    tally = decoder.tally(counts)
    if len(values) != k:
        raise ValueError(f"{k} values are expected, one a category")
    if not all(0 < probability < 1 for probability in probabilities):
        raise ValueError("a quantile's probability must be in (0, 1), such as 0.5")
    bounds = ShareQueries.of(decoder, blur_of(mechanism, tally.n)).bounds(tally)
    z = normal_quantile(level)
    made: list[Quantile[Any]] = []
    for p in probabilities:
        value, low, high = (_written(values[place]) for place in bounds.places(p, z))
        made.append(Quantile(float(p), value, low, high, level))
    return tuple(made)


@dataclass(frozen=True, slots=True, eq=False)
class ShareQueries:
    """The queries for shares up to some values, and for averages of these that bound them."""

    cuts: range
    sharp: Queries
    after: Queries
    before: Queries

    @classmethod
    def of(cls, decoder: Decoder, blur: int, most: int | None = None) -> "ShareQueries":
        """Return the queries up to so many values, with a blur that does not depend on counts."""
        cuts = cuts_of(decoder, most)

        def averages(shift: int) -> Queries:
            weights = averaged_shares(decoder.categories, cuts, blur, shift)
            return Queries.of(decoder, weights)

        sharp = averages(0)
        after, before = (averages(blur), averages(-blur)) if blur else (sharp, sharp)
        return cls(cuts, sharp, after, before)

    def bounds(self, tally: Tally) -> "QuantileBounds":
        """Return the shares and averages of counts."""
        sharp = self.sharp.cautious(tally, tally.n)
        after, before = (
            sharp if queries is self.sharp else queries.cautious(tally, tally.n)
            for queries in (self.after, self.before)
        )
        return QuantileBounds(self.cuts, rising_shares(*sharp), *after, *before)


@dataclass(frozen=True, slots=True, eq=False)
class QuantileBounds:
    """The shares up to some values, and averages of these that bound them, with their errors.

    Attributes:
        cuts: the values, by their places.
        rising: the nearest shares that rise.
        after, before: averages over the next values and over the last ones.
    """

    cuts: range
    rising: Floats
    after: Floats
    after_error: Floats
    before: Floats
    before_error: Floats

    def places(self, probability: float, z: float) -> tuple[int, int, int]:
        """Return the places of a quantile's estimate, and of its ends at so many errors."""
        # Between two cuts c < d, the quantile is in (c, d] if F_c < p <= F_d. In that case the
        # averages after d and before c lie on the same sides of p, so that each of the tests
        #     after_d + z error < p,    before_c - z error > p
        # rejects (c, d] with a probability of at most (1 - level)/2 in large samples. What neither
        # rejects covers the quantile with at least the level; so does its hull, with the estimate.
        kept = self.after + z * self.after_error >= probability
        kept[1:] &= (self.before - z * self.before_error)[:-1] <= probability
        estimate = int(np.argmax(self.rising >= probability - TIE))
        staying = [*np.flatnonzero(kept), estimate]
        first, last = min(staying), max(staying)
        cuts = self.cuts
        return cuts[estimate], cuts[first - 1] + 1 if first else 0, cuts[last]


def _written(value: Fraction | str) -> float | str:
    return value if isinstance(value, str) else float(value)
