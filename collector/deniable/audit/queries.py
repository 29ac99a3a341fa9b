"""Queries of what a mechanism answers: X_Q = Q o X, as a mechanism of its own.

Whoever sees Q of a sanitised database sees a function of it, which is as private at least (Theorem
1) and often more private, since responses with the same value of Q cannot be told apart. All of
:mod:`deniable.audit.sufficient_sets` holds for X_Q, whose sets are sets of values.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from deniable.audit.databases import Database, SanitisedResponse
from deniable.audit.exponential_sum import ExponentialSum
from deniable.mechanisms import SolutionMatrix

__all__ = ["Queried", "query_matrix"]

_Response = TypeVar("_Response", bound=Hashable)
_Value = TypeVar("_Value", bound=Hashable)


@dataclass(frozen=True)
class Queried(SanitisedResponse[_Value], Generic[_Response, _Value]):
    """A query of what a mechanism answers: X_Q = Q o X, as private as X at least (Theorem 1).

    Attributes:
        mechanism: X.
        query: Q, from the responses of X to anything hashable.

    Source: Holohan, Leith and Mason, section 2 and Theorem 1; docs/mathematics.md, section 13.
    """

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


def query_matrix(values: Sequence[Hashable]) -> SolutionMatrix:
    """Return the matrix of a query Q, of zeros and ones: X's times it is that of Q o X.

    Args:
        values: Q of each response, in the order of X's columns. The distinct ones are the columns
            of the result, in the order in which they first appear.

    Source: docs/mathematics.md, section 8.
    """
    columns = dict.fromkeys(values)
    return SolutionMatrix(([int(value == column) for column in columns] for value in values), 1)
