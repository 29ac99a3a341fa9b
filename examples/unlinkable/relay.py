"""A relay, which somebody else than the collector runs: it passes on what it cannot read.

`deniable relay --to URL` is one for trials, examples/operations/relay-nginx.conf one in earnest.
This one writes down what any relay could, to show it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import ClientSession, DummyCookieJar, web
from serving import Address, serving

_SIZE = 1024


@contextmanager
def relay(gateway: str) -> Iterator[Address]:
    """Serve a relay to a collector's gateway; its address comes with all that it saw."""
    seen: list[str] = []

    async def passed_on(request: web.Request) -> web.Response:
        body = await request.read()
        if request.content_type != "message/ohttp-req" or len(body) != _SIZE:
            raise web.HTTPBadRequest
        headers = {"Content-Type": "message/ohttp-req"}  # and nothing of whoever sent it
        async with (
            ClientSession(cookie_jar=DummyCookieJar()) as session,
            session.post(gateway, data=body, headers=headers) as answer,
        ):
            sealed = await answer.read()
        seen.append(f"{request.remote}: …{body[-7:].hex()}, {len(body):,} bytes, sealed")
        return web.Response(status=answer.status, body=sealed, content_type=answer.content_type)

    with serving([web.post("/", passed_on)]) as url:
        yield Address(f"{url}/", seen)
