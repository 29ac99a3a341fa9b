"""A small HTTP server on 127.0.0.1 that exposes its sockets, so that answers may be anything."""

import socket
import socketserver
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Final, Self

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


Respond = Callable[[ReceivedRequest, socket.socket], None]


def pack_answer(answer: HttpAnswer) -> bytes:
    """Return the bytes of an answer, the last on its connection."""
    lines = [
        f"HTTP/1.1 {answer.status} Answer",
        *(f"{name}: {value}" for name, value in answer.headers.items()),
        f"content-length: {len(answer.body)}",
        "connection: close",
        "",
        "",
    ]
    return "\r\n".join(lines).encode("latin-1") + answer.body


class _Handler(BaseHTTPRequestHandler):
    server: "LoopbackServer"

    def _respond(self) -> None:
        length = self.headers.get("content-length", "0")
        most = min(int(length), _MOST_BODY_BYTES) if length.isdigit() else 0
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(most)
        self.close_connection = True
        request = ReceivedRequest(self.command, self.path, headers, body)
        self.server.respond(request, self.connection)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _respond  # noqa: N815 - named by http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name above
        """Log nothing."""


class LoopbackServer(socketserver.ThreadingTCPServer):
    """A server that passes each request and its socket to a function, on one thread per connection.

    The function may write anything; its ``OSError`` means that the other side hung up.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, respond: Respond) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.respond = respond
        self.stopped = threading.Event()  # set when the server is being closed
        self._open: set[Any] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @property
    def origin(self) -> str:
        """Return the server's origin."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def start(self) -> None:
        """Serve on a thread, unless one is already serving."""
        if self._thread is None and not self.stopped.is_set():
            self._thread = threading.Thread(
                target=self.serve_forever, args=(_POLL_SECONDS,), name="fake-collector", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Close every connection and the port; return once no thread is left."""
        self.stopped.set()
        if self._thread is not None:
            self.shutdown()
            self._thread.join(_CLOSE_SECONDS)
            self._thread = None
        self.server_close()
        with self._changed:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._changed.wait_for(lambda: not self._open, _CLOSE_SECONDS)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Record a connection before its thread starts."""
        with self._changed:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Record that a connection is over, at the end of its thread."""
        super().shutdown_request(request)
        with self._changed:
            self._open.discard(request)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a device that hung up."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class LoopbackDouble:
    """A test double, served on an ephemeral port of 127.0.0.1 while it is entered."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._requests: list[ReceivedRequest] = []
        self._server = LoopbackServer(self._respond)

    @property
    def requests(self) -> tuple[ReceivedRequest, ...]:
        """Return all requests, in order of arrival."""
        with self._changed:
            return tuple(self._requests)

    def close(self) -> None:
        """End every connection and free the port."""
        self._server.stop()

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _respond(self, request: ReceivedRequest, connection: socket.socket) -> None:
        raise NotImplementedError
