"""Records for the operator: tokens, the last backup, where the store has moved to."""

from typing import Final

from deniable.stores.errors import StoreMoved
from deniable.stores.statements import MOVE, Rule, Statement, first, lock
from deniable.stores.values import Role, Token

TOUCH: Final = "UPDATE deniable.state SET touched = NOT touched"
MARK_MOVED: Final = """
    INSERT INTO deniable.moves AS m (moved_to) VALUES ($1)
    ON CONFLICT (one) DO UPDATE SET moved_to = m.moved_to RETURNING moved_to
"""
LIFT_MARK: Final = "DELETE FROM deniable.moves"
MOVED_TO: Final = "SELECT moved_to FROM deniable.moves"


def touch() -> Rule[None]:
    yield Statement(TOUCH)


def add_token(token: Token) -> Rule[None]:
    yield Statement(
        "INSERT INTO deniable.tokens (digest, role, label, created_at) VALUES ($1, $2, $3, $4)",
        (token.digest, token.role.value, token.label, token.created_at),
    )


def tokens() -> Rule[list[Token]]:
    rows = yield Statement(
        "SELECT digest, role, label, created_at FROM deniable.tokens ORDER BY created_at, digest"
    )
    return [Token(digest, Role(role), label, created) for digest, role, label, created in rows]


def revoke_token(digest: bytes) -> Rule[bool]:
    rows = yield Statement(
        "DELETE FROM deniable.tokens WHERE digest = $1 RETURNING digest", (digest,)
    )
    return len(rows) > 0


def token_role(digest: bytes) -> Rule[Role | None]:
    row = yield from first("SELECT role FROM deniable.tokens WHERE digest = $1", digest)
    return None if row is None else Role(row[0])


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
