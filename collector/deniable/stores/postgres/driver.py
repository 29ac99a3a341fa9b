"""The PostgreSQL statements for the rules (:mod:`deniable.stores.rules`), and its schema."""

import asyncio
from collections import defaultdict
from typing import Any, Final, cast

from deniable.sqlite_files import migration_script
from deniable.stores.postgres.pool import Connection
from deniable.stores.rules import (
    LOCK,
    MIGRATION,
    WRITING,
    Insertion,
    ManyTimes,
    Request,
    Result,
    Row,
    Rows,
    Rule,
    Statement,
    counting,
)
from deniable.stores.values import UnknownSchema

LONG_SECONDS: Final = 3_600  # for statements that read all receipts of an epoch or more
_MANY: Final = 1_000
"""The number of rows from which a thread does the work, so that the event loop is not blocked."""
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
    counting.COUNTED: _CELLS.format("counted"),
    counting.SHOWN: _CELLS.format("published_counts"),
}
"""There may be 2^20 responses for every issuer: they are sent as arrays, unpacked in a thread."""
_FORMS: Final = _CELLS_BY_ISSUER | {
    # In key order; querying the view would read all counted rows.
    counting.NEWEST_COUNTED: """
        SELECT greatest((SELECT max(epoch) FROM deniable.counts WHERE survey = $1),
                        (SELECT max(epoch) FROM deniable.deltas WHERE survey = $1))
    """
}


async def follow(
    connection: Connection, rule: Rule[Result], seconds: float | None = None
) -> Result:
    """Follow a rule, waiting up to this many seconds for a statement's rows; return its result."""
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


_MIGRATIONS: Final = (migration_script("deniable.stores.postgres", "0001_initial.sql"),)
VERSION: Final = len(_MIGRATIONS)
"""The version of the schema that this version of deniable reads and writes."""
_MARK: Final = "A store of deniable 0.1.0 or newer"
"""The comment on the schema; schemas from before 0.1.0 have none."""


async def version(connection: Connection) -> int:
    """Return the schema's version, 0 if there is none; UnknownSchema for a foreign schema."""
    # Read from the tables: to_regnamespace would not see changes by another process while this one
    # waited for the lock.
    schema = await connection.fetchrow(
        "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'deniable'"
    )
    if schema is None:
        return 0
    if schema[0] != _MARK:
        raise UnknownSchema(
            "the database's schema `deniable` belongs to another program, or to a version before "
            "deniable 0.1.0, which cannot be migrated; use another database"
        )
    stored_version = int(
        await connection.fetchval("SELECT max(version) FROM deniable.schema_version") or 0
    )
    if stored_version > VERSION:
        raise UnknownSchema("the store was written by a newer version of deniable; upgrade")
    return stored_version


async def migrate(connection: Connection) -> int:
    """Migrate the schema to VERSION, within a transaction; return its version before.

    Any number of processes may do so at once.
    """
    await connection.execute(LOCK, *MIGRATION)
    stored_version = await version(connection)
    if stored_version < VERSION:
        # After all current writes are committed; later ones read the new version.
        await connection.execute(LOCK, *WRITING)
    await connection.execute(f"SET LOCAL statement_timeout = '{LONG_SECONDS}s'")
    for number, script in enumerate(_MIGRATIONS[stored_version:], start=stored_version + 1):
        await connection.execute(script, timeout=LONG_SECONDS)
        await connection.execute("INSERT INTO deniable.schema_version VALUES ($1)", number)
    return stored_version
