"""One HTTP request on a connection of its own (D7), with the standard library's client.

Redirects are not followed, encodings not decoded, cookies not kept, and no answer is read beyond a
cap in bytes and in time: whatever the network does, the device neither hangs nor fills its memory.
"""

import errno
import http.client
import io
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from deniable.client.sending.connecting import (
    NotReached,
    check_reachable,
    connect_by,
    left_until,
)
from deniable.client.sending.transport import HttpAnswer, Target, TransportError
from deniable.messages import USER_AGENT

_MOST_HEADER_BYTES: Final = 64 * 1024
_HTTP_PORT: Final = 80
_HTTPS_PORT: Final = 443


def exchange(
    target: Target,
    proxies: Mapping[str, str] | None,
    wanted: tuple[str, str, Mapping[str, str], bytes],
    most: int,
    seconds: float,
    before_body: Callable[[], None] | None,
) -> HttpAnswer:
    """Send one request, of method, path, headers and body; see ``Transport.request``."""
    method, path, headers, body = wanted
    deadline = time.monotonic() + seconds
    with _outages():
        proxy = _find_proxy(target, proxies)
    by_way = " through a proxy" if proxy else ""
    fixed = {"User-Agent": USER_AGENT, "Connection": "close"}
    if proxy is not None and not target.secure:
        path = f"http://{target.netloc}{path}"
        fixed |= proxy.headers
    with _outages(by_way):
        connection = _Connection(target, proxy, deadline, most + _MOST_HEADER_BYTES)
    with closing(connection), connection.counted():
        with _outages(by_way):
            connection.connect()
        if before_body is not None:
            before_body()
        with _outages(by_way):
            connection.request(method, path, body=body or None, headers={**fixed, **headers})
            with connection.getresponse() as response:
                received = {name.lower(): value for name, value in response.getheaders()}
                if received.get("content-encoding", "identity") != "identity":
                    raise TransportError("an encoded answer, which was not asked for")
                content = response.read(most + 1)
                if len(content) > most:
                    raise TransportError("the answer is too long")
                if response.length:  # http.client says nothing if less came than was announced
                    raise TransportError("the answer was cut short")
                return HttpAnswer(response.status, received, content)


def find_route(target: Target, proxies: Mapping[str, str] | None, seconds: float) -> None:
    """Raise ``TransportError`` if no request can leave; see ``RouteFinder``."""
    deadline = time.monotonic() + seconds
    with _outages():
        proxy = _find_proxy(target, proxies)
    with _outages(" through a proxy" if proxy else ""):
        check_reachable(deadline, _address(target, proxy))


def _address(target: Target, proxy: "_Proxy | None") -> tuple[str, int]:
    if proxy is not None:
        return proxy.host, proxy.port
    return target.host, target.port or (_HTTPS_PORT if target.secure else _HTTP_PORT)


@contextmanager
def _outages(by_way: str = "") -> Iterator[None]:
    """Raise a failure as a ``TransportError``."""
    try:
        yield
    except (OSError, http.client.HTTPException, ValueError) as error:
        unsent = isinstance(error, NotReached)
        cause = error.__cause__ or error if unsent else error
        # The kind only: its text may hold addresses, and the proxy's password.
        kind = type(cause).__name__
        if kind == "OSError" and isinstance(cause, OSError):
            kind = errno.errorcode.get(cause.errno or 0, kind)
        raise TransportError(kind + by_way, unsent=unsent) from error


class _Connection(http.client.HTTPConnection):
    """A connection of which all together, from the name to the answer, ends by a deadline."""

    def __init__(self, target: Target, proxy: "_Proxy | None", deadline: float, most: int) -> None:
        self.default_port = _HTTPS_PORT if target.secure else _HTTP_PORT
        port = target.port or self.default_port
        super().__init__(*_address(target, proxy))
        if proxy is not None and target.secure:
            self.set_tunnel(target.host, port, dict(proxy.headers))
        # http.client's own way to put another function in place of socket.create_connection.
        self._create_connection = partial(connect_by, deadline)
        # Also for the proxy's answer to CONNECT, which is read while connecting.
        self._received: list[int] = []
        response = partial(_Response, deadline, most, self._received)
        self.response_class = response  # type: ignore[assignment]
        self._deadline = deadline
        self._server_name = target.host if target.secure else None

    def connect(self) -> None:
        super().connect()
        if self._server_name is not None:
            context = ssl.create_default_context()
            self.sock.settimeout(left_until(self._deadline))  # for the whole handshake
            self.sock = context.wrap_socket(self.sock, server_hostname=self._server_name)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Note in an outage's error how many bytes came."""
        try:
            yield
        except TransportError as error:
            error.received = sum(self._received)
            raise

    def send(self, data: Any) -> None:
        self.sock.settimeout(left_until(self._deadline))
        super().send(data)


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
            why = "the proxy is of no kind that can be used: http://host:port"
            raise TransportError(why, unsent=True)
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
        received: list[int],
        sock: socket.socket,
        *rest: Any,
        **named: Any,
    ) -> None:
        super().__init__(sock, *rest, **named)
        # The stream underneath keeps the socket open until this one is closed.
        self.fp = io.BufferedReader(_BoundedStream(self.fp, sock, deadline, most, received))


class _BoundedStream(io.RawIOBase):
    def __init__(
        self,
        under: io.BufferedIOBase,
        sock: socket.socket,
        deadline: float,
        most: int,
        received: list[int],
    ) -> None:
        self._under = under
        self._sock = sock
        self._deadline = deadline
        self._left = most
        self._received = received  # by each read of the connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._sock.settimeout(left_until(self._deadline))
        received = self._sock.recv_into(buffer)
        # Counted here, on the wire: a hostile chunk size makes http.client read without end.
        self._left -= received
        self._received.append(received)
        if self._left < 0:
            raise TransportError("the answer is too long")
        return received

    def close(self) -> None:
        self._under.close()
        super().close()
