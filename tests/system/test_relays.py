"""The relay of examples/operations before a real collector: TLS both ways."""

import http.server
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deniable.messages import UploadAnswer, pack_upload
from deniable.messages.bundle import Bundle, read_bundle
from deniable.messages.gateway import ENCAPSULATED_REQUEST_BYTES, GATEWAY_PATH, open_gateway_keys
from deniable.oblivious_http import BinaryRequest
from deniable.oblivious_http.binary_http import BinaryResponse
from deniable.oblivious_http.encapsulation import (
    REQUEST_OVERHEAD_BYTES,
    REQUEST_TYPE,
    ResponseOpener,
    seal_request,
)
from tests.support.certificates import certificate
from tests.support.collector import CollectorProcess
from tests.support.nginx import HOST, ask, relaying
from tests.support.processes import DENIABLE, free_port, run

COLLECTOR = "localhost"  # nginx compares names, not addresses, with what a certificate is for
SEALED = {"Content-Type": REQUEST_TYPE}
TELLING = {
    "User-Agent": "a device",
    "Cookie": "who=me",
    "X-Forwarded-For": "192.0.2.7",
    "Forwarded": "for=192.0.2.7",
    "Accept-Language": "de",
    "Via": "1.1 me",
}


def sealed(bundle: Bundle, request: BinaryRequest) -> tuple[bytes, ResponseOpener]:
    assert bundle.gateway is not None
    newest, *_ = open_gateway_keys(bundle.gateway, (bundle.authority,)).configurations
    return seal_request(newest, request.encode(ENCAPSULATED_REQUEST_BYTES - REQUEST_OVERHEAD_BYTES))


def upload(bundle: Bundle, body: bytes) -> BinaryRequest:
    scheme, _, authority = bundle.origin.partition("://")
    headers = (("content-type", "application/msgpack"),)
    return BinaryRequest("POST", scheme, authority, "/v1/reports", headers, body)


@contextmanager
def collector(folder: Path) -> Iterator[tuple[CollectorProcess, Path]]:
    """Yield a collector that speaks TLS and has a gateway, and the file of its certificate."""
    file, _ = certificate(folder, COLLECTOR)
    settings = {
        "DENIABLE_TLS_CERTIFICATE": str(file),
        "DENIABLE_TLS_KEY": str(folder / "key.pem"),
        "DENIABLE_RELAYS": HOST,
    }
    port = free_port()
    origin = f"https://{COLLECTOR}:{port}"
    with CollectorProcess(
        folder / "collector", origin, settings | {"DENIABLE_PORT": str(port)}
    ) as made:
        made.port = port
        run([*DENIABLE, "gateway", "new", "--dir", made.directory])
        made.start()
        yield made, file


@pytest.mark.long
def test_what_a_relay_passes_on_is_counted_and_answered(tmp_path: Path) -> None:
    port, folder = free_port(), tmp_path / "relay"
    with collector(tmp_path) as (made, trusted):
        exported = tmp_path / "survey.json"
        made.export(exported)
        bundle = read_bundle(exported.read_bytes())
        body, opener = sealed(bundle, upload(bundle, pack_upload([b"\xc0"])))
        with relaying(folder, made.port, port, trusted, COLLECTOR):
            answered, said = ask(port, folder, "POST", "/", body, SEALED | TELLING)
            wrong = [
                ask(port, folder, *request)[0]
                for request in (
                    ("GET", "/", None, SEALED),
                    ("PUT", "/", body, SEALED),
                    ("POST", "/", body, {"Content-Type": "application/msgpack"}),
                    ("POST", "/", body[1:], SEALED),
                    ("POST", "/", body + b"\0", SEALED),
                    ("POST", GATEWAY_PATH, body, SEALED),
                    ("POST", "/v1/reports", body, SEALED),
                )
            ]
            assert wrong == [405, 405, 415, 400, 413, 404, 404]
            # An address has its limit, and another address another.
            for source in ("127.0.0.2", "127.0.0.3"):
                statuses = [200]
                while statuses[-1] == 200 and len(statuses) < 1_000:
                    status, _ = ask(port, folder, "POST", "/", body, SEALED, source=source)
                    statuses.append(status)
                assert len(statuses) > 21
                assert statuses[-1] == 429
        assert (folder / "error.log").read_text("utf-8") == ""
        assert not list(folder.glob("*access*"))
        assert (answered, len(said)) == (200, 512)
        opened = BinaryResponse.decode(opener.open(said))
        assert opened.status == 200
        assert UploadAnswer.from_json(opened.body, 1) is not None


def resumes(trusted: Path, port: int) -> bool:
    """Return whether a client can show by its second connection that it had the first."""
    context = ssl.create_default_context(cafile=trusted)
    session: ssl.SSLSession | None = None
    for _ in range(2):
        with (
            socket.create_connection((HOST, port), 30) as plain,
            context.wrap_socket(plain, server_hostname=HOST, session=session) as spoken,
        ):
            spoken.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            while spoken.recv(4_096):
                pass
            session, reused = spoken.session, spoken.session_reused
    return bool(reused)


def test_nginx_passes_on_nothing_but_the_sealed_bytes(tmp_path: Path) -> None:
    seen: list[tuple[str, str, dict[str, str], bytes]] = []

    class Gateway(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.client_address[0], self.path, dict(self.headers), body))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    file, context = certificate(tmp_path, COLLECTOR)
    server = http.server.ThreadingHTTPServer((HOST, 0), Gateway)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port, folder, body = free_port(), tmp_path / "relay", bytes(range(256)) * 4
    try:
        with relaying(folder, server.server_port, port, file, COLLECTOR):
            for source in ("127.0.0.2", "127.0.0.3"):
                given = SEALED | TELLING
                answer = ask(port, folder, "POST", "/?who=me", body, given, source=source)
                assert answer == (200, b"ok")
            assert not resumes(folder / "certificate.pem", port)
    finally:
        server.shutdown()
        server.server_close()
    assert len(seen) == 2
    for address, path, headers, got in seen:
        assert (address, path, got) == (HOST, GATEWAY_PATH, body)
        assert {name.lower() for name in headers} == {"host", "content-type", "content-length"}
        assert headers["Host"] == f"{COLLECTOR}:{server.server_port}"
