"""One HTTP request on a connection of its own (D7), with the standard library's client.

Redirects are not followed, encodings not decoded, cookies not kept, and no answer is read beyond a
cap in bytes and in time: whatever the network does, the device neither hangs nor fills its memory.
"""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from functools import partial
from typing import Final, Protocol
from urllib.parse import urlsplit

from deniable.client.delivery import HttpAnswer

__all__ = ["REQUEST_SECONDS", "HttpTransport", "Transport", "TransportError"]

_USER_AGENT: Final = "deniable/1"
"""Constant, so that it tells devices apart by nothing."""
_MOST_HEADER_BYTES: Final = 64 * 1024

REQUEST_SECONDS: Final = 20.0
"""How long one exchange may take unless the caller has less time."""


class TransportError(Exception):
    """No usable answer came."""


class Transport(Protocol):
    """How the client reaches its collector."""

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        most: int,
        timeout: float = REQUEST_SECONDS,
    ) -> HttpAnswer:
        """Send one request.

        Args:
            method: GET or POST.
            path: from the root of the collector's origin.
            headers: beside those that every request has.
            body: may be empty.
            most: how many bytes of an answer's body are taken.
            timeout: seconds for the whole exchange.

        Raises:
            TransportError: if no usable answer came.
        """


class HttpTransport:
    """HTTP/1.1 to one origin, a connection a request.

    Args:
        origin: a checked origin; http only for this machine.
        timeout: seconds for a whole exchange, if the caller has not less.
    """

    def __init__(self, origin: str, timeout: float = REQUEST_SECONDS) -> None:
        parts = urlsplit(origin)
        self._secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port
        self._timeout = timeout

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        most: int,
        timeout: float = REQUEST_SECONDS,
    ) -> HttpAnswer:
        """Send one request; see :class:`Transport`."""
        timeout = min(timeout, self._timeout)
        deadline = time.monotonic() + timeout
        connection = None
        try:
            connection = self._connect(timeout)
            connection.response_class = partial(_Response, deadline, most + _MOST_HEADER_BYTES)  # type: ignore[assignment]
            fixed = {"User-Agent": _USER_AGENT, "Connection": "close"}
            connection.request(method, path, body=body or None, headers={**fixed, **headers})
            with connection.getresponse() as response:
                received = {name.lower(): value for name, value in response.getheaders()}
                if received.get("content-encoding", "identity") != "identity":
                    raise TransportError("an encoded answer, which was not asked for")
                return HttpAnswer(response.status, received, _read(response, most))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise TransportError(type(error).__name__) from error
        finally:
            if connection is not None:
                connection.close()

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=timeout, context=ssl.create_default_context()
        )


class _Response(http.client.HTTPResponse):
    """A response whose bytes must come by a deadline, however slowly they drip, and be few."""

    def __init__(
        self,
        deadline: float,
        most: int,
        sock: socket.socket,
        debuglevel: int = 0,
        method: str | None = None,
        url: str | None = None,
    ) -> None:
        super().__init__(sock, debuglevel, method, url)
        # The stream underneath keeps the socket open until this one is closed.
        self.fp = io.BufferedReader(_BoundedStream(self.fp, sock, deadline, most))


class _BoundedStream(io.RawIOBase):
    def __init__(
        self, under: io.BufferedIOBase, sock: socket.socket, deadline: float, most: int
    ) -> None:
        self._under = under
        self._sock = sock
        self._deadline = deadline
        self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        received = self._sock.recv_into(buffer)
        # Counted here, on the wire: a hostile chunk size makes http.client read without end.
        self._left -= received
        if self._left < 0:
            raise TransportError("the answer is too long")
        return received

    def close(self) -> None:
        self._under.close()
        super().close()


def _read(response: http.client.HTTPResponse, most: int) -> bytes:
    body = response.read(most + 1)
    if len(body) > most:
        raise TransportError("the answer is too long")
    if response.length:  # http.client says nothing if less came than was announced
        raise TransportError("the answer was cut short")
    return body
