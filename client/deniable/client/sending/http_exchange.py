"""One HTTP request on its own connection (D7), with the standard library's client.

It follows no redirects, decodes no encodings and keeps no cookies. It limits an answer's bytes and
time, so a hostile network can neither hang the device nor fill its memory. One deadline covers
everything, including resolving the name and trying all its addresses. Nothing can interrupt the
system's resolver, so it runs on a thread that can be abandoned.
"""

import errno
import http.client
import io
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from errno import EADDRNOTAVAIL, EAFNOSUPPORT, EHOSTUNREACH, ENETDOWN, ENETUNREACH
from functools import partial
from math import inf
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from deniable.client.sending.transport import HttpAnswer, Target, TransportError
from deniable.client.threads import Call, start_daemon
from deniable.messages import USER_AGENT

_MOST_HEADER_BYTES: Final = 64 * 1024
_HTTP_PORT: Final = 80
_HTTPS_PORT: Final = 443
_FIXED: Final = {"User-Agent": USER_AGENT, "Connection": "close"}


def exchange(
    target: Target,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes,
    most: int,
    seconds: float,
    before_body: Callable[[], None] | None,
) -> HttpAnswer:
    """Send one request; see ``Transport.request``."""
    deadline = time.monotonic() + seconds
    with _outages():
        proxy = None if target.on_this_machine else _find_proxy(target)
    by_way = " through a proxy" if proxy else ""
    with _outages(by_way):
        connection = _Connection(target, proxy, deadline, most + _MOST_HEADER_BYTES)
    try:
        with _outages(by_way):
            connection.connect()
        if before_body is not None:
            before_body()
        with _outages(by_way):
            connection.request(method, path, body=body or None, headers={**_FIXED, **headers})
            with connection.getresponse() as response:
                received = {name.lower(): value for name, value in response.getheaders()}
                if received.get("content-encoding", "identity") != "identity":
                    raise TransportError("the answer has a Content-Encoding that was not requested")
                content = response.read(most + 1)
                if len(content) > most:
                    raise TransportError("the answer is too long")
                if response.length:  # http.client does not report an answer shorter than announced
                    raise TransportError("the answer was cut short")
                return HttpAnswer(response.status, received, content)
    finally:
        connection.close()


@contextmanager
def _outages(by_way: str = "") -> Iterator[None]:
    """Raise failures as ``TransportError``."""
    try:
        yield
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _failure(error, by_way) from error


def _failure(error: Exception, by_way: str) -> TransportError:
    unsent = isinstance(error, NotReached)
    cause = error.__cause__ or error if unsent else error
    # Only the error's type: the text may contain addresses, and the proxy's password.
    kind = type(cause).__name__
    if kind == "OSError" and isinstance(cause, OSError):
        kind = errno.errorcode.get(cause.errno or 0, kind)
    return TransportError(kind + by_way, unsent=unsent)


class _Connection(http.client.HTTPConnection):
    """A connection with one deadline for everything, including resolving the name."""

    def __init__(self, target: Target, proxy: "_Proxy | None", deadline: float, most: int) -> None:
        self.default_port = _HTTPS_PORT if target.secure else _HTTP_PORT
        super().__init__((proxy or target).host, (proxy or target).port)
        if proxy is not None:  # for an origin with TLS
            self.set_tunnel(target.host, target.port, dict(proxy.headers))
        # http.client's own way to replace socket.create_connection.
        self._create_connection = partial(connect_by, deadline)
        # Also for the proxy's answer to CONNECT, which is read while connecting.
        self.response_class = partial(_Response, self)  # type: ignore[assignment]
        self.deadline = deadline
        self.most = most
        self.received = 0
        self._server_name = target.host if target.secure else None

    def connect(self) -> None:
        super().connect()
        if self._server_name is not None:
            context = ssl.create_default_context()
            self.sock.settimeout(left_until(self.deadline))  # for the whole handshake
            self.sock = context.wrap_socket(self.sock, server_hostname=self._server_name)

    def send(self, data: Any) -> None:
        self.sock.settimeout(left_until(self.deadline))
        super().send(data)


def _find_proxy(target: Target) -> "_Proxy | None":
    # Imported here, since it takes more time than all the rest of the client.
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
            why = "the proxy must be http://host:port"
            raise TransportError(why, unsent=True)
        headers = {}
        if parts.username is not None:
            secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            headers["Proxy-Authorization"] = f"Basic {b64encode(secret).decode()}"
        return cls(parts.hostname, parts.port or _HTTP_PORT, headers)


class _Response(http.client.HTTPResponse):
    """A response limited in bytes, with one deadline for all of them, however slowly they come."""

    def __init__(
        self, connection: _Connection, sock: socket.socket, *rest: Any, **named: Any
    ) -> None:
        super().__init__(sock, *rest, **named)
        # The stream underneath keeps the socket open until this one is closed.
        self.fp = io.BufferedReader(_BoundedStream(self.fp, sock, connection))


class _BoundedStream(io.RawIOBase):
    def __init__(
        self, under: io.BufferedIOBase, sock: socket.socket, connection: _Connection
    ) -> None:
        self._under = under
        self._sock = sock
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._sock.settimeout(left_until(self._connection.deadline))
        received = self._sock.recv_into(buffer)
        # Counted here, on the wire: a hostile chunk size makes http.client read without end.
        self._connection.received += received
        if self._connection.received > self._connection.most:
            raise TransportError("the answer is too long")
        return received

    def close(self) -> None:
        self._under.close()
        super().close()


_Address = tuple[int, int, int, str, tuple[Any, ...]]

_NO_ROUTE: Final = frozenset((ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL, EAFNOSUPPORT))
"""The last one means that the name only has addresses of a family that this machine lacks."""


class NotReached(OSError):
    """The name was not resolved, or no address has a route; its cause is the system's error."""


def connect_by(deadline: float, address: tuple[str, int], *_: object) -> socket.socket:
    """Return a socket connected to a host and port, like ``socket.create_connection``.

    Other arguments from ``http.client`` are ignored: the deadline, by the monotonic clock, replaces
    its timeout. Raises ``NotReached`` if nothing was sent, otherwise the last address's error.
    """
    failure: OSError | None = None
    for family, kind, protocol, _name, place in _reachable(address, deadline):
        try:
            connected = socket.socket(family, kind, protocol)
            try:
                connected.settimeout(left_until(deadline))
                connected.connect(place)
            except BaseException:
                connected.close()
                raise
        except OSError as error:
            failure = error
        else:
            return connected
    raise failure or NotReached


def _reachable(address: tuple[str, int], deadline: float) -> Iterator[_Address]:
    """Yield the addresses to which this machine has a route; ``NotReached`` if there is none."""
    failure: Exception | None = None
    seen = False
    try:
        addresses = _resolve(address, deadline)
    except (OSError, ValueError, LookupError) as error:
        raise NotReached from error
    for one in addresses:
        try:
            datagrams = socket.socket(one[0], socket.SOCK_DGRAM)
        except OSError as error:  # the machine lacks this family, or too many sockets are open
            failure = error
            continue
        with datagrams:
            try:
                datagrams.connect(one[4])  # this sends nothing, but looks up a route
            except OSError as error:
                if error.errno in _NO_ROUTE:
                    failure = error
                    continue
        seen = True  # at least by the network: a router, or the collector, may answer "no route"
        yield one
    if not seen:
        raise NotReached from failure


def left_until(deadline: float) -> float:
    """Return the seconds until a deadline by the monotonic clock, or raise ``TimeoutError``."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _resolve(address: tuple[str, int], deadline: float) -> Sequence[_Address]:
    call = Call(partial(socket.getaddrinfo, *address, type=socket.SOCK_STREAM), inf)
    if not start_daemon(call.do):
        raise OSError("no thread is free to resolve the host name")
    if not call.wait(left_until(deadline)):
        raise TimeoutError
    return call.result()
