"""Whose turn it is to write: a lock on a file beside the store, for which nobody has to poll.

SQLite lets one connection write, and whoever else wants to asks again after ever longer pauses: of
two busy processes one was seen to wait for seconds while the other wrote hundreds of times. The
system wakes who waits for a file's lock at once. SQLite's own lock is still what keeps writers
apart; without this file, or beside a program that does not know it, only the waiting is worse.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deniable.stores.store import StoreError

__all__ = ["Turns"]


class Turns:
    """The lock of one store, as one connection to it takes it.

    Args:
        store: the store's file.

    Raises:
        OSError: if the file beside it cannot be opened.
    """

    def __init__(self, store: Path) -> None:
        path = store.with_name(f"{store.name}-lock")
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @contextmanager
    def mine(self) -> Iterator[None]:
        """Wait for the turn, and hold it.

        Raises:
            StoreError: if the system locks no file, as some network disks do not, or fails.
        """
        self._lock(fcntl.LOCK_EX)
        try:
            yield
        finally:
            self._lock(fcntl.LOCK_UN)

    def _lock(self, how: int) -> None:
        try:
            fcntl.flock(self._descriptor, how)
        except OSError as error:
            raise StoreError(f"the lock beside the store failed: {error}") from error

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)
