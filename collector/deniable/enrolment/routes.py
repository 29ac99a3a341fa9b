"""The route to mount in an app's own aiohttp backend: ``POST /v1/enrolments`` by default."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from deniable.enrolment.exchange import (
    MEDIA_TYPE,
    EnrolmentAnswer,
    answer_enrolment,
    refuse_enrolment,
)
from deniable.enrolment.issuer import Issuer
from deniable.messages import MAX_ENROLMENT_BYTES, Refusal, RefusalCode, media_type

_BODY_SECONDS: Final = 10.0

Authenticate = Callable[[web.Request], Awaitable[str | None]]


def enrolment_route(
    issuer: Issuer,
    authenticate: Authenticate,
    *,
    path: str = "/v1/enrolments",
    clock: Callable[[], float] = time.time,
) -> web.RouteDef:
    """Return the route, for ``app.add_routes([...])``.

    ``authenticate`` returns the account that makes a request, by its lasting name; None if it is
    nobody's. What it raises is the app's own, and passes through.
    """

    async def enrol(request: web.Request) -> web.Response:
        account = await authenticate(request)
        if account is None:
            return _response(refuse_enrolment(RefusalCode.UNAUTHORISED, "sign in to the app first"))
        try:
            body = await _read(request)
        except Refusal as refusal:
            return _response(refuse_enrolment(refusal.code, refusal.reason))
        # In a thread: a certificate is given once it is on the disk.
        answer = await asyncio.to_thread(answer_enrolment, issuer, account, body, clock())
        return _response(answer)

    return web.post(path, enrol)


async def _read(request: web.Request) -> bytes:
    # No form of a browser has this type: other sites cannot enrol their keys for who is signed in.
    if (
        media_type(request.headers.get("Content-Type", "")) != MEDIA_TYPE
        or "Content-Encoding" in request.headers
    ):
        raise Refusal(
            RefusalCode.UNSUPPORTED_MEDIA_TYPE, f"send {MEDIA_TYPE} without Content-Encoding"
        )
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            body = b""
            while part := await request.content.read(MAX_ENROLMENT_BYTES + 1 - len(body)):
                body += part
            return body
    except TimeoutError as error:
        raise Refusal(RefusalCode.TIMEOUT, "the request took too long to arrive") from error


def _response(answer: EnrolmentAnswer) -> web.Response:
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    if answer.retry_after is not None:
        headers["Retry-After"] = answer.retry_after
    return web.Response(
        status=answer.status, body=answer.body, content_type=answer.content_type, headers=headers
    )
