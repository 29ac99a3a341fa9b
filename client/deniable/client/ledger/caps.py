"""Caps of the outbox: how much may wait. What exceeds them is dropped, the oldest first.

A drop removes bytes and undoes no decision (D4). Which reports go depends on no response, let alone
an answer: or those that came through would be a biased sample.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from deniable.client.errors import warn
from deniable.client.survey import DAY

_BLOCK: Final = 64
"""Reports are weighed in blocks, since a response above 127 takes a byte more than others."""


@dataclass(frozen=True, slots=True)
class OutboxCaps:
    """The most that may wait to be sent, for all collectors of a state together.

    The bytes are of envelopes, each rounded up to 64. The days are of use: as long as the device
    was off for more than a week, or its clock jumped, a week counts.
    """

    reports: int = 1000
    bytes: int = 1 << 20
    days: int = 180

    def __post_init__(self) -> None:
        if self.reports < 1 or self.bytes < 1024 or self.days < 1:
            raise ValueError("an outbox holds at least one report of 1024 bytes for one day")


def drop_over_caps(connection: sqlite3.Connection, caps: OutboxCaps, lived: int, now: float) -> int:
    """Drop the reports over the caps; return how many: if any, the caller erases the remains."""
    rows = connection.execute(
        "SELECT name, epoch, (length(envelope) + :block - 1) / :block * :block, lived"
        " FROM decisions"
        " WHERE status = 'pending' AND typeof(envelope) = 'blob' AND typeof(lived) = 'integer'"
        " ORDER BY lived DESC, decided DESC, name DESC, epoch DESC",
        {"block": _BLOCK},
    ).fetchall()
    over = list(_over(rows, caps, lived - caps.days * DAY))
    connection.executemany(
        "UPDATE decisions SET status = 'dropped', verdict = ?, settled = ?, envelope = NULL"
        " WHERE name = ? AND epoch = ?",
        [(verdict, int(now), name, epoch) for verdict, name, epoch in over],
    )
    for verdict, count in sorted(Counter(verdict for verdict, _, _ in over).items()):
        warn("the oldest reports were dropped: %d by %s", count, verdict)
    return len(over)


def _over(
    newest_first: list[tuple[str, int, int, int]], caps: OutboxCaps, oldest_allowed: int
) -> Iterator[tuple[str, str, int]]:
    size = 0
    for index, (name, epoch, weight, lived) in enumerate(newest_first):
        size += weight
        if lived < oldest_allowed:
            yield "cap-age", name, epoch
        elif index >= caps.reports:
            yield "cap-number", name, epoch
        elif size > caps.bytes:
            yield "cap-bytes", name, epoch
