"""README's app on a disk that fails: ``python -m tests.support.readme_app DISK FOLDER PROGRAM``.

A process of its own, since limits and privileges are a process's; the folder is its home. It prints
the outcome of the app's report.
"""

import os
import resource
import runpy
import sqlite3
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from deniable.client import Client, engine
from deniable.client.state import state_file

_NOBODY: Final = 65_534
held: list[sqlite3.Connection] = []


EMPTIED: Final = ("new", "full from the start", "missing", "of others")
REPLACED: Final = ("a file for a folder", "a folder for the file")
DISKS: Final = (*EMPTIED, *REPLACED, "read-only", "sealed", "full", "corrupt", "newer", "locked")
"""What is done to a state that the app has used before; of the first ones no file is left."""


def spoil(disk: str, state: Path) -> None:
    folder = state.parent
    if disk in EMPTIED + REPLACED:
        for file in folder.iterdir():
            file.unlink()
    match disk:
        case "full" | "full from the start":
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        case "missing":
            os.environ["HOME"] = "/proc/missing"
        case "of others":
            state.write_bytes(b"hello" * 500)
        case "a file for a folder":
            folder.rmdir()
            folder.write_text("a note")
        case "a folder for the file":
            state.mkdir()
        case "read-only" | "sealed":
            for file in folder.iterdir():
                file.chmod(0o444)
            folder.chmod(0o555 if disk == "read-only" else 0)
            if os.geteuid() == 0:  # whom no permission stops
                os.setgid(_NOBODY)
                os.setuid(_NOBODY)
        case "corrupt":
            content = state.read_bytes()
            state.write_bytes(content[:100] + b"\xa5" * (len(content) - 100))
        case "newer":
            with sqlite3.connect(state) as connection:
                connection.execute("PRAGMA user_version = 1000")
        case "locked":
            held.append(sqlite3.connect(state, isolation_level=None))
            held[0].execute("PRAGMA locking_mode = EXCLUSIVE")
            held[0].execute("BEGIN EXCLUSIVE")


def use(client: Client) -> None:
    """Do whatever docs show besides."""
    _ = client.consent, client.consent_record, client.uncovered
    _ = str(client.explain()), str(client.journal())
    client.set_consent("on", surveys=["rating-of-marriage"])
    client.purge()
    client.refresh(0.1)
    client.flush(0.1)
    for surveys in (["rating-of-marriage"], None):
        client.set_consent("off", surveys=surveys)
    client.close()


def main() -> None:
    _, disk, folder, program = sys.argv
    os.environ["HOME"] = folder
    state = Path(folder) / ".local/state/my-app/telemetry.sqlite"

    def app() -> dict[str, Any]:
        return runpy.run_path(program)

    app()["client"].close()
    spoil(disk, state)
    # A disk that others use is waited for as long as calls say; here for less.
    state_file.BUSY_SECONDS = engine.LOOK_SECONDS = 0.03  # type: ignore[misc]
    found = app()
    print(f"\n{found['outcome'].status}")
    use(found["client"])
    with suppress(OSError):
        state.parent.chmod(0o755)


if __name__ == "__main__":
    main()
