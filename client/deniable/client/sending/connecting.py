"""Connecting by a deadline: one for resolving the name and trying all its addresses together.

Nothing can interrupt the system's resolver, so it is asked on a thread that nobody waits for then.
"""

import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from errno import EADDRNOTAVAIL, EAFNOSUPPORT, EHOSTUNREACH, ENETDOWN, ENETUNREACH
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from typing import Any, Final

_Address = tuple[int, int, int, str, tuple[Any, ...]]

_NO_ROUTE: Final = frozenset((ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL, EAFNOSUPPORT))
"""The last of them: the name has addresses of a kind that this machine does not speak."""


class NotReached(OSError):
    """The name was not resolved, or no address has a route; its cause is the system's error."""


def connect_by(deadline: float, address: tuple[str, int], *_: object) -> socket.socket:
    """Return a socket that is connected to a host and port, as ``socket.create_connection`` does.

    What ``http.client`` passes besides is ignored; the deadline, by the monotonic clock, stands for
    its timeout.

    Raises:
        NotReached: if nothing was sent to any address.
        OSError: if no address could be reached in time.
    """
    failure: OSError | None = None
    seen = False
    for family, kind, protocol, _name, place in _addresses(address, deadline):
        try:
            _check_route(family, place)
        except OSError as error:
            failure = failure if seen else error
            continue
        seen = True  # by the network at least: a router, or the collector, may answer "no route"
        try:
            return _connected(socket.socket(family, kind, protocol), place, deadline)
        except OSError as error:
            failure = error
    if seen and failure is not None:
        raise failure
    raise NotReached from failure


def check_reachable(deadline: float, address: tuple[str, int]) -> None:
    """Raise ``NotReached`` if nothing can leave for a host and port; nothing leaves for them."""
    failure: OSError | None = None
    for family, _kind, _protocol, _name, place in _addresses(address, deadline):
        try:
            return _check_route(family, place)
        except OSError as error:
            failure = error
    raise NotReached from failure


def left_until(deadline: float) -> float:
    """Return the seconds left until a deadline by the monotonic clock.

    Raises:
        TimeoutError: if there are none.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _addresses(address: tuple[str, int], deadline: float) -> Sequence[_Address]:
    try:
        return _resolve(address, deadline)
    except (OSError, ValueError) as error:
        raise NotReached from error


def _check_route(family: int, place: tuple[Any, ...]) -> None:
    """Raise if this machine has no route to an address: connecting a datagram's socket asks."""
    with socket.socket(family, socket.SOCK_DGRAM) as datagrams:
        try:
            datagrams.connect(place)
        except OSError as error:
            if error.errno in _NO_ROUTE:
                raise


def _connected(sock: socket.socket, place: tuple[Any, ...], deadline: float) -> socket.socket:
    try:
        sock.settimeout(left_until(deadline))
        sock.connect(place)
    except BaseException:
        sock.close()
        raise
    return sock


def _resolve(address: tuple[str, int], deadline: float) -> Sequence[_Address]:
    if _needs_no_resolver(address[0]) or sys.is_finalizing():  # then no thread would start
        return socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    results: SimpleQueue[Sequence[_Address] | Exception] = SimpleQueue()

    def ask() -> None:
        try:
            results.put(socket.getaddrinfo(*address, type=socket.SOCK_STREAM))
        except (OSError, ValueError) as error:
            results.put(error)

    try:
        threading.Thread(target=ask, name="deniable-resolver", daemon=True).start()
    except RuntimeError as error:
        raise OSError("no thread to resolve the name on") from error
    try:
        answer = results.get(timeout=left_until(deadline))
    except Empty:
        raise TimeoutError from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _needs_no_resolver(host: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(host))
    return False
