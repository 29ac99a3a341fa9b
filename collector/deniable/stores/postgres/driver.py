"""PostgreSQL's answers to a rule's statements (:mod:`deniable.stores.statements`)."""

import asyncio
from collections import defaultdict
from typing import Any, Final, cast

from deniable.stores.postgres.connections import Connection
from deniable.stores.rules import published_counts
from deniable.stores.statements import (
    Insertion,
    ManyTimes,
    Request,
    Result,
    Row,
    Rows,
    Rule,
    Statement,
)

LONG_SECONDS: Final = 3_600  # for what goes through all receipts of an epoch or more
_MANY: Final = 1_000
"""Rows that are worked on in a thread, so that the event loop does not stand still."""
_CELLS: Final = """
    SELECT public_key, array_agg(response), array_agg(reports)
      FROM (
        SELECT issuer, response, sum(reports)::bigint AS reports FROM deniable.{}
         WHERE survey = $1 AND epoch = $2 GROUP BY issuer, response
      ) cells
      JOIN deniable.issuers USING (issuer)
     GROUP BY public_key
"""
_CELLS_BY_ISSUER: Final = {
    published_counts.COUNTED: _CELLS.format("counted"),
    published_counts.SHOWN: _CELLS.format("published_counts"),
}
"""There may be 2^20 responses of every issuer: in arrays, taken apart in a thread."""
_FORMS: Final = _CELLS_BY_ISSUER | {
    # By the keys' order, where asking the view would read all that was counted.
    published_counts.NEWEST_COUNTED: """
        SELECT greatest((SELECT max(epoch) FROM deniable.counts WHERE survey = $1),
                        (SELECT max(epoch) FROM deniable.deltas WHERE survey = $1))
    """
}


async def follow(
    connection: Connection, rule: Rule[Result], seconds: float | None = None
) -> Result:
    """Follow a rule, waiting so long for each statement's rows; return its result."""
    request, result = _step(rule, None)
    while request is not None:
        rows = await _answer(connection, request, seconds)
        if len(rows) > _MANY:
            request, result = await asyncio.to_thread(_step, rule, rows)
        else:
            request, result = _step(rule, rows)
    return cast("Result", result)


def _step(rule: Rule[Any], rows: Rows | None) -> tuple[Request | None, Any]:
    try:
        return (next(rule) if rows is None else rule.send(rows)), None
    except StopIteration as done:
        return None, done.value


async def _answer(connection: Connection, request: Request, seconds: float | None) -> Rows:
    match request:
        case Statement(sql, values, own):
            limit = seconds if own is None else own
            rows = cast(
                "Rows", await connection.fetch(_FORMS.get(sql, sql), *values, timeout=limit)
            )
            return await asyncio.to_thread(_cells, rows) if sql in _CELLS_BY_ISSUER else rows
        case ManyTimes(sql, rows):
            await connection.executemany(sql, rows)
        case Insertion(table, columns, records):
            tables: dict[str, list[Row]] = defaultdict(list)
            if table == "receipts":  # each survey and epoch has a table of its own
                for record in records:
                    tables[f"receipts_{record[0]}_{record[1]}"].append(record)
            else:
                tables[table].extend(records)
            for to, part in tables.items():
                if table == "receipts":
                    await connection.execute("SELECT deniable.make_receipts($1, $2)", *part[0][:2])
                await connection.copy_records_to_table(
                    to, schema_name="deniable", columns=columns, records=part, timeout=LONG_SECONDS
                )
    return ()


def _cells(rows: Rows) -> Rows:
    return [
        (public_key, response, reports)
        for public_key, responses, counts in rows
        for response, reports in zip(responses, counts, strict=True)
    ]
