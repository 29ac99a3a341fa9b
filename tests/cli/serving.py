"""``deniable serve`` as a process that a test talks to."""

import http.client
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cli.commands import Workplace
from tests.support.processes import DENIABLE, await_line, child

SECONDS = 30.0


@dataclass
class Server:
    """A running collector."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

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

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return exit status and the rest of what was printed."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        assert self.process.stdout is not None
        rest = self.process.stdout.read().decode()
        return self.process.wait(SECONDS), rest


@contextmanager
def serving(place: Workplace, *options: str, command: Sequence[str] = DENIABLE) -> Iterator[Server]:
    """Run the collector on a port that the system chooses."""
    settings = place.settings.read_text("utf-8").replace("port = 8377", "port = 0")
    place.settings.write_text(settings, "utf-8")
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
        port = announced.partition("127.0.0.1:")[2].split()[0]
        yield Server(process, int(port), log)


def received(connection: socket.socket) -> bytes:
    """Return everything until the connection ends."""
    return b"".join(iter(lambda: connection.recv(65_536), b""))
