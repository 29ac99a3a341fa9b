"""Transactions of the state's SQLite file, which is opened when first needed and survives forks.

1. A change that cannot be made durable did not happen: every failure of the disk is
   ``StateUnavailable``.
2. Only the keeper's thread has the connection and a transaction. It undoes the remains of an
   interrupted one before the next call. Callers wait for it until a deadline, and hold no lock.
3. A method that uses a transaction is ``kept``: it runs entirely on that thread.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial, wraps
from math import inf
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from deniable.client import threads
from deniable.client.clock import Boot
from deniable.client.consent import Consent, Declared
from deniable.client.errors import StateUnavailable
from deniable.client.state import state_file
from deniable.client.state.mark import Mark
from deniable.client.state.state_file import Beginning, open_state
from deniable.client.threads import Forkable, Keeper, keep_through_forks, warn
from deniable.sqlite_files import UnknownFile, file_identity, once_free, primary_code

_BUSY = sqlite3.SQLITE_BUSY
_UNUSABLE = UnknownFile, sqlite3.Error, OSError, ImportError, ArithmeticError, TypeError, ValueError
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_P = ParamSpec("_P")
_T = TypeVar("_T")
INTERRUPTED = "an interrupted call is still using the state; try again later"
_LEAST_PATIENCE = 0.05
"""In seconds: other processes write for milliseconds, for which even a late call may wait."""


class Transactions(Forkable):
    """One SQLite file, or with path None a database in memory, which is lost when closed.

    Threads may share the object, processes the file; both survive a fork. A state that does not
    exist yet starts with the initial consent.
    """

    def __init__(
        self,
        path: Path | None,
        initial_consent: Consent,
        boot_time: Callable[[], Boot | None] | None,
        declared: Callable[[], Declared],
        *,
        user_asked: bool,
    ) -> None:
        self._path = path
        self._user_asked = user_asked
        self._declared = declared
        self._initial_consent = initial_consent
        self._boot = boot_time or (lambda: None)
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._advanced = False
        self.keeper = Keeper()
        self._deadlines = threading.local()
        self._within = False
        self._abandoned = False
        self._outage = False
        keep_through_forks(self)

    @property
    def state(self) -> "Transactions":
        """Return the state itself: the class of a ``kept`` method must have this attribute."""
        return self

    @contextmanager
    def patience(self, seconds: float) -> Iterator[None]:
        """Limit the wait for other threads and processes, in this thread and block.

        If it is interrupted, calls with a time of their own are not affected.
        """
        before = self._deadline()
        self._deadlines.end = time.monotonic() + seconds
        try:
            yield
        finally:
            self._deadlines.end = before

    def _deadline(self) -> float:
        return getattr(self._deadlines, "end", inf)

    def _patience(self) -> float:
        left = self._deadline() - time.monotonic()
        return min(state_file.BUSY_SECONDS, max(left, _LEAST_PATIENCE))

    def do(self, work: Callable[[], _T]) -> _T:
        """Run a function on the keeper's thread; ``StateUnavailable`` if it takes too long."""
        if self.keeper.is_here():
            return work()
        deadline, patience = self._deadline(), self._patience()
        # A call of the app that needs the disk several times has that time only once.
        disk = max(0.0, deadline + threads.DISK_SECONDS - time.monotonic() - patience)
        work = partial(self._do, work, deadline)
        return self.keeper.do(work, patience, min(threads.DISK_SECONDS, disk))

    def _do(self, work: Callable[[], _T], deadline: float) -> _T:
        self._deadlines.end = min(deadline, time.monotonic() + state_file.BUSY_SECONDS)
        self._abandon_transaction()
        try:
            return work()
        finally:
            self._abandon_transaction()

    def _abandon_transaction(self) -> None:
        """Undo a transaction whose interruption no block noticed."""
        self._within = False
        if self._connection is not None and self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._connection is not None:
            self.do(self._close)
        self.keeper.stop()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        # No call continues: it would keep this object alive. Python 3.13 warns about dropped open
        # connections, and an app may drop its client.
        self.keeper.stop()
        self._close()

    def before_fork(self, deadline: float) -> None:
        """Close the file between two calls, and start no call; see the rules in ``threads``."""
        if not self.keeper.is_here():
            # A state in memory could not be reopened.
            prepare = (lambda: None) if self._path is None else self._close
            self.keeper.pause(prepare, deadline - time.monotonic())

    def after_fork(self, *, in_child: bool) -> None:
        """Continue after a fork; a child abandons a connection that could not be closed."""
        if in_child:
            self.keeper.renew()
            self._abandoned = self._abandoned or self._within or self._connection is not None
            self._within = False
            if self._connection is not None:
                _never_close(self._connection)
                self._connection = None
        else:
            self.keeper.go_on()

    @contextmanager
    def transaction(
        self, now: float, begin: str = "BEGIN IMMEDIATE"
    ) -> Iterator[sqlite3.Connection]:
        """Hold the state's write lock; commit when the block ends, undo when it raises."""
        if self._within:  # entered by a finaliser that interrupted the keeper's thread
            raise StateUnavailable(INTERRUPTED)
        try:
            self._within = True
            connection = once_free(self._patience(), partial(self._open, now))
            once_free(self._patience(), partial(connection.execute, begin))
            self._advanced, before = False, connection.total_changes
            try:
                yield connection
                self._check_process(connection)
                connection.execute("COMMIT")
            except BaseException as error:
                self._undo(connection, error)
                raise
            # A full disk can still be read: only a successful write ends an outage.
            self._outage = self._outage and connection.total_changes == before
        except _UNUSABLE as error:
            raise self._unusable(error) from error
        finally:
            self._within = False

    @contextmanager
    def existing(
        self, now: float, begin: str = "BEGIN IMMEDIATE", *, creates: bool = True
    ) -> Iterator[sqlite3.Connection | None]:
        """Hold the state; None if it is missing, unless a new one would begin with consent."""
        creates = creates and self._initial_consent is Consent.ON
        if not creates and self._is_absent():
            yield None
            return
        with self.transaction(now, begin) as connection:
            yield connection

    def reading(self, now: float) -> AbstractContextManager[sqlite3.Connection | None]:
        """Hold the state for reading, if it exists, without making others wait."""
        return self.existing(now, "BEGIN", creates=False)

    def _undo(self, connection: sqlite3.Connection, error: BaseException) -> None:
        if self._connection is not connection:
            return  # in a child forked within the transaction, which belongs to the parent
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if self._advanced:  # otherwise the state would look older than it is
            with suppress(OSError, sqlite3.Error):
                once_free(self._patience(), partial(connection.execute, "BEGIN IMMEDIATE"))
                try:  # one writer at a time
                    if self._path is not None:
                        Mark.of(connection).write(self._path)
                finally:
                    connection.execute("ROLLBACK")
        if isinstance(error, sqlite3.Error) and primary_code(error) in _DAMAGED:
            self._close()  # the next use checks the file again, and replaces it

    def _unusable(self, error: Exception) -> StateUnavailable:
        if isinstance(error, UnknownFile):
            why = f"it {error}"
        elif isinstance(error, sqlite3.Error) and primary_code(error) == _BUSY:
            why = "another process is writing to the file; try again later"
        elif isinstance(error, (sqlite3.Error, OSError, ImportError)):
            why = str(error)  # nothing can be imported while the interpreter shuts down
        else:  # the stored data changed: it is corrupted, and SQLite did not notice
            why = "its content is damaged"
        return self._unavailable(f"the state cannot be used: {why}")

    def _unavailable(self, message: str) -> StateUnavailable:
        if not self._outage:  # one line per outage, not per call
            warn("%s; until then, nothing is recorded", message)
        self._outage = True
        return StateUnavailable(message)

    def _check_process(self, connection: sqlite3.Connection) -> None:
        if self._connection is not connection:  # forked since the transaction began
            raise self._not_in_this_process()

    def _not_in_this_process(self) -> StateUnavailable:
        if self._path is None:
            return self._unavailable("only the process that created a state in memory can use it")
        return self._unavailable(
            "the process was forked while the state was in use; restart the child process"
        )

    def _open(self, now: float) -> sqlite3.Connection:
        if self._abandoned:
            raise self._not_in_this_process()
        if self._connection is None:
            self._connection = self._connect(now)
        if self._path is not None and self._opened != file_identity(self._path):
            # Another process may decide in the file that is there now, so this one must not.
            raise self._unavailable("the open state file was replaced; restart the process")
        return self._connection

    def _connect(self, now: float) -> sqlite3.Connection:
        if self._path is not None:
            # A state and its mark have one name, whatever links to them or the working directory.
            self._path = Path(os.path.realpath(self._path))
        consent, boot = self._initial_consent.value, self._boot()
        beginning = Beginning(consent, int(now), boot, self._declared, self._user_asked)
        connection = open_state(self._path, beginning, self._patience())
        self._opened = file_identity(self._path) if self._path else None
        return connection

    def _is_absent(self) -> bool:
        return self._path is not None and self._connection is None and _was_never(self._path)


def _was_never(path: Path) -> bool:
    """Return whether no state exists or ever existed."""
    try:
        with suppress(FileNotFoundError):
            path.stat()
            return False
        return Mark.read(path) is None  # a mark alone shows that the state was lost
    except OSError as error:
        raise StateUnavailable(f"the state cannot be used: {error.strerror}") from error


def _never_close(connection: sqlite3.Connection) -> None:
    """Keep a connection alive beyond the interpreter's end, when all modules are cleared."""
    import ctypes  # 10 ms, needed only in such a child

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


class _Stateful(Protocol):
    @property
    def state(self) -> Transactions: ...


_S = TypeVar("_S", bound=_Stateful)


def kept(method: Callable[Concatenate[_S, _P], _T]) -> Callable[Concatenate[_S, _P], _T]:
    """Return a method that runs entirely on the thread of the state's keeper."""

    @wraps(method)
    def done(self: _S, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        return self.state.do(partial(method, self, *arguments, **named))

    return done
