"""Forked devices that die, by their own hand or from outside, and what their states hold then."""

import os
import shutil
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

SECONDS = 20
Say = Callable[[str], object]
_connect = sqlite3.connect


def fork(live: Callable[[Say], None], delay: float | None = None) -> tuple[bool, str]:
    """Let a forked device live, and perhaps kill it so many seconds after its first word.

    Returns:
        Whether it was killed before it was through, and what it said until then.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)  # whatever happens, it ends
        try:
            live(lambda word: os.write(writing, word.encode()))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as words:
        said = words.read(1)
        if delay is not None:
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        said += words.read()
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, -signal.SIGKILL}, f"the device ended with {code}: {said!r}"
    return code != 0, said.decode()


@contextmanager
def copied(state: Path) -> Iterator[sqlite3.Connection | None]:
    """Open a copy of a state, None if it has no tables: the SDK itself is to meet the original."""
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("", "-wal"):
            file = state.with_name(state.name + suffix)
            if file.exists():
                shutil.copy(file, folder)
        with closing(_connect(Path(folder) / state.name)) as copy:
            made = copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'decisions'").fetchall()
            yield copy if made else None
