"""The times at which the collector may be asked for manifests: rule D10, as stored in the state.

1. A request is counted before it leaves the device. A request that could not leave is uncounted,
   since no collector saw it.
2. After a useful answer, a name is requested again in a day. After any other answer it is requested
   in a minute at first, and in a day eventually. A restart does not reset this.
3. At most eight requests per name leave the device in a day of its clock, whatever the answers.
4. An app that changes a survey's declaration requests it anew; no collector can cause that. Each
   declaration has its own times, since two versions of an app may alternate on one state.
5. A forced request for a token includes a request for manifests. In the second half of an epoch
   whose report bears a token, no manifests are requested. Otherwise both would reveal whether the
   device ran the day before.
"""

import sqlite3
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Final

from deniable.client.state.state import State
from deniable.client.state.transactions import kept
from deniable.client.survey import DAY

MOST_REQUESTS_A_DAY: Final = 8
_FIRST_WITHIN: Final = 30.0
"""In seconds: a newly set-up device must not send a request at the moment of its first report."""
_FIRST_FAILURE: Final = 60
_MOST_JITTER: Final = 1 / 4
_NOT_ASKED: Final = -1
"""Value instead of consecutive failures: no request since the app declared the survey like this."""
_LONGEST: Final = DAY * (1 + _MOST_JITTER)

_Row = tuple[int, float, int]
"""Consecutive failures, time when the next request is due, and requests today."""
_FORGOTTEN: Final = 7 * DAY
"""A declaration that has been overdue for this long belongs to an app that is gone."""


class Fetched(Enum):
    """The result of a request."""

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
        self.state = state
        self._collector = collector
        self._jitter = jitter
        self._first_within = min(spread, _FIRST_WITHIN)
        self._declared: Mapping[str, str] = {}

    @kept
    def begin(
        self,
        declared: Mapping[str, str],
        now: float,
        *,
        force: bool,
        in_background: bool,
        only_looks: bool = False,
    ) -> dict[str, float]:
        """Count requests that are about to be sent; return when each name may be requested.

        The time is either later, or now. If it is now, the request is counted, unless the caller
        only looks. With ``force``, a name may be requested before its time; rule 3 still holds. In
        the background, the very first request waits for a random time. ``declared`` has a digest of
        each name's declaration; later calls use it.
        """
        self._declared = declared
        with self.state.transaction(now) as connection:
            if not force and (quiet := self._quiet(connection, now)):
                return dict.fromkeys(declared, quiet + self._jitter() * DAY * _MOST_JITTER)
            return {
                name: self._begin(connection, name, now, force, in_background, only_looks)
                for name in declared
            }

    @kept
    def count_another(self, name: str, now: float) -> bool:
        """Count one more request for a name; return whether it may be sent."""
        with self.state.transaction(now) as connection:
            if self._requests(connection, name, now) >= MOST_REQUESTS_A_DAY:
                return False
            failures, due, requests = self._row(connection, name, now) or (0, now, 0)
            self._write(connection, name, now, (failures, due, requests + 1))
            return True

    @kept
    def settle(self, fetched: Mapping[str, Fetched], now: float) -> None:
        """Record the results of requests, by name."""
        if not fetched:
            return
        with self.state.transaction(now) as connection:
            for name, what in fetched.items():
                failures, due, requests = self._row(connection, name, now) or (0, now, 0)
                if what is Fetched.OF_USE:
                    due = now + DAY * (1 + self._jitter() * _MOST_JITTER)
                    self._write(connection, name, now, (0, due, requests))
                elif what is Fetched.NEVER_LEFT:
                    before = max(0, failures - 1), 0.0, max(0, requests - 1)
                    self._write(connection, name, now, before)

    def _begin(
        self,
        connection: sqlite3.Connection,
        name: str,
        now: float,
        force: bool,
        in_background: bool,
        only_looks: bool,
    ) -> float:
        row = self._row(connection, name, now)
        if row is None:
            row = _NOT_ASKED, now + self._jitter() * self._first_within, 0
            self._write(connection, name, now, row)
            connection.execute(
                "DELETE FROM refreshes WHERE origin = ? AND name = ? AND due < ?",
                (self._collector, name, now - _FORGOTTEN),
            )
        failures, due, requests = row
        if self._requests(connection, name, now) >= MOST_REQUESTS_A_DAY:
            return (now // DAY + 1) * DAY + self._jitter() * DAY * _MOST_JITTER
        wanted = force or (failures == _NOT_ASKED and not in_background)
        if not wanted and now < due <= now + _LONGEST:  # or the clock was set back since then
            return due
        if only_looks:
            return now
        failures = max(0, failures)
        wait = min(DAY, _FIRST_FAILURE * 2.0 ** min(failures, 30))
        due = now + wait * (1 + self._jitter() * _MOST_JITTER)
        self._write(connection, name, now, (failures + 1, due, requests + 1))
        return now

    def _quiet(self, connection: sqlite3.Connection, now: float) -> int:
        """Return the time until which rule 5 forbids requests, or 0."""
        (until,) = connection.execute(
            "SELECT coalesce(max(ends), 0) FROM decisions"
            " WHERE origin = ? AND opens > 0 AND ? BETWEEN opens AND ends - 1",
            (self._collector, now),
        ).fetchone()
        return int(until)

    def _requests(self, connection: sqlite3.Connection, name: str, now: float) -> int:
        """Return how many requests for a name were sent today, under any declaration."""
        (requests,) = connection.execute(
            "SELECT coalesce(sum(requests), 0) FROM refreshes"
            " WHERE origin = ? AND name = ? AND day = ?",
            (self._collector, name, int(now // DAY)),
        ).fetchone()
        return int(requests)

    def _row(self, connection: sqlite3.Connection, name: str, now: float) -> _Row | None:
        row = connection.execute(
            "SELECT failures, due, day, requests FROM refreshes"
            " WHERE origin = ? AND name = ? AND declared = ?",
            (self._collector, name, self._declared[name]),
        ).fetchone()
        if row is None:
            return None
        failures, due, day, requests = row
        return int(failures), float(due), int(requests) if day == now // DAY else 0

    def _write(self, connection: sqlite3.Connection, name: str, now: float, row: _Row) -> None:
        connection.execute(
            "INSERT OR REPLACE INTO refreshes"
            " (origin, name, declared, day, failures, due, requests) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (self._collector, name, self._declared[name], int(now // DAY), *row),
        )
