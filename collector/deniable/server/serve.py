"""Running the collector: sockets, signals, and an end that loses nothing."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from aiohttp import web

from deniable.server.app import build_server
from deniable.server.catalogue import Catalogue
from deniable.server.config import Config
from deniable.server.gauges import Gauges
from deniable.server.listening import listen, serving_metrics, shown_address
from deniable.server.logs import LoopErrors
from deniable.server.meters import Meters
from deniable.server.tls import reload_certificate, tls_context
from deniable.server.upkeep import Upkeep
from deniable.stores import open_store

__all__ = ["run_in_loop", "serve"]

_ARRIVAL_SECONDS: Final = 0.5
_DRAIN_SECONDS: Final = 30.0


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
    leads: Callable[[], bool] = lambda: True,
) -> None:
    """Serve until SIGTERM or SIGINT; then finish what was begun, and close the store.

    With TLS, SIGHUP has the certificate read anew; without, it is as good as SIGTERM.

    Args:
        config: the collector's settings.
        announce: called with the address once requests are taken.
        meters: what is counted; by default, for this process alone.
        share_port: whether other workers listen on the same port (SO_REUSEPORT).
        until_closed: a file descriptor whose other end's closing is as good as SIGTERM.
        leads: whether it is this process that seals, prunes and ends by the clock, at that moment.

    Raises:
        InvalidConfig: if the certificate cannot be used.
        OSError: if the address cannot be listened on.
        StoreError: if the store cannot be opened.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if until_closed is not None:
        loop.add_reader(until_closed, stop.set)
    loop.set_exception_handler(LoopErrors())
    tls = tls_context(config)
    if tls is None:
        loop.add_signal_handler(signal.SIGHUP, stop.set)
    else:
        loop.add_signal_handler(signal.SIGHUP, reload_certificate, tls, config)
    meters = meters or Meters()
    store = await open_store(
        config.store,
        config.most_waiting,
        migrate=True,
        most_connections=config.database_connections,
    )
    try:
        catalogue = Catalogue(store, config.authority, time.time)
        gauges = Gauges(config, store, catalogue, tls=tls)
        server = await build_server(
            config, store, meters=meters, catalogue=catalogue, gauges=gauges
        )
        runner = web.ServerRunner(server, shutdown_timeout=_DRAIN_SECONDS)
        await runner.setup()
        try:
            site = await listen(server, (config.host, config.port), tls=tls, share_port=share_port)
            port = site.sockets[0].getsockname()[1]
            async with (
                serving_metrics(config, meters, gauges, share_port=share_port),
                gauges.kept(meters),
                _keeping_up(Upkeep(store, catalogue, time.time, meters), config, leads),
            ):
                announce(shown_address(config.host, port, tls=tls is not None))
                await stop.wait()
            # aiohttp's cleanup reads no more bytes, and waits in vain for a connection that it has
            # only just accepted: whatever is on its way must have arrived before.
            site.close()
            await asyncio.sleep(_ARRIVAL_SECONDS)
        finally:
            # Waits for requests under way, then cuts what is left.
            await runner.cleanup()
    finally:
        if until_closed is not None:
            with suppress(OSError):
                loop.remove_reader(until_closed)
        await store.close()


@asynccontextmanager
async def _keeping_up(
    upkeep: Upkeep, config: Config, leads: Callable[[], bool]
) -> AsyncIterator[None]:
    """Do what falls due meanwhile, unless it is to be looked at every 0 seconds: never."""
    if not config.upkeep_seconds:
        yield
        return
    task = asyncio.create_task(upkeep.run(config.upkeep_seconds, leads))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
