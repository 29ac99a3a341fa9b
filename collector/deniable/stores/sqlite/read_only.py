"""Reading a SQLite file without writing into it: whatever version wrote it, it stays as it is."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from deniable.stores.store import StoreError

__all__ = ["read_only"]


@contextmanager
def read_only(path: Path, *, at_rest: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a file to read; its errors, and those of what is done with it, become the store's.

    Args:
        path: the file.
        at_rest: nobody writes it: no file is made beside it, and its folder may be read-only.

    Raises:
        StoreError: if it cannot be read.
    """
    terms = "mode=ro&immutable=1" if at_rest else "mode=ro"
    try:
        with closing(
            sqlite3.connect(
                f"{path.absolute().as_uri()}?{terms}",
                uri=True,
                timeout=10.0,
                isolation_level=None,
                check_same_thread=False,
            )
        ) as connection:
            yield connection
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
