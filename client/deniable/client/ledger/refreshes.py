"""When the collector may be asked for a name's manifests: rule D10, as the state holds it.

1. A request is counted before it leaves the device. One that could not leave is taken back: no
   collector saw it.
2. After an answer of use a name is asked for again in a day, after any other in a minute at first
   and in a day at last. A restart forgets none of it.
3. At most eight requests a name leave the device in a day of its clock, whatever was answered.
4. An app that declares a survey otherwise than before asks anew: that no collector can bring about.
"""

import sqlite3
from collections.abc import Callable, Mapping
from enum import Enum, auto
from math import inf
from typing import Final

from deniable.client.state.state import State
from deniable.client.survey import DAY

MOST_REQUESTS_A_DAY: Final = 8
_FIRST_WITHIN: Final = 30.0
"""Seconds: a device that was just set up must not call at the very instant of its first report."""
_FIRST_FAILURE: Final = 60
_MOST_JITTER: Final = 1 / 4
_NOT_ASKED: Final = -1
"""In place of failures in a row: nobody has asked since the app declared the survey so."""
_LONGEST: Final = DAY * (1 + _MOST_JITTER)

_Row = tuple[str, int, float, int]
"""A digest of what was declared, failures in a row, when it is due, and requests today."""


class Fetched(Enum):
    """What became of a request."""

    OF_USE = auto()
    OF_NO_USE = auto()
    NEVER_LEFT = auto()


class Refreshes:
    """The requests for manifests of one collector; every method raises ``StateUnavailable``.

    Reports are sent at a random time within ``spread`` seconds; ``jitter`` is uniform in [0, 1).
    """

    def __init__(
        self, state: State, collector: str, jitter: Callable[[], float], spread: float
    ) -> None:
        self._state = state
        self._collector = collector
        self._jitter = jitter
        self._first_within = min(spread, _FIRST_WITHIN)

    def begin(
        self,
        declared: Mapping[str, str],
        now: float,
        *,
        force: bool,
        in_background: bool,
        only_looks: bool = False,
    ) -> dict[str, float]:
        """Count requests that are about to leave; return when each name may be asked for.

        That is now, and then it is counted unless the caller only looks, or later. By force it is
        asked although it is not time yet; rule 3 holds all the same. In the background, the very
        first one waits at random.
        """
        with self._state.transaction(now) as connection:
            return {
                name: self._begin(connection, name, digest, now, force, in_background, only_looks)
                for name, digest in declared.items()
            }

    def count_another(self, name: str, now: float) -> bool:
        """Count one more request for a name; tell whether it may leave."""
        with self._state.transaction(now) as connection:
            digest, failures, due, requests = self._row(connection, name, now)
            if requests >= MOST_REQUESTS_A_DAY:
                return False
            self._write(connection, name, now, (digest, failures, due, requests + 1))
            return True

    def settle(self, fetched: Mapping[str, Fetched], now: float) -> None:
        """Record what became of requests, by name."""
        if not fetched:
            return
        with self._state.transaction(now) as connection:
            for name, what in fetched.items():
                digest, failures, due, requests = self._row(connection, name, now)
                if what is Fetched.OF_USE:
                    due = now + DAY * (1 + self._jitter() * _MOST_JITTER)
                    self._write(connection, name, now, (digest, 0, due, requests))
                elif what is Fetched.NEVER_LEFT:
                    before = digest, max(0, failures - 1), 0.0, max(0, requests - 1)
                    self._write(connection, name, now, before)

    def _begin(
        self,
        connection: sqlite3.Connection,
        name: str,
        digest: str,
        now: float,
        force: bool,
        in_background: bool,
        only_looks: bool,
    ) -> float:
        known, failures, due, requests = self._row(connection, name, now)
        if known != digest:
            failures, due = _NOT_ASKED, now + self._jitter() * self._first_within
            self._write(connection, name, now, (digest, failures, due, requests))
        if requests >= MOST_REQUESTS_A_DAY:
            return (now // DAY + 1) * DAY + self._jitter() * DAY * _MOST_JITTER
        wanted = force or (failures == _NOT_ASKED and not in_background)
        if not wanted and now < due <= now + _LONGEST:  # or the clock was put back since
            return due
        if only_looks:
            return now
        failures = max(0, failures)
        wait = min(DAY, _FIRST_FAILURE * 2.0 ** min(failures, 30))
        due = now + wait * (1 + self._jitter() * _MOST_JITTER)
        self._write(connection, name, now, (digest, failures + 1, due, requests + 1))
        return now

    def _row(self, connection: sqlite3.Connection, name: str, now: float) -> _Row:
        row = connection.execute(
            "SELECT declared, failures, due, day, requests FROM refreshes"
            " WHERE origin = ? AND name = ?",
            (self._collector, name),
        ).fetchone()
        if row is None:
            return "", 0, -inf, 0
        digest, failures, due, day, requests = row
        today = int(requests) if day == now // DAY else 0
        return str(digest), int(failures), float(due), today

    def _write(self, connection: sqlite3.Connection, name: str, now: float, row: _Row) -> None:
        connection.execute(
            "INSERT OR REPLACE INTO refreshes"
            " (origin, name, day, declared, failures, due, requests) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (self._collector, name, int(now // DAY), *row),
        )
