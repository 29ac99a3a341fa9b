"""A small HTTP server on 127.0.0.1, whose answers may be late or missing."""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Final, NamedTuple

_POLL_SECONDS: Final = 0.02
_CLOSE_SECONDS: Final = 5.0
_MOST_BODY_BYTES: Final = 1 << 20


class Incoming(NamedTuple):
    """A received request, with its connection's number; headers by lower-case name, in order."""

    connection: int
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, with its headers other than the length."""

    status: int = 200
    body: bytes = field(default=b"", repr=False)
    headers: tuple[tuple[str, str], ...] = ()


class _Handler(BaseHTTPRequestHandler):
    server: "LoopbackServer"
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        if not self.server.keeps_open:
            self.request.settimeout(_CLOSE_SECONDS)
        self._number = next(self.server.numbers)

    def _respond(self) -> None:
        length = self.headers.get("content-length", "0")
        body = self.rfile.read(min(int(length), _MOST_BODY_BYTES) if length.isdigit() else 0)
        headers = tuple((name.lower(), value) for name, value in self.headers.items())
        came = Incoming(self._number, self.command, self.path, headers, body)
        answer = self.server.respond(came)
        if answer is None:
            self.close_connection = True
            return
        self.send_response_only(answer.status, "Answer")
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(answer.body)))
        if not self.server.keeps_open:
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = _respond  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by http.server
        """Log nothing."""


class LoopbackServer(ThreadingHTTPServer):
    """A server that answers each request by a function, on one thread per connection.

    Without an answer, the connection ends. A function that waits for ``stopped`` never answers. A
    server that ``keeps_open`` its connections detects which requests share one.
    """

    request_queue_size = 128

    def __init__(
        self, respond: Callable[[Incoming], Answer | None], *, keeps_open: bool = False
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.respond = respond
        self.keeps_open = self.daemon_threads = keeps_open
        self.numbers = count(1)
        self.stopped = threading.Event()  # set when the server is being closed
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
        self._thread = threading.Thread(
            target=self.serve_forever, args=(_POLL_SECONDS,), name="loopback", daemon=True
        )

    def start(self) -> None:
        """Serve on a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Free the port; end every connection that is not kept open, with its thread."""
        self.stopped.set()
        if self._thread.is_alive():
            self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a device that hung up, or was killed."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)
