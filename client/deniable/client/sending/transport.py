"""The transport to the collector: a protocol of one method, and its errors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

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
