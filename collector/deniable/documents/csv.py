"""Tables as CSV, by the keys of their columns."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from deniable.documents.document import Table

_FORMULA_SIGNS: Final = tuple("=+-@\t\r")


def table_csv(table: Table, shared: Mapping[str, Any]) -> str:
    """Return a table as CSV; see :func:`rows_csv`."""
    keys = dict.fromkeys(column.key for column in table.columns if column.key)  # each once
    return rows_csv([*keys], table.rows, shared)


def rows_csv(
    keys: Sequence[str], rows: Iterable[Mapping[str, Any]], shared: Mapping[str, Any]
) -> str:
    """Return a line of keys and one for each row, quoted as RFC 4180 has it, in lines of Unix.

    What a row does not have is ``shared`` by all rows; what is infinite or None is empty. A truth
    value is 1 or 0.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(keys)
    for row in rows:
        writer.writerow(_cell(row.get(key, shared.get(key))) for key in keys)
    return stream.getvalue()


def _cell(value: object) -> object:
    # A spreadsheet would run a text that looks like a formula.
    if isinstance(value, str) and value.startswith(_FORMULA_SIGNS):
        return f"'{value}"
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return int(value) if isinstance(value, bool) else value
