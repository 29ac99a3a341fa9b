"""The solution matrix of a survey file, a CSV file beside it or rows in it, and its integers."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable.mechanisms import KINDS, InvalidParameter
from deniable.mechanisms.answering import Dimensions, check_dimensions
from deniable.messages import InvalidManifest

if TYPE_CHECKING:
    from deniable.audit import SolutionMatrix


def read_dimensions(value: object) -> Dimensions:
    """Return the questions that a table of lists names, with their answers."""
    if not isinstance(value, dict) or not all(isinstance(row, list) for row in value.values()):
        raise InvalidManifest(
            "dimensions",
            'are a table such as { plan = ["free", "paid"], theme = ["light", "dark"] }',
        )
    dimensions: Dimensions = tuple((name, *answers) for name, answers in value.items())
    try:
        check_dimensions(dimensions)
    except InvalidParameter as error:
        raise InvalidManifest(error.name, error.reason) from error
    return dimensions


def labels_of(kind: str, dimensions: Dimensions) -> tuple[str, ...]:
    """Return the categories of a survey of this kind."""
    try:
        return KINDS[kind].labels(dimensions)
    except InvalidParameter as error:
        raise InvalidManifest(error.name, error.reason) from error


_PRIME: Final = 2**127 - 1


def read_survey_matrix(
    settings: Mapping[str, object],
    categories: tuple[str, ...],
    epsilon: str,
    delta: str,
    folder: Path,
) -> dict[str, Any]:
    """Return certified integers in the categories' order, and what the responses are called."""
    from deniable.audit.matrix_file import InvalidMatrixFile, read_matrix, read_rows

    given, labels = settings["matrix"], settings.get("responses", ())
    if not isinstance(labels, tuple) or not all(isinstance(label, str) for label in labels):
        raise InvalidManifest("responses", "must be a list of strings")
    try:
        # What was written in floats is rounded here, and certified afterwards.
        if isinstance(given, str):
            named = read_matrix((folder / given).read_bytes(), rounding=True)
        elif isinstance(given, tuple) and all(isinstance(row, tuple) for row in given):
            named = read_rows((map(str, row) for row in given), rounding=True)
        else:
            raise InvalidManifest("matrix", "must be the name of a CSV file, or a list of rows")
    except InvalidMatrixFile as error:
        raise InvalidManifest("matrix", str(error)) from error
    rows = [
        [named.matrix.probability(x, y) for y in range(named.matrix.responses)]
        for x in range(named.matrix.categories)
    ]
    if named.names_rows:
        if sorted(named.categories) != sorted(categories):
            raise InvalidManifest("matrix", "must name its rows as the survey names its categories")
        rows = [rows[named.categories.index(category)] for category in categories]
    if named.names_columns and labels not in ((), named.responses):
        raise InvalidManifest("responses", "are named otherwise in the CSV file; leave them out")
    responses = labels or (named.responses if named.names_columns else ())
    if sorted(responses) == sorted(categories):
        rows = [[row[responses.index(category)] for category in categories] for row in rows]
        responses = ()
    return certified_settings(rows, responses, len(categories), epsilon, delta)


def certified_settings(
    rows: Sequence[Sequence[Fraction | str]],
    labels: tuple[str, ...],
    categories: int,
    epsilon: str,
    delta: str = "0",
) -> dict[str, Any]:
    """Return probabilities as integers over 2^64, certified to be as private as is stated.

    They are the settings of the kind ``matrix``. As little noise as rounding takes is mixed in.

    Raises:
        InvalidManifest: for a matrix that is not so private, that has a probability of 0 or 1, or
            from whose responses shares cannot be estimated.
    """
    from deniable.audit.solution_matrix import SolutionMatrix

    if len(rows) != categories:
        raise InvalidManifest("matrix", "needs a row for each category, in their order")
    try:
        exact = SolutionMatrix.exact(rows)
    except (ValueError, TypeError) as error:
        raise InvalidManifest("matrix", str(error)) from error
    _check_no_certainty(exact)
    try:
        matrix = exact.certified(epsilon, delta)
    except ValueError as error:
        own = exact.privacy.epsilon_at(delta)
        raise InvalidManifest(
            "epsilon", f"{error}; its own epsilon is {own} at delta {delta}"
        ) from error
    _check_no_certainty(matrix)
    weights = tuple(tuple(matrix.row(x)) for x in range(categories))
    if not _tells_apart(weights):
        raise InvalidManifest(
            "matrix",
            "cannot be inverted: some categories have the same responses as a mixture of "
            "others, so that their shares cannot be estimated; it needs at least as many "
            "responses as categories, and rows that are linearly independent",
        )
    if not labels and matrix.responses != categories:
        raise InvalidManifest(
            "responses",
            f"is missing: the matrix has {matrix.responses} columns for {categories} "
            "categories, and each of its responses needs a name",
        )
    return {"matrix": weights, "responses": labels}


def _check_no_certainty(matrix: "SolutionMatrix") -> None:
    rows = map(matrix.row, range(matrix.categories))
    if not all(0 < weight < matrix.grid for row in rows for weight in row):
        raise InvalidManifest(
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
