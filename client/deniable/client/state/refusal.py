"""A refusal of the user that an older version heard, kept beside a state that it cannot write.

An app may be taken back to a version that does not know the schema of its state. What its user then
refuses must outlive the process: it stands in a file of its own, whose being there is all that it
says, and every version obeys it before anything else, in the state, when it next uses that.
"""

import os
from pathlib import Path

from deniable.sqlite_files import create_private


def keep_refusal(state: Path) -> None:
    """Keep a refusal durably; raise ``OSError`` if the disk does not allow it."""
    path = _path(state)
    create_private(path)
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def is_refused(state: Path) -> bool:
    """Tell whether a refusal waits to be obeyed."""
    return _path(state).exists()


def forget_refusal(state: Path) -> None:
    """Forget a refusal that was stored in the state."""
    _path(state).unlink(missing_ok=True)


def _path(state: Path) -> Path:
    return state.with_name(f"{state.name}.refused")
