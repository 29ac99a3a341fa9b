"""What happened to the device besides its reports, kept for the user to see."""

import sqlite3
from typing import Final

__all__ = ["record_event"]

_MOST_EVENTS: Final = 300


def record_event(connection: sqlite3.Connection, at: float, kind: str, detail: str) -> None:
    """Note something, inside a transaction; of several hundred notes the oldest go."""
    connection.execute(
        "INSERT INTO events (at, kind, detail) VALUES (?, ?, ?)", (int(at), kind, detail)
    )
    connection.execute(
        "DELETE FROM events WHERE number <= (SELECT max(number) FROM events) - ?", (_MOST_EVENTS,)
    )
