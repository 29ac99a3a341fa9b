"""The digests of tokens, and what their holders may do."""

from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.store import Role, Token

__all__ = ["add_token", "revoke_token", "token_role", "tokens"]


def add_token(database: SqliteDatabase, token: Token) -> None:
    """Keep the digest of a token."""
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO tokens (digest, role, label, created_at) VALUES (?, ?, ?, ?)",
            (token.digest, token.role.value, token.label, token.created_at),
        )


def tokens(database: SqliteDatabase) -> list[Token]:
    """Return what is known of the tokens, the oldest first."""
    with database.reading() as connection:
        rows = connection.execute(
            "SELECT digest, role, label, created_at FROM tokens ORDER BY created_at, digest"
        )
        return [Token(digest, Role(role), label, created) for digest, role, label, created in rows]


def revoke_token(database: SqliteDatabase, digest: bytes) -> bool:
    """Forget a token; return if there was such."""
    with database.transaction() as connection:
        forgotten = connection.execute("DELETE FROM tokens WHERE digest = ?", (digest,)).rowcount
    return forgotten > 0


def token_role(database: SqliteDatabase, digest: bytes) -> Role | None:
    """Return the role of the token with this digest."""
    with database.reading() as connection:
        row = connection.execute("SELECT role FROM tokens WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else Role(row[0])
