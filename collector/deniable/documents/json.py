"""Documents as JSON: the values of facts and the rows of tables, by their keys."""

import json
from typing import Any

from deniable.documents.caution import caution_maps
from deniable.documents.document import Document, Table


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
