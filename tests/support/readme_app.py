"""README's app on a disk that fails: ``python -m tests.support.readme_app DISK FOLDER PROGRAM``.

A process of its own, since limits and privileges are a process's; the folder is its home. It prints
the outcome of the app's report.
"""

import os
import resource
import runpy
import sqlite3
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from deniable.client import Client, engine
from deniable.client.state import state_file

_NOBODY: Final = 65_534
held: list[sqlite3.Connection] = []


def _drop_privileges() -> None:
    if os.geteuid() == 0:  # whom no permission stops
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)


def _read_only(state: Path) -> None:
    for file in state.parent.iterdir():
        file.chmod(0o444)
    _sealed(state, 0o555)


def _sealed(state: Path, mode: int = 0o000) -> None:
    state.parent.chmod(mode)
    _drop_privileges()


def _full_at_first(state: Path) -> None:
    _emptied(state)
    _full(state)


def _full(_state: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _file_for_a_folder(state: Path) -> None:
    _emptied(state)
    state.parent.rmdir()
    state.parent.write_text("a note")


def _folder_for_a_file(state: Path) -> None:
    _emptied(state)
    state.mkdir()


def _of_others(state: Path) -> None:
    _emptied(state)
    state.write_bytes(b"hello" * 500)


def _missing(state: Path) -> None:
    _emptied(state)
    os.environ["HOME"] = "/proc/missing"


def _emptied(state: Path) -> None:
    for file in state.parent.iterdir():
        file.unlink()


def _corrupt(state: Path) -> None:
    content = bytearray(state.read_bytes())
    content[100:] = b"\xa5" * (len(content) - 100)
    state.write_bytes(content)


def _newer(state: Path) -> None:
    with sqlite3.connect(state) as connection:
        connection.execute("PRAGMA user_version = 1000")


def _locked(state: Path) -> None:
    held.append(sqlite3.connect(state, isolation_level=None))
    held[0].execute("PRAGMA locking_mode = EXCLUSIVE")
    held[0].execute("BEGIN EXCLUSIVE")


DISKS: Final[dict[str, Callable[[Path], None]]] = {
    "new": _emptied,
    "read-only": _read_only,
    "sealed": _sealed,
    "full": _full,
    "full from the start": _full_at_first,
    "missing": _missing,
    "a file for a folder": _file_for_a_folder,
    "a folder for the file": _folder_for_a_file,
    "of others": _of_others,
    "corrupt": _corrupt,
    "newer": _newer,
    "locked": _locked,
}
"""What is done to a state that the app has used before."""


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
    DISKS[disk](state)
    # A disk that others use is waited for as long as calls say; here for less.
    state_file.BUSY_SECONDS = engine.LOOK_SECONDS = 0.03  # type: ignore[misc]
    found = app()
    print(f"\n{found['outcome'].status}")
    use(found["client"])
    with suppress(OSError):
        state.parent.chmod(0o755)


if __name__ == "__main__":
    main()
