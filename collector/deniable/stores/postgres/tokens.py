"""The digests of tokens, and what their holders may do."""

from deniable.stores.postgres.connections import Connection
from deniable.stores.store import Role, Token

__all__ = ["add_token", "revoke_token", "token_role", "tokens"]


async def add_token(connection: Connection, token: Token) -> None:
    """Keep the digest of a token."""
    await connection.execute(
        "INSERT INTO deniable.tokens (digest, role, label, created_at) VALUES ($1, $2, $3, $4)",
        token.digest,
        token.role.value,
        token.label,
        token.created_at,
    )


async def tokens(connection: Connection) -> list[Token]:
    """Return what is known of the tokens, the oldest first."""
    rows = await connection.fetch(
        "SELECT digest, role, label, created_at FROM deniable.tokens ORDER BY created_at, digest"
    )
    return [Token(digest, Role(role), label, created) for digest, role, label, created in rows]


async def revoke_token(connection: Connection, digest: bytes) -> bool:
    """Forget a token; return if there was such."""
    return await connection.execute("DELETE FROM deniable.tokens WHERE digest = $1", digest) != (
        "DELETE 0"
    )


async def token_role(connection: Connection, digest: bytes) -> Role | None:
    """Return the role of the token with this digest."""
    role = await connection.fetchval("SELECT role FROM deniable.tokens WHERE digest = $1", digest)
    return None if role is None else Role(role)
