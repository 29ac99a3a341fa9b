"""Running the collector: sockets, signals, and a shutdown that loses nothing."""

import asyncio
import signal
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

from deniable.directory import Config
from deniable.server.connections import HEAD_SECONDS, CollectorServer
from deniable.server.gauges import Gauges
from deniable.server.logging_setup import LoopErrors
from deniable.server.metrics import Meters
from deniable.server.routes.app import build_metrics_server, build_server
from deniable.server.routes.catalogue import Catalogue
from deniable.server.tls import reload_certificate, tls_context
from deniable.server.upkeep import Upkeep
from deniable.stores import open_store

_ARRIVAL_SECONDS: Final = 0.5
_DRAIN_SECONDS: Final = 30.0
_BACKLOG: Final = 1_024
_KERNEL_BYTES: Final = 1 << 16
"""Bytes for each direction of a connection; Linux uses twice as much, for its own needs."""


def run_in_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in uvloop's event loop if that is installed, otherwise in asyncio's own."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen at host and port; or raise OSError.

    Connections wait in the kernel until one of the processes that have the sockets accepts them.
    """
    addresses = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets = []
    for family, _, _, _, place in dict.fromkeys(addresses):
        made = socket.create_server(place, family=family, backlog=_BACKLOG)
        sockets.append(made)
        # Accepted sockets inherit these; otherwise the kernel keeps up to 4 MB of each answer.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BYTES)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _KERNEL_BYTES)
    return sockets


async def accept(
    server: CollectorServer, sockets: Sequence[socket.socket], *, tls: ssl.SSLContext | None = None
) -> list[asyncio.Server]:
    """Accept connections from the sockets until the returned servers are closed."""
    loop = asyncio.get_running_loop()
    # A handshake may take as long as a request's head.
    seconds = None if tls is None else HEAD_SECONDS
    return [
        await loop.create_server(
            server, sock=listening, backlog=_BACKLOG, ssl=tls, ssl_handshake_timeout=seconds
        )
        for listening in sockets
    ]


class Sockets(NamedTuple):
    """The sockets that listen for devices and people, and for whoever reads the metrics."""

    public: Sequence[socket.socket]
    metrics: Sequence[socket.socket] = ()

    def address(self, config: Config) -> str:
        """Return the text of the public address as people write it."""
        host, port = config.host, self.public[0].getsockname()[1]
        scheme = "http" if config.tls_certificate is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"

    def close(self) -> None:
        """Close all of the sockets."""
        for held in (*self.public, *self.metrics):
            held.close()


def sockets_of(config: Config) -> Sockets:
    """Return the sockets of these settings' addresses; or raise OSError."""
    public = open_sockets(config.host, config.port)
    return Sockets(public, () if config.metrics is None else open_sockets(*config.metrics))


async def serve(
    config: Config,
    announce: Callable[[str], None],
    *,
    meters: Meters | None = None,
    sockets: Sockets | None = None,
    until_closed: int | None = None,
    leads: Callable[[], bool] = lambda: True,
) -> None:
    """Serve until SIGTERM or SIGINT; then finish requests in progress, and close the store.

    With TLS, SIGHUP makes it read the certificate again; without, it acts like SIGTERM. The address
    is announced once requests are accepted. Other processes may share the sockets; by default, they
    are opened here. Closing the other end of the descriptor ``until_closed`` acts like SIGTERM.
    ``leads`` returns whether this process currently seals, prunes and ends by the clock.

    Raises:
        InvalidConfig: if the certificate cannot be used.
        OSError: if listening on the address fails.
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
    most = config.database_connections
    store = await open_store(config.store, migrate=True, most_connections=most)
    try:
        catalogue = Catalogue(store, config.authority, time.time, config.public)
        gauges = Gauges(config, store, catalogue, tls=tls)
        server = await build_server(
            config, store, meters=meters, catalogue=catalogue, gauges=gauges
        )
        try:
            sockets = sockets or sockets_of(config)
            sites = await accept(server, sockets.public, tls=tls)
            upkeep = Upkeep(store, catalogue, time.time, meters)
            async with (
                _serving_metrics(config, meters, gauges, sockets.metrics),
                _meanwhile(gauges.keep(meters)),
                _meanwhile(upkeep.run(config.upkeep_seconds, leads)),
            ):
                announce(sockets.address(config))
                await stop.wait()
            # aiohttp's shutdown reads no more bytes, and waits in vain for a connection that it has
            # just accepted, so bytes in transit must have arrived before.
            for site in sites:
                site.close()
            await asyncio.sleep(_ARRIVAL_SECONDS)
        finally:
            # Waits for requests in progress, then cuts the rest.
            await server.shutdown(_DRAIN_SECONDS)
    finally:
        await store.close()


@asynccontextmanager
async def _meanwhile(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a coroutine while the block runs."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def _serving_metrics(
    config: Config, meters: Meters, gauges: Gauges, sockets: Sequence[socket.socket]
) -> AsyncIterator[None]:
    """Serve the metrics on their own sockets during the block, if there are any."""
    if not sockets:
        yield
        return
    server = build_metrics_server(config, meters, gauges)
    sites = await accept(server, sockets)
    try:
        yield
    finally:
        for site in sites:
            site.close()
        await server.shutdown(0)
