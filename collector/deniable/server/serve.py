"""Running the collector: sockets, signals, and an end that loses nothing."""

import asyncio
import logging
import math
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from deniable.server.app import build_server
from deniable.server.config import Config
from deniable.server.meters import Meters
from deniable.stores import SqliteStore

__all__ = ["run_in_loop", "serve"]

_ARRIVAL_SECONDS: Final = 0.5
_DRAIN_SECONDS: Final = 30.0
_SECONDS_BETWEEN_LINES: Final = 60.0
_BACKLOG: Final = 1_024

_LOG = logging.getLogger("deniable.collector")


def run_in_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in uvloop's event loop where that is installed, else in asyncio's own."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


async def serve(
    config: Config,
    announce: Callable[[str], None],
    *,
    meters: Meters | None = None,
    share_port: bool = False,
    until_closed: int | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; then finish what was begun, and close the store.

    Args:
        config: the collector's settings.
        announce: called with the address once requests are taken.
        meters: what is counted; by default, for this process alone.
        share_port: whether other workers listen on the same port (SO_REUSEPORT).
        until_closed: a file descriptor whose other end's closing is as good as SIGTERM.

    Raises:
        OSError: if the address cannot be listened on.
        StoreError: if the store cannot be opened.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if until_closed is not None:
        loop.add_reader(until_closed, stop.set)
    loop.set_exception_handler(_OneLineAMinute())
    store = await SqliteStore.open(Path(config.store), config.most_waiting)
    try:
        server = await build_server(config, store, meters=meters)
        runner = web.ServerRunner(server, shutdown_timeout=_DRAIN_SECONDS)
        await runner.setup()
        try:
            site = web.TCPSite(
                runner, config.host, config.port, backlog=_BACKLOG, reuse_port=share_port or None
            )
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
        if until_closed is not None:
            with suppress(OSError):
                loop.remove_reader(until_closed)
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
