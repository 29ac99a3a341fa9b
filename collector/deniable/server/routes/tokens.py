"""Who may ask: bearer tokens of 256 random bits, kept only as their SHA-256."""

import hashlib
import secrets
from typing import TYPE_CHECKING, Final

from deniable.messages import Refusal, RefusalCode
from deniable.stores import Role, Store

if TYPE_CHECKING:  # the command line makes tokens without aiohttp
    from aiohttp import web

_BEARER: Final = "bearer"


def new_token() -> str:
    """Return a fresh token; it is shown once and stored nowhere."""
    return "deniable_" + secrets.token_hex(32)


def token_digest(token: str) -> bytes:
    """Return what the store keeps of a token.

    Looking the digest up by equality leaks no more than the time of comparing hashes of 256 random
    bits, from which nothing about a valid token follows.
    """
    # A header may hold any bytes; aiohttp hands on those that are no UTF-8 as surrogates.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


async def require_role(request: "web.BaseRequest", store: Store, role: Role) -> None:
    """Check the request's token.

    Raises:
        Refusal: unauthorised without a valid token, forbidden if its role does not suffice.
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    held = None
    if scheme.lower() == _BEARER:
        held = await store.token_role(token_digest(token.strip()))
    if held is None:
        raise Refusal(
            RefusalCode.UNAUTHORISED, "send Authorization: Bearer with a token of this collector"
        )
    if held not in {role, Role.OPERATOR}:
        raise Refusal(RefusalCode.FORBIDDEN, f"this needs a token with the role {role.value}")
