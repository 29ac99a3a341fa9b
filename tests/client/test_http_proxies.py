"""Connecting by the deadline, and proxies: used as urllib reads them, and never gone around."""

import errno
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from deniable.client import HttpTransport, TransportError
from tests.client.test_http_transport import BUFFERED, MANY, QUICK, flood, slow
from tests.support.certificates import certificate
from tests.support.processes import free_port
from tests.support.raw_server import RawServer, Script, answer

Patch = pytest.MonkeyPatch
HOST = "collector.example"
"""Resolves nowhere: whoever goes around the proxy fails."""
OK = answer("200 OK", b"yes")
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
NO_ROUTE = OSError(errno.ENETUNREACH, "Network is unreachable")
REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
UNROUTED = (NO_ROUTE, None)
"""No route, as a datagram's socket finds out without sending anything."""


@pytest.fixture(autouse=True)
def environment(monkeypatch: Patch) -> Patch:
    """Return the environment, in which there is no proxy."""
    for variable in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.upper(), raising=False)
    return monkeypatch


@pytest.fixture
def collector(tmp_path: Path, monkeypatch: Patch) -> Iterator[RawServer]:
    file, context = certificate(tmp_path, HOST)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with RawServer(OK, context) as server:
        yield server


def tunnel(port: int, greeting: bytes = ESTABLISHED) -> Script:
    """Return what a proxy does after CONNECT: it copies bytes both ways."""

    def relay(server: RawServer, near: socket.socket) -> None:
        near.sendall(greeting)
        with socket.create_connection(("127.0.0.1", port)) as far, suppress(OSError):
            other = {near: far, far: near}
            while not server.over.is_set():
                for end in select.select([near, far], [], [], 0.05)[0]:
                    part = end.recv(65_536)
                    if not part:
                        return
                    other[end].sendall(part)

    return relay


def ask(origin: str, timeout: float = 10.0) -> bytes:
    return HttpTransport(origin, timeout).request("GET", "/path", {}, b"", 100).body


def get(
    environment: Patch,
    proxy: RawServer,
    *,
    origin: str = f"https://{HOST}",
    timeout: float = 10.0,
) -> bytes:
    environment.setenv("https_proxy", proxy.origin)
    return ask(origin, timeout)


def test_a_tunnels_proxy_sees_the_name_alone(collector: RawServer, environment: Patch) -> None:
    with RawServer(tunnel(collector.port)) as proxy:
        assert get(environment, proxy) == b"yes"
        assert get(environment, proxy, origin=f"https://{HOST}:8443") == b"yes"
        url = f"http://us%40er:pass%3Aw%C3%B6rd@127.0.0.1:{proxy.port}"
        environment.setenv("https_proxy", url)
        assert ask(f"https://{HOST}") == b"yes"
    lines = [request.split(b" HTTP/1.", 1)[0].decode() for request in proxy.requests]
    assert lines == [f"CONNECT {HOST}:{port}" for port in (443, 8443, 443)]
    assert b"/path" not in b"".join(proxy.requests)
    first, second, third = proxy.requests
    assert b"authorization" not in (first + second).lower()
    assert b"Proxy-Authorization: Basic dXNAZXI6cGFzczp3w7ZyZA==\r\n" in third
    # What the collector gets is as if there were none.
    assert collector.requests == [
        (
            f"GET /path HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: identity\r\n"
            "User-Agent: deniable/1\r\nConnection: close\r\n\r\n"
        ).encode()
        for host in (HOST, f"{HOST}:8443", HOST)
    ]


def test_the_environments_proxy_is_used(collector: RawServer, environment: Patch) -> None:
    for number, variable in enumerate(("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")):
        with RawServer(tunnel(collector.port)) as proxy, environment.context() as only:
            # People write it without a scheme, too.
            only.setenv(variable, proxy.origin if number % 3 else f"127.0.0.1:{proxy.port}")
            assert ask(f"https://{HOST}") == b"yes"
            assert proxy.connections == 1


class Direct(Exception):
    """Somebody connected to this address."""


@pytest.fixture
def no_connection(monkeypatch: Patch) -> None:
    def connect(_deadline: float, address: tuple[str, int], *_: object) -> socket.socket:
        raise Direct(*address)

    monkeypatch.setattr("deniable.client.sending.http_exchange.connect_by", connect)


@pytest.mark.usefixtures("no_connection")
@pytest.mark.parametrize("excepted", [HOST, "example", ".example", "*", f"{HOST}:8443"])
def test_no_proxy_is_heard(monkeypatch: Patch, excepted: str) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    for variable, connected in ((excepted, (HOST, 8443)), ("other", ("proxy.example", 3128))):
        monkeypatch.setenv("no_proxy", variable)
        with pytest.raises(Direct) as caught:
            ask(f"https://{HOST}:8443")
        assert caught.value.args == connected


@pytest.mark.usefixtures("no_connection")
def test_this_machine_is_never_reached_through_a_proxy(monkeypatch: Patch) -> None:
    for name in ("http", "https", "all"):
        monkeypatch.setenv(f"{name}_proxy", "http://proxy.example:3128")
    hosts = product(("http", "https"), ("127.0.0.1", "[::1]"))
    for scheme, host in (*hosts, ("https", "localhost")):
        with pytest.raises(Direct) as caught:
            ask(f"{scheme}://{host}:8080")
        assert caught.value.args == (host.strip("[]"), 8080)


@pytest.mark.usefixtures("no_connection")
@pytest.mark.parametrize(
    "url", ["socks5://127.0.0.1:9050", "https://127.0.0.1:3128", "http://", "ftp://x", "http://[x"]
)
def test_an_unusable_proxy_is_not_gone_around(monkeypatch: Patch, url: str) -> None:
    monkeypatch.setenv("all_proxy", url)
    with pytest.raises(TransportError):
        ask(f"https://{HOST}")


@pytest.mark.parametrize("status", ["407 Who Are You", "403 No", "502 Bad Gateway", "302 Found"])
def test_a_proxys_no_is_an_outage_without_secrets(environment: Patch, status: str) -> None:
    with RawServer(answer(status, b"why", "Location: http://elsewhere.example/")) as proxy:
        environment.setenv("https_proxy", f"http://user:secret@127.0.0.1:{proxy.port}")
        with pytest.raises(TransportError) as caught:
            ask(f"https://{HOST}")
        assert str(caught.value) == "OSError through a proxy"
        assert proxy.connections == 1


def test_a_proxy_that_poses_as_the_collector_gets_no_request(
    tmp_path: Path, collector: RawServer, environment: Patch
) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    _, context = certificate(folder, HOST)  # of the right name, and signed by nobody known
    with RawServer(OK, context) as impostor, RawServer(tunnel(impostor.port)) as proxy:
        with pytest.raises(TransportError, match="SSLCertVerificationError through a proxy"):
            get(environment, proxy)
        assert impostor.requests == []
    assert collector.connections == 0


def silent(server: RawServer, connection: socket.socket) -> None:
    server.over.wait(MANY * 0.01)
    connection.sendall(ESTABLISHED)


def silent_after(server: RawServer, connection: socket.socket) -> None:
    connection.sendall(ESTABLISHED)
    server.over.wait(MANY * 0.01)


@pytest.mark.parametrize(
    "script",
    [
        silent,
        silent_after,
        slow(b"HTTP/1.1 200 ", b"O", b""),
        slow(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", b""),
    ],
)
def test_a_slow_proxy_is_given_up(environment: Patch, script: Script) -> None:
    # Each script ends with something other than a time-out if it is waited for.
    with RawServer(script) as proxy, pytest.raises(TransportError, match="TimeoutError"):
        get(environment, proxy, timeout=QUICK)


def test_a_proxy_is_heard_no_further_than_the_limit(environment: Patch) -> None:
    endless, sent = flood(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 8192)
    with RawServer(endless) as proxy, pytest.raises(TransportError):
        get(environment, proxy)
    assert sum(sent) < BUFFERED


@pytest.fixture
def over() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def fails(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise error

    return fail


def resolves(monkeypatch: Patch, *ports: int) -> None:
    """Let every name be this machine, at one of these ports after the other."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)


def test_no_resolver_is_waited_for(monkeypatch: Patch, over: threading.Event) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [] * over.wait(60))
    with pytest.raises(TransportError, match="TimeoutError") as caught:
        ask(f"https://{HOST}", timeout=0.05)
    assert caught.value.unsent
    assert not over.is_set()  # it hangs still


@pytest.mark.parametrize(
    "error", [OSError("unknown"), UnicodeError("long"), LookupError("idna"), None]
)
def test_an_unresolved_name_is_an_outage(monkeypatch: Patch, error: Exception | None) -> None:
    resolves(monkeypatch)
    if error:
        monkeypatch.setattr(socket, "getaddrinfo", fails(error))
    words = type(error).__name__ if error else "NotReached"
    with pytest.raises(TransportError, match=words) as caught:
        ask(f"https://{HOST}")
    assert caught.value.unsent


def test_the_next_address_is_tried(collector: RawServer, monkeypatch: Patch) -> None:
    resolves(monkeypatch, free_port(), collector.port)
    assert ask(f"https://{HOST}") == b"yes"


def test_all_addresses_share_one_deadline(monkeypatch: Patch) -> None:
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
    resolves(monkeypatch, 1, 2, 3)
    with pytest.raises(TransportError, match="TimeoutError"):
        HttpTransport("http://127.0.0.1:1", 10.0).request("GET", "/", {}, b"", 100)
    assert tried == [10.0, 4.0]


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
    monkeypatch: Patch,
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
    resolves(monkeypatch, *range(1, len(failures) + 1))
    with pytest.raises(TransportError) as caught:
        ask(f"https://{HOST}")
    assert (str(caught.value), caught.value.unsent) == (message, unsent)


@pytest.mark.parametrize("number", [errno.EAFNOSUPPORT, errno.EMFILE])
def test_d8_without_a_socket_nothing_is_sent(monkeypatch: Patch, number: int) -> None:
    monkeypatch.setattr(socket, "socket", fails(OSError(number, "")))
    resolves(monkeypatch, 1, 2)
    with pytest.raises(TransportError, match=errno.errorcode[number]) as caught:
        ask(f"https://{HOST}")
    assert caught.value.unsent


def test_without_a_thread_nothing_is_sent(monkeypatch: Patch) -> None:
    none_left = fails(RuntimeError("can't start new thread"))
    monkeypatch.setattr(threading.Thread, "start", none_left)
    with pytest.raises(TransportError) as caught:
        ask(f"https://{HOST}")
    assert caught.value.unsent
