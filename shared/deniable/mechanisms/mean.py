"""A mean of numbers: each response of the matrix is a number, and their mean is the answer.

The manifest carries J rows of R weights over 2^64, one for each of J equal steps of the range.
Responses are in equal steps too, numbered from 0, and the mean response rises by the same amount
from each row to the next,

    sum_y y W_jy = A + j D    for every row j, in integers,

so y represents the place (2^64 y - A)/D among the rows. The mean of that is exactly the answer's
own place, whatever the answers are.

If k > J, answers between two rows are dithered: an answer at the place j + r/(k - 1) uses row j + 1
with probability r/(k - 1), and otherwise row j.

Source: docs/mathematics.md, section 10.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Final

from deniable.mechanisms.exact import ceil_div
from deniable.mechanisms.kind import InvalidManifest, Kind, Parameters, at_fault
from deniable.mechanisms.matrix import SurveyMatrix
from deniable.mechanisms.mechanism import (
    MAX_DENSE,
    Compared,
    Draw,
    category_index,
    os_random_word,
    uniform_below,
)
from deniable.mechanisms.privacy import MatrixPrivacy

MAX_ROWS: Final = 49
"""The most rows."""

MAX_RESPONSES: Final = 32
"""The most responses."""


class MeanMatrix(Compared):
    """Answer with one of a few numbers, whose mean is the answer.

    ``rows`` is the matrix that is sampled, with as many rows as there are categories, or fewer.
    ValueError, if its mean responses do not rise in equal steps.
    """

    rounds: Final = None
    hit: Final = None
    miss: Final = None
    truth: Final = None

    def __init__(self, categories: int, weights: tuple[tuple[int, ...], ...]) -> None:
        self.rows: Final = SurveyMatrix(weights, truthful=False)
        if not 2 <= self.rows.categories <= categories <= MAX_DENSE:
            raise ValueError("there must be more rows than categories")
        sums = [sum(y * weight for y, weight in enumerate(row)) for row in weights]
        self.first: Final = sums[0]
        self.step: Final = sums[1] - sums[0]
        if self.step <= 0 or any(self.step != above - below for below, above in pairwise(sums)):
            raise ValueError("the mean responses of the rows must rise in equal steps")
        self.categories: Final = categories
        self.identity = categories, self.rows
        self.responses: Final = self.rows.responses
        # With as many rows as categories, no category is between two rows.
        self._between: Final = 1 if categories == self.rows.categories else categories - 1

    @property
    def grid(self) -> int:
        """Return the common denominator of the mixtures."""
        return self.rows.grid * self._between

    @cached_property
    def privacy(self) -> MatrixPrivacy:
        """Return the tight guarantee of the implemented integers."""
        return MatrixPrivacy(_Outermost(self))

    def place(self, category: int) -> tuple[int, int]:
        """Return the answer's row, or the one below, and how many of ``grid/2^64`` use the next."""
        steps = category_index(category, self.categories) * (self.rows.categories - 1)
        return divmod(steps, self.categories - 1)

    def row(self, category: int) -> Sequence[int]:
        """Return one row's weights over the grid."""
        place, rest = self.place(category)
        below = self.rows.row(place)
        above = self.rows.row(place + 1) if rest else below
        return [
            (self._between - rest) * low + rest * high
            for low, high in zip(below, above, strict=True)
        ]

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``."""
        place, rest = self.place(answer)
        return self.rows.randomise(place + (uniform_below(self._between, draw) < rest), draw)

    def stands_for(self, response: int) -> Fraction:
        """Return the position among the categories (from 0) that a response adds to the mean."""
        place = Fraction(response * self.rows.grid - self.first, self.step)
        return place * (self.categories - 1) / (self.rows.categories - 1)

    def __repr__(self) -> str:
        return f"MeanMatrix({self.categories}, {self.rows.categories} x {self.responses})"


class _Outermost:
    """The categories at a row, or next to one on either side: all others are mixtures of these."""

    def __init__(self, mechanism: MeanMatrix) -> None:
        steps, last = mechanism.rows.categories - 1, mechanism.categories - 1
        below = {row * last // steps for row in range(steps + 1)}
        self._answers = sorted(below | {ceil_div(row * last, steps) for row in range(steps)})
        self._mechanism = mechanism
        self.categories = len(self._answers)
        self.responses, self.grid = mechanism.responses, mechanism.grid

    def row(self, category: int) -> Sequence[int]:
        return self._mechanism.row(self._answers[category])


class _Kind(Kind):
    name = "mean"
    fields = ("weights",)
    numeric = True

    def check(self, parameters: Parameters) -> None:
        weights = parameters["weights"]
        if (
            type(weights) is not tuple
            or not 2 <= len(weights) <= MAX_ROWS
            or not all(type(row) is tuple and 2 <= len(row) <= MAX_RESPONSES for row in weights)
        ):
            raise InvalidManifest(
                "mechanism", f"2 to {MAX_ROWS} rows of 2 to {MAX_RESPONSES} weights are required"
            )
        if not all(type(w) is int and 0 < w < SurveyMatrix.grid for row in weights for w in row):
            raise InvalidManifest("mechanism", "weights must be integers from 1 to 2^64 - 1")

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> MeanMatrix:
        self.check_pure(delta)
        with at_fault("mechanism"):
            mechanism = MeanMatrix(categories, parameters["weights"])
        if not mechanism.privacy.satisfies(epsilon, "0"):
            raise InvalidManifest("mechanism", "the probabilities exceed the stated epsilon")
        return mechanism

    def responses(self, parameters: Parameters, categories: tuple[str, ...]) -> tuple[str, ...]:
        mechanism = MeanMatrix(len(categories), parameters["weights"])
        low, next_value = Fraction(categories[0]), Fraction(categories[1])
        numbers = [
            low + mechanism.stands_for(y) * (next_value - low) for y in range(mechanism.responses)
        ]
        places = 0  # enough to make all labels different
        while (numbers[1] - numbers[0]) * 10**places < 10:
            places += 1
        return tuple(_rounded(number, places) for number in numbers)


def _rounded(number: Fraction, places: int) -> str:
    # In integers: a Decimal would be rounded again, in the app's decimal context.
    unit: int = 10**places
    scaled = round(number * unit)
    whole, part = divmod(abs(scaled), unit)
    return "-" * (scaled < 0) + f"{whole}" + (f".{part:0{places}d}" if places else "")


KIND: Final = _Kind()
