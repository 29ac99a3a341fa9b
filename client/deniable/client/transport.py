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
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from deniable.client.delivery import HttpAnswer

__all__ = ["REQUEST_SECONDS", "HttpTransport", "Transport", "TransportError"]

_USER_AGENT: Final = "deniable/1"
"""Constant, so that it tells devices apart by nothing."""
_MOST_HEADER_BYTES: Final = 64 * 1024
_THIS_MACHINE: Final = frozenset({"127.0.0.1", "::1"})
_HTTP_PORT: Final = 80
_HTTPS_PORT: Final = 443

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

    The connection goes through the proxy that the environment names (``HTTPS_PROXY``,
    ``ALL_PROXY``, ``NO_PROXY``, or the system's settings, as the standard library reads them),
    tunnelled with CONNECT, so that the proxy sees no more than the collector's name. A proxy of
    another kind than ``http://`` is never gone around: the collector is then unreachable. This
    machine is never reached through a proxy.

    Args:
        origin: where requests go, ``https://host[:port]``; http for 127.0.0.1 and [::1].
        timeout: seconds for a whole exchange, if the caller has not less.
        proxies: URLs by scheme, or ``all``, in place of the environment's; an empty mapping for no
            proxy.
        unsafe_plain_http: allow http to any address: for a sidecar that speaks TLS from there on.
            Whoever sees the traffic before it does learns every response.

    Raises:
        ValueError: for an origin that is none, and for plain http to another machine without
            ``unsafe_plain_http``.
    """

    def __init__(
        self,
        origin: str,
        timeout: float = REQUEST_SECONDS,
        *,
        proxies: Mapping[str, str] | None = None,
        unsafe_plain_http: bool = False,
    ) -> None:
        parts = urlsplit(origin)
        if parts.scheme not in {"https", "http"} or not parts.hostname:
            raise ValueError("origin must be https://host[:port]")
        self._scheme = parts.scheme
        self._host = parts.hostname
        self._port = parts.port
        self._netloc = parts.netloc
        self._local = self._host in _THIS_MACHINE
        if self._scheme == "http" and not self._local and not unsafe_plain_http:
            raise ValueError(
                "origin must be https; http is for 127.0.0.1 and [::1], or with unsafe_plain_http"
            )
        self._timeout = timeout
        self._proxies = proxies

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
        by_way = ""
        try:
            proxy = self._find_proxy()
            by_way = " through a proxy" if proxy else ""
            fixed = {"User-Agent": _USER_AGENT, "Connection": "close"}
            if proxy is not None and self._scheme == "http":
                path = f"http://{self._netloc}{path}"
                fixed |= proxy.headers
            connection = self._connection(proxy, timeout)
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

    def _connection(self, proxy: "_Proxy | None", timeout: float) -> http.client.HTTPConnection:
        host, port = (self._host, self._port) if proxy is None else (proxy.host, proxy.port)
        if self._scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=timeout)
        connection = http.client.HTTPSConnection(
            host, port, timeout=timeout, context=ssl.create_default_context()
        )
        if proxy is not None:
            connection.set_tunnel(self._host, self._port or _HTTPS_PORT, dict(proxy.headers))
        return connection

    def _find_proxy(self) -> "_Proxy | None":
        if self._local or self._host == "localhost":
            return None
        if self._proxies is not None:
            proxies = self._proxies
        else:
            # Here, since it costs more time than all the rest of the client.
            from urllib.request import getproxies, proxy_bypass

            if proxy_bypass(self._netloc):
                return None
            proxies = getproxies()
        url = proxies.get(self._scheme) or proxies.get("all")
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
