"""Sanitised responses of whole databases: the paper's setting, exactly, for small cases.

A database is n rows, each one of k categories. A mechanism X answers a database d with a response
s, most often itself a database, with probability P_d(s) = w(d, s) / C_d, C_d = sum_s w(d, s).
Weights are exact sums of exponentials, so every comparison of probabilities is exact, ties
included.

A query Q of the response is as private at least (Theorem 1) and often more so, since responses with
the same value of Q cannot be told apart. It is a mechanism of its own, Q o X.

Neighbours d ~ d' differ in one row (substitution). Condition (5) of the paper is

    P_d(A) <= e^epsilon P_d'(A) + delta     for all neighbours d ~ d' and all sets A of responses.

Source: Holohan, Leith and Mason (2016), condition (5) and Definition 3;
docs/mathematics.md, section 13.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product
from math import prod
from typing import Generic, TypeVar

from deniable.audit.exponential_sum import ExponentialRatio, ExponentialSum
from deniable.central_model.selection import exact_choice
from deniable.mechanisms import Draw, Number, Rows, exact_number, os_random_word

Database = tuple[int, ...]
"""One category, 0 … k - 1, for each row."""

Utility = Callable[[Database, Database], Fraction | int]
"""How well a response serves a true database: u(d, s), an exact number."""

MAX_DATABASES = 256
"""Every database is compared with every neighbour on every response, so only small cases pay."""

_MAX_RESPONSES = 1 << 16
"""For a single database, larger cases do: its responses are looked at once."""

_Response = TypeVar("_Response", bound=Hashable)
_Value = TypeVar("_Value", bound=Hashable)


class TooManyDatabases(ValueError):
    """k^n databases are more than can be enumerated."""


class NoFiniteEpsilon(ValueError):
    """A response is possible for one database and impossible for its neighbour."""


class SanitisedResponse(ABC, Generic[_Response]):
    """A mechanism from databases of n rows of k categories to a finite range, by its weights."""

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
        """Yield all ordered pairs of neighbours, of at most MAX_DATABASES databases."""
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
    def _laws(self) -> dict[Database, tuple[dict[_Response, ExponentialSum], ExponentialSum]]:
        return {}

    def weights(self, true: Database) -> dict[_Response, ExponentialSum]:
        """Return w(true, s) for every response s."""
        if true not in self._laws:
            weights = {s: self.weight(true, s) for s in self.responses}
            self._laws[true] = weights, ExponentialSum.total(weights.values())
        return self._laws[true][0]

    def normaliser(self, true: Database) -> ExponentialSum:
        """Return C_d, the sum of a database's weights."""
        self.weights(true)
        return self._laws[true][1]

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
        """Return the mean of error(s) over the responses s to d: the expected error, exactly."""
        sums = (weight * error(s) for s, weight in self.weights(true).items())
        return ExponentialRatio(ExponentialSum.total(sums), self.normaliser(true))

    def randomise(self, true: Database, draw: Draw = os_random_word) -> _Response:
        """Return a response to d, with exactly its probability; the time it takes may tell of d."""
        weights = self.weights(true).values()
        least = self.normaliser(true).terms[0][1]

        place = exact_choice(
            lambda bits: [*(w.enclosure_over(least, bits) for w in weights), (0, 0)], draw
        )
        return self.responses[place]

    def gains(
        self, odds: ExponentialSum, true: Database, other: Database
    ) -> dict[_Response, ExponentialSum]:
        """Return (P_d(s) - E P_d'(s)) C_d C_d' for every response s.

        The factor is positive: a gain has the sign of P_d(s) - E P_d'(s), and gains summed over a
        set A stand to delta C_d C_d' as P_d(A) - E P_d'(A) stands to delta.
        """
        weights, weights_other = self.weights(true), self.weights(other)
        scale, scale_other = self.normaliser(other), odds * self.normaliser(true)
        return {s: weights[s] * scale - weights_other[s] * scale_other for s in self.responses}

    def scale(self, true: Database, other: Database) -> ExponentialSum:
        """Return C_d C_d'."""
        return self.normaliser(true) * self.normaliser(other)

    def tight_odds(self) -> ExponentialRatio:
        """Return the smallest e^epsilon that holds with delta = 0: the largest P_d(s)/P_d'(s).

        NoFiniteEpsilon is raised if a response is possible for d and impossible for d'.
        """
        best = ExponentialRatio(ExponentialSum.term(1), ExponentialSum.term(1))
        for true, other in self.pairs():
            weights, weights_other = self.weights(true), self.weights(other)
            scale, scale_other = self.normaliser(other), self.normaliser(true)
            for s, weight in weights.items():
                if weights_other[s].terms:
                    ratio = ExponentialRatio(weight * scale, weights_other[s] * scale_other)
                    best = max(best, ratio)
                elif weight.terms:
                    raise NoFiniteEpsilon(
                        "some response separates two neighbours with certainty; only a positive "
                        "delta can hold"
                    )
        return best

    def tight_epsilon(self) -> Fraction:
        """Return ln(tight odds): exact if rational, else rounded up to 12 places."""
        return self.tight_odds().logarithm()


class SanitisedDatabase(SanitisedResponse[Database]):
    """A mechanism that answers with a row for each row; from databases to databases, D^n -> D^n."""

    @cached_property
    def responses(self) -> tuple[Database, ...]:
        """Return all responses, in lexicographic order."""
        return tuple(product(range(self._values), repeat=self.rows))

    @property
    def _values(self) -> int:
        """Return how many values a row of a response has."""
        return self.categories


@dataclass(frozen=True)
class DiscreteExponential(SanitisedDatabase):
    """The discrete exponential mechanism: P_d(s) proportional to base^u(d, s) (Definition 3).

    The base is e, or a rational number above 1: then utilities are ints, probabilities rational.

    Source: docs/mathematics.md, section 9.
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
        """Return the largest ``|u(d, s) - u(d', s)|``: half McSherry and Talwar's bound."""
        return max(
            abs(self.exact_utility(true, s) - self.exact_utility(other, s))
            for true, other in self.pairs()
            for s in self.databases
        )


@dataclass(frozen=True)
class MatrixMechanism(SanitisedDatabase):
    """Any mechanism on databases, by its solution matrix (section 2).

    It has a row for each of k^n databases and a column for each response, both in lexicographic
    order. Of r^n columns the responses have n rows, and are databases if r = k; of another number
    they have one: its range is any (Definitions 1 and 2).
    """

    categories: int
    rows: int
    matrix: Rows

    def __post_init__(self) -> None:
        check_size(self.categories, self.rows)
        if self.matrix.categories != self.categories**self.rows:
            raise ValueError("the matrix must have a row for each of k^n databases")

    @cached_property
    def responses(self) -> tuple[Database, ...]:
        """Return all responses, in lexicographic order."""
        rows = self.rows if self._values**self.rows == self.matrix.responses else 1
        return tuple(product(range(self._values), repeat=rows))

    @property
    def _values(self) -> int:
        columns = self.matrix.responses
        root = round(columns ** (1 / self.rows))
        return root if root**self.rows == columns else columns

    def weight(self, true: Database, response: Database) -> ExponentialSum:
        """Return the probability itself: every normaliser is 1."""
        x, y = _place(true, self.categories), _place(response, self._values)
        return ExponentialSum.term(Fraction(self.matrix.row(x)[y], self.matrix.grid))


@dataclass(frozen=True)
class ProductMechanism(SanitisedDatabase):
    """Every row is answered on its own, by one parent mechanism's solution matrix (Theorem 6)."""

    parent: tuple[tuple[Fraction, ...], ...]
    rows: int
    categories: int = field(init=False)

    def __post_init__(self) -> None:
        check_size(len(self.parent), self.rows)
        if any(len(law) != self._values or min(law) < 0 or sum(law) != 1 for law in self.parent):
            raise ValueError("the parent's rows must be as long, not negative, and sum to 1 each")
        check_size(max(2, self._values), self.rows)
        object.__setattr__(self, "categories", len(self.parent))

    @property
    def _values(self) -> int:
        return len(self.parent[0])

    def weight(self, true: Database, response: Database) -> ExponentialSum:
        """Return the probability itself: every normaliser is 1."""
        entries = (self.parent[x][y] for x, y in zip(true, response, strict=True))
        return ExponentialSum.term(prod(entries, start=Fraction(1)))


@dataclass(frozen=True)
class Queried(SanitisedResponse[_Value], Generic[_Response, _Value]):
    """A query of what a mechanism answers: X_Q = Q o X, as private as X at least (Theorem 1)."""

    mechanism: SanitisedResponse[_Response]
    query: Callable[[_Response], _Value]
    categories: int = field(init=False)
    rows: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", self.mechanism.categories)
        object.__setattr__(self, "rows", self.mechanism.rows)

    @cached_property
    def _inverse_images(self) -> Mapping[_Value, Iterable[_Response]]:
        images: dict[_Value, list[_Response]] = {}
        for response in self.mechanism.responses:
            images.setdefault(self.query(response), []).append(response)
        return images

    @property
    def responses(self) -> tuple[_Value, ...]:
        """Return the values of Q."""
        return tuple(self._inverse_images)

    def weight(self, true: Database, response: _Value) -> ExponentialSum:
        """Return the weight of all responses of X with this value of Q."""
        weights = self.mechanism.weights(true)
        return ExponentialSum.total(weights[s] for s in self._inverse_images[response])


def _place(database: Database, values: int) -> int:
    """Return a database's place in lexicographic order."""
    return reduce(lambda place, value: place * values + value, database, 0)


def hamming_distance(one: Database, other: Database) -> int:
    """Return in how many rows two databases differ."""
    return sum(x != y for x, y in zip(one, other, strict=True))


@dataclass(frozen=True, slots=True)
class HammingUtility:
    """The utility u = -theta h of Proposition 1, with h the Hamming distance."""

    theta: Fraction | int

    def __call__(self, true: Database, response: Database) -> Fraction | int:
        """Return -theta h(true, response)."""
        return -self.theta * hamming_distance(true, response)


def distance_utility(true: Database, response: Database) -> int:
    """Return ``-(|d_1 - s_1| + … + |d_n - s_n|)``, the utility of Example 2."""
    return -sum(abs(x - y) for x, y in zip(true, response, strict=True))


def hamming_constant(theta: Number, categories: int, rows: int) -> ExponentialRatio:
    """Return (1 + m e^-theta)^-n, what makes e^(-theta h) a probability (Proposition 1)."""
    # Each row is kept (weight 1) or becomes one of m others (weight e^-theta each).
    one = ExponentialSum.term(1)
    row = one + ExponentialSum.term(categories - 1, -exact_number("theta", theta))
    return ExponentialRatio(one, prod([row] * rows, start=one))


def check_size(categories: int, rows: int) -> None:
    """Refuse a size that there are no neighbours of, or too many databases."""
    if type(categories) is not int or type(rows) is not int:
        raise TypeError("categories and rows must be ints")
    if categories < 2 or rows < 1:
        raise ValueError("at least 2 categories and 1 row are needed")
    # 2^n already exceeds the limit at so many rows; k^n itself might fill the memory.
    if rows >= _MAX_RESPONSES.bit_length() or categories**rows > _MAX_RESPONSES:
        raise TooManyDatabases(
            f"more than {_MAX_RESPONSES} databases to answer with: take fewer rows or categories"
        )
