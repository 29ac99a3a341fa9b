"""The transport to the collector: a protocol of one method, its errors, and HTTP/1.1 by default."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable
from urllib.parse import urlsplit

_THIS_MACHINE: Final = frozenset({"127.0.0.1", "::1"})

REQUEST_SECONDS: Final = 20.0
"""How long one exchange may take unless the caller has less time."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An HTTP answer, as a transport returns it."""

    status: int
    headers: Mapping[str, str]  # by lower-case name
    body: bytes = field(repr=False)  # at most as many bytes as the transport was told to take


class TransportError(Exception):
    """No usable answer came.

    Attributes:
        unsent: nothing left the device for the collector: its name was not resolved, or there was
            no route to it. Refused and timed-out connections are no such case: somebody saw them.
        received: how many bytes of an answer came all the same.
    """

    def __init__(self, message: str = "", *, unsent: bool = False, received: int = 0) -> None:
        super().__init__(message)
        self.unsent = unsent
        self.received = received


class Transport(Protocol):
    """The way in which the client reaches its collector."""

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
            path: from the root of the collector's origin.
            headers: beside those that every request has.
            body: may be empty.
            most: how many bytes of an answer's body are taken.
            timeout: seconds for the whole exchange, from resolving the name to the answer's end.
            before_body: called once the connection stands (proxy's tunnel and TLS included), and
                before a byte of the request is written. What it raises ends the request unsent, and
                propagates.

        Raises:
            TransportError: if no usable answer came.
        """


@runtime_checkable
class RouteFinder(Protocol):
    """A method that a transport may have besides: a look whether anything can leave the device now.

    It costs nothing beside a request that is counted and taken back.
    """

    def find_route(self, timeout: float = REQUEST_SECONDS) -> None:
        """Raise an unsent ``TransportError`` if a request could not leave; send nothing."""


def outage(transport: Transport, timeout: float) -> TransportError | None:
    """Return why no request could leave the device now, if the transport can tell."""
    try:
        if isinstance(transport, RouteFinder):
            transport.find_route(timeout)
    except TransportError as error:
        return error
    return None


@dataclass(frozen=True, slots=True)
class Target:
    """An origin, taken apart."""

    scheme: str
    host: str  # name or address, without brackets
    port: int | None
    netloc: str  # host and port as the origin has them

    @property
    def secure(self) -> bool:
        """Tell whether the origin is reached by TLS."""
        return self.scheme == "https"

    @property
    def on_this_machine(self) -> bool:
        """Tell whether the host is a loopback address."""
        return self.host in _THIS_MACHINE


barriers: Final[list[Callable[[str], None]]] = []
"""For the tests of apps: each is called with a request, and raises an error that keeps it back."""


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

    Raises:
        ValueError: for an origin that is none, and for plain http to another machine.
    """

    def __init__(self, origin: str, timeout: float = REQUEST_SECONDS) -> None:
        parts = urlsplit(origin)
        if parts.scheme not in {"https", "http"} or not parts.hostname:
            raise ValueError("origin must be https://host[:port]")
        self._target = Target(parts.scheme, parts.hostname, parts.port, parts.netloc)
        if not (self._target.secure or self._target.on_this_machine):
            raise ValueError("origin must be https; http is for 127.0.0.1 and [::1]")
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
        # Here, where nobody waits for it: http and ssl take as long to import as all the rest.
        from deniable.client.sending.http_exchange import exchange

        wanted = method, path, headers, body
        seconds = min(timeout, self._timeout)
        return exchange(self._target, wanted, most, seconds, before_body)

    def find_route(self, timeout: float = REQUEST_SECONDS) -> None:
        """Look whether the collector's name, or the proxy's, has an address, and that a route."""
        if barriers:
            return  # a request says what keeps it back
        from deniable.client.sending.http_exchange import find_route  # as above

        find_route(self._target, min(timeout, self._timeout))
