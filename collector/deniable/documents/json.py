"""Documents as JSON: the values of facts and the rows of tables, by their keys."""

import json
import math
from collections.abc import Mapping
from typing import Any

from deniable.documents.document import Document


def document_json(document: Document) -> str:
    """Return an object with all that has a key; what is infinite is null."""
    values = {fact.key: fact.value for fact in document.facts}
    values |= {table.key: table.rows for table in document.tables}
    values.pop(None, None)
    return json.dumps(_finite(values), indent=2, ensure_ascii=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and math.isinf(value) else value
