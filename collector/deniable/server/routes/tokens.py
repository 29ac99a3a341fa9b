"""The callers' rights: the tokens that a request bears, and their roles."""

from typing import Final

from aiohttp import web

from deniable.directory import token_digest
from deniable.messages import Refusal, RefusalCode
from deniable.stores import Role, Store

SESSION: Final = "deniable-session-"
"""What the names of cookies with a token begin with; there may be one of each collector."""

_BEARER: Final = "bearer"
_MOST_SESSIONS: Final = 16
_RANKS: Final = tuple(Role)
"""Each role may do what those before it may."""


def held_tokens(request: web.BaseRequest) -> list[str]:
    """Return the token that a request bears; without an Authorization, those in its cookies.

    A host's cookies go to all its ports, so that some may be of another collector.
    """
    authorization = request.headers.get("Authorization")
    if authorization is not None:
        scheme, _, token = authorization.partition(" ")
        return [token.strip()] if scheme.lower() == _BEARER else []
    # Those of links have longer names: however many there are, a login comes first.
    names = sorted((name for name in request.cookies if name.startswith(SESSION)), key=len)
    return [request.cookies[name] for name in names[:_MOST_SESSIONS]]


async def held_role(
    request: web.BaseRequest, store: Store, now: float, survey: str = ""
) -> Role | None:
    """Return the greatest role of who asks, for a survey if one is named; None of a stranger."""
    tokens = [await store.token(token_digest(token)) for token in held_tokens(request)]
    roles = [token.role for token in tokens if token is not None and token.opens(survey, now)]
    return max(roles, key=_RANKS.index, default=None)


async def require_role(
    request: web.BaseRequest, store: Store, role: Role, now: float, survey: str = ""
) -> Role:
    """Check the request's tokens; return the greatest role.

    Raises:
        Refusal: unauthorised without a valid token, forbidden if its role does not suffice.
    """
    held = await held_role(request, store, now, survey)
    if held is None:
        raise Refusal(
            RefusalCode.UNAUTHORISED, "send Authorization: Bearer with a token of this collector"
        )
    if _RANKS.index(held) < _RANKS.index(role):
        raise Refusal(RefusalCode.FORBIDDEN, f"this needs a token with the role {role.value}")
    return held
