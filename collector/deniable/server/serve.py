"""Running the collector: sockets, signals, and an end that loses nothing."""

import asyncio
import logging
import math
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from deniable.server.app import build_server
from deniable.server.config import Config
from deniable.stores import SqliteStore

__all__ = ["serve"]

_ARRIVAL_SECONDS = 0.5
_DRAIN_SECONDS = 30.0
_SECONDS_BETWEEN_LINES = 60.0

_LOG = logging.getLogger("deniable.collector")


async def serve(config: Config, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; then finish what was begun, and close the store.

    Args:
        config: the collector's settings.
        announce: called with the address once requests are taken.

    Raises:
        OSError: if the address cannot be listened on.
        StoreError: if the store cannot be opened.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.set_exception_handler(_OneLineAMinute())
    store = await SqliteStore.open(Path(config.store), config.most_waiting)
    try:
        server = await build_server(config, store)
        runner = web.ServerRunner(server, shutdown_timeout=_DRAIN_SECONDS)
        await runner.setup()
        try:
            site = web.TCPSite(runner, config.host, config.port)
            await site.start()
            announce(site.name if config.port else _bound_address(runner, config))
            await stop.wait()
            # aiohttp's cleanup reads no more bytes, and waits in vain for a connection that it has
            # only just accepted: whatever is on its way must have arrived before.
            await site.stop()
            await asyncio.sleep(_ARRIVAL_SECONDS)
        finally:
            # Waits for requests under way, then cuts what is left.
            await runner.cleanup()
    finally:
        await store.close()


class _OneLineAMinute:
    """Logs what goes wrong in the event loop itself, such as running out of file descriptors.

    It can happen a thousand times a second: a traceback each would fill the disk.
    """

    def __init__(self) -> None:
        self._logged: dict[str, float] = {}

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        message = str(context.get("message", "unforeseen"))
        now = loop.time()
        if now - self._logged.get(message, -math.inf) >= _SECONDS_BETWEEN_LINES:
            self._logged[message] = now
            _LOG.error("event loop: %s (%s)", message, type(context.get("exception")).__name__)


def _bound_address(runner: web.ServerRunner, config: Config) -> str:
    port = runner.addresses[0][1]
    return f"http://{config.host}:{port}"
