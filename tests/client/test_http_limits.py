"""Answers that are encoded, too long, too slow or nonsense: the device neither hangs nor swells."""

import socket
import ssl
import time
from typing import Any

import pytest

from deniable.client import HttpTransport, TransportError
from tests.support.raw_server import RawServer, Script, answer

MOST = 1000
QUICK = 0.25
"""Seconds until an answer must be whole; a script below would drip for several."""
MANY = 500


def get(server: RawServer, timeout: float = 10.0) -> bytes:
    return HttpTransport(server.origin, timeout).request("GET", "/", {}, b"", MOST).body


def chunked(*chunks: bytes) -> bytes:
    parts = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in (*chunks, b"")]
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(parts)


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "zstd", "gzip, identity", "x"])
def test_an_encoded_answer_is_refused(encoding: str) -> None:
    reply = answer("200 OK", b"yes", f"Content-Encoding: {encoding}")
    with RawServer(reply) as server, pytest.raises(TransportError, match="encoded"):
        get(server)


def test_an_answer_that_says_it_is_not_encoded_is_taken() -> None:
    with RawServer(answer("200 OK", b"yes", "Content-Encoding: identity")) as server:
        assert get(server) == b"yes"


def test_an_answer_may_be_as_long_as_the_limit() -> None:
    with RawServer(answer("200 OK", b"x" * MOST)) as server:
        assert get(server) == b"x" * MOST
        server.reply = chunked(b"x" * (MOST - 1), b"x")
        assert get(server) == b"x" * MOST


@pytest.mark.parametrize(
    "reply",
    [
        answer("200 OK", b"x" * (MOST + 1)),
        answer("404 Not Found", b"x" * (MOST + 1)),
        chunked(b"x" * MOST, b"x"),
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (MOST + 1),
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 70_000,
    ],
)
def test_a_longer_answer_is_refused(reply: bytes) -> None:
    with RawServer(reply) as server, pytest.raises(TransportError, match="too long") as caught:
        get(server)
    assert caught.value.received > MOST


def test_an_endless_answer_is_read_no_further_than_the_limit() -> None:
    sent: list[int] = []

    def endless(server: RawServer, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not server.over.is_set():
            connection.sendall(b"x" * 65_536)
            sent.append(65_536)

    with RawServer(endless) as server, pytest.raises(TransportError, match="too long"):
        get(server)
    assert sum(sent) < 50_000_000  # what the sockets' buffers took


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
        HttpTransport(f"https://127.0.0.1:{server.port}", QUICK).request("GET", "/", {}, b"", MOST)
    assert str(caught.value) == "TimeoutError"
    assert not caught.value.unsent  # somebody saw it


@pytest.mark.parametrize("secure", [False, True])
def test_connecting_handshake_and_answer_share_one_deadline(
    monkeypatch: pytest.MonkeyPatch, secure: bool
) -> None:
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


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"\r\n",
        b"nonsense\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 99 Low\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabcde\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"\x16\x03\x01\x02\x00" + bytes(60),
    ],
)
def test_nonsense_is_a_transport_error_and_nothing_else(reply: bytes) -> None:
    with RawServer(reply) as server, pytest.raises(TransportError):
        get(server)


def test_an_answer_cut_short_is_not_taken_for_a_whole_one() -> None:
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nonly this"
    with RawServer(reply) as server, pytest.raises(TransportError, match="cut short") as caught:
        get(server)
    assert caught.value.received == len(reply)


def test_a_refused_answer_leaves_no_connection_open() -> None:
    # The error may be kept for a day as the reason why there is no manifest.
    reply = answer("200 OK", b"x" * 20_000, "Connection: close")
    with RawServer(reply) as server:
        with pytest.raises(TransportError) as caught:
            get(server)
        assert server.hung_up.wait(10)
        assert caught.value.__traceback__ is not None


def test_a_chunk_of_negative_size_is_no_way_round_the_limit() -> None:
    sent: list[int] = []

    def flood(server: RawServer, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n")
        try:
            for number in range(400):
                connection.sendall(b"x" * 65_536)
                sent.append(number)
        except OSError:
            pass

    with RawServer(flood) as server, pytest.raises(TransportError):
        get(server)
    # What the sockets' buffers hold may have left; 26 MB have not.
    assert len(sent) < 300
