"""SQLite's files and key files without waiting for the disk: nobody pulls the plug here."""

import os
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from deniable import sqlite_files


@pytest.fixture(scope="module", autouse=True)
def no_power_cuts() -> Iterator[None]:
    """Wait for no disk: what is written through, and when, is tested beside the stores."""
    durable = sqlite_files.connect

    def connect(*arguments: Any, **pragmas: Any) -> sqlite3.Connection:
        connection = durable(*arguments, **pragmas)
        connection.execute("PRAGMA synchronous=OFF")
        return connection

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sqlite_files, "connect", connect)
        patched.setattr(os, "fsync", lambda _descriptor: None)
        yield
