"""A publisher's own solution matrix, certified entry by entry on the 2^64 grid.

Responses may differ in number and meaning from the categories. The manifest carries the weights
over N = 2^64. Each is at least 1, so there is a pure guarantee, which device and collector compute.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Final

from deniable.mechanisms.kind import InvalidManifest, Kind, Parameters, at_fault
from deniable.mechanisms.mechanism import Compared, Draw, category_index, os_random_word
from deniable.mechanisms.privacy import MatrixPrivacy

MAX_MATRIX: Final = 64
"""The most categories, and the most responses."""

_GRID: Final = 1 << 64


class SurveyMatrix(Compared):
    """A solution matrix on the 2^64 grid, as in a survey's manifest: one row per category.

    The rows have equal lengths, and each sums to 2^64; otherwise ValueError. ``truthful`` is
    whether the responses are the categories; if not, ``truth`` is None.

    Source: Holohan, Leith and Mason, section 2; docs/mathematics.md, sections 8 and 9.
    """

    grid: Final = _GRID
    rounds: Final = None
    hit: Final = None
    miss: Final = None

    def __init__(self, weights: tuple[tuple[int, ...], ...], *, truthful: bool) -> None:
        self._rows: Final = weights
        self.categories: Final = len(weights)
        self.responses: Final = len(weights[0])
        for x, row in enumerate(weights):
            if len(row) != self.responses:
                raise ValueError(f"row {x} has {len(row)} entries instead of {self.responses}")
            if sum(row) != _GRID:
                raise ValueError(f"row {x} does not sum to 2^64")
        self.truth: Final = (
            Fraction(min(row[x] for x, row in enumerate(weights)), _GRID) if truthful else None
        )
        self.identity = weights, truthful

    @cached_property
    def privacy(self) -> MatrixPrivacy:
        """Return the tight guarantee, computed from the entries."""
        return MatrixPrivacy(self)

    def row(self, category: int) -> Sequence[int]:
        """Return one row's weights over the grid."""
        return self._rows[category_index(category, self.categories)]

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response drawn from the answer's row, exactly, with one 64-bit word."""
        row, word = self.row(answer), draw()
        # Every boundary is compared, so the running time is independent of answer and response.
        return sum(word >= boundary for boundary in accumulate(row[:-1]))

    def __repr__(self) -> str:
        return f"SurveyMatrix({self.categories} x {self.responses})"


class _Kind(Kind):
    name = "matrix"
    fields = ("weights", "responses")
    likeness = "with the probabilities in the survey's table"

    def check(self, parameters: Parameters) -> None:
        weights, labels = parameters["weights"], parameters["responses"]
        if (
            type(weights) is not tuple
            or not 2 <= len(weights) <= MAX_MATRIX
            or not all(
                type(row) is tuple and len(weights) <= len(row) <= MAX_MATRIX for row in weights
            )
        ):
            raise InvalidManifest(
                "mechanism",
                f"a matrix must have 2 to {MAX_MATRIX} rows and at least as many columns",
            )
        if not all(type(w) is int and 0 < w < _GRID for row in weights for w in row):
            raise InvalidManifest("mechanism", "weights must be integers from 1 to 2^64 - 1")
        if type(labels) is not tuple or not all(type(label) is str for label in labels):
            raise InvalidManifest("mechanism", "the responses' names must be a list of texts")
        if len(labels) != len(weights[0]) and (labels or len(weights) != len(weights[0])):
            raise InvalidManifest("mechanism", "each response must have a name")

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> SurveyMatrix:
        if len(parameters["weights"]) != categories:
            raise InvalidManifest("mechanism", "the matrix must have one row per category")
        with at_fault("mechanism"):
            matrix = SurveyMatrix(parameters["weights"], truthful=not parameters["responses"])
        if not matrix.privacy.satisfies(epsilon, delta):
            raise InvalidManifest(
                "mechanism", "the probabilities exceed what the stated epsilon and delta allow"
            )
        return matrix

    def responses(self, parameters: Parameters, categories: tuple[str, ...]) -> tuple[str, ...]:
        labels: tuple[str, ...] = parameters["responses"]
        if sorted(labels) == sorted(categories):  # a survey has one encoding
            raise InvalidManifest(
                "mechanism", "the responses must not be named if they are the categories"
            )
        return labels or categories


KIND: Final = _Kind()
