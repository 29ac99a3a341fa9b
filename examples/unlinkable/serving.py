"""A party's server on a thread of its own, so that one program can be all of them."""

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from aiohttp import web


class Address(NamedTuple):
    """Where a party is reached, and what it has seen so far."""

    url: str
    seen: list[str]


@contextmanager
def serving(routes: Iterable[web.RouteDef]) -> Iterator[str]:
    """Serve routes on this machine; yield their origin."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    app = web.Application()
    app.add_routes(routes)
    runner = web.AppRunner(app, access_log=None, handle_signals=False)

    async def start() -> str:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        return f"http://{host}:{port}"

    try:
        yield asyncio.run_coroutine_threadsafe(start(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
