"""A server of bytes: it reads each request and sends whatever a test tells it to, well or badly."""

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress

_SECONDS = 20.0

Script = Callable[["RawServer", socket.socket], None]


def answer(status: str, body: bytes = b"", *headers: str) -> bytes:
    """Return the bytes of an answer with a length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


class RawServer:
    """Serves one connection after the other on an ephemeral port of 127.0.0.1.

    Attributes:
        before_handshake: called before a handshake of TLS begins.

    Args:
        tls: serve TLS with this context.
        headless: reply at once, without waiting for a request.
    """

    def __init__(
        self,
        reply: bytes | Script = b"",
        tls: ssl.SSLContext | None = None,
        *,
        headless: bool = False,
    ) -> None:
        self.reply = reply  # bytes, or a function that writes to the connection as it likes
        self.requests: list[bytes] = []  # the bytes of every request
        self.connections = 0
        self.before_handshake: Callable[[], object] = lambda: None
        self.hands_shaken = threading.Event()  # set once a handshake of TLS is over
        self.hung_up = threading.Event()  # set once a client has closed its side after the reply
        self.over = threading.Event()  # set when the test is over; a script that drips asks it
        self._tls = tls
        self._headless = headless
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, name="raw-server")

    @property
    def origin(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def drip(self, connection: socket.socket, part: bytes, times: int) -> None:
        """Send a part again and again, slowly, until the client is gone."""
        with suppress(OSError):
            for _ in range(times):
                connection.sendall(part)
                if self.over.wait(0.01):
                    return

    def _serve(self) -> None:
        while not self.over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            connection.settimeout(_SECONDS)
            with connection, suppress(OSError):
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        if self._tls is not None:
            self.before_handshake()
            with self._tls.wrap_socket(connection, server_side=True) as wrapped:
                self.hands_shaken.set()
                self._exchange(wrapped)
        else:
            self._exchange(connection)

    def _exchange(self, connection: socket.socket) -> None:
        if not self._headless:
            self.requests.append(_read_request(connection))
        try:
            if isinstance(self.reply, bytes):
                connection.sendall(self.reply)
                connection.shutdown(socket.SHUT_WR)
            else:
                self.reply(self, connection)
            while connection.recv(4096):
                pass
        except TimeoutError:
            return  # still there
        except OSError:
            pass  # reset, or no longer connected: it hung up before it had read everything
        self.hung_up.set()

    def __enter__(self) -> "RawServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(_SECONDS)


def _read_request(connection: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        try:
            part = connection.recv(4096)
        except ConnectionError:  # reset by a client that has sent nothing more
            return received
        if not part:
            return received
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    lengths = [line[15:] for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"]
    missing = (int(lengths[0]) if lengths else 0) - len(body)
    while missing > 0:
        part = connection.recv(4096)
        received, missing = received + part, missing - len(part)
        if not part:
            break
    return received
