"""The device's durable state: one SQLite file, opened when first needed, and the user's consent.

What cannot be made durable did not happen: every failure of the disk is ``StateUnavailable``.
"""

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from deniable.client.consent import Consent, ConsentRecord, lowered_by_environment
from deniable.client.errors import ConsentMissing, StateUnavailable
from deniable.client.state.events import record_event
from deniable.client.state.forks import keep_through_forks
from deniable.client.state.mark import Mark
from deniable.client.state.state_file import (
    erase_damaged,
    erase_remains,
    erase_reports,
    open_in_memory,
    open_state_file,
)
from deniable.client.state.tallies import look_at_clock, reserved_in_all

__all__ = ["State"]

_LOG = logging.getLogger("deniable")
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_MAY_DRAW = frozenset({Consent.LOCAL, Consent.ON})


class State:
    """One device's state in one SQLite file, opened when first needed.

    Args:
        path: the file; None for a state in memory, which forgets every decision when closed and is
            therefore for tests and demonstrations only.
        initial_consent: what a state that does not exist yet starts with; a stored one wins.
        environment: of the process, read at each call: it can lower what the user decided.

    Safe to share between threads, the file between processes, and both through a fork.
    """

    def __init__(
        self, path: Path | None, initial_consent: Consent, environment: Mapping[str, str]
    ) -> None:
        self._path = path
        self._initial_consent = initial_consent
        self._environment = environment
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._advanced = False
        self._lock = threading.RLock()
        self._within = False
        self._forking: set[int] = set()
        self._abandoned = False
        self._outage = False
        keep_through_forks(self)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def before_fork(self, deadline: float) -> None:
        """Close the file once no other thread is in a transaction; the parent's next use opens it.

        See the rules at the head of ``forks``.
        """
        if self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            self._forking.add(threading.get_ident())
            if self._path is not None and not self._within:
                self.close()

    def after_fork(self, *, in_child: bool) -> None:
        """Go on; a child abandons what could not be closed."""
        if in_child:
            self._lock = threading.RLock()
            self._forking = set()
            self._abandoned = self._abandoned or self._within or self._connection is not None
            self._within = False
            if self._connection is not None:
                _never_close(self._connection)
                self._connection = None
        elif threading.get_ident() in self._forking:
            self._forking.remove(threading.get_ident())
            self._lock.release()

    def __repr__(self) -> str:
        return f"State({str(self._path) if self._path else 'in memory'!r})"

    def consent(self, now: float) -> ConsentRecord:
        """Return the user's decision, and what holds; creates no file where there is none.

        Raises:
            StateUnavailable: if there is a state and it cannot be read.
        """
        if self._initial_consent is not Consent.ON and self._is_absent():
            return self.consent_in(None)
        with self.transaction(now) as connection:
            return self.consent_in(connection)

    def consent_in(self, connection: sqlite3.Connection | None) -> ConsentRecord:
        """Return the same inside a transaction, or for a state that does not exist."""
        if connection is None:
            decided = self._initial_consent
            return ConsentRecord(decided, self._lowered(decided), None, "initial")
        consent, since, origin = connection.execute(
            "SELECT consent, consent_at, consent_from FROM device"
        ).fetchone()
        decided = Consent(consent)
        known = since if isinstance(since, int) else None  # bits rot
        return ConsentRecord(decided, self._lowered(decided), known, str(origin))

    def forbids_unread(self) -> bool:
        """Tell, without opening anything, that nothing may be drawn; False if one must look.

        Raises:
            StateUnavailable: if it cannot be told whether there is a state.
        """
        if self._lowered(Consent.ON) not in _MAY_DRAW:
            return True
        return self._initial_consent not in _MAY_DRAW and self._is_absent()

    def effective_consent(self, connection: sqlite3.Connection) -> Consent:
        """Return the consent that holds now, inside a transaction."""
        (decided,) = connection.execute("SELECT consent FROM device").fetchone()
        return self._lowered(Consent(decided))

    def missing_consent(self, reason: str = "nobody consented on this device") -> ConsentMissing:
        """Return the error that says why nothing may be done: the environment, or the reason."""
        if self._lowered(Consent.ON) is not Consent.ON:
            reason = "DO_NOT_TRACK or DENIABLE_CONSENT, set in the environment, lowers consent"
        return ConsentMissing(reason)

    def _lowered(self, decided: Consent) -> Consent:
        return lowered_by_environment(decided, self._environment)

    def set_consent(self, consent: Consent, origin: str, now: float) -> None:
        """Store a decision of the user; anything but ON erases all report bytes.

        No decision of an epoch is undone by it (D4). Previews are discarded in any case.

        Raises:
            StateUnavailable: if it cannot be stored.
        """
        with self.transaction(now) as connection:
            connection.execute(
                "UPDATE device SET consent = ?, consent_at = ?, consent_from = ?",
                (consent.value, int(now), origin),
            )
            record_event(connection, now, "consent", f"{consent.value}, from {origin}")
            self.advance(connection, now, erases=consent is not Consent.ON)
            connection.execute("DELETE FROM previews")
            if consent is not Consent.ON:
                erase_reports(connection, "consent-withdrawn", now)
        self.erase_remains()
        if consent is not Consent.ON:
            self._erase_damaged()

    def purge(self, now: float) -> None:
        """Erase every byte that was or would be sent, certificates, memo keys and notes.

        No decision is undone by it (D4).

        Raises:
            StateUnavailable: if it cannot be done.
        """
        if self._is_absent():
            self._erase_damaged()
            return
        with self.transaction(now) as connection:
            erase_reports(connection, "purged", now)
            connection.execute("DELETE FROM credentials")
            connection.execute("DELETE FROM previews")
            connection.execute("DELETE FROM events")
            record_event(connection, now, "purge", "all report bytes erased")
            self.advance(connection, now, erases=True)
        self.erase_remains()
        self._erase_damaged()

    def _erase_damaged(self) -> None:
        if self._path is not None:
            erase_damaged(self._path)

    def erase_old_damaged(self, now: float) -> None:
        """Delete the damaged states that were set aside a week ago."""
        if self._path is not None:
            erase_damaged(self._path, now)

    def advance(
        self,
        connection: sqlite3.Connection,
        now: float,
        decided_for: float | None = None,
        *,
        erases: bool = False,
    ) -> None:
        """Count, inside a transaction, a change that no older copy of the state may undo.

        The mark is written first: a crash between it and the commit costs an epoch, the other way
        round an old backup could pass for the newest state.

        Args:
            connection: the transaction's.
            now: Unix seconds.
            decided_for: no epoch that begins before may be decided by whatever replaces this state.
            erases: whether the user has all report bytes erased, those of older copies too.
        """
        self._check_process(connection)  # the mark is the parent's to write
        look_at_clock(connection, now)
        connection.execute(
            "UPDATE device SET generation = generation + 1, ledger_time = max(ledger_time, ?),"
            " erased = CASE WHEN ? THEN generation + 1 ELSE erased END",
            (int(max(now, decided_for or now)), erases),
        )
        self._advanced = True
        self._write_mark(connection)

    def _write_mark(self, connection: sqlite3.Connection) -> None:
        if self._path is not None:
            token, generation, instant, consent, erased = connection.execute(
                "SELECT mark, generation, ledger_time, consent, erased FROM device"
            ).fetchone()
            reserved = reserved_in_all(connection)
            Mark(token, generation, instant, consent, reserved, erased).write(self._path)

    def _put_mark_back(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")  # one writer at a time
        try:
            self._write_mark(connection)
        finally:
            connection.execute("ROLLBACK")

    @contextmanager
    def transaction(self, now: float) -> Iterator[sqlite3.Connection]:
        """Hold the state's write lock: committed when the block ends, undone when it raises.

        Raises:
            StateUnavailable: if the state cannot be read or written; or within another transaction
                of the same thread, whom a signal's handler or a finaliser has interrupted.
        """
        with self._lock:
            if self._within:
                raise StateUnavailable(
                    "the state is in use by what was interrupted here; try later"
                )
            try:
                self._within = True
                connection = self._open(now)
                connection.execute("BEGIN IMMEDIATE")
                self._advanced, before = False, connection.total_changes
                try:
                    yield connection
                    self._check_process(connection)
                    connection.execute("COMMIT")
                except BaseException as error:
                    self._undo(connection, error)
                    raise
            except (sqlite3.Error, OSError, ImportError) as error:
                # (Nothing can be imported any more while the interpreter ends.)
                raise self._unavailable(f"the state cannot be used: {error}") from error
            except (ArithmeticError, TypeError, ValueError) as error:
                # What is stored is not what was stored: bits rotted, and SQLite did not notice.
                raise self._unavailable(
                    "the state cannot be used: its content is damaged"
                ) from error
            else:
                # A full disk can still be read: only what could be written ends an outage.
                self._outage = self._outage and connection.total_changes == before
            finally:
                self._within = False

    def _undo(self, connection: sqlite3.Connection, error: BaseException) -> None:
        if self._connection is not connection:
            return  # in a child that was forked within the transaction: it is the parent's
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if self._advanced:  # or the state would look older than it is
            with suppress(OSError, sqlite3.Error):
                self._put_mark_back(connection)
        if isinstance(error, sqlite3.Error) and _primary_code(error) in _DAMAGED:
            self.close()  # the next use judges the file anew, and sets it aside

    def _unavailable(self, message: str) -> StateUnavailable:
        if not self._outage:  # one line an outage, not one a call
            _LOG.warning("%s; nothing is recorded meanwhile", message)
        self._outage = True
        return StateUnavailable(message)

    def _check_process(self, connection: sqlite3.Connection) -> None:
        if self._connection is not connection:  # forked since the transaction began
            raise self._not_in_this_process()

    def _not_in_this_process(self) -> StateUnavailable:
        if self._path is None:
            return self._unavailable("a state in memory stays with the process that made it")
        return self._unavailable(
            "the process was forked while the state was in use; this child must start again"
        )

    @contextmanager
    def reading(self, now: float) -> Iterator[sqlite3.Connection | None]:
        """Hold the state to look at it; None where there is none, and none is created.

        Raises:
            StateUnavailable: if there is a state and it cannot be read.
        """
        with self._lock:
            if self._is_absent():
                yield None
                return
            with self.transaction(now) as connection:
                yield connection

    def _open(self, now: float) -> sqlite3.Connection:
        if self._abandoned:
            raise self._not_in_this_process()
        if self._connection is None:
            if self._path is not None:
                # One name for one state, and one mark: whatever links to it, wherever the app goes.
                self._path = Path(os.path.realpath(self._path))
            initial = self._initial_consent.value
            self._connection = (
                open_in_memory(initial, int(now))
                if self._path is None
                else open_state_file(self._path, initial, int(now))
            )
            self._opened = self._file_identity()
        if self._opened != self._file_identity():
            # Another process may decide in the file that stands there now, so this one must not.
            raise self._unavailable("the state file was replaced while it was open; start again")
        return self._connection

    def _is_absent(self) -> bool:
        if self._path is None or self._connection is not None:
            return False
        try:
            if _exists(self._path):
                return False
            return Mark.read(self._path) is None  # a mark alone says that the state was lost
        except OSError as error:
            raise StateUnavailable(f"the state cannot be used: {error.strerror}") from error

    def _file_identity(self) -> tuple[int, int] | None:
        if self._path is None:
            return None
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    def erase_remains(self) -> None:
        """Erase the copies of erased bytes in unused parts of the file and in its log, if any.

        What a full disk or another process prevents is done at a later call, or the next opening.
        """
        with self._lock, suppress(sqlite3.Error):
            if self._connection is not None:
                erase_remains(self._connection)


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def _primary_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _never_close(connection: sqlite3.Connection) -> None:
    """Hold a connection beyond the interpreter's end, when all modules drop what they hold."""
    import ctypes  # 10 ms that only such a child pays

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
