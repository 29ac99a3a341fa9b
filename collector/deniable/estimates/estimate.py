"""One number with its uncertainty; differences and ratios of several.

Every estimate is a linear form: weights over the categories of samples. So the sum of two from the
same sample has the error of the summed weights, including covariances; and samples of different
epochs or surveys are independent.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, SupportsFloat

import numpy as np

from deniable.estimates.binomial import check_level, normal_quantile
from deniable.estimates.decoders import Floats
from deniable.estimates.forms import (
    FAKES,
    Form,
    Sample,
    Unit,
    decided_by_fakes,
    nearest,
    places_text,
)
from deniable.estimates.frequencies import beyond
from deniable.estimates.queries import Ends, difference_ends
from deniable.estimates.ratios import (
    errors_together,
    fieller_ends,
    moved_ratio,
    multiple_ends,
    range_of_ratio,
)
from deniable.estimates.results import Documented, Worded, presented

_IN_GROUP: Final = 3.0
"""A group has a share of its own if its size is this many standard errors above 0 (benchmarks)."""


@dataclass(frozen=True, slots=True)
class Estimate(Worded):
    """One unbiased number with its uncertainty.

    Sums, differences, multiples and quotients of estimates are estimates, with exact variances.

    Attributes:
        value: the estimate; it may be outside the possible range.
        standard_error: the value's standard error; NaN for a single report.
        low, high: ends of the confidence interval, within the possible range; about the nearest
            possible value.
        outside: whether the value is further from all possible values than the interval about the
            nearest one reaches: chance, or false reports.
        influence: the most that fake reports move the value, relative to their share, according to
            its weights: a share beta in each of the samples moves it by beta times this. A ratio
            does not move in proportion; for it, this is a hundred times the greatest error if the
            worst 1 % of the counted reports are fakes. NaN if unknown.
        fakes_decide: whether 1 % of fakes move it over its whole range, shares and differences of
            shares by 100 percentage points, or a ratio of any size by itself.
        label: a description of the estimate, for people.
        samples: the reports behind it.
        nothing: its value if there is no effect: 0; 1 for the ratio of two figures, which are then
            equal. For a part of a whole it is 0, since it is a share of it, and may be none.
        group: the answers of the group in which it is a share; empty for all devices.
        parts: for a share within a group, the share of all that is in both, and that of the group.
        at_once: whether the interval is one of those that hold for all answers at once.
        too_small: whether a group's own share may be 0: the value may be anything, and the interval
            is the whole possible range.
    """

    value: float
    standard_error: float
    low: float
    high: float
    level: float
    outside: bool = False
    influence: float = field(default=math.nan, compare=False)
    fakes_decide: bool = field(default=False, compare=False)
    label: str = field(default="", compare=False)
    unit: Unit = field(default=Unit.NUMBER, repr=False, compare=False)
    samples: tuple[Sample, ...] = field(default=(), repr=False, compare=False)
    form: Form | None = field(default=None, repr=False, compare=False)
    nothing: float = field(default=0.0, repr=False, compare=False)
    group: str = field(default="", compare=False)
    parts: tuple[Form, Form] | None = field(default=None, repr=False, compare=False)
    too_small: bool = field(default=False, compare=False)
    at_once: bool = field(default=False, compare=False)

    @property
    def distinguishable(self) -> bool:
        """Return whether the interval excludes equality: 0, or 1 for a ratio of two figures."""
        return not self.low <= self.nothing <= self.high

    @property
    def stated(self) -> float | None:
        """Return the value; None if a group is too small for a meaningful one."""
        return None if self.too_small else self.value

    def above(self, limit: float) -> "Verdict":
        """Return the verdict for a limit, a share in [0, 1]: whether the interval is above it."""
        return Verdict(self, limit, Side.ABOVE)

    def below(self, limit: float) -> "Verdict":
        """Return the verdict for a limit: whether the interval is below the limit."""
        return Verdict(self, limit, Side.BELOW)

    def at(self, level: float) -> "Estimate":
        """Return a share or a linear estimate with its interval at a different level."""
        if self.parts is not None:
            return share_within(*self.parts, level, self.label, self.group)
        return estimate_of(self.linear, level, self.label, self.unit)

    @property
    def linear(self) -> Form:
        """Return the linear form; TypeError for a ratio, or without weights."""
        if self.form is None:
            raise TypeError(
                "only shares and other linear estimates can be added or compared, not ratios or "
                "your own Estimate objects: compare the parts first, and divide last"
            )
        return self.form

    def __add__(self, other: "Estimate") -> "Estimate":
        if not isinstance(other, Estimate):
            return NotImplemented
        unit = self._mixed(other)
        if self.unit is other.unit is Unit.SHARE:
            # A sum over devices, if each counts once.
            terms = self.linear.plus(other.linear).terms
            once = len(terms) == 1 and all(weights.max() <= 1 for weights in terms.values())
            unit = Unit.SHARE if once else Unit.NUMBER
        return self._with(other, 1.0, "plus", unit)

    def __sub__(self, other: "Estimate") -> "Estimate":
        if not isinstance(other, Estimate):
            return NotImplemented
        if self.parts or other.parts:
            return _less(self, other, self._and("minus", other), self._mixed(other))
        unit = self._mixed(other)
        if self.unit is other.unit is Unit.NUMBER and self.label == other.label:
            unit = Unit.CHANGE
        return self._with(other, -1.0, "minus", unit)

    def _mixed(self, other: "Estimate") -> Unit:
        shares = {Unit.SHARE, Unit.DIFFERENCE}
        return Unit.DIFFERENCE if {self.unit, other.unit} <= shares else Unit.NUMBER

    def _with(self, other: "Estimate", factor: float, word: str, unit: Unit) -> "Estimate":
        form = self.linear.plus(other.linear, factor)
        return estimate_of(form, min(self.level, other.level), self._and(word, other), unit)

    def _and(self, word: str, other: "Estimate") -> str:
        if self.label != other.label or bool(self.group) != bool(other.group):
            return f"{self._name} {word} {other._name}"
        word = "against" if word == "minus" else word
        if self.group != other.group:
            return f"{self._of_group} {word} those with {other.group}"
        return f"{self._of_group}, {places_text(self.slope.terms, word, other.slope.terms)}"

    @property
    def _of_group(self) -> str:
        return self.label + f", among those with {self.group}" * bool(self.group)

    @property
    def _name(self) -> str:
        name = self._of_group
        return name if " " not in name else f"({name})"

    @property
    def _possible(self) -> tuple[float, float]:
        return self.linear.possible if self.parts is None else (0.0, 1.0)

    @property
    def slope(self) -> Form:
        """Return the linear form that has the error of the estimate, near its value."""
        if self.parts is None:
            return self.linear
        above, below = self.parts
        return above.plus(below, -self.value).times(1 / below.apart()[0])

    def _uncut(self, level: float) -> Ends[float]:
        """Return the ends of the interval at a level, before clipping to the possible range."""
        if self.parts is None:
            low, high = self.linear.ends(self.value, level)
        else:
            a, b = (form.apart()[0] for form in self.parts)
            low, high = fieller_ends(a, b, *self.parts, normal_quantile(level))
        return Ends(low, self.value, high)

    def __mul__(self, factor: "SupportsFloat | Estimate") -> "Estimate":
        if isinstance(factor, Estimate):
            raise TypeError(
                "two estimates cannot be multiplied: the exact variance of their product is not "
                "computed"
            )
        factor = float(factor)
        if not math.isfinite(factor):
            raise ValueError("an estimate can be multiplied only by a finite number")
        label = f"{factor:g} times {self._name}"
        return estimate_of(self.linear.times(factor), self.level, label, Unit.NUMBER)

    __rmul__ = __mul__

    def __truediv__(self, other: "Estimate | float") -> "Estimate":
        if not isinstance(other, Estimate):
            return self * (1 / other)
        label = self._and("as a multiple of", other)
        if self.parts or other.parts:
            return multiple(self, other, label)
        made = ratio(self.linear, other.linear, min(self.level, other.level), label)
        # A share that is estimated at 0 or below has no multiple, only a lower end.
        return replace(made, value=math.nan) if other.value <= 0 <= other._possible[0] else made


class Side(StrEnum):
    """Sides of a limit on which a whole interval can be."""

    ABOVE = "above"
    BELOW = "below"
    NEITHER = "neither"
    """The limit is in the interval, or some of the reports are fake: the side is unknown."""


@dataclass(frozen=True, slots=True)
class Verdict(Documented):
    """The answer to whether a figure is beyond a limit.

    Attributes:
        estimate: the figure, with its interval.
        limit: a share is in [0, 1], as the estimate is.
        beyond: the side in question, above or below.
    """

    estimate: "Estimate"
    limit: float
    beyond: Side

    @property
    def side(self) -> Side:
        """Return the side of the limit on which the whole interval is."""
        if any(sample.fewest_fakes for sample in self.estimate.samples):
            return Side.NEITHER
        if self.estimate.low > self.limit:
            return Side.ABOVE
        return Side.BELOW if self.estimate.high < self.limit else Side.NEITHER

    @property
    def holds(self) -> bool | None:
        """Return whether the figure is beyond the limit; None if unknown."""
        return None if self.side is Side.NEITHER else self.side is self.beyond

    @property
    def note(self) -> str:
        """Return how often chance alone gives the alarm, for readers who check repeatedly."""
        return str(presented(self, "note"))


def estimate_of(form: Form, level: float, label: str, unit: Unit) -> Estimate:
    """Return the estimate with its interval, clipped to the possible range."""
    check_level(level)
    value, error = form.figures()
    least, most = form.possible
    low, high = form.ends(value, level, possible=True)
    influence = form.influence
    uncut = Estimate(
        *(value, error, low, high, level),
        influence=influence,
        fakes_decide=decided_by_fakes(influence, 1.0 if unit.of_shares else form.widest),
        label=label,
        unit=unit,
        samples=tuple(form.terms),
        form=form,
    )
    return _cut(uncut, least, most)


def query_of(
    sample: Sample,
    weights: Sequence[float] | Floats,
    level: float = 0.95,
    *,
    label: str = "",
    unit: Unit = Unit.NUMBER,
) -> Estimate:
    """Estimate the sum of the weighted frequencies; one weight per category."""
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (sample.decoder.categories,):
        raise ValueError(f"{sample.decoder.categories} weights are expected, one per category")
    if not np.isfinite(w).all():
        raise ValueError("weights must be finite numbers")
    return estimate_of(Form({sample: w}), level, label, unit)


def ratio(above: Form, below: Form, level: float, label: str) -> Estimate:
    """Return the ratio of two linear estimates, a/b, with Fieller's interval.

    The interval contains all r for which a - r b, a linear estimate, is not too far from 0 by its
    own normal interval. The standard error is the linear one, that of a - (a/b) b divided by b. For
    a part of a whole, a share of a share, ``distinguishable`` means from 0; for two compared
    figures, from 1. With few reports b may be as good as 0: then the interval is the whole possible
    range, and the value may be anything.

    Source: Fieller 1954; docs/mathematics.md, section 19.
    """
    check_level(level)
    a, b = above.apart()[0], below.apart()[0]
    value = a / b if b else math.nan
    spread = above.plus(below, -value).figures()[1] / abs(b) if b else math.nan
    low, high = fieller_ends(a, b, above, below, normal_quantile(level))
    least, most = range_of_ratio(above, below)
    influence = moved_ratio((a, above), (b, below), FAKES) / FAKES
    widest = most - least if math.isfinite(most - least) else abs(value)
    uncut = Estimate(
        *(value, spread, low, high, level),
        influence=influence,
        fakes_decide=decided_by_fakes(influence, widest),
        label=label,
        nothing=0.0 if most == 1 else 1.0,
        unit=Unit.RATIO,
        samples=tuple(dict.fromkeys((*above.terms, *below.terms))),
    )
    return within(uncut, least, most)


def share_within(above: Form, below: Form, level: float, label: str, group: str) -> Estimate:
    """Return an answer's share within a group, from the shares of both and of the group.

    The share has Fieller's interval. If the group's own share is not clearly above 0, the interval
    is the whole possible range.
    """
    made = ratio(above, below, level, label)
    share = replace(made, unit=Unit.SHARE, group=group, parts=(above, below), nothing=0.0)
    size, error = below.figures()
    if size > max(_IN_GROUP, normal_quantile(level)) * error:
        return share
    return replace(share, standard_error=math.nan, low=0.0, high=1.0, outside=False, too_small=True)


def _less(one: Estimate, other: Estimate, label: str, unit: Unit) -> Estimate:
    """Return the difference of two figures, of which at least one is a share within a group."""
    level, decided = min(one.level, other.level), one.fakes_decide or other.fakes_decide
    value, error, low, high = one.value - other.value, math.nan, -math.inf, math.inf
    too_small = one.too_small or other.too_small
    if not too_small:
        error, correlation = errors_together(one.slope, other.slope)
        low, high = map(float, difference_ends(one._uncut(level), other._uncut(level), correlation))
    influence = one.influence + other.influence
    decided = decided or decided_by_fakes(influence)
    samples = tuple(dict.fromkeys((*one.samples, *other.samples)))
    uncut = Estimate(
        *(value, error, low, high, level, False, influence, decided),
        *(label, unit, samples),
        too_small=too_small,
    )
    least, most = (one._possible[end] - other._possible[1 - end] for end in (0, 1))
    return within(uncut, least, most)


def multiple(one: Estimate, other: Estimate, label: str) -> Estimate:
    """Return how many times as large as the other a share is, with ends of the difference's kind.

    If the other may be 0, there is only a lower end.
    """
    level, high = min(one.level, other.level), math.inf
    # If the other is estimated at 0 or below, the multiple has no estimate, only a lower end.
    value = one.value / other.value if other.value > 0 else math.nan
    error, low, moved = math.nan, 0.0, math.inf
    too_small = one.too_small or other.too_small
    if not too_small and (below := other._uncut(level)).high > 0:
        _, correlation = errors_together(one.slope, other.slope)
        low, high = multiple_ends(one._uncut(level), below, correlation)
    if other.value > 0 and not too_small:
        slope = one.slope.plus(other.slope, -value)
        error = slope.figures()[1] / other.value
        up, down = (FAKES * estimate.influence for estimate in (one, other))
        if down < other.value:
            moved = (one.value + up) / (other.value - down) - value
    influence = moved / FAKES
    samples = tuple(dict.fromkeys((*one.samples, *other.samples)))
    uncut = Estimate(
        *(value, error, low, high, level, False, influence),
        *(decided_by_fakes(influence, abs(value)), label, Unit.RATIO, samples),
        nothing=1.0,
        too_small=too_small,
    )
    return within(uncut, 0.0, math.inf)


def within(estimate: Estimate, least: float, most: float) -> Estimate:
    """Return the estimate with its interval moved to the nearest possible value, and clipped."""
    if math.isfinite(estimate.value):
        moved = nearest(estimate.value, least, most) - estimate.value
        estimate = replace(estimate, low=estimate.low + moved, high=estimate.high + moved)
    return _cut(estimate, least, most)


def _cut(estimate: Estimate, least: float, most: float) -> Estimate:
    """Return the estimate with its interval, about the nearest possible value, clipped to these."""
    low, high = (nearest(end, least, most) for end in (estimate.low, estimate.high))
    # About a limit it begins there, despite rounding.
    low = least if estimate.value <= least else low
    high = most if estimate.value >= most else high
    outside = bool(beyond(estimate.value, low, high, least, most))
    return replace(estimate, low=low, high=high, outside=outside)
