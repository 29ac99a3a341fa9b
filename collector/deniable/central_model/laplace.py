"""The Laplace mechanism in integers, for an operator who holds exact numbers and publishes them.

The noise is the discrete Laplace distribution, P(z) proportional to e^(-|z|/s) on the integers:
values and noise are multiples of one step, so that nothing is rounded after the noise and no float
betrays a value by its last bits. One step more or less multiplies a probability by e^(±1/s), hence
numbers that differ by at most D steps in all (L1) are told apart by at most D/s = epsilon.

The support is unbounded, so exact sampling must reject now and then, and larger noise takes longer:
time depends on the noise, never on the value. But noise is what hides the value, so whoever sees
the number should not also be able to time its making: publish on a schedule, not on demand.

Source: C. Dwork, F. McSherry, K. Nissim and A. Smith, "Calibrating noise to sensitivity in private
data analysis", 2006; C. Canonne, G. Kamath and T. Steinke, "The discrete Gaussian for differential
privacy", 2020, algorithms 1 and 2; docs/mathematics.md, section 11.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from deniable.central_model.selection import exact_quantity
from deniable.mechanisms.exact import (
    MAX_EPSILON,
    InvalidPrivacyParameter,
    Number,
    exact_epsilon,
    exact_number,
)
from deniable.mechanisms.mechanism import Draw, os_random_word, uniform_below

_MAX_SCALE: Final = 1 << 256  # its variance still is a float; no number survives such noise anyway
_VANISHING: Final = Fraction(1000)  # e^-1000 is 0 to a float


class Neighbours(StrEnum):
    """Which data sets a guarantee cannot tell apart; an epsilon says nothing without it.

    A substitution is one removal and one addition: what is epsilon-private under ``ADD_REMOVE`` is
    2 epsilon-private under ``SUBSTITUTION``. The converse has no such rule, since substitution
    leaves the number of records public.
    """

    ADD_REMOVE = "add-remove"
    SUBSTITUTION = "substitution"

    @property
    def histogram_sensitivity(self) -> int:
        """Return by how much all cells together change (L1), if each record counts in one."""
        # A substituted record leaves one cell and enters another.
        return 1 if self is Neighbours.ADD_REMOVE else 2


@dataclass(frozen=True, slots=True)
class Query:
    """One number of the data, or several that one sensitivity covers.

    Attributes:
        sensitivity: by how much all its cells together change at most (L1: the sum of the absolute
            changes) between neighbouring data sets; a positive multiple of the release's step.
        cells: how many numbers it has, whatever the data. A histogram has all its categories as
            cells, those that nobody is in too.
    """

    sensitivity: Number
    cells: int = 1


class DiscreteLaplace:
    """Exact integer noise Z, P(Z = z) proportional to ``e^(-|z|/s)``, s in [1/40, 2^256]."""

    __slots__ = ("scale",)

    def __init__(self, scale: Number) -> None:
        self.scale: Final = exact_number("scale", scale)
        if not Fraction(1, MAX_EPSILON) <= self.scale <= _MAX_SCALE:
            raise InvalidPrivacyParameter(f"scale must be in [1/{MAX_EPSILON}, 2^256]")

    def loss(self, shift: int) -> Fraction:
        """Return ln max_z P(Z = z)/P(Z = z + shift), exactly: epsilon for values so far apart."""
        # |z + shift| - |z| <= |shift|, with equality at 0 and wherever z has the sign of shift.
        return abs(shift) / self.scale

    def sample(self, draw: Draw = os_random_word) -> int:
        """Return one Z; how many words are drawn depends on it."""
        # s = t/d in lowest terms. u is uniform in [0, t) and kept with probability e^(-u/t); v is
        # geometric, P(v) ~ e^-v; so x = u + t v has P(x) ~ e^(-x/t) on 0, 1, 2, …. Each y = x // d
        # gathers d of these: P(y) ~ e^(-y d/t) = e^(-y/s). With a random sign, 0 would come up as
        # +0 and as -0: one of them is rejected.
        t, d = self.scale.numerator, self.scale.denominator
        while True:
            u = uniform_below(t, draw)
            if not _bernoulli_exp(u, t, draw):
                continue
            v = 0
            while _bernoulli_exp(1, 1, draw):
                v += 1
            magnitude = (u + t * v) // d
            if not _bernoulli(1, 2, draw):
                return magnitude
            if magnitude:
                return -magnitude

    @property
    def variance(self) -> float:
        """Return Var Z, a float: a statement about accuracy, which no privacy rests on."""
        # With r = e^(-1/s): Var = 2r/(1 - r)^2.
        return 2 * self._power(1) / math.expm1(-float(1 / self.scale)) ** 2

    def tail(self, distance: int) -> float:
        """Return ``P(|Z| >= distance)``, a float: a statement about accuracy."""
        # P(z) = r^|z| (1 - r)/(1 + r), and both tails sum to 2 r^j/(1 - r) times that factor.
        return 1.0 if distance <= 0 else 2 * self._power(distance) / (1 + self._power(1))

    def bound(self, level: float = 0.95, draws: int = 1) -> int:
        """Return the least b such that all of ``draws`` samples lie in [-b, b] with a probability.

        But for the rounding of floats: a statement about accuracy.
        """
        if not 0 < level < 1:
            raise ValueError("level must be in (0, 1)")
        # What must not happen is |Z| >= j = b + 1. One sample may do so with probability T, where
        # (1 - T)^draws = level; and T = 2 r^j/(1 + r) <=> j = s ln(2/(T (1 + r))).
        allowed = -math.expm1(math.log(level) / draws)
        exponent = math.log(2) - math.log(allowed) - math.log1p(self._power(1))
        return max(0, math.ceil(float(self.scale) * exponent) - 1)

    def _power(self, distance: int) -> float:
        """Return r^distance = e^(-distance/s)."""
        return math.exp(-float(min(distance / self.scale, _VANISHING)))

    def __repr__(self) -> str:
        return f"DiscreteLaplace({self.scale})"


class LaplaceRelease:
    """Publish some numbers of one data set together, with exact discrete Laplace noise.

    All cells of all queries get independent noise of the same scale, the sum of the sensitivities
    over epsilon; together they are exactly epsilon-private. Each further ``publish`` of related
    data costs epsilon again. The object holds what is public; the numbers pass through.

    Source: Dwork, McSherry, Nissim and Smith, Proposition 1 (with L1 sensitivity).

    Attributes:
        epsilon: guarantee of one publication in (0, 40].
        neighbours: between which data sets the sensitivities hold, and so the guarantee.
        step: the unit that all numbers are multiples of, such as "0.01" for cents.
        noise: that of each cell, in steps.
    """

    __slots__ = ("_cells", "epsilon", "neighbours", "noise", "step")

    def __init__(
        self,
        queries: Mapping[str, Query],
        epsilon: Number,
        *,
        neighbours: Neighbours,
        step: Number = 1,
    ) -> None:
        self.epsilon: Final = exact_epsilon(epsilon)
        if self.epsilon == 0:
            raise InvalidPrivacyParameter("epsilon must be positive: at 0 nothing can be published")
        self.step: Final = exact_number("step", step)
        if self.step <= 0:
            raise InvalidPrivacyParameter("step must be positive")
        self.neighbours: Final = Neighbours(neighbours)
        if not queries:
            raise ValueError("at least one query must be given")
        steps = 0
        self._cells: dict[str, int] = {}
        for name, query in queries.items():
            change = exact_quantity(f"the sensitivity of {name}", query.sensitivity) / self.step
            if change <= 0 or change.denominator != 1:
                raise InvalidPrivacyParameter(
                    f"the sensitivity of {name} must be a positive multiple of the step"
                )
            if type(query.cells) is not int or query.cells < 1:
                raise ValueError(f"{name} must have a positive number of cells")
            steps += change.numerator
            self._cells[name] = query.cells
        # Cells of query i move by D_i in all, everything by D = sum D_i: the ratio of the joint
        # probabilities is a product over the cells, at most e^(D/s). So s = D/epsilon, in steps.
        self.noise: Final = DiscreteLaplace(steps / self.epsilon)

    def publish(
        self, values: Mapping[str, Sequence[Number]], draw: Draw = os_random_word
    ) -> dict[str, tuple[Fraction, ...]]:
        """Return the numbers with noise: exact multiples of the step, ready to be published.

        They are unbiased and may be negative; cutting them at 0 is allowed (it looks at nothing
        private), but biases every sum. Values are each query's cells, exact multiples of the step;
        a query of one cell is a sequence too.

        Raises:
            TypeError: for a float, or a value that is no sequence.
            ValueError: for other queries, cells or numbers than declared. No message repeats a
                value, and nothing is drawn then.
        """
        if values.keys() != self._cells.keys():
            raise ValueError(
                f"values must be given for exactly these queries: {', '.join(self._cells)}"
            )
        exact = {name: self._in_steps(name, values[name]) for name in self._cells}
        return {
            name: tuple((value + self.noise.sample(draw)) * self.step for value in cells)
            for name, cells in exact.items()
        }

    def error(self, level: float = 0.95) -> Fraction:
        """Return how far off the worst of the published numbers is at most, with this probability.

        It follows from public numbers alone, so it may be published with them. The probability is
        reckoned in floats: a statement about accuracy, which no privacy rests on.
        """
        return self.noise.bound(level, sum(self._cells.values())) * self.step

    def _in_steps(self, name: str, values: Sequence[Number]) -> list[int]:
        # A string is a sequence of its digits, which is never what was meant.
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise TypeError(f"the values of {name} must be a sequence of numbers")
        if len(values) != self._cells[name]:
            raise ValueError(f"{name} must have exactly {self._cells[name]} values, as declared")
        steps = [exact_quantity(f"a value of {name}", value) / self.step for value in values]
        # Rounding could widen a change beyond the sensitivity: the caller, who knows it, must.
        if any(value.denominator != 1 for value in steps):
            raise ValueError(f"each value of {name} must be a multiple of the step; round it first")
        return [value.numerator for value in steps]

    def __repr__(self) -> str:
        return (
            f"LaplaceRelease({', '.join(self._cells)}; epsilon={self.epsilon}, "
            f"neighbours={self.neighbours}, step={self.step})"
        )


def _bernoulli(numerator: int, denominator: int, draw: Draw) -> bool:
    """Return True with probability numerator/denominator in [0, 1]."""
    return uniform_below(denominator, draw) < numerator


def _bernoulli_exp(numerator: int, denominator: int, draw: Draw) -> bool:
    """Return True with probability e^-g, g = numerator/denominator in [0, 1]."""
    # K is the first k at which a trial of probability g/k fails: P(K > k) = g^k/k!. Then
    #   P(K odd) = sum_{k even} (P(K > k) - P(K > k+1)) = 1 - g + g^2/2! - … = e^-g.
    k = 1
    while _bernoulli(numerator, denominator * k, draw):
        k += 1
    return k % 2 == 1
