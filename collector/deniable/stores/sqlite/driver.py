"""SQLite's answers to a rule's statements (:mod:`deniable.stores.statements`)."""

import re
import sqlite3
from collections import Counter
from functools import cache
from typing import Final

from deniable.stores.rules import copying, life, operating, published_counts
from deniable.stores.statements import (
    LOCK,
    Insertion,
    ManyTimes,
    Request,
    Result,
    Rows,
    Rule,
    Statement,
)

_NOTHING: Final = {LOCK, published_counts.FOLD, operating.TOUCH}
"""One writes at a time, adds to the counts themselves, and touches the state in any case."""
_FORMS: Final = {
    operating.MARK_MOVED: "UPDATE state SET moved_to = coalesce(moved_to, $1) RETURNING moved_to",
    operating.LIFT_MARK: "UPDATE state SET moved_to = NULL",
    operating.MOVED_TO: "SELECT moved_to FROM state",
    # Counted here: SQLite would sort all receipts to group them.
    life.KEPT: "SELECT issuer, response FROM receipts WHERE survey = $1 AND epoch = $2",
    # In the order of the receipts, whatever the planner thinks of their number.
    copying.READ[copying.ReceiptRow]: copying.READ[copying.ReceiptRow].replace(
        "JOIN", "CROSS JOIN"
    ),
}


def follow(connection: sqlite3.Connection, rule: Rule[Result]) -> Result:
    """Follow a rule; return its result."""
    try:
        request = next(rule)
        while True:
            request = rule.send(_answer(connection, request))
    except StopIteration as done:
        result: Result = done.value
        return result


def _answer(connection: sqlite3.Connection, request: Request) -> Rows:
    match request:
        case Statement(sql, values):
            if sql in _NOTHING:
                return ()
            text, order = in_sqlite(sql)
            cursor = connection.execute(text, [values[place] for place in order])
            if sql == life.KEPT:
                return [(*cell, receipts) for cell, receipts in Counter(cursor).items()]
            return cursor.fetchall()
        case ManyTimes(sql, rows):
            text, order = in_sqlite(sql)
            connection.executemany(text, ([row[place] for place in order] for row in rows))
        case Insertion(table, columns, records):
            places = ", ".join("?" * len(columns))
            connection.executemany(
                f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})",  # noqa: S608
                records,
            )
    return ()


@cache
def in_sqlite(sql: str) -> tuple[str, tuple[int, ...]]:
    """Return a rule's statement as SQLite takes it, and which value each of its places gets."""
    text = _FORMS.get(sql, sql)
    for theirs, ours in (
        ("deniable.counted", "counts"),
        ("deniable.", ""),
        (" FOR NO KEY UPDATE", ""),
        (" FOR UPDATE", ""),
    ):
        text = text.replace(theirs, ours)
    order = tuple(int(number) - 1 for number in re.findall(r"\$(\d)", text))
    return re.sub(r"\$\d", "?", text), order
