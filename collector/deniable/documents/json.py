"""Documents as JSON: the values of facts and the rows of tables, by their keys."""

import json
from typing import Any

from deniable.documents.document import Document


def document_json(document: Document) -> str:
    """Return an object with all that has a key; what is infinite is null."""
    keyed: dict[Any, Any] = {fact.key: fact.value for fact in document.facts}
    keyed.update(document.values)
    keyed.update((table.key, table.rows) for table in document.tables)
    keyed.pop(None, None)
    finite = json.loads(json.dumps(keyed), parse_constant=lambda _: None)
    return json.dumps(finite, indent=2, ensure_ascii=False)
