"""A collector that answers whatever a scenario wants, on a port of 127.0.0.1, and notes all."""

import socketserver
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from itertools import count
from typing import Any, Final

_POLL_SECONDS: Final = 0.02
_MOST_BODY_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and what stands at its head besides what all have."""

    status: int = 200
    body: bytes = field(default=b"", repr=False)
    headers: tuple[tuple[str, str], ...] = ()


CUT: Final = None
"""In place of an answer: the connection ends without one."""

Respond = Callable[[int, str, str, tuple[tuple[str, str], ...], bytes], Answer | None]
"""Given the connection's number, method, path, headers and body, returns the answer."""


class HostileCollector(socketserver.ThreadingTCPServer):
    """The sockets of a collector; its answers are those of ``respond``, by the time of ``clock``.

    Every answer has a cookie and an ETag: no device sends them back. Connections are kept open, so
    that one that is used again is seen to be.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, respond: Respond, clock: Callable[[], float]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.respond = respond
        self.clock = clock
        self.numbers = count(1)
        self._thread = threading.Thread(
            target=self.serve_forever, args=(_POLL_SECONDS,), name="hostile-collector", daemon=True
        )
        self._thread.start()

    @property
    def origin(self) -> str:
        """Return the server's origin."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        """Free the port; connections end with their threads."""
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a device that hung up, or was killed."""


class _Handler(BaseHTTPRequestHandler):
    server: HostileCollector
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self._number = next(self.server.numbers)

    def _respond(self) -> None:
        length = self.headers.get("content-length", "0")
        body = self.rfile.read(min(int(length), _MOST_BODY_BYTES) if length.isdigit() else 0)
        headers = tuple((name.lower(), value) for name, value in self.headers.items())
        if self.command == "OPTIONS":  # a browser asks whether it may
            answer: Answer | None = Answer(204)
        else:
            answer = self.server.respond(self._number, self.command, self.path, headers, body)
        if answer is CUT:
            self.close_connection = True
            return
        date = min(max(self.server.clock(), 0), 2**37)
        lines = [
            f"HTTP/1.1 {answer.status} Answer",
            f"date: {formatdate(date, usegmt=True)}",
            'etag: "a-mark-of-this-device"',
            "set-cookie: mark=of-this-device; Path=/; Max-Age=999999999",
            "access-control-allow-origin: *",
            "access-control-allow-methods: GET, POST",
            "access-control-allow-headers: content-type",
            *(f"{name}: {value}" for name, value in answer.headers),
            f"content-length: {len(answer.body)}",
        ]
        if (
            "origin" in self.headers
        ):  # of a page, which controls no connection and reads few headers
            lines += ["access-control-expose-headers: date, retry-after", "connection: close"]
            self.close_connection = True
        self.wfile.write("\r\n".join((*lines, "", "")).encode("latin-1") + answer.body)

    do_GET = do_POST = do_PUT = do_HEAD = do_OPTIONS = _respond  # noqa: N815 - of http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name above
        """Log nothing."""
