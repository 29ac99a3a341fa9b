"""The command line on a slow disk: ``python -m tests.support.slow_disk SECONDS COMMAND …``.

Every commit to SQLite takes so much longer, and fewer reports may wait for it.
"""

import sqlite3
import sys
import time
from functools import partial
from typing import Any
from unittest import mock

from deniable.command import main
from deniable.server.routes import uploads


class _SlowConnection(sqlite3.Connection):
    seconds = 0.0

    def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
        if statement == "COMMIT":
            time.sleep(self.seconds)
        return super().execute(statement, *arguments)


if __name__ == "__main__":
    _SlowConnection.seconds = float(sys.argv.pop(1))
    sys.argv[0] = "deniable"
    with (
        mock.patch.object(sqlite3, "connect", partial(sqlite3.connect, factory=_SlowConnection)),
        mock.patch.object(uploads, "MOST_WAITING", 256),
    ):
        main()
