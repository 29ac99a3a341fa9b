"""The right to write the store: asked of the system, before SQLite fails with less to say."""

import os
import pwd
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from deniable.directory.checks.finding import Diagnosis, bad


def check_rights(store: Path) -> Diagnosis | None:
    """Check that a SQLite store's file, those beside it and their folder can be written; else None.

    Raises:
        FileNotFoundError: if the store or its folder does not exist.
    """
    denied = list(_denied(store))
    if not denied:
        return None
    me, its_owner = os.geteuid(), denied[0].stat().st_uid
    text = f"{denied[0]} cannot be written by {_name(me)}; it belongs to {_name(its_owner)}"
    if os.statvfs(denied[0]).f_flag & os.ST_RDONLY:
        return bad(text, "its file system is read-only: mount it for writing")
    serves = its_owner
    with suppress(PermissionError):
        serves = store.stat().st_uid
    # Whoever owns the folder serves, though root may have put a file of its own there.
    if me not in {serves, store.parent.stat().st_uid}:
        return bad(text, as_user(serves))
    quoted = " ".join(shlex.quote(str(file)) for file in denied)
    if {file.stat().st_uid for file in denied} != {me}:
        return bad(text, f"as root: chown {_name(me)} {quoted}")
    return bad(text, f"chmod u+rwX {quoted}")


def as_user(number: int) -> str:
    """Return the command that looks as the user who serves: the owner of the files."""
    return f"run this as the user who serves: runuser -u {_name(number)} -- deniable doctor"


def _denied(store: Path) -> Iterator[Path]:
    if not _may(store.parent, os.R_OK | os.W_OK | os.X_OK):
        yield store.parent
        return
    store.stat()
    for file in (store, *(store.with_name(f"{store.name}-{end}") for end in ("wal", "shm"))):
        if file.exists() and not _may(file, os.R_OK | os.W_OK):
            yield file


def _may(path: Path, how: int) -> bool:
    path.stat()
    return os.access(path, how, effective_ids=True)


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
