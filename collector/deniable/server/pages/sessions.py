"""A session is a token in a cookie: whoever may use the token may use the pages.

Nothing else is kept, so that any worker knows it, and revoking the token ends it.
"""

from typing import TYPE_CHECKING, Final

from deniable.messages import Refusal, RefusalCode
from deniable.server.routes.tokens import SESSION

if TYPE_CHECKING:
    from aiohttp import web

    from deniable.stores import Token

_SECONDS: Final = 12 * 3600
_ID_DIGITS: Final = 8
_FOREIGN: Final = "this form was sent by another site's page; open the page here and send it again"


def check_own_page(request: "web.BaseRequest") -> None:
    """Refuse (forbidden) what another site's page sends.

    Sec-Fetch-Site says so, which browsers send to https and to the machine itself; else Origin
    does, which has the host that was asked.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is None:
        origin = request.headers.get("Origin")
        if origin is None or origin.partition("://")[2] == request.headers.get("Host"):
            return
    elif site in {"same-origin", "none"}:
        return
    raise Refusal(RefusalCode.FORBIDDEN, _FOREIGN)


def begin_session(
    request: "web.BaseRequest",
    answer: "web.Response",
    authority: bytes,
    secret: str,
    token: "Token",
    now: float,
) -> None:
    """Set the cookie, for the directory of the path: below a proxy's prefix, if there is one.

    A link's has a name of its own, so that it takes no other's place.
    """
    answer.set_cookie(
        _name(authority) + ("" if token.survey is None else f"-{token.survey}"),
        secret,
        max_age=_SECONDS if token.ends_at is None else min(_SECONDS, int(token.ends_at - now)),
        path="",  # the one of the request
        httponly=True,
        samesite="Strict",
        # Behind a proxy that ends TLS, only the browser knows.
        secure=request.secure or request.headers.get("Origin", "").startswith("https://"),
    )


def end_session(request: "web.BaseRequest", answer: "web.Response", authority: bytes) -> None:
    """Take the cookies back, also those of links."""
    for name in request.cookies:
        if name.startswith(_name(authority)):
            answer.set_cookie(name, "", max_age=0, path="", httponly=True, samesite="Strict")


def _name(authority: bytes) -> str:
    # A host's cookies go to all its ports: each collector's has a name of its own.
    return SESSION + authority.hex()[:_ID_DIGITS]
