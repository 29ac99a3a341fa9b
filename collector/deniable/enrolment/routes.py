"""The routes to mount in an app's own aiohttp backend, below ``/v1/enrolments`` by default."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from deniable.enrolment.blind_issuer import BlindIssuer
from deniable.enrolment.issuer import (
    MEDIA_TYPE,
    EnrolmentAnswer,
    Issuer,
    answer_enrolment,
    answer_token_request,
    refuse_enrolment,
)
from deniable.messages import Refusal, RefusalCode, media_type
from deniable.messages.enrolment import MAX_ENROLMENT_BYTES
from deniable.privacy_pass import REQUEST_BYTES, REQUEST_TYPE

Authenticate = Callable[[web.Request], Awaitable[str | None]]


def enrolment_route(
    issuer: Issuer,
    authenticate: Authenticate,
    *,
    path: str = "/v1/enrolments",
    clock: Callable[[], float] = time.time,
) -> web.RouteDef:
    """Return the route of an issuer of certificates, for ``app.add_routes([...])``.

    ``authenticate`` returns the permanent name of the requesting account; None if there is none.
    Its errors are the app's own, and propagate.
    """

    def answer(account: str, _: web.Request, body: bytes) -> EnrolmentAnswer:
        return answer_enrolment(issuer, account, body, clock())

    return web.post(path, _handler(authenticate, MEDIA_TYPE, MAX_ENROLMENT_BYTES, answer))


def token_route(
    issuer: BlindIssuer,
    authenticate: Authenticate,
    *,
    path: str = "/v1/enrolments",
    clock: Callable[[], float] = time.time,
) -> web.RouteDef:
    """Return the route of a blind issuer: ``path``, then the survey's name and epoch."""

    def answer(account: str, request: web.Request, body: bytes) -> EnrolmentAnswer:
        survey, epoch = request.match_info["survey"], request.match_info["epoch"]
        return answer_token_request(issuer, account, survey, epoch, body, clock())

    handler = _handler(authenticate, REQUEST_TYPE, REQUEST_BYTES, answer)
    return web.post(f"{path}/{{survey}}/{{epoch}}", handler)


def _handler(
    authenticate: Authenticate,
    content_type: str,
    most: int,
    answer: Callable[[str, web.Request, bytes], EnrolmentAnswer],
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def enrol(request: web.Request) -> web.Response:
        account = await authenticate(request)
        if account is None:
            return _response(refuse_enrolment(RefusalCode.UNAUTHORISED, "sign in to the app first"))
        try:
            body = await _read(request, content_type, most)
        except Refusal as refusal:
            return _response(refuse_enrolment(refusal.code, refusal.reason))
        # In a thread, since the answer waits for the disk.
        return _response(await asyncio.to_thread(answer, account, request, body))

    return enrol


async def _read(request: web.Request, content_type: str, most: int) -> bytes:
    """Return the body; if it is too long, one byte more than allowed."""
    # Browser forms cannot have this type, so other sites cannot enrol keys for a user.
    if (
        media_type(request.headers.get("Content-Type", "")) != content_type
        or "Content-Encoding" in request.headers
    ):
        raise Refusal(
            RefusalCode.UNSUPPORTED_MEDIA_TYPE, f"send {content_type} without Content-Encoding"
        )
    body = b""
    while part := await request.content.read(most + 1 - len(body)):
        body += part
    return body


def _response(answer: EnrolmentAnswer) -> web.Response:
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    if answer.retry_after is not None:
        headers["Retry-After"] = answer.retry_after
    return web.Response(
        status=answer.status, body=answer.body, content_type=answer.content_type, headers=headers
    )
