"""Connecting: whatever the resolver and the addresses do, by the deadline it is over."""

import errno
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from deniable.client import HttpTransport, TransportError
from tests.support.processes import free_port
from tests.support.raw_server import RawServer, answer

HOST = "collector.example"
Resolver = Callable[..., list[Any]]


@pytest.fixture
def over() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def resolves(monkeypatch: pytest.MonkeyPatch, resolver: Resolver) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolver)


def places(*ports: int) -> list[Any]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]


def get(port: int, timeout: float = 10.0) -> bytes:
    transport = HttpTransport(f"http://{HOST}:{port}", timeout, proxies={}, unsafe_plain_http=True)
    return transport.request("GET", "/", {}, b"", 100).body


def test_a_resolver_that_hangs_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, over: threading.Event
) -> None:
    def hang(*_: object, **__: object) -> list[Any]:
        over.wait(60)
        return []

    resolves(monkeypatch, hang)
    with pytest.raises(TransportError, match="TimeoutError") as caught:
        get(80, timeout=0.05)
    assert caught.value.unsent
    assert not over.is_set()  # it hangs still


@pytest.mark.parametrize("error", [socket.gaierror(-2, "unknown"), UnicodeError("label too long")])
def test_a_name_that_cannot_be_resolved_is_an_outage(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> list[Any]:
        raise error

    resolves(monkeypatch, fail)
    with pytest.raises(TransportError, match=type(error).__name__) as caught:
        get(80)
    assert caught.value.unsent


def test_the_next_address_is_tried_and_the_answer_is_its(monkeypatch: pytest.MonkeyPatch) -> None:
    with RawServer(answer("200 OK", b"yes")) as server:
        resolves(monkeypatch, lambda *_, **__: places(free_port(), server.port))
        assert get(80) == b"yes"


def test_all_addresses_share_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[float] = []

    class Slow(socket.socket):
        def connect(self, address: Any) -> None:
            if self.type == socket.SOCK_DGRAM:
                return  # which only looks the route up
            tried.append(self.gettimeout() or 0.0)
            now[0] += 6.0
            raise TimeoutError

    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(socket, "socket", Slow)
    resolves(monkeypatch, lambda *_, **__: places(1, 2, 3))
    with pytest.raises(TransportError, match="TimeoutError"):
        HttpTransport("http://127.0.0.1:1", 10.0).request("GET", "/", {}, b"", 100)
    assert tried == [10.0, 4.0]


def test_no_address_at_all_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    resolves(monkeypatch, lambda *_, **__: [])
    with pytest.raises(TransportError, match="NotReached") as caught:
        get(80)
    assert caught.value.unsent


NO_ROUTE = OSError(errno.ENETUNREACH, "Network is unreachable")
REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")


UNROUTED = (NO_ROUTE, None)
"""No route, as a datagram's socket finds out without sending anything."""


@pytest.mark.parametrize(
    ("failures", "message", "unsent"),
    [
        ([UNROUTED, (OSError(errno.EHOSTUNREACH, ""), None)], "EHOSTUNREACH", True),
        ([(OSError(errno.ENETDOWN, ""), None)], "ENETDOWN", True),
        ([(OSError(errno.EADDRNOTAVAIL, ""), None), UNROUTED], "ENETUNREACH", True),
        ([(None, REFUSED)], "ConnectionRefusedError", False),
        ([UNROUTED, (None, REFUSED)], "ConnectionRefusedError", False),
        ([(None, REFUSED), UNROUTED], "ConnectionRefusedError", False),
        ([UNROUTED, (None, TimeoutError())], "TimeoutError", False),
        ([(None, ConnectionResetError(errno.ECONNRESET, ""))], "ConnectionResetError", False),
        # What a router, or the collector's own network, can answer to a packet that left.
        ([(None, OSError(errno.EHOSTUNREACH, ""))], "EHOSTUNREACH", False),
        ([(None, NO_ROUTE), UNROUTED], "ENETUNREACH", False),
    ],
)
def test_d8_only_what_nobody_can_have_seen_is_unsent(
    monkeypatch: pytest.MonkeyPatch,
    failures: list[tuple[OSError | None, OSError | None]],
    message: str,
    unsent: bool,
) -> None:
    class Failing(socket.socket):
        def connect(self, address: Any) -> None:
            of_route, of_connection = failures[address[1] - 1]
            error = of_route if self.type == socket.SOCK_DGRAM else of_connection
            if error is not None:
                raise error

    monkeypatch.setattr(socket, "socket", Failing)
    resolves(monkeypatch, lambda *_, **__: places(*range(1, len(failures) + 1)))
    with pytest.raises(TransportError) as caught:
        get(80)
    assert (str(caught.value), caught.value.unsent) == (message, unsent)


def test_an_address_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with RawServer(answer("200 OK", b"yes")) as server:
        monkeypatch.setattr(threading.Thread, "start", none)
        assert HttpTransport(server.origin).request("GET", "/", {}, b"", 100).body == b"yes"
        with pytest.raises(TransportError) as caught:
            get(80)
        assert caught.value.unsent
