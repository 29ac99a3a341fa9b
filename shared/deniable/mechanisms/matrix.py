"""A solution matrix of the publisher's own: certified, on the 2^64 grid, entry by entry.

Responses may differ in number and meaning from the categories. The manifest carries the weights
over N = 2^64, each of them at least 1, so that there is a pure guarantee, which device and
collector read off them.
"""

from fractions import Fraction
from typing import ClassVar, Final

from deniable.mechanisms.kind import InvalidParameter, Kind, Parameters, Settings, at_fault
from deniable.mechanisms.solution_matrix import SolutionMatrix

MAX_MATRIX: Final = 64
"""Most categories, and most responses."""

_GRID: Final = 1 << 64
_PRIME: Final = 2**127 - 1


class SurveyMatrix(SolutionMatrix):
    """A solution matrix on the 2^64 grid, as a survey's manifest holds it.

    ``truthful`` tells whether the responses are the categories; where not, ``truth`` is None.
    """

    __slots__ = ("truth",)
    hit: Final = None
    miss: Final = None

    def __init__(self, weights: tuple[tuple[int, ...], ...], *, truthful: bool) -> None:
        super().__init__(weights, _GRID)
        self.truth = (
            Fraction(min(row[x] for x, row in enumerate(weights)), _GRID) if truthful else None
        )


class _Kind(Kind):
    name = "matrix"
    summary = "a solution matrix of your own"
    fields = ("weights", "responses")
    keys: ClassVar = {
        "matrix": "of a matrix survey: probabilities, a row a category and a column a response; a "
        "list of rows of strings, or a CSV file's path from the survey file's folder",
        "responses": "what its responses are called, if they are not the categories; a CSV file "
        "names them itself",
    }
    answers = False
    likeness = "each as often as the survey's table says"

    def check(self, parameters: Parameters) -> None:
        weights, labels = parameters["weights"], parameters["responses"]
        if (
            type(weights) is not tuple
            or not 2 <= len(weights) <= MAX_MATRIX
            or not all(
                type(row) is tuple and len(weights) <= len(row) <= MAX_MATRIX for row in weights
            )
        ):
            raise InvalidParameter(
                "mechanism", f"a matrix has 2 to {MAX_MATRIX} rows, and no fewer columns than rows"
            )
        if not all(type(w) is int and 0 < w < _GRID for row in weights for w in row):
            raise InvalidParameter("mechanism", "its weights are integers from 1 to 2^64 - 1")
        if type(labels) is not tuple or not all(type(label) is str for label in labels):
            raise InvalidParameter("mechanism", "the names of its responses are a list of texts")
        if len(labels) != len(weights[0]) and (labels or len(weights) != len(weights[0])):
            raise InvalidParameter("mechanism", "its responses need a name each")

    def calibrated(
        self, settings: Settings, categories: int, epsilon: str, delta: str
    ) -> Parameters:
        given = self.setting(settings, "matrix")
        labels = settings.get("responses", ())
        if type(given) is not tuple or not all(type(row) is tuple for row in given):
            raise InvalidParameter(
                "matrix", 'must be rows of strings, such as [["0.75", "0.25"], …]'
            )
        if len(given) != categories:
            raise InvalidParameter("matrix", "needs a row for each category, in their order")
        with at_fault("matrix", (ValueError, TypeError)):
            exact = SolutionMatrix.exact(given)
        _check_no_certainty(exact)
        try:
            matrix = exact.certified(epsilon, delta)
        except ValueError as error:
            own = exact.privacy.epsilon_at(delta)
            raise InvalidParameter(
                "epsilon", f"{error}; its own epsilon is {own} at delta {delta}"
            ) from error
        _check_no_certainty(matrix)
        weights = tuple(tuple(matrix.row(x)) for x in range(categories))
        if not _tells_apart(weights):
            raise InvalidParameter(
                "matrix",
                "cannot be inverted: some categories have the same responses as a mixture of "
                "others, so that their shares cannot be estimated; it needs at least as many "
                "responses as categories, and rows that are linearly independent",
            )
        if not labels and matrix.responses != categories:
            raise InvalidParameter(
                "responses",
                f"is missing: the matrix has {matrix.responses} columns for {categories} "
                "categories, and each of its responses needs a name",
            )
        parameters = {"weights": weights, "responses": labels}
        with at_fault("matrix"):
            self.check(parameters)
        return parameters

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> SurveyMatrix:
        if len(parameters["weights"]) != categories:
            raise InvalidParameter("mechanism", "its matrix has a row a category")
        with at_fault("mechanism"):
            matrix = SurveyMatrix(parameters["weights"], truthful=not parameters["responses"])
        if not matrix.privacy.satisfies(epsilon, delta):
            raise InvalidParameter(
                "mechanism", "its probabilities exceed the stated epsilon and delta"
            )
        return matrix

    def responses(self, parameters: Parameters, categories: tuple[str, ...]) -> tuple[str, ...]:
        labels: tuple[str, ...] = parameters["responses"]
        if sorted(labels) == sorted(categories):  # a survey has one encoding
            raise InvalidParameter("mechanism", "responses that are the categories have no names")
        return labels or categories

    def terms(self, parameters: Parameters, categories: int) -> str:
        weights = parameters["weights"]
        return f"matrix: {len(weights)} categories, {len(weights[0])} responses"


def _check_no_certainty(matrix: SolutionMatrix) -> None:
    rows = map(matrix.row, range(matrix.categories))
    if not all(0 < weight < matrix.grid for row in rows for weight in row):
        raise InvalidParameter(
            "matrix",
            "has a probability of 0 or 1 (as rounded to 64 bits): then a response excludes an "
            "answer, and no budget of a device covers that",
        )


def _tells_apart(weights: tuple[tuple[int, ...], ...]) -> bool:
    """Tell whether the rows are linearly independent, by elimination modulo a prime.

    Independent modulo a prime is independent; that a prime of 127 bits hides it is out of reach.
    """
    rows = [[weight % _PRIME for weight in row] for row in weights]
    for column in range(len(rows[0])):
        pivot = next((row for row in rows if row[column]), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        inverse = pow(pivot[column], -1, _PRIME)
        for row in rows:
            factor = row[column] * inverse
            row[:] = [(w - factor * p) % _PRIME for w, p in zip(row, pivot, strict=True)]
    return not rows


KIND: Final = _Kind()
