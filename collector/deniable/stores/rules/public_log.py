"""The public log's entries, and its checkpoints, which only publishers can sign."""

from collections.abc import Callable
from typing import Final

from deniable.stores.errors import LogConflict
from deniable.stores.statements import CATALOGUE, Insertion, Rule, Statement, lock
from deniable.stores.values import LogExtension, StoredLog

_NEWEST: Final = "newest"
_WITNESSED: Final = "witnessed"
_PUT: Final = """
    INSERT INTO deniable.log_checkpoints (role, checkpoint) VALUES ($1, $2)
    ON CONFLICT (role) DO UPDATE SET checkpoint = excluded.checkpoint
"""


def log(start: int) -> Rule[StoredLog]:
    # The checkpoints first: whatever entry they cover is there when the entries are read.
    checkpoints = yield from _checkpoints()
    entries = yield Statement(
        "SELECT entry FROM deniable.log_entries WHERE position >= $1 ORDER BY position", (start,)
    )
    return StoredLog(
        tuple(entry for (entry,) in entries),
        checkpoints.get(_NEWEST, ""),
        checkpoints.get(_WITNESSED, ""),
    )


def _checkpoints() -> Rule[dict[str, str]]:
    return dict((yield Statement("SELECT role, checkpoint FROM deniable.log_checkpoints")))


def extend(extension: LogExtension | None) -> Rule[None]:
    if extension is None:
        return
    yield from lock(CATALOGUE)
    ((size,),) = yield Statement("SELECT count(*) FROM deniable.log_entries")
    if size != extension.size:
        raise LogConflict("somebody else published meanwhile; do it again")
    numbered = list(enumerate(extension.entries, extension.size))
    if numbered:
        yield Insertion("log_entries", ("position", "entry"), numbered)
    yield Statement(_PUT, (_NEWEST, extension.checkpoint))


def cosign(add: Callable[[str], tuple[str, bool]]) -> Rule[None]:
    yield from lock(CATALOGUE)
    checkpoint, witnessed = add((yield from _checkpoints())[_NEWEST])
    yield Statement(_PUT, (_NEWEST, checkpoint))
    if witnessed:
        yield Statement(_PUT, (_WITNESSED, checkpoint))
