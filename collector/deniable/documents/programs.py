"""Documents for programs: JSON, and tables as CSV."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

from deniable.documents.document import Document, Table, caution_maps

Json = dict[str, Any]


class Field(NamedTuple):
    """A member of an object, or a column of a table; an optional one is omitted if null.

    The value is the attribute of that name, the attribute at a dotted path, or the source's result.
    """

    name: str
    source: str | Callable[[Any], object] = ""
    optional: bool = False

    def of(self, result: Any) -> Any:
        """Return the plain value, for JSON."""
        if callable(self.source):
            return plain_value(self.source(result))
        for name in (self.source or self.name).split("."):
            result = None if result is None else getattr(result, name)
        return plain_value(result)


Fields = tuple[Field, ...]


def plain_value(value: Any) -> Any:
    """Return a value in JSON's form: arrays as lists, infinite numbers as None."""
    if hasattr(value, "tolist"):
        return [plain_value(entry) for entry in value.tolist()]
    if isinstance(value, tuple):
        return [plain_value(entry) for entry in value]
    if isinstance(value, Enum):
        return value.value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plain(result: object, fields: Fields) -> Json:
    """Return plain values for JSON."""
    values = ((field, field.of(result)) for field in fields)
    return {field.name: value for field, value in values if value is not None or not field.optional}


def document_json(document: Document) -> str:
    """Return an object of all parts with a key, and the cautions; infinite numbers are null."""
    keyed: dict[Any, Any] = {fact.key: fact.value for fact in document.facts}
    keyed.update(document.values)
    keyed.update((table.key, table.records()) for table in document.tables)
    keyed.pop(None, None)
    return _finite(keyed | {"cautions": caution_maps(document.cautions)})


def table_json(table: Table) -> str:
    """Return an array of a table's rows; infinite numbers are null."""
    return _finite(table.records())


def _finite(value: object) -> str:
    finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
    return json.dumps(finite, indent=2, ensure_ascii=False)


_FORMULA_SIGNS: Final = tuple("=+-@\t\r")


def table_csv(table: Table, shared: Mapping[str, Any]) -> str:
    """Return a table as CSV; see :func:`rows_csv`."""
    keys = dict.fromkeys(column.key for column in table.columns if column.key)  # each key once
    return rows_csv([*keys], table.rows, shared)


def rows_csv(
    keys: Sequence[str], rows: Iterable[Mapping[str, Any]], shared: Mapping[str, Any]
) -> str:
    """Return a line of keys and one for each row, quoted as in RFC 4180, with Unix line ends.

    Values missing from rows are in ``shared``, for all rows. Infinite numbers and None are empty; a
    truth value is 1 or 0, and a number that is not whole has six digits or more.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(keys)
    for row in rows:
        writer.writerow(_cell(row.get(key, shared.get(key))) for key in keys)
    return stream.getvalue()


def _cell(value: object) -> object:
    # A spreadsheet would execute a text that looks like a formula.
    if isinstance(value, str) and value.startswith(_FORMULA_SIGNS):
        return f"'{value}"
    if isinstance(value, float):
        digits = float(f"{value:.6g}") if abs(value) < 1 else round(value, 5)
        return digits if math.isfinite(value) else None
    return int(value) if isinstance(value, bool) else value
