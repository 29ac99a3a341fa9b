"""Connecting by a deadline: one for resolving the name and trying all its addresses together.

Nothing can interrupt the system's resolver, so it is asked on a thread that nobody waits for then.
"""

import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from typing import Any

__all__ = ["connect_by"]

_Address = tuple[int, int, int, str, tuple[Any, ...]]


def connect_by(deadline: float, address: tuple[str, int], *_: object) -> socket.socket:
    """Return a socket that is connected to a host and port, as ``socket.create_connection`` does.

    Args:
        deadline: by the monotonic clock.
        address: the host and the port.
        _: what ``http.client`` passes besides; the deadline stands for its timeout.

    Raises:
        OSError: if no address could be reached in time.
    """
    failure: OSError = TimeoutError()
    for family, kind, protocol, _name, place in _resolve(address, deadline):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(_left(deadline))
            sock.connect(place)
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure


def _resolve(address: tuple[str, int], deadline: float) -> Sequence[_Address]:
    if _needs_no_resolver(address[0]) or sys.is_finalizing():  # then no thread would start
        return socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    found: SimpleQueue[Sequence[_Address] | Exception] = SimpleQueue()

    def ask() -> None:
        try:
            found.put(socket.getaddrinfo(*address, type=socket.SOCK_STREAM))
        except (OSError, ValueError) as error:
            found.put(error)

    try:
        threading.Thread(target=ask, name="deniable-resolver", daemon=True).start()
    except RuntimeError as error:
        raise OSError("no thread to resolve the name on") from error
    try:
        answer = found.get(timeout=_left(deadline))
    except Empty:
        raise TimeoutError from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _needs_no_resolver(host: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(host))
    return False


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
