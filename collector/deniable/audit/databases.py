"""Sanitised responses of whole databases: the paper's setting, exactly, for small cases.

A database is n rows, each one of k categories. A mechanism X answers a database d with a response
s, itself a database, with probability P_d(s) = w(d, s) / C_d, where C_d = sum_s w(d, s). A query Q
of the sanitised database has the law of Q o X. Weights are exact sums of exponentials, so every
comparison of probabilities is exact, ties included.

Neighbours d ~ d' differ in one row (substitution). Condition (5) of the paper is

    P_d(A) <= e^epsilon P_d'(A) + delta     for all neighbours d ~ d' and all sets A of responses.

Source: Holohan, Leith and Mason (2016), condition (5) and Definition 3;
docs/mathematics.md, section 13.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Generic, Self, TypeVar

from deniable.audit.exact_choice import exact_choice
from deniable.audit.exponential_sum import ExponentialRatio, ExponentialSum
from deniable.mechanisms import (
    Draw,
    InvalidPrivacyParameter,
    Number,
    Rows,
    exact_delta,
    exact_number,
    os_random_word,
)

__all__ = [
    "MAX_DATABASES",
    "Condition",
    "Database",
    "DiscreteExponential",
    "HammingUtility",
    "MatrixMechanism",
    "NoFiniteEpsilon",
    "ProductMechanism",
    "SanitisedDatabase",
    "SanitisedResponse",
    "TooManyDatabases",
    "Utility",
    "check_size",
    "distance_utility",
    "hamming_constant",
    "hamming_distance",
]

Database = tuple[int, ...]
"""One category, 0 … k - 1, for each row."""

Utility = Callable[[Database, Database], Fraction | int]
"""How well a response serves a true database: u(d, s), an exact number."""

MAX_DATABASES = 256
"""Every database is compared with every neighbour on every response, so only small cases pay."""

_MAX_RESPONSES = 1 << 16
"""For a single database, larger cases do: its responses are looked at once."""

_Response = TypeVar("_Response", bound=Hashable)


class TooManyDatabases(ValueError):
    """k^n databases are more than can be enumerated."""


class NoFiniteEpsilon(ValueError):
    """A response is possible for one database and impossible for its neighbour."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition (5) of the paper at one (epsilon, delta).

    Attributes:
        odds: E = e^epsilon, at least 1.
        delta: slack in [0, 1).

    Raises:
        InvalidPrivacyParameter: for parameters outside their domain.
    """

    odds: ExponentialSum
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", exact_delta(self.delta))
        if (self.odds - ExponentialSum.term(1)).sign() < 0:
            raise InvalidPrivacyParameter("epsilon must not be negative: odds are at least 1")

    @classmethod
    def at(cls, epsilon: Number, delta: Number = "0") -> Self:
        """Return the condition at an exact, non-negative epsilon."""
        exponent = exact_number("epsilon", epsilon)
        return cls(ExponentialSum.term(1, exponent), exact_delta(delta))

    @classmethod
    def at_odds(cls, odds: Number, delta: Number = "0") -> Self:
        """Return the condition at epsilon = ln(odds) for rational odds of at least 1."""
        return cls(ExponentialSum.term(exact_number("odds", odds)), exact_delta(delta))


class SanitisedResponse(ABC, Generic[_Response]):
    """A mechanism from databases to a finite range, given by its weights.

    Attributes:
        categories: k, the size of D.
        rows: n, the number of rows of a database.
    """

    categories: int
    rows: int

    @property
    @abstractmethod
    def responses(self) -> tuple[_Response, ...]:
        """Return the range: all responses, each once."""

    @abstractmethod
    def weight(self, true: Database, response: _Response) -> ExponentialSum:
        """Return w(true, response), to which the response's probability is proportional."""

    @cached_property
    def databases(self) -> tuple[Database, ...]:
        """Return all k^n databases in lexicographic order."""
        return tuple(product(range(self.categories), repeat=self.rows))

    def neighbours(self, database: Database) -> Iterator[Database]:
        """Yield the databases that differ from this one in exactly one row."""
        for row, category in product(range(self.rows), range(self.categories)):
            if category != database[row]:
                yield (*database[:row], category, *database[row + 1 :])

    def pairs(self) -> Iterator[tuple[Database, Database]]:
        """Yield all ordered pairs of neighbours.

        Raises:
            TooManyDatabases: if k^n exceeds MAX_DATABASES.
        """
        if len(self.databases) > MAX_DATABASES:
            raise TooManyDatabases(
                f"more than {MAX_DATABASES} databases to compare: take fewer rows or categories; a "
                "mechanism that answers row by row is as private as its parent (Theorem 6), so one "
                "row decides"
            )
        for database in self.databases:
            for neighbour in self.neighbours(database):
                yield database, neighbour

    @cached_property
    def _laws(self) -> dict[Database, tuple[Mapping[_Response, ExponentialSum], ExponentialSum]]:
        return {}

    def _law(self, true: Database) -> tuple[Mapping[_Response, ExponentialSum], ExponentialSum]:
        if true not in self._laws:
            weights = {s: self.weight(true, s) for s in self.responses}
            self._laws[true] = weights, ExponentialSum.total(weights.values())
        return self._laws[true]

    def weights(self, true: Database) -> Mapping[_Response, ExponentialSum]:
        """Return w(true, s) for every response s."""
        return self._law(true)[0]

    def normaliser(self, true: Database) -> ExponentialSum:
        """Return C_d, the sum of a database's weights."""
        return self._law(true)[1]

    @property
    def constant_normaliser(self) -> bool:
        """Tell whether C_d is the same for every database d."""
        return len({self.normaliser(true) for true, _ in self.pairs()}) == 1

    def likelihood(self, true: Database, responses: Iterable[_Response]) -> ExponentialRatio:
        """Return P_d(A), the probability that the response to d is in the set A."""
        weights = self.weights(true)
        mass = ExponentialSum.total(weights[s] for s in set(responses))
        return ExponentialRatio(mass, self.normaliser(true))

    def expected(
        self, true: Database, error: Callable[[_Response], Fraction | int]
    ) -> ExponentialRatio:
        """Return the mean of error(s) over the responses s to d: the expected error, exactly.

        Args:
            true: d.
            error: how far off a response is, such as the distance of s from d, or of Q(s) from
                Q(d) for a query Q.

        Source: Holohan, Leith and Mason, Theorem 5; docs/mathematics.md, section 13.
        """
        sums = (weight * error(s) for s, weight in self.weights(true).items())
        return ExponentialRatio(ExponentialSum.total(sums), self.normaliser(true))

    def randomise(self, true: Database, draw: Draw = os_random_word) -> _Response:
        """Return a response to d, with exactly its probability; the time it takes may tell of d.

        Args:
            true: d.
            draw: where uniform 64-bit words come from. Anything but the default is for tests.
        """
        weights = list(self.weights(true).values())
        least = self.normaliser(true).terms[0][1]
        return self.responses[
            exact_choice(
                lambda bits: [*(w.enclosure_over(least, bits) for w in weights), (0, 0)], draw
            )
        ]

    def compare(self, true: Database, other: Database, response: _Response) -> int:
        """Return the sign of P_d(s) - P_d'(s): -1, 0 or 1, decided exactly."""
        weight = self.weights(true)[response] * self.normaliser(other)
        weight_other = self.weights(other)[response] * self.normaliser(true)
        return (weight - weight_other).sign()

    def gains(
        self, odds: ExponentialSum, true: Database, other: Database
    ) -> dict[_Response, ExponentialSum]:
        """Return (P_d(s) - E P_d'(s)) C_d C_d' for every response s.

        The factor is positive: a gain has the sign of P_d(s) - E P_d'(s), and gains summed over a
        set A stand to delta C_d C_d' as P_d(A) - E P_d'(A) stands to delta.

        Args:
            odds: E = e^epsilon.
            true: d.
            other: d'.
        """
        weights, weights_other = self.weights(true), self.weights(other)
        scale, scale_other = self.normaliser(other), odds * self.normaliser(true)
        return {s: weights[s] * scale - weights_other[s] * scale_other for s in self.responses}

    def satisfies(
        self, condition: Condition, true: Database, other: Database, responses: Iterable[_Response]
    ) -> bool:
        """Tell exactly whether P_d(A) <= E P_d'(A) + delta for one pair and one set."""
        gains = self.gains(condition.odds, true, other)
        allowed = condition.delta * self.normaliser(true) * self.normaliser(other)
        return (ExponentialSum.total(gains[s] for s in set(responses)) - allowed).sign() <= 0

    def tight_odds(self) -> ExponentialRatio:
        """Return the smallest e^epsilon that holds with delta = 0: the largest P_d(s)/P_d'(s).

        Raises:
            NoFiniteEpsilon: if a response is possible for d and impossible for d'.
        """
        one = ExponentialSum.term(1)
        best = ExponentialRatio(one, one)
        for true, other in self.pairs():
            for response in self.responses:
                weight = self.weights(true)[response] * self.normaliser(other)
                weight_other = self.weights(other)[response] * self.normaliser(true)
                if weight_other.terms:
                    best = max(best, ExponentialRatio(weight, weight_other))
                elif weight.terms:
                    raise NoFiniteEpsilon(
                        "some response tells two neighbours apart with certainty; only a positive "
                        "delta can hold"
                    )
        return best

    def tight_epsilon(self) -> Fraction:
        """Return ln(tight odds): exact if rational, else rounded up to 12 places.

        Raises:
            NoFiniteEpsilon: if a response is possible for d and impossible for d'.
        """
        return self.tight_odds().logarithm()


class SanitisedDatabase(SanitisedResponse[Database]):
    """A mechanism from databases to databases, D^n -> D^n."""

    @property
    def responses(self) -> tuple[Database, ...]:
        """Return all databases."""
        return self.databases


@dataclass(frozen=True)
class DiscreteExponential(SanitisedDatabase):
    """The discrete exponential mechanism: P_d(s) proportional to base^u(d, s).

    Attributes:
        categories: k, at least 2.
        rows: n, at least 1.
        utility: u, returning ints or Fractions; at a rational base, ints.
        base: None for e, or a rational number above 1, which keeps probabilities rational.

    Raises:
        TypeError: for categories or rows that are no ints; and, once weights are asked for, for a
            utility that is not exact.
        ValueError: for categories, rows or a base outside their domain; and, once weights are
            asked for, for a fractional utility at a rational base.
        TooManyDatabases: if k^n exceeds 2^16.

    Source: Holohan, Leith and Mason, Definition 3; docs/mathematics.md, section 13.
    """

    categories: int
    rows: int
    utility: Utility
    base: Fraction | int | None = None

    def __post_init__(self) -> None:
        check_size(self.categories, self.rows)
        # Below 1 it would turn the utility upside down; at 1 it would ignore it.
        if self.base is not None and exact_number("base", self.base) <= 1:
            raise ValueError("base must be above 1; turn the utility's sign round instead")

    def exact_utility(self, true: Database, response: Database) -> Fraction:
        """Return u(true, response), refusing what is not exact."""
        # Every e^u has one term, whose exponent has been checked.
        return ExponentialSum.term(1, self.utility(true, response)).terms[0][1]

    def weight(self, true: Database, response: Database) -> ExponentialSum:
        """Return base^u(true, response)."""
        exponent = self.exact_utility(true, response)
        if self.base is None:
            return ExponentialSum.term(1, exponent)
        if exponent.denominator != 1:
            raise ValueError("a rational base takes whole utilities only: its roots are irrational")
        return ExponentialSum.term(Fraction(self.base) ** exponent.numerator)

    def sensitivity(self) -> Fraction:
        """Return the largest |u(d, s) - u(d', s)| over neighbours d, d' and responses s.

        McSherry and Talwar's bound on epsilon is twice this (times the logarithm of the base).
        """
        return max(
            abs(self.exact_utility(true, s) - self.exact_utility(other, s))
            for true, other in self.pairs()
            for s in self.databases
        )


@dataclass(frozen=True)
class MatrixMechanism(SanitisedDatabase):
    """Any mechanism on databases, by its solution matrix.

    Attributes:
        categories: k, at least 2.
        rows: n, at least 1.
        matrix: a row and a column for each database, in lexicographic order.

    Raises:
        TypeError: for categories or rows that are no ints.
        ValueError: for a size outside its domain, or a matrix of another.
        TooManyDatabases: if k^n exceeds 2^16.

    Source: Holohan, Leith and Mason, section 2; docs/mathematics.md, section 13.
    """

    categories: int
    rows: int
    matrix: Rows

    def __post_init__(self) -> None:
        check_size(self.categories, self.rows)
        if not self.matrix.categories == self.matrix.responses == self.categories**self.rows:
            raise ValueError("the matrix must have a row and a column for each of k^n databases")

    @cached_property
    def _index(self) -> Mapping[Database, int]:
        return {database: i for i, database in enumerate(self.databases)}

    def weight(self, true: Database, response: Database) -> ExponentialSum:
        """Return the probability itself: every normaliser is 1."""
        weight = self.matrix.row(self._index[true])[self._index[response]]
        return ExponentialSum.term(Fraction(weight, self.matrix.grid))


@dataclass(frozen=True)
class ProductMechanism(SanitisedDatabase):
    """Every row is answered on its own, by one parent mechanism D -> D.

    Attributes:
        parent: the parent's solution matrix: row x is the law of the response to category x.
        rows: n, at least 1.

    Raises:
        TypeError: for rows that are no int.
        ValueError: for a parent that is not a square stochastic matrix, or rows below 1.
        TooManyDatabases: if k^n exceeds 2^16.

    Source: Holohan, Leith and Mason, Theorem 6; docs/mathematics.md, section 13.
    """

    parent: tuple[tuple[Fraction, ...], ...]
    rows: int
    categories: int = field(init=False)

    def __post_init__(self) -> None:
        k = len(self.parent)
        check_size(k, self.rows)
        if any(len(law) != k or min(law) < 0 or sum(law) != 1 for law in self.parent):
            raise ValueError("the parent must be square, without negatives, each row summing to 1")
        object.__setattr__(self, "categories", k)

    def weight(self, true: Database, response: Database) -> ExponentialSum:
        """Return the probability itself: every normaliser is 1."""
        entries = (self.parent[x][y] for x, y in zip(true, response, strict=True))
        return ExponentialSum.term(prod(entries, start=Fraction(1)))


def hamming_distance(one: Database, other: Database) -> int:
    """Return in how many rows two databases differ."""
    return sum(x != y for x, y in zip(one, other, strict=True))


@dataclass(frozen=True, slots=True)
class HammingUtility:
    """The utility u = -theta h of Proposition 1, with h the Hamming distance.

    Attributes:
        theta: the paper's exponent.
    """

    theta: Fraction | int

    def __call__(self, true: Database, response: Database) -> Fraction | int:
        """Return -theta h(true, response)."""
        return -self.theta * hamming_distance(true, response)


def distance_utility(true: Database, response: Database) -> int:
    """Return -(|d_1 - s_1| + … + |d_n - s_n|), the utility of Example 2."""
    return -sum(abs(x - y) for x, y in zip(true, response, strict=True))


def hamming_constant(theta: Number, categories: int, rows: int) -> ExponentialRatio:
    """Return (1 + m e^-theta)^-n: what e^(-theta h) is multiplied by to become a probability.

    Source: Holohan, Leith and Mason, Proposition 1; docs/mathematics.md, section 13.
    """
    # Each row is kept (weight 1) or becomes one of m others (weight e^-theta each).
    row = ExponentialSum(
        (
            (Fraction(1), Fraction(0)),
            (Fraction(categories - 1), -exact_number("theta", theta)),
        )
    )
    normaliser = prod([row] * rows, start=ExponentialSum.term(1))
    return ExponentialRatio(ExponentialSum.term(1), normaliser)


def check_size(categories: int, rows: int) -> None:
    """Refuse a size that there are no neighbours of, or too many databases.

    Raises:
        TypeError: for categories or rows that are no ints.
        ValueError: for less than 2 categories or 1 row.
        TooManyDatabases: if k^n exceeds 2^16.
    """
    if type(categories) is not int or type(rows) is not int:
        raise TypeError("categories and rows must be ints")
    if categories < 2 or rows < 1:
        raise ValueError("at least 2 categories and 1 row are needed")
    # 2^n already exceeds the limit at so many rows; k^n itself might fill the memory.
    if rows >= _MAX_RESPONSES.bit_length() or categories**rows > _MAX_RESPONSES:
        raise TooManyDatabases(
            f"more than {_MAX_RESPONSES} databases to answer with: take fewer rows or categories"
        )
