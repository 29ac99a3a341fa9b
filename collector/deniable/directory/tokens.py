"""Tokens of 256 random bits, of which the store keeps the SHA-256 only, and links made of them."""

import hashlib
import secrets
from typing import Final

from deniable.stores import Role, Store, Token


def new_token() -> str:
    """Return a fresh token; it is shown once and stored nowhere."""
    return "deniable_" + secrets.token_hex(32)


def token_digest(token: str) -> bytes:
    """Return the digest of a token, which the store keeps.

    Looking the digest up by equality leaks no more than the time of comparing hashes of 256 random
    bits, from which nothing about a valid token follows.
    """
    # A header may hold any bytes; aiohttp hands on those that are no UTF-8 as surrogates.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


# Links to the figures of one survey: tokens of readers, each with an end.
#
# A link has its token in the fragment, which no browser sends: no log and no Referer has it. The
# page that it leads to posts it, and gets a cookie for it.

MOST_DAYS: Final = 366
_DAY_SECONDS: Final = 86_400


async def new_link(store: Store, name: str, days: int, label: str, now: float) -> str:
    """Return a fresh link, from the collector's root; it is shown once and stored nowhere."""
    secret, made_at = new_token(), int(now)
    ends_at = made_at + days * _DAY_SECONDS
    await store.add_token(Token(token_digest(secret), Role.READER, label, made_at, name, ends_at))
    return f"share#{secret}"


async def links(store: Store, name: str) -> list[Token]:
    """Return the links to a survey's figures that were not revoked, the oldest first."""
    return [token for token in await store.tokens() if token.survey == name]
