"""A small HTTP server on 127.0.0.1, whose answers may be late or missing."""

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from deniable.client import HttpAnswer

_POLL_SECONDS: Final = 0.02
_CLOSE_SECONDS: Final = 5.0
_MOST_BODY_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A received request."""

    method: str
    path: str  # from the root of the origin
    headers: Mapping[str, str]  # by lower-case name
    body: bytes = field(repr=False)


class _Handler(BaseHTTPRequestHandler):
    server: "LoopbackServer"
    protocol_version = "HTTP/1.1"
    timeout = _CLOSE_SECONDS

    def _respond(self) -> None:
        length = self.headers.get("content-length", "0")
        most = min(int(length), _MOST_BODY_BYTES) if length.isdigit() else 0
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(most)
        self.close_connection = True
        answer = self.server.respond(ReceivedRequest(self.command, self.path, headers, body))
        if answer is None:
            return
        self.send_response_only(answer.status, "Answer")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(answer.body)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _respond  # noqa: N815 - named by http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name above
        """Log nothing."""


class LoopbackServer(ThreadingHTTPServer):
    """A server that answers each request by a function, on one thread per connection.

    Without an answer, the connection ends. A function that waits for ``stopped`` never answers.
    """

    daemon_threads = False
    request_queue_size = 64

    def __init__(self, respond: Callable[[ReceivedRequest], HttpAnswer | None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.respond = respond
        self.stopped = threading.Event()  # set when the server is being closed
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
        self._thread = threading.Thread(
            target=self.serve_forever, args=(_POLL_SECONDS,), name="fake-collector", daemon=True
        )

    def start(self) -> None:
        """Serve on a thread."""
        self._thread.start()

    def stop(self) -> None:
        """End every connection and free the port; return once no thread is left."""
        self.stopped.set()
        if self._thread.is_alive():
            self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a device that hung up."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)
