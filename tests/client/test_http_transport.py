"""What one HTTP request of the device looks like on the wire, and what it takes as an answer."""

import http.client
import io
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.client import HttpAnswer, HttpTransport, TransportError
from tests.support.certificates import certificate
from tests.support.raw_server import RawServer, answer

OK = answer("200 OK", b"yes", "Content-Type: text/plain")


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


def get(server: RawServer, most: int = 100, timeout: float = 10.0) -> HttpAnswer:
    return HttpTransport(server.origin, timeout).request("GET", "/path", {}, b"", most)


@pytest.mark.parametrize(
    ("line", "header", "length", "body"),
    [
        ("GET /v1/surveys/s/manifest", ("If-None-Match", '"00ff"'), "", b""),
        (
            "POST /v1/reports",
            ("Content-Type", "application/msgpack"),
            "Content-Length: 2\r\n",
            b"\x91\xc0",
        ),
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


def test_d7_every_request_has_a_connection_of_its_own(server: RawServer) -> None:
    server.reply = answer("200 OK", b"yes", "Connection: keep-alive")
    transport = HttpTransport(server.origin)
    for _ in range(3):
        transport.request("GET", "/", {}, b"", 100)
    assert server.connections == 3


def test_d7_no_cookie_is_kept(server: RawServer) -> None:
    server.reply = answer("200 OK", b"yes", "Set-Cookie: id=7; Path=/", 'ETag: "mark"')
    transport = HttpTransport(server.origin)
    for _ in range(2):
        transport.request("GET", "/", {}, b"", 100)
    first, second = server.requests
    assert first == second
    assert b"cookie" not in second.lower()


def test_an_answer_has_its_status_its_body_and_its_headers_in_lower_case(
    server: RawServer,
) -> None:
    server.reply = answer("418 Teapot", b"short", "Retry-After: 7", "X-Odd: One")
    got = get(server)
    assert (got.status, got.body) == (418, b"short")
    assert got.headers == {"content-length": "5", "retry-after": "7", "x-odd": "One"}
    assert "short" not in repr(got)


def test_a_body_may_come_in_chunks_or_until_the_end(server: RawServer) -> None:
    server.reply = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nye\r\n1\r\ns\r\n0\r\n\r\n"
    )
    assert get(server).body == b"yes"
    server.reply = b"HTTP/1.0 200 OK\r\n\r\nyes"
    assert get(server).body == b"yes"


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


def test_https_to_a_certificate_that_is_trusted_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, context = certificate(tmp_path, "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with RawServer(OK, context) as server:
        assert get(server).body == b"yes"


@pytest.mark.parametrize(("trusted", "address"), [(False, "127.0.0.1"), (True, "127.0.0.2")])
def test_https_to_anybody_else_sends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool, address: str
) -> None:
    file, context = certificate(tmp_path, address)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with RawServer(OK, context) as server:
        with pytest.raises(TransportError, match="SSLCertVerificationError"):
            get(server)
        assert server.requests == []


class Withdrawn(OSError):
    """What a caller raises, who wants no request any more."""


def test_d7_who_calls_off_before_the_body_sends_not_one_byte_through_the_handshake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, context = certificate(tmp_path, "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    shaken: list[str | None] = []

    with RawServer(OK, context) as other:

        def call_off() -> None:
            assert other.hands_shaken.wait(10)
            raise Withdrawn

        transport = HttpTransport(other.origin)
        with pytest.raises(Withdrawn):
            transport.request("POST", "/", {}, b"secret", 100, before_body=call_off)
        transport.request("GET", "/", {}, b"", 100, before_body=lambda: shaken.append("asked"))
        assert shaken == ["asked"]
    assert other.requests[0] == b""
    assert other.requests[1].startswith(b"GET / HTTP/1.1\r\n")


@pytest.mark.parametrize(
    "origin",
    [
        "http://collector.example",
        "http://localhost:8080",
        "http://10.0.0.7:8080",
        "http://127.0.0.2:8080",
        "http://[2001:db8::1]",
    ],
)
def test_plain_http_to_another_machine_takes_a_word_that_says_what_it_is(origin: str) -> None:
    with pytest.raises(ValueError, match="unsafe_plain_http"):
        HttpTransport(origin)
    HttpTransport(origin, unsafe_plain_http=True)


@pytest.mark.parametrize("origin", ["ftp://collector.example", "collector.example", "https://", ""])
def test_what_is_no_origin_is_refused_at_once(origin: str) -> None:
    with pytest.raises(ValueError, match="origin must be"):
        HttpTransport(origin, unsafe_plain_http=True)


def test_a_sidecar_gets_the_same_bytes(server: RawServer) -> None:
    # "localhost" is a name that somebody else may resolve: not one of the two literal addresses.
    sidecar = f"http://localhost:{server.port}"
    transport = HttpTransport(sidecar, unsafe_plain_http=True)
    assert transport.request("GET", "/path", {}, b"", 100).body == b"yes"
    assert server.requests[0].startswith(b"GET /path HTTP/1.1\r\nHost: localhost:")
