"""``deniable serve`` as a process that a test talks to, or as a thread that answers alike."""

import asyncio
import http.client
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deniable.directory import Config
from deniable.server.routes.app import build_server
from deniable.server.serving import accept, open_sockets
from deniable.stores import open_store
from tests.cli.commands import Workplace
from tests.support.processes import DENIABLE, await_line, child

SECONDS = 30.0


@dataclass
class Reached:
    """A collector that listens on this machine."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def exchange(self, request: bytes) -> bytes:
        """Send bytes as they are; return everything until the connection ends."""
        with self.connect() as connection:
            connection.sendall(request)
            return received(connection)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@dataclass
class Server(Reached):
    """A collector that is a process."""

    process: subprocess.Popen[bytes]
    log: Path

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return exit status and the rest of what was printed."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        assert self.process.stdout is not None
        rest = self.process.stdout.read().decode()
        return self.process.wait(SECONDS), rest


@contextmanager
def serving(
    place: Workplace, *options: str, command: Sequence[str] = DENIABLE, port: int = 0
) -> Iterator[Server]:
    """Run the collector, on a port that the system chooses if none is given."""
    place.set(port=str(port))
    log = place.directory.with_name("stderr.txt")
    with (
        log.open("wb") as stderr,
        child(
            [*command, "serve", "--dir", place.directory, *options],
            stdout=subprocess.PIPE,
            stderr=stderr,
        ) as process,
    ):
        announced = await_line(process, b"listening on http://127.0.0.1:").decode()
        chosen = announced.partition("127.0.0.1:")[2].split()[0]
        yield Server(int(chosen), process, log)


@contextmanager
def answering(place: Workplace, port: int = 0) -> Iterator[Reached]:
    """Run the collector in a thread, from its settings, for those who only ask it something."""
    listens: Future[int] = Future()
    ends = asyncio.Event()

    async def serve(config: Config) -> None:
        store = await open_store(config.store)
        server = await build_server(config, store)
        (site,) = await accept(server, open_sockets("127.0.0.1", port))
        listens.set_result(site.sockets[0].getsockname()[1])
        await ends.wait()
        site.close()
        await server.shutdown(0)
        await store.close()

    loop = asyncio.new_event_loop()
    work = loop.create_task(serve(Config.load(place.directory)))
    thread = threading.Thread(target=loop.run_until_complete, args=[work])
    thread.start()
    try:
        yield Reached(listens.result(SECONDS))
    finally:
        loop.call_soon_threadsafe(ends.set)
        thread.join()
        loop.close()


def received(connection: socket.socket) -> bytes:
    """Return everything until the connection ends."""
    return b"".join(iter(lambda: connection.recv(65_536), b""))
