"""One HTTP request on a connection of its own (D7), with the standard library's client.

Redirects are not followed, encodings not decoded, cookies not kept, and no answer is read beyond a
cap in bytes and in time: whatever the network does, the device neither hangs nor fills its memory.
"""

import http.client
import io
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from urllib.parse import unquote, urlsplit

from deniable.client.sending.connecting import connect_by
from deniable.client.sending.transport import HttpAnswer, Target, TransportError

__all__ = ["exchange"]

_USER_AGENT: Final = "deniable/1"
"""Constant, so that it tells devices apart by nothing."""
_MOST_HEADER_BYTES: Final = 64 * 1024
_HTTP_PORT: Final = 80
_HTTPS_PORT: Final = 443


def exchange(
    target: Target,
    proxies: Mapping[str, str] | None,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes,
    most: int,
    seconds: float,
) -> HttpAnswer:
    """Send one request and return its answer.

    Args:
        target: where to.
        proxies: URLs by scheme, or ``all``; None for those of the environment.
        method: GET or POST.
        path: from the root of the origin.
        headers: beside those that every request has.
        body: may be empty.
        most: how many bytes of an answer's body are taken.
        seconds: for the whole exchange.

    Raises:
        TransportError: if no usable answer came.
    """
    deadline = time.monotonic() + seconds
    connection = None
    by_way = ""
    try:
        proxy = _find_proxy(target, proxies)
        by_way = " through a proxy" if proxy else ""
        fixed = {"User-Agent": _USER_AGENT, "Connection": "close"}
        if proxy is not None and not target.secure:
            path = f"http://{target.netloc}{path}"
            fixed |= proxy.headers
        connection = _connection(target, proxy, seconds)
        # http.client's own way to put another function in place of socket.create_connection.
        connection._create_connection = partial(connect_by, deadline)  # type: ignore[attr-defined]
        # Also for the proxy's answer to CONNECT, which is read while connecting.
        connection.response_class = partial(_Response, deadline, most + _MOST_HEADER_BYTES)  # type: ignore[assignment]
        connection.request(method, path, body=body or None, headers={**fixed, **headers})
        with connection.getresponse() as response:
            received = {name.lower(): value for name, value in response.getheaders()}
            if received.get("content-encoding", "identity") != "identity":
                raise TransportError("an encoded answer, which was not asked for")
            return HttpAnswer(response.status, received, _read(response, most))
    except (OSError, http.client.HTTPException, ValueError) as error:
        # The kind only: its text may hold addresses, and the proxy's password.
        raise TransportError(type(error).__name__ + by_way) from error
    finally:
        if connection is not None:
            connection.close()


def _connection(
    target: Target, proxy: "_Proxy | None", seconds: float
) -> http.client.HTTPConnection:
    host, port = (target.host, target.port) if proxy is None else (proxy.host, proxy.port)
    if not target.secure:
        return http.client.HTTPConnection(host, port, timeout=seconds)
    connection = http.client.HTTPSConnection(
        host, port, timeout=seconds, context=ssl.create_default_context()
    )
    if proxy is not None:
        connection.set_tunnel(target.host, target.port or _HTTPS_PORT, dict(proxy.headers))
    return connection


def _find_proxy(target: Target, given: Mapping[str, str] | None) -> "_Proxy | None":
    if target.on_this_machine or target.host == "localhost":
        return None
    proxies = given
    if proxies is None:
        # Here, since it costs more time than all the rest of the client.
        from urllib.request import getproxies, proxy_bypass

        if proxy_bypass(target.netloc):
            return None
        proxies = getproxies()
    url = proxies.get(target.scheme) or proxies.get("all")
    return _Proxy.at(url) if url else None


@dataclass(frozen=True, slots=True)
class _Proxy:
    host: str
    port: int
    headers: Mapping[str, str] = field(repr=False)

    @classmethod
    def at(cls, url: str) -> "_Proxy":
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme != "http" or not parts.hostname:
            raise TransportError("the proxy is of no kind that can be used: http://host:port")
        headers = {}
        if parts.username is not None:
            secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            headers["Proxy-Authorization"] = f"Basic {b64encode(secret).decode()}"
        return cls(parts.hostname, parts.port or _HTTP_PORT, headers)


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
