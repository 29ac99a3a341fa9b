"""A relay of RFC 9458: passes encapsulated requests on, and nothing that tells of who sent them."""

from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import Final

from aiohttp import (
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
    hdrs,
    web,
)

from deniable.messages import (
    ENCAPSULATED_REQUEST_BYTES,
    MAX_ENCAPSULATED_ANSWER_BYTES,
    media_type,
)
from deniable.oblivious_http import REQUEST_TYPE
from deniable.server.routes.token_buckets import TokenBuckets
from deniable.server.transport.addresses import mark, read_address

_BURST: Final = 20.0
_PIECE_BYTES: Final = 1 << 16
_SECONDS: Final = ClientTimeout(total=130.0, connect=5.0)  # longer than a collector's answer takes
_OF_THE_ANSWER: Final = ("Content-Type", "Retry-After")


def relaying(gateway: str, rate: float, clock: Callable[[], float] = monotonic) -> web.Application:
    """Return the application that takes requests by POST, at any path.

    Args:
        gateway: The URL that they are passed on to.
        rate: Requests a second of one address; 0 for any.
        clock: In seconds.
    """
    limits = TokenBuckets(rate, _BURST, clock)
    sessions: list[ClientSession] = []

    async def connected(_: web.Application) -> AsyncIterator[None]:
        async with ClientSession(
            connector=TCPConnector(),  # many clients' requests share its connections
            cookie_jar=DummyCookieJar(),
            timeout=_SECONDS,
            auto_decompress=False,
            skip_auto_headers=(hdrs.USER_AGENT, hdrs.ACCEPT, hdrs.ACCEPT_ENCODING),
        ) as session:
            sessions.append(session)
            yield

    async def answer(request: web.Request) -> web.Response:
        if request.method != "POST":
            raise web.HTTPMethodNotAllowed(request.method, ["POST"])
        if media_type(request.headers.get("Content-Type", "")) != REQUEST_TYPE:
            raise web.HTTPUnsupportedMediaType
        if request.content_length != ENCAPSULATED_REQUEST_BYTES:
            raise web.HTTPBadRequest
        if not limits.take(mark(read_address(request.remote or ""))):
            raise web.HTTPTooManyRequests(headers={"Retry-After": "60"})
        body = await request.read()
        try:
            headers = {"Content-Type": REQUEST_TYPE}
            passed_on = sessions[0].post(gateway, data=body, headers=headers, allow_redirects=False)
            async with passed_on as given:
                return await _passed_back(given)
        except (ClientError, TimeoutError) as error:
            raise web.HTTPBadGateway from error

    application = web.Application(client_max_size=ENCAPSULATED_REQUEST_BYTES)
    application.cleanup_ctx.append(connected)
    application.router.add_route("*", "/{path:.*}", answer)
    return application


async def _passed_back(given: ClientResponse) -> web.Response:
    """Return the gateway's answer, once all of it has come: a part of one is none."""
    body = b""
    async for piece in given.content.iter_chunked(_PIECE_BYTES):
        body += piece
        if len(body) > MAX_ENCAPSULATED_ANSWER_BYTES:
            raise web.HTTPBadGateway
    headers = {name: given.headers[name] for name in _OF_THE_ANSWER if name in given.headers}
    return web.Response(status=given.status, headers=headers, body=body)
