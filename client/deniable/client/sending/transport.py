"""The transport to the collector: a protocol of one method, and its errors."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from deniable.client.clock import Clock
from deniable.client.ledger.authorities import Authorities
from deniable.client.parts import GatewayKeyring

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
    """The way in which the client reaches its collector.

    It may have a method ``find_route`` besides, of a timeout: it raises an unsent
    ``TransportError`` if nothing could leave the device now, and sends nothing. It costs nothing
    beside a request that is counted and taken back.
    """

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


class Direct:
    """The way of an app without a relay: straight to the collector."""

    relayed = False

    def reached(
        self,
        way: Transport,
        authorities: Authorities,
        clock: Clock,
    ) -> tuple[GatewayKeyring | None, Transport]:
        """Return the transport to the collector; and what it is sealed for, None for nothing."""
        return None, way


@dataclass(frozen=True, slots=True)
class Target:
    """An origin, taken apart."""

    scheme: str
    host: str  # name or address, without brackets
    port: int
    netloc: str  # host and port as the origin has them
    secure: bool  # by TLS
    on_this_machine: bool  # a loopback address, or "localhost"


def at_once(
    ask: Callable[[str], HttpAnswer | TransportError],
    names: Sequence[str],
    left: Callable[[], float],
) -> dict[str, HttpAnswer | Exception]:
    """Return the answer for each name, or the error, within the seconds that are left.

    All are asked at once: a collector that hangs takes no more time than for one.
    """
    answers: dict[str, HttpAnswer | Exception] = {}

    def keep(name: str) -> None:
        try:
            answers[name] = ask(name)
        except Exception as error:  # noqa: BLE001 - of a thread, raised where it is waited for
            answers[name] = error

    threads = []
    for name in names[1:]:
        thread = threading.Thread(target=keep, args=(name,), name="deniable-refresh", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter ends
            keep(name)
        else:
            threads.append(thread)
    for name in names[:1]:
        keep(name)
    for thread in threads:
        thread.join(left())
    return {name: answers.get(name, TransportError("TimeoutError")) for name in names}
