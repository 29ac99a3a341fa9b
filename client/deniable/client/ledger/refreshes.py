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

__all__ = ["MOST_REQUESTS_A_DAY", "Fetched", "Refreshes"]

MOST_REQUESTS_A_DAY: Final = 8
_FIRST_WITHIN: Final = 30.0
"""Seconds: a device that was just set up must not call at the very instant of its first report."""
_FIRST_FAILURE: Final = 60
_MOST_JITTER: Final = 1 / 4
_NOT_ASKED: Final = -1
"""In place of failures in a row: nobody has asked since the app declared the survey so."""
_LONGEST: Final = DAY * (1 + _MOST_JITTER)


class Fetched(Enum):
    """What became of a request."""

    OF_USE = auto()
    OF_NO_USE = auto()
    NEVER_LEFT = auto()


class Refreshes:
    """The requests for manifests of one collector.

    Args:
        state: where they are counted. Every method raises ``StateUnavailable`` if it is not.
        collector: the origin that is asked.
        jitter: returns a number in [0, 1).
        spread: reports are sent at a random time within so many seconds.
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
        force: bool = False,
        in_background: bool = False,
    ) -> dict[str, float]:
        """Count requests that are about to leave.

        Args:
            declared: a digest of what the app declares, by the names that are wanted.
            now: Unix seconds.
            force: ask although it is not time yet; rule 3 holds all the same.
            in_background: nobody waits for it: let the very first request wait at random.

        Returns:
            For each name when it may be asked for, Unix seconds: now, and then it is counted, or
            later.
        """
        with self._state.transaction(now) as connection:
            return {
                name: self._begin(connection, name, digest, now, force, in_background)
                for name, digest in declared.items()
            }

    def count_another(self, name: str, now: float) -> bool:
        """Count one more request for a name; tell whether it may leave."""
        with self._state.transaction(now) as connection:
            digest, failures, due, requests = self._row(connection, name, now)
            if requests >= MOST_REQUESTS_A_DAY:
                return False
            self._write(connection, name, now, failures, due, requests + 1, digest)
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
                    self._write(connection, name, now, 0, due, requests, digest)
                elif what is Fetched.NEVER_LEFT:
                    before = max(0, failures - 1), 0.0, max(0, requests - 1)
                    self._write(connection, name, now, *before, digest)

    def _begin(
        self,
        connection: sqlite3.Connection,
        name: str,
        digest: str,
        now: float,
        force: bool,
        in_background: bool,
    ) -> float:
        known, failures, due, requests = self._row(connection, name, now)
        if known != digest:
            failures, due = _NOT_ASKED, now + self._jitter() * self._first_within
            self._write(connection, name, now, failures, due, requests, digest)
        if requests >= MOST_REQUESTS_A_DAY:
            return (now // DAY + 1) * DAY + self._jitter() * DAY * _MOST_JITTER
        wanted = force or (failures == _NOT_ASKED and not in_background)
        if not wanted and now < due <= now + _LONGEST:  # or the clock was put back since
            return due
        failures = max(0, failures)
        wait = min(DAY, _FIRST_FAILURE * 2.0 ** min(failures, 30))
        due = now + wait * (1 + self._jitter() * _MOST_JITTER)
        self._write(connection, name, now, failures + 1, due, requests + 1, digest)
        return now

    def _row(
        self, connection: sqlite3.Connection, name: str, now: float
    ) -> tuple[str, int, float, int]:
        """Return what was declared, failures in a row, when it is due, and requests today."""
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

    def _write(
        self,
        connection: sqlite3.Connection,
        name: str,
        now: float,
        failures: int,
        due: float,
        requests: int,
        digest: str,
    ) -> None:
        connection.execute(
            "INSERT INTO refreshes (origin, name, declared, failures, due, day, requests)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (origin, name) DO UPDATE"
            " SET declared = excluded.declared, failures = excluded.failures, due = excluded.due,"
            " day = excluded.day, requests = excluded.requests",
            (self._collector, name, digest, failures, due, int(now // DAY), requests),
        )
