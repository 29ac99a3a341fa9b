"""Tokens of 256 random bits, of which the store keeps the SHA-256 only."""

import hashlib
import secrets


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
