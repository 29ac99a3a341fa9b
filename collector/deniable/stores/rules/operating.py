"""Records for the operator: tokens, notes, what is public, the last backup, a move."""

from typing import Any, Final

from deniable.reading.notes import MOST_NOTES, Note
from deniable.stores.errors import StoreError, StoreMoved
from deniable.stores.statements import MOVE, Rule, Statement, first, lock
from deniable.stores.values import Role, Token

TOUCH: Final = "UPDATE deniable.state SET touched = NOT touched"
MARK_MOVED: Final = """
    INSERT INTO deniable.moves AS m (moved_to) VALUES ($1)
    ON CONFLICT (one) DO UPDATE SET moved_to = m.moved_to RETURNING moved_to
"""
LIFT_MARK: Final = "DELETE FROM deniable.moves"
MOVED_TO: Final = "SELECT moved_to FROM deniable.moves"
_COLUMNS: Final = "digest, role, label, created_at, survey, ends_at"


def touch() -> Rule[None]:
    yield Statement(TOUCH)


def add_token(token: Token) -> Rule[None]:
    yield Statement(
        f"INSERT INTO deniable.tokens ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)",  # noqa: S608
        (
            token.digest,
            token.role.value,
            token.label,
            token.created_at,
            token.survey,
            token.ends_at,
        ),
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


def set_public(name: str, public: bool) -> Rule[None]:
    yield Statement(
        "INSERT INTO deniable.openings (name, public) VALUES ($1, $2)"
        " ON CONFLICT (name) DO UPDATE SET public = excluded.public",
        (name, int(public)),
    )


def public() -> Rule[dict[str, bool]]:
    rows = yield Statement("SELECT name, public FROM deniable.openings ORDER BY name")
    return {name: bool(is_public) for name, is_public in rows}


def add_note(name: str, note: Note) -> Rule[None]:
    ((notes,),) = yield Statement("SELECT count(*) FROM deniable.notes WHERE name = $1", (name,))
    if notes >= MOST_NOTES:
        raise StoreError(f"{name} has {MOST_NOTES} notes, which is all it can have: remove some")
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


def move_away(to: str) -> Rule[None]:
    """Mark the store as moved, once all that is being written is committed.

    Also where the mark is there, this writes: it may not be durable yet.
    """
    yield from lock(MOVE)
    ((stands,),) = yield Statement(MARK_MOVED, (to,))
    if stands != to:
        raise StoreMoved(f"the store was moved to {stands} before; see deniable store stay")


def stay() -> Rule[None]:
    yield from lock(MOVE)
    yield Statement(LIFT_MARK)


def moved_to() -> Rule[str | None]:
    row = yield from first(MOVED_TO)
    return None if row is None or row[0] is None else str(row[0])


def check_unmoved() -> Rule[None]:
    """Raise StoreMoved if the store was moved away."""
    if (to := (yield from moved_to())) is not None:
        raise StoreMoved(
            f"the store was moved to {to}; set `store` to that, once deniable store move is done"
        )


def note_backup(now: int) -> Rule[None]:
    yield Statement("UPDATE deniable.state SET backed_up_at = $1", (now,))


def backed_up_at() -> Rule[int | None]:
    ((at,),) = yield Statement("SELECT backed_up_at FROM deniable.state")
    return None if at is None else int(at)
