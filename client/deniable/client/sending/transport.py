"""The transport to the collector: a protocol of one method, its errors, and HTTP/1.1."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import urlsplit

from deniable.client.clock import Clock
from deniable.client.ledger.authorities import Authorities
from deniable.client.parts import GatewayKeyring

REQUEST_SECONDS: Final = 20.0
"""How long one exchange may take, unless the caller has less time."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An HTTP answer, as a transport returns it."""

    status: int
    headers: Mapping[str, str]  # by lower-case name
    body: bytes = field(repr=False)  # at most as many bytes as the transport may accept


class TransportError(Exception):
    """There was no usable answer.

    Attributes:
        unsent: whether nothing left the device for the collector: no name was resolved, or no
            route. Refused and timed-out connections do not qualify, since the network saw them.
    """

    def __init__(self, message: str = "", *, unsent: bool = False) -> None:
        super().__init__(message)
        self.unsent = unsent


class Transport(Protocol):
    """The transport from the client to its collector."""

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        most: int,
        timeout: float = REQUEST_SECONDS,
        before_body: Callable[[], None] | None = None,
    ) -> HttpAnswer:
        """Send one request.

        Args:
            method: GET or POST.
            path: the path from the root of the collector's origin.
            headers: the headers in addition to those of every request.
            body: may be empty.
            most: the maximum size of an answer's body, in bytes.
            timeout: seconds for the whole exchange, from resolving the name to the answer's end.
            before_body: called once the connection is open (including the proxy's tunnel and TLS),
                before any byte of the request is written. An error raised there ends the request
                unsent, and propagates.

        Raises:
            TransportError: if no usable answer came.
        """


class Direct:
    """The connection of an app without a relay: directly to the collector."""

    relayed = False

    def reached(
        self,
        way: Transport,
        authorities: Authorities,
        clock: Clock,
    ) -> tuple[GatewayKeyring | None, Transport]:
        """Return the gateway keys to seal for, or None, and the transport to the collector."""
        return None, way


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of an origin."""

    scheme: str
    host: str  # name or address, without brackets
    port: int
    netloc: str  # host and port, as in the origin
    secure: bool  # whether TLS is used
    on_this_machine: bool  # a loopback address, or "localhost"


_ADDRESSES: Final = frozenset({"127.0.0.1", "::1"})
_THIS_MACHINE: Final = _ADDRESSES | {"localhost"}

barriers: Final[list[Callable[[str], None]]] = []
"""For the tests of apps: each is called with a request, and raises an error to prevent it."""


class HttpTransport:
    """HTTP/1.1 to one origin, with a new connection for each request.

    The connection uses the proxy from the environment (``HTTPS_PROXY``, ``ALL_PROXY``,
    ``NO_PROXY``, or the system's settings, as the standard library reads them). It is tunnelled
    with CONNECT, so the proxy sees only the collector's name. A proxy other than ``http://`` is
    never bypassed: the collector is then unreachable. This machine is never reached through a
    proxy.

    Args:
        origin: destination of requests, ``https://host[:port]``; http for 127.0.0.1 and [::1].
        timeout: seconds for a whole exchange, unless the caller has less.

    Raises:
        ValueError: for an invalid origin, and for plain http to another machine.
    """

    def __init__(self, origin: str, timeout: float = REQUEST_SECONDS) -> None:
        parts = urlsplit(origin)
        if parts.scheme not in {"https", "http"} or not parts.hostname:
            raise ValueError("origin must be https://host[:port]")
        secure, name = parts.scheme == "https", parts.hostname
        port = parts.port or (443 if secure else 80)
        self._target = Target(parts.scheme, name, port, parts.netloc, secure, name in _THIS_MACHINE)
        if not secure and name not in _ADDRESSES:
            raise ValueError("origin must use https; http is only for 127.0.0.1 and [::1]")
        self._timeout = timeout

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        most: int,
        timeout: float = REQUEST_SECONDS,
        before_body: Callable[[], None] | None = None,
    ) -> HttpAnswer:
        """Send one request; see :class:`Transport`."""
        for barrier in barriers[-1:]:
            barrier(f"{method} {path}")
        # Imported here, where nobody waits: http and ssl take as long to import as all the rest.
        from deniable.client.sending.http_exchange import exchange

        seconds = min(timeout, self._timeout)
        return exchange(self._target, method, path, headers, body, most, seconds, before_body)
