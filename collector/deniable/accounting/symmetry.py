"""Symmetry: rows of a matrix that are alike need not all be compared."""

from deniable.mechanisms import Rows


class _FirstTwo:
    categories = 2

    def __init__(self, matrix: Rows) -> None:
        self.responses, self.grid, self.row = matrix.responses, matrix.grid, matrix.row


def is_symmetric(matrix: Rows) -> bool:
    """Return whether a mechanism says of itself that any two categories are alike."""
    return bool(getattr(matrix, "symmetric", False))


def telling_rows(matrix: Rows) -> Rows:
    """Return the matrix by its first rows, as many as every pair of rows has its like among."""
    return _FirstTwo(matrix) if is_symmetric(matrix) else matrix
