"""Records: surveys, key rotations, the public log, tokens, notes, the last backup."""

from collections.abc import Callable
from typing import Any, Final

from deniable.messages import Manifest, Rotation
from deniable.messages.rotation import MAX_ROTATIONS
from deniable.stores.rules import (
    CATALOGUE,
    Insertion,
    ManyTimes,
    Rule,
    Statement,
    first,
    lock,
)
from deniable.stores.values import (
    MOST_NOTES,
    LogExtension,
    Note,
    Role,
    StoredLog,
    StoreError,
    SurveyConflict,
    Token,
)


def find_survey(survey_id: bytes) -> Rule[tuple[int, int]]:
    """Return a survey's number, and the reports (at least 1) in a step of its figures."""
    row = yield from first(
        "SELECT survey, minimum FROM deniable.surveys WHERE survey_id = $1", survey_id
    )
    if row is None:
        raise StoreError("the survey is not in this store")
    return row[0], max(1, row[1])


def publish(
    manifest: Manifest, envelope: bytes, extension: LogExtension | None, now: int | None
) -> Rule[None]:
    yield from lock(CATALOGUE)
    newest = yield from first(
        "SELECT survey_id, sequence FROM deniable.surveys WHERE name = $1"
        " ORDER BY sequence DESC LIMIT 1",
        manifest.name,
    )
    if newest is not None and newest[0] == manifest.survey_id:
        return
    if newest is not None and newest[1] >= manifest.sequence:
        raise SurveyConflict(
            f"{manifest.name} has sequence {newest[1]}; a successor needs a higher sequence"
        )
    yield Statement(
        "INSERT INTO deniable.surveys"
        " (survey, survey_id, name, sequence, minimum, envelope, published_at)"
        " SELECT coalesce(max(survey), 0) + 1, $1, $2, $3, $4, $5, $6 FROM deniable.surveys",
        (
            *(manifest.survey_id, manifest.name, manifest.sequence, manifest.minimum_reports),
            *(envelope, now),
        ),
    )
    yield from extend(extension)


def surveys() -> Rule[list[bytes]]:
    rows = yield Statement("SELECT envelope FROM deniable.surveys ORDER BY name, sequence DESC")
    return [envelope for (envelope,) in rows]


def published_at() -> Rule[dict[bytes, int]]:
    rows = yield Statement(
        "SELECT survey_id, published_at FROM deniable.surveys WHERE published_at IS NOT NULL"
    )
    return {survey_id: at for survey_id, at in rows}  # noqa: C416 - rows are no pairs


def rotate(
    rotation: Rotation,
    envelope: bytes,
    sign_anew: Callable[[bytes], bytes],
    extension: LogExtension | None = None,
) -> Rule[int]:
    yield from lock(CATALOGUE)
    ((before,),) = yield Statement("SELECT count(*) FROM deniable.rotations")
    if before >= MAX_ROTATIONS:
        raise StoreError(f"the authority was rotated {before} times; give the apps a new authority")
    added = yield Statement(
        "INSERT INTO deniable.rotations (rotation, old_key, new_key, sequence, envelope)"
        " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING rotation",
        (before + 1, rotation.old_key, rotation.new_key, rotation.sequence, envelope),
    )
    if not added:
        raise StoreError("one of these keys was already rotated; each can be used only once")
    rows = yield Statement("SELECT survey, envelope FROM deniable.surveys")
    anew = [(sign_anew(signed), survey, signed) for survey, signed in rows]
    changed = [(after, survey) for after, survey, signed in anew if after != signed]
    yield ManyTimes("UPDATE deniable.surveys SET envelope = $1 WHERE survey = $2", changed)
    yield from extend(extension)
    return len(changed)


def rotations() -> Rule[list[bytes]]:
    rows = yield Statement("SELECT envelope FROM deniable.rotations ORDER BY rotation")
    return [envelope for (envelope,) in rows]


_NEWEST: Final = "newest"
_WITNESSED: Final = "witnessed"
_PUT: Final = """
    INSERT INTO deniable.log_checkpoints (role, checkpoint) VALUES ($1, $2)
    ON CONFLICT (role) DO UPDATE SET checkpoint = excluded.checkpoint
"""


def log(start: int) -> Rule[StoredLog]:
    # The checkpoints first, so that every entry that they cover is there when entries are read.
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
        raise StoreError("somebody else published at the same time; try again")
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


TOUCH: Final = "UPDATE deniable.state SET touched = NOT touched"
_COLUMNS: Final = "digest, role, label, created_at, survey, ends_at"


def touch() -> Rule[None]:
    yield Statement(TOUCH)


def add_token(token: Token) -> Rule[None]:
    yield Statement(
        f"INSERT INTO deniable.tokens ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)",  # noqa: S608
        token,
    )


def tokens() -> Rule[list[Token]]:
    rows = yield Statement(
        f"SELECT {_COLUMNS} FROM deniable.tokens ORDER BY created_at, digest"  # noqa: S608
    )
    return [_token(*row) for row in rows]


def _token(digest: bytes, role: str, *others: Any) -> Token:
    return Token(digest, Role(role), *others)


def revoke_token(digest: bytes) -> Rule[bool]:
    rows = yield Statement(
        "DELETE FROM deniable.tokens WHERE digest = $1 RETURNING digest", (digest,)
    )
    return len(rows) > 0


def token(digest: bytes) -> Rule[Token | None]:
    row = yield from first(
        f"SELECT {_COLUMNS} FROM deniable.tokens WHERE digest = $1",  # noqa: S608
        digest,
    )
    return None if row is None else _token(*row)


def add_note(name: str, note: Note) -> Rule[None]:
    ((notes,),) = yield Statement("SELECT count(*) FROM deniable.notes WHERE name = $1", (name,))
    if notes >= MOST_NOTES:
        raise StoreError(f"{name} already has {MOST_NOTES} notes, the most allowed: remove some")
    yield Statement(
        "INSERT INTO deniable.notes (name, at, text) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        (name, *note),
    )


def notes(name: str) -> Rule[list[Note]]:
    rows = yield Statement(
        "SELECT at, text FROM deniable.notes WHERE name = $1 ORDER BY at, text", (name,)
    )
    return [Note(*row) for row in rows]


def remove_note(name: str, note: Note) -> Rule[bool]:
    rows = yield Statement(
        "DELETE FROM deniable.notes WHERE name = $1 AND at = $2 AND text = $3 RETURNING at",
        (name, *note),
    )
    return len(rows) > 0


def note_backup(now: int) -> Rule[None]:
    yield Statement("UPDATE deniable.state SET backed_up_at = $1", (now,))


def backed_up_at() -> Rule[int | None]:
    ((at,),) = yield Statement("SELECT backed_up_at FROM deniable.state")
    return None if at is None else int(at)
