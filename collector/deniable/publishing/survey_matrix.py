"""A survey's solution matrix, or a hand-written CSV matrix: read exactly, and certified.

A row is a category, a column a response. A cell is a decimal, a fraction such as 1/3, or, if the
whole file consists of integers, a weight; then every row must have the same sum.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import count
from math import lcm
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deniable.documents import read_number
from deniable.mechanisms import MAX_DENSE
from deniable.mechanisms.answering import Dimensions, check_dimensions
from deniable.mechanisms.kind import at_fault
from deniable.messages import InvalidManifest

if TYPE_CHECKING:
    from deniable.audit import SolutionMatrix

MAX_FILE_BYTES: Final = 1 << 26
"""64 MiB: a thousand categories in full precision need a third of it."""

_MOST_DIGITS: Final = 400
_MOST_NAME: Final = 256
_RATIO: Final = re.compile(r"([+-]?[0-9]+) ?/ ?([0-9]+)", re.ASCII)
_KEPT_BITS: Final = 64
_NEAR: Final = Fraction(1, 10**9)


class InvalidMatrixFile(ValueError):
    """A file without a valid solution matrix; the message names the row and the remedy."""


class NamedMatrix(NamedTuple):
    """A solution matrix with the names of its rows and of its columns, as far as these have names.

    The matrix is ``rounded`` if rows did not sum to 1 and were scaled and rounded.
    """

    matrix: "SolutionMatrix"
    categories: tuple[str, ...]
    responses: tuple[str, ...]
    rounded: bool = False


def read_matrix(data: bytes) -> NamedMatrix:
    """Read a matrix from the bytes of a CSV file.

    A first row without numbers after its first cell names the responses; such a first column names
    the categories. If both exist, the first cell is ignored. If the two have the same names in a
    different order, the columns are put into the order of the rows.

    Rows that sum to 1 within 1e-9 are scaled to sum to 1 exactly, on a grid that keeps 64 bits of
    each entry. Other rows are refused, by an InvalidMatrixFile.
    """
    table = _table(data)
    header, names = _named(table)
    responses = [cell.strip() for cell in table.pop(0)[names:]] if header else []
    categories = [row.pop(0).strip() for row in table] if names else []
    return _named_matrix(table, categories, responses)


def _named_matrix(
    table: Sequence[Sequence[str]], categories: Sequence[str], responses: Sequence[str]
) -> NamedMatrix:
    if len(table) < 2:
        raise InvalidMatrixFile("has fewer than two categories, so there is nothing to compare")
    if not table[0]:
        raise InvalidMatrixFile("has no probabilities")
    if max(len(table), len(table[0])) > MAX_DENSE:
        raise InvalidMatrixFile(f"exceeds {MAX_DENSE:,} rows or columns")
    for what, given in (("categories", categories), ("responses", responses)):
        _check_names(what, given)
    width = len(responses) or len(table[0])
    rows: dict[str, list[Fraction]] = {}
    for name, row in zip(categories or map(str, count(1)), table, strict=False):
        if len(row) != width:
            raise InvalidMatrixFile(f"row {name!r} has {len(row)} entries, not {width}")
        rows[name] = [_probability(name, cell) for cell in row]
    if responses and sorted(categories) == sorted(responses):
        order = [responses.index(name) for name in categories]
        rows = {name: [row[y] for y in order] for name, row in rows.items()}
        responses = categories
    matrix, rounded = _matrix(rows)
    return NamedMatrix(matrix, tuple(categories), tuple(responses), rounded)


def _table(data: bytes) -> list[list[str]]:
    if len(data) > MAX_FILE_BYTES:
        raise InvalidMatrixFile(f"exceeds {MAX_FILE_BYTES >> 20} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidMatrixFile("is not UTF-8 text") from error
    table = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), strict=True):
            if any(cell.strip() for cell in row):
                table.append(row)
            if len(table) > MAX_DENSE + 1 or len(row) > MAX_DENSE + 1:
                raise InvalidMatrixFile(f"exceeds {MAX_DENSE:,} rows or columns")
    except csv.Error as error:
        raise InvalidMatrixFile(f"is not CSV: {error}") from error
    if not table:
        raise InvalidMatrixFile("is empty")
    return table


def _named(table: Sequence[Sequence[str]]) -> tuple[bool, bool]:
    """Return whether the first row and column are names, that is, contain no numbers.

    One mistyped number among others does not make a header: that cell is refused.
    """
    # A corner with text decides nothing; an empty corner is no probability, so both are names.
    corner = table[0][0].strip()
    header = not corner or all(_number(cell) is None for cell in table[0][1:])
    names = not corner or all(_number(row[0]) is None for row in table[1:])
    if len(table[0]) == 1:
        header = _number(corner) is None
    return header, names


def _probability(name: str, cell: str) -> Fraction:
    number = _number(cell)
    if number is None:
        excerpt = cell.strip()[:40]
        raise InvalidMatrixFile(f"row {name!r}: {excerpt!r} is not a decimal, fraction or integer")
    if number < 0:
        raise InvalidMatrixFile(f"row {name!r} has a negative entry")
    return number


def _matrix(rows: Mapping[str, Sequence[Fraction]]) -> tuple["SolutionMatrix", bool]:
    """Return the matrix of some rows, and whether rows were scaled."""
    from deniable.audit.solution_matrix import InvalidMatrix, SolutionMatrix, largest_remainder

    if all(entry.denominator == 1 for row in rows.values() for entry in row):
        total = sum(next(iter(rows.values()))) or 1
        rows = {name: [weight / total for weight in row] for name, row in rows.items()}
    errors = {name: sum(row, Fraction(-1)) for name, row in rows.items()}
    for name, error in errors.items():
        if abs(error) > _NEAR:
            first = name == next(iter(rows))
            hint = "; if the first row contains names, begin it with a comma" * first
            about = f"1 {'+' if error > 0 else '-'} {float(abs(error)):.3g}"
            raise InvalidMatrixFile(f"row {name!r} does not sum to 1, but to {about}{hint}")
    if not any(errors.values()):
        try:
            return SolutionMatrix.exact(rows.values()), False
        except InvalidMatrix as error:
            raise InvalidMatrixFile(str(error)) from error
    # Fine enough that every entry keeps 64 bits: a coarser grid could round away a small entry, and
    # perhaps the worst response.
    least = min(entry for row in rows.values() for entry in row if entry)
    fine = 1 << (_KEPT_BITS + int(1 / least).bit_length())
    scales = (lcm(*(entry.denominator for entry in row)) for row in rows.values())
    weights = (
        [int(entry * scale) for entry in row]
        for row, scale in zip(rows.values(), scales, strict=True)
    )
    return SolutionMatrix((largest_remainder(row, fine) for row in weights), fine), True


def _number(cell: str) -> Fraction | None:
    """Return a cell's number exactly, or None for anything else."""
    text = cell.strip()
    if len(text) > _MOST_DIGITS or (match := _RATIO.fullmatch(text)) is None:
        return read_number(text)
    return Fraction(int(match[1]), int(match[2])) if int(match[2]) else None


def _check_names(what: str, names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InvalidMatrixFile(f"has two {what} called {twice[:_MOST_NAME]!r}")
    for name in names:
        if not name or len(name) > _MOST_NAME or not name.isprintable():
            raise InvalidMatrixFile(
                f"the names of its {what} must be printable text of 1 to {_MOST_NAME} characters"
            )


def read_dimensions(value: object) -> Dimensions:
    """Return the questions in a table of lists, with their answers."""
    if not isinstance(value, dict) or not all(isinstance(row, list) for row in value.values()):
        raise InvalidManifest(
            "dimensions",
            'must be a table such as { plan = ["free", "paid"], theme = ["light", "dark"] }',
        )
    dimensions: Dimensions = tuple((name, *answers) for name, answers in value.items())
    check_dimensions(dimensions)
    return dimensions


def read_survey_matrix(
    settings: Mapping[str, object],
    categories: tuple[str, ...],
    epsilon: str,
    delta: str,
    folder: Path,
) -> dict[str, Any]:
    """Return certified integers in the categories' order, and the names of the responses."""
    given, labels = settings["matrix"], settings.get("responses", ())
    if not isinstance(labels, tuple) or not all(isinstance(label, str) for label in labels):
        raise InvalidManifest("responses", "must be a list of strings")
    with at_fault("matrix", InvalidMatrixFile):
        # Floats are rounded here, and certified afterwards.
        if isinstance(given, str):
            named = read_matrix((folder / given).read_bytes())
        elif isinstance(given, tuple) and all(isinstance(row, tuple) for row in given):
            named = _named_matrix([[*map(str, row)] for row in given], (), ())
        else:
            raise InvalidManifest("matrix", "must be the name of a CSV file, or a list of rows")
    rows = [
        [Fraction(weight, named.matrix.grid) for weight in named.matrix.row(x)]
        for x in range(named.matrix.categories)
    ]
    if named.categories:
        if sorted(named.categories) != sorted(categories):
            raise InvalidManifest("matrix", "must use the survey's categories as row names")
        rows = [rows[named.categories.index(category)] for category in categories]
    if named.responses and labels not in ((), named.responses):
        raise InvalidManifest("responses", "have different names in the CSV file; omit them")
    responses = labels or named.responses
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
    """Return probabilities as integers over 2^64, certified to be as private as stated.

    They are settings of the kind ``matrix``. The least noise needed for rounding is mixed in.

    Raises:
        InvalidManifest: if the matrix is less private, or has a probability of 0 or 1.
    """
    from deniable.audit.solution_matrix import SolutionMatrix
    from deniable.audit.tight import tight_epsilon

    if len(rows) != categories:
        raise InvalidManifest("matrix", "must have one row per category, in the same order")
    with at_fault("matrix", (ValueError, TypeError)):
        exact = SolutionMatrix.exact(rows)
    _check_no_certainty(exact)
    try:
        matrix = exact.certified(epsilon, delta)
    except ValueError as error:
        own = tight_epsilon(exact, delta).epsilon
        raise InvalidManifest(
            "epsilon", f"{error}; the matrix has epsilon {own} at delta {delta}"
        ) from error
    _check_no_certainty(matrix)
    weights = tuple(tuple(matrix.row(x)) for x in range(categories))
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
            "has a probability of 0 or 1 (rounded to 64 bits), so a response rules out an answer, "
            "which no device's budget allows",
        )
