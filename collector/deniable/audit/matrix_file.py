"""A solution matrix as people write it: CSV, with or without names, read exactly.

A row for each category, a column for each response. A cell is a decimal, a fraction such as 1/3,
or, if the whole file is integers, a weight; then every row must have the same sum. Nothing is
rounded unless that is asked for.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from deniable.audit.solution_matrix import SolutionMatrix, common_denominator, largest_remainder
from deniable.documents import read_number
from deniable.mechanisms import MAX_DENSE

MAX_FILE_BYTES: Final = 1 << 26
"""64 MiB: a thousand categories in full precision take a third of it."""

_MOST_DIGITS: Final = 400
_MOST_NAME: Final = 256
_MOST_BITS: Final = 1 << 13
_RATIO: Final = re.compile(r"([+-]?[0-9]+) ?/ ?([0-9]+)", re.ASCII)
_KEPT_BITS: Final = 64
_NEAR: Final = Fraction(1, 10**9)


class InvalidMatrixFile(ValueError):
    """A file that holds no solution matrix; the message names the row and says what to do."""


@dataclass(frozen=True, slots=True)
class NamedMatrix:
    """A solution matrix with what its rows and columns are called; numbers from 1 if nothing is.

    It is ``rounded`` if rows did not sum to 1 and were scaled and rounded until they did.
    """

    matrix: SolutionMatrix
    categories: tuple[str, ...]
    responses: tuple[str, ...]
    rounded: bool = False
    names_rows: bool = field(default=False, compare=False)  # whether the categories' names are its
    names_columns: bool = field(default=False, compare=False)  # the same of the responses


def read_matrix(data: bytes, *, rounding: bool = False) -> NamedMatrix:
    """Read a matrix from the bytes of a CSV file.

    A first row without a number behind its first cell names the responses, such a first column
    the categories; both, and the first cell is nobody's. If the two have the same names in another
    order, the columns are put into that of the rows.

    With ``rounding`` rows that sum to 1 within 1e-9 are scaled to sum to 1 exactly, on a grid that
    leaves each entry 64 bits. Others are refused even so, by an InvalidMatrixFile.
    """
    table = _table(data)
    header, names = _named(table)
    responses = [cell.strip() for cell in table.pop(0)[names:]] if header else []
    categories = [row.pop(0).strip() for row in table] if names else []
    return _named_matrix(table, categories, responses, rounding)


def read_rows(rows: Iterable[Iterable[str]], *, rounding: bool = False) -> NamedMatrix:
    """Read a matrix from the cells of its rows, none of which is a name."""
    return _named_matrix([list(row) for row in rows], [], [], rounding)


def _named_matrix(
    table: Sequence[Sequence[str]],
    categories: Sequence[str],
    responses: Sequence[str],
    rounding: bool,
) -> NamedMatrix:
    if len(table) < 2:
        raise InvalidMatrixFile("has fewer than two categories, so there is nothing to compare")
    if not table[0]:
        raise InvalidMatrixFile("has no probabilities")
    named = bool(categories), bool(responses)
    categories = categories or _numbered(len(table))
    responses = responses or _numbered(len(table[0]))
    for what, given in (("categories", categories), ("responses", responses)):
        _check_names(what, given)
    rows = _exact_rows(table, categories, len(responses))
    if sorted(categories) == sorted(responses):
        order = [responses.index(name) for name in categories]
        rows, responses = [[row[y] for y in order] for row in rows], categories
    matrix, rounded = _matrix(rows, categories, rounding)
    return NamedMatrix(matrix, tuple(categories), tuple(responses), rounded, *named)


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
        raise InvalidMatrixFile(f"is no CSV: {error}") from error
    if not table:
        raise InvalidMatrixFile("is empty")
    return table


def _named(table: Sequence[Sequence[str]]) -> tuple[bool, bool]:
    """Tell whether the first row and the first column hold names: if nothing in them is a number.

    One mistyped number among others makes no header: it is refused as the cell that it is.
    """
    # The corner tells nothing if it is text; if it is empty, it is no probability, so both do.
    corner = table[0][0].strip()
    header = not corner or all(_number(cell) is None for cell in table[0][1:])
    names = not corner or all(_number(row[0]) is None for row in table[1:])
    if len(table[0]) == 1:
        header = _number(corner) is None
    return header, names


def _exact_rows(
    table: Sequence[Sequence[str]], categories: Sequence[str], width: int
) -> list[list[Fraction]]:
    rows = []
    for name, row in zip(categories, table, strict=True):
        if len(row) != width:
            raise InvalidMatrixFile(f"row {name!r} has {len(row)} entries, not {width}")
        rows.append([_probability(name, cell) for cell in row])
    return rows


def _probability(name: str, cell: str) -> Fraction:
    number = _number(cell)
    if number is None:
        excerpt = cell.strip()[:40]
        raise InvalidMatrixFile(f"row {name!r}: {excerpt!r} is no decimal, fraction or integer")
    if number < 0:
        raise InvalidMatrixFile(f"row {name!r} has a negative entry")
    return number


def _matrix(
    rows: Sequence[Sequence[Fraction]], categories: Sequence[str], rounding: bool
) -> tuple[SolutionMatrix, bool]:
    grid = common_denominator((n.denominator for row in rows for n in row), _MOST_BITS)
    if grid is None:
        raise InvalidMatrixFile("its entries have no common denominator of reasonable size")
    weights = [[n.numerator * (grid // n.denominator) for n in row] for row in rows]
    sums = [sum(row) for row in weights]
    if grid == 1 and sums[0] > 1:
        for name, total in zip(categories, sums, strict=True):
            if total != sums[0]:
                raise InvalidMatrixFile(
                    f"row {name!r} sums to {total}, the first to {sums[0]}: integer weights need "
                    "the same sum in every row"
                )
        return SolutionMatrix(weights, sums[0]), False
    for name, total in zip(categories, sums, strict=True):
        error = Fraction(total, grid) - 1
        if error and not (rounding and abs(error) <= _NEAR):
            hint = "; give --round to put it onto a grid" if abs(error) <= _NEAR else ""
            if not hint and name == categories[0]:
                hint = "; if names stand in the first row, begin it with a comma"
            about = f"1 {'+' if error > 0 else '-'} {float(abs(error)):.3g}"
            raise InvalidMatrixFile(f"row {name!r} does not sum to 1 exactly, but to {about}{hint}")
    if all(total == grid for total in sums):
        return SolutionMatrix(weights, grid), False
    # So fine that every entry keeps 64 bits: on a coarser grid a small one would be rounded away,
    # and with it perhaps the worst response.
    least = min(weight for row in weights for weight in row if weight)
    fine = 1 << (_KEPT_BITS + (max(sums) // least).bit_length())
    return SolutionMatrix((largest_remainder(row, fine) for row in weights), fine), True


def _number(cell: str) -> Fraction | None:
    """Return a cell's number exactly, or None for anything else."""
    text = cell.strip()
    if len(text) > _MOST_DIGITS or (match := _RATIO.fullmatch(text)) is None:
        return read_number(text)
    return Fraction(int(match[1]), int(match[2])) if int(match[2]) else None


def _numbered(count: int) -> list[str]:
    return [str(number) for number in range(1, count + 1)]


def _check_names(what: str, names: Sequence[str]) -> None:
    if len(names) > MAX_DENSE:
        raise InvalidMatrixFile(f"exceeds {MAX_DENSE:,} {what}")
    if len(set(names)) != len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InvalidMatrixFile(f"has two {what} called {twice[:_MOST_NAME]!r}")
    for name in names:
        if not name or len(name) > _MOST_NAME or not name.isprintable():
            raise InvalidMatrixFile(
                f"the names of its {what} must be printable text of 1 to {_MOST_NAME} characters"
            )
