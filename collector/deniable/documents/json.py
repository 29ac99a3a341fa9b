"""Documents as JSON, and the JSON Schemas of their parts."""

import json
import math
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, NamedTuple

from deniable.documents.document import Document, Table, caution_maps

Json = dict[str, Any]

TEXT: Final[Json] = {"type": "string"}
COUNT: Final[Json] = {"type": "integer", "minimum": 0}
NUMBER: Final[Json] = {"type": "number"}
BOOLEAN: Final[Json] = {"type": "boolean"}
ID: Final[Json] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
DECIMAL: Final[Json] = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}


class Field(NamedTuple):
    """One member of an object, or one column of a table; optional if left out where it is null.

    It shows the attribute of its name, or another, by its dotted path, or what the source makes.
    """

    name: str
    schema: Json
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
    """Return a value as JSON has it: arrays as lists, what is infinite as None."""
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


def object_of(*fields: Field) -> Json:
    """Return the schema of an object with these fields, and no others."""
    return {
        "type": "object",
        "properties": {field.name: field.schema for field in fields},
        "required": [field.name for field in fields if not field.optional],
        "additionalProperties": False,
    }


def array_of(items: Json, **more: object) -> Json:
    """Return the schema of a list."""
    return {"type": "array", "items": items, **more}


def or_null(schema: Json, **more: object) -> Json:
    """Return the schema of what may be null."""
    return {"anyOf": [schema, {"type": "null"}], **more}


def one_of(*texts: str) -> Json:
    """Return the schema of one of these texts."""
    return {"type": "string", "enum": [*map(str, texts)]}


def document_json(document: Document) -> str:
    """Return an object with all that has a key, and the cautions; what is infinite is null."""
    keyed: dict[Any, Any] = {fact.key: fact.value for fact in document.facts}
    keyed.update(document.values)
    keyed.update((table.key, table.records()) for table in document.tables)
    keyed.pop(None, None)
    return _finite(keyed | {"cautions": caution_maps(document.cautions)})


def table_json(table: Table) -> str:
    """Return an array of a table's rows; what is infinite is null."""
    return _finite(table.records())


def _finite(value: object) -> str:
    finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
    return json.dumps(finite, indent=2, ensure_ascii=False)
