"""One HTTP request of the device on the wire, and what it takes as an answer, and what not."""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deniable.client import HttpAnswer, HttpTransport, TransportError
from tests.support.certificates import certificate
from tests.support.raw_server import RawServer, Script, answer

OK = answer("200 OK", b"yes", "Content-Type: text/plain")
MOST = 1000
QUICK = 0.1
"""Seconds until an answer must be whole; a script below would drip for several."""
MANY = 500
BUFFERED = 20_000_000  # more bytes than the sockets' buffers take


def test_what_the_exchange_leans_on_in_http_client_is_there() -> None:
    """These names are http.client's own: a Python without them needs another way to a deadline."""
    connection = http.client.HTTPConnection("127.0.0.1")
    assert vars(connection)["_create_connection"] is socket.create_connection
    assert connection.response_class is http.client.HTTPResponse
    with socket.socket() as unconnected:
        response = http.client.HTTPResponse(unconnected)
        assert isinstance(response.fp, io.BufferedReader)
        assert hasattr(response, "length")
        response.close()


@pytest.fixture
def server() -> Iterator[RawServer]:
    with RawServer(OK) as server:
        yield server


def get(server: RawServer, timeout: float = 10.0) -> HttpAnswer:
    return HttpTransport(server.origin, timeout).request("GET", "/path", {}, b"", MOST)


@pytest.mark.parametrize(
    ("line", "header", "length", "body"),
    [
        ("GET /v1/surveys/s/manifest", ("If-None-Match", '"00ff"'), "", b""),
        ("POST /v1/reports", ("Content-Type", "x/y"), "Content-Length: 2\r\n", b"\x91\xc0"),
    ],
)
def test_d7_a_request_has_these_bytes_and_no_others(
    server: RawServer, line: str, header: tuple[str, str], length: str, body: bytes
) -> None:
    method, path = line.split()
    HttpTransport(server.origin).request(method, path, dict([header]), body, 100)
    head = (
        f"{line} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAccept-Encoding: identity\r\n"
        f"{length}User-Agent: deniable/1\r\nConnection: close\r\n{': '.join(header)}\r\n\r\n"
    )
    assert server.requests == [head.encode() + body]


def test_d7_every_request_has_a_connection_of_its_own_and_no_cookie(server: RawServer) -> None:
    kept = ("Connection: keep-alive", "Set-Cookie: id=7; Path=/", 'ETag: "mark"')
    server.reply = answer("200 OK", b"yes", *kept)
    transport = HttpTransport(server.origin)
    for _ in range(3):
        transport.request("GET", "/", {}, b"", 100)
    assert server.connections == 3
    assert len(set(server.requests)) == 1
    assert b"cookie" not in server.requests[2].lower()


def test_an_answer_has_its_status_its_body_and_its_headers_in_lower_case(server: RawServer) -> None:
    server.reply = answer("418 Teapot", b"short", "Retry-After: 7", "X-Odd: One")
    got = get(server)
    assert (got.status, got.body) == (418, b"short")
    assert got.headers == {"content-length": "5", "retry-after": "7", "x-odd": "One"}
    assert "short" not in repr(got)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_and_is_not_followed(server: RawServer, status: int) -> None:
    with RawServer(OK) as other:
        server.reply = answer(f"{status} Elsewhere", b"", f"Location: {other.origin}/path")
        assert get(server).status == status
        assert (server.connections, other.connections) == (1, 0)


def test_a_refused_connection_is_a_transport_error_that_names_no_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(TransportError) as caught:
        HttpTransport(f"http://127.0.0.1:{port}").request("GET", "/", {}, b"", 100)
    assert str(caught.value) == "ConnectionRefusedError"


def test_a_path_that_is_no_path_is_a_transport_error(server: RawServer) -> None:
    for path in ("/a b", "/a\r\nX: y", "/\u2028"):
        with pytest.raises(TransportError):
            HttpTransport(server.origin).request("GET", path, {}, b"", 100)
    assert b"".join(server.requests) == b""


@pytest.mark.parametrize(
    ("trusted", "address"), [(True, "127.0.0.1"), (False, "127.0.0.1"), (True, "127.0.0.2")]
)
def test_https_needs_a_trusted_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool, address: str
) -> None:
    file, context = certificate(tmp_path, address)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with RawServer(OK, context) as server:
        if trusted and address == "127.0.0.1":
            assert get(server).body == b"yes"
            return
        with pytest.raises(TransportError, match="SSLCertVerificationError"):
            get(server)
        assert server.requests == []


def test_what_is_no_origin_and_plain_http_to_another_machine_are_refused_at_once() -> None:
    for host in (
        *("collector.example", "localhost:8080", "10.0.0.7:8080", "127.0.0.2:8080"),
        "[2001:db8::1]",
    ):
        with pytest.raises(ValueError, match=r"must (be|use) https"):
            HttpTransport(f"http://{host}")
    for origin in ("ftp://collector.example", "collector.example", "https://", ""):
        with pytest.raises(ValueError, match="origin must be"):
            HttpTransport(origin)


def chunked(*chunks: bytes) -> bytes:
    parts = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in (*chunks, b"")]
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(parts)


def test_an_encoded_answer_is_refused(server: RawServer) -> None:
    for encoding in ("gzip", "br", "deflate", "zstd", "gzip, identity", "x"):
        server.reply = answer("200 OK", b"yes", f"Content-Encoding: {encoding}")
        with pytest.raises(TransportError, match="Content-Encoding"):
            get(server)
    server.reply = answer("200 OK", b"yes", "Content-Encoding: identity")
    assert get(server).body == b"yes"


def test_an_answer_may_come_in_chunks_and_be_as_long_as_the_limit(server: RawServer) -> None:
    for reply, body in (
        (chunked(b"ye", b"s"), b"yes"),
        (b"HTTP/1.0 200 OK\r\n\r\nyes", b"yes"),
        (answer("200 OK", b"x" * MOST), b"x" * MOST),
        (chunked(b"x" * (MOST - 1), b"x"), b"x" * MOST),
    ):
        server.reply = reply
        assert get(server).body == body


def test_a_longer_answer_is_refused(server: RawServer) -> None:
    for reply in (
        answer("200 OK", b"x" * (MOST + 1)),
        answer("404 Not Found", b"x" * (MOST + 1)),
        chunked(b"x" * MOST, b"x"),
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (MOST + 1),
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 70_000,
    ):
        server.reply = reply
        with pytest.raises(TransportError, match="too long"):
            get(server)


def flood(head: bytes, part: bytes) -> tuple[Script, list[int]]:
    """Return a script that sends without end, and the list of the lengths that it has sent."""
    sent: list[int] = []

    def endless(server: RawServer, connection: socket.socket) -> None:
        connection.sendall(head)
        while not server.over.is_set() and sum(sent) < 2 * BUFFERED:
            connection.sendall(part)
            sent.append(len(part))

    return endless, sent


def test_an_endless_answer_is_read_no_further_than_the_limit() -> None:
    endless, sent = flood(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65_536)
    with RawServer(endless) as server, pytest.raises(TransportError, match="too long"):
        get(server)
    assert sum(sent) < BUFFERED


def nothing(server: RawServer, connection: socket.socket) -> None:
    server.over.wait(MANY * 0.01)
    connection.sendall(answer("200 OK", b"late"))


def slow(head: bytes, part: bytes, tail: bytes) -> Script:
    """Return a script that drips an answer, which ends well if it is waited for."""

    def drip(server: RawServer, connection: socket.socket) -> None:
        connection.sendall(head)
        server.drip(connection, part, MANY)
        connection.sendall(tail)

    return drip


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
EMPTY = b"\r\nContent-Length: 0\r\n\r\n"
LATE = answer("200 OK", b"late")
slow_body = slow(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", b"z", b"")
SLOW = {
    "nothing": nothing,
    "status": slow(b"HTTP/1.1 200 ", b"O", EMPTY),
    "headers": slow(b"HTTP/1.1 200 OK\r\nX-Long: ", b"y", EMPTY),
    "endless continue": slow(b"", b"HTTP/1.1 100 Continue\r\n\r\n", LATE),
    "body": slow_body,
    "chunks": slow(CHUNKED, b"1\r\nz\r\n", b"0\r\n\r\n"),
    "chunk size": slow(CHUNKED + b"1", b" ", b"\r\nz\r\n0\r\n\r\n"),
    "trailer": slow(chunked(b"yes")[:-2], b"X-Trailer: y\r\n", b"\r\n"),
}


@pytest.mark.parametrize("script", SLOW.values(), ids=SLOW)
def test_an_answer_that_is_not_whole_in_time_is_given_up(script: Script) -> None:
    with RawServer(script) as server, pytest.raises(TransportError, match="TimeoutError"):
        get(server, QUICK)


def no_handshake(server: RawServer, connection: socket.socket) -> None:
    server.over.wait(MANY * 0.01)


def slow_handshake(server: RawServer, connection: socket.socket) -> None:
    connection.sendall(b"\x16\x03\x03\x40\x00")  # a record of 16 KiB
    server.drip(connection, b"\x02", MANY)


@pytest.mark.parametrize("script", [no_handshake, slow_handshake])
def test_a_handshake_that_is_not_over_in_time_is_given_up(script: Script) -> None:
    with RawServer(script, headless=True) as server, pytest.raises(TransportError) as caught:
        HttpTransport(f"https://127.0.0.1:{server.port}", 0.25).request("GET", "/", {}, b"", MOST)
    assert str(caught.value) == "TimeoutError"
    assert not caught.value.unsent  # somebody saw it


@pytest.mark.parametrize("secure", [False, True])
def test_a_whole_request_has_one_deadline(monkeypatch: pytest.MonkeyPatch, secure: bool) -> None:
    # Each step, when it is over, has taken most of what was left.
    now = [0.0]
    left: list[float] = []

    class Slow(socket.socket):
        def connect(self, address: Any) -> None:
            now[0] += 6.0 * (self.type == socket.SOCK_STREAM)

        def settimeout(self, value: float | None) -> None:
            left.append(value or 0.0)

        def setsockopt(self, *_: Any) -> None:
            pass

        def sendall(self, *_: Any) -> None:
            now[0] += 3.0

        def recv_into(self, *_: Any) -> int:
            raise AssertionError("no time was left")

    def shake(_: ssl.SSLContext, sock: socket.socket, **__: object) -> socket.socket:
        now[0] += 3.0
        return sock

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(socket, "socket", Slow)
    monkeypatch.setattr(ssl.SSLContext, "wrap_socket", shake)
    origin = f"http{'s' if secure else ''}://127.0.0.1:1"
    with pytest.raises(TransportError, match="TimeoutError"):
        HttpTransport(origin, 9.0).request("GET", "/", {}, b"", MOST)
    assert left == [9.0, 3.0]


def test_nonsense_is_a_transport_error_and_nothing_else(server: RawServer) -> None:
    ok = b"HTTP/1.1 200 OK\r\n"
    for reply in (
        *(b"", b"\r\n", b"nonsense\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n"),
        *(b"HTTP/1.1 abc OK\r\n\r\n", b"HTTP/1.1 99 Low\r\n\r\n"),
        ok + b"X: y\r\n" * 200 + b"\r\n",
        ok + b"X: " + b"y" * 70_000 + b"\r\n\r\n",
        *(CHUNKED + body for body in (b"zz\r\n", b"-5\r\nabcde\r\n0\r\n\r\n", b"5\r\nab")),
        b"\x16\x03\x01\x02\x00" + bytes(60),
    ):
        server.reply = reply
        with pytest.raises(TransportError):
            get(server)
    server.reply = ok + b"Content-Length: 500\r\n\r\nonly this"
    with pytest.raises(TransportError, match="cut short"):
        get(server)


def test_a_refused_answer_leaves_no_connection_open() -> None:
    # The error may be kept for a day as the reason why there is no manifest.
    reply = answer("200 OK", b"x" * 20_000, "Connection: close")
    with RawServer(reply) as server:
        with pytest.raises(TransportError) as caught:
            get(server)
        assert server.hung_up.wait(10)
        assert caught.value.__traceback__ is not None


def test_d7_no_session_of_tls_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ticket would show that two connections are one device's: each has a context of its own."""
    file, context = certificate(tmp_path, "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    made: list[ssl.SSLContext] = []
    wrap = ssl.SSLContext.wrap_socket

    def note(own: ssl.SSLContext, sock: socket.socket, **named: Any) -> ssl.SSLSocket:
        if not named.get("server_side"):
            assert named.keys() == {"server_hostname"}  # and no session
            made.append(own)
        return wrap(own, sock, **named)

    monkeypatch.setattr(ssl.SSLContext, "wrap_socket", note)
    with RawServer(OK, context) as server:
        for _ in range(2):
            assert get(server).status == 200
    first, second = made
    assert first is not second
