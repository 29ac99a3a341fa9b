"""The nginx of examples/operations in front of a collector, on a free port of this machine."""

import http.client
import os
import re
import shutil
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.support.certificates import certificate
from tests.support.processes import ROOT, child

EXAMPLE = ROOT / "examples" / "operations" / "nginx.conf"
RELAY = EXAMPLE.with_name("relay-nginx.conf")
SECONDS = 30.0
HOST = "127.0.0.1"
RELAYS_ADDRESS = "127.0.0.9"


def nginx() -> str:
    found = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        pytest.skip("needs nginx")
    return found


def installed_at(folder: Path, file: Path, places: Mapping[str, str]) -> str:
    """Return an example in a configuration of its own, with this place's files and ports."""
    example = file.read_text("utf-8")
    here = {
        r"listen \[::\]:443 ssl;": "",
        r"/etc/letsencrypt/live/\S+/fullchain\.pem": str(folder / "certificate.pem"),
        r"/etc/letsencrypt/live/\S+/privkey\.pem": str(folder / "key.pem"),
        r"/var/log/nginx/\S*error\.log": str(folder / "error.log"),
    }
    for pattern, there in (here | dict(places)).items():
        example, found = re.subn(pattern, there, example)
        assert found == 1, pattern
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {folder / kind};\n" for kind in kinds)
    return (
        # One process, as whoever runs the tests: no other may read this folder.
        f"daemon off;\nmaster_process off;\npid {folder / 'pid'};\n"
        f"events {{}}\nhttp {{\n{temporary}{example}}}\n"
    )


def serving(folder: Path, upstream: int, port: int) -> AbstractContextManager[None]:
    """Run the proxy in front of a collector, with a relay at ``RELAYS_ADDRESS``."""
    places = {
        r"192\.0\.2\.0/28 yes;": f"{RELAYS_ADDRESS} yes;",
        r"listen 443 ssl;": f"listen {HOST}:{port} ssl;",
        r"server 127\.0\.0\.1:8377;": f"server {HOST}:{upstream};",
    }
    return _running(folder, EXAMPLE, places, port)


def relaying(
    folder: Path, upstream: int, port: int, trusted: Path, name: str
) -> AbstractContextManager[None]:
    """Run the relay in front of a gateway of this name, whose certificate is trusted."""
    places = {
        r"listen 443 ssl;": f"listen {HOST}:{port} ssl;",
        r"server telemetry\.example\.org:443;": f"server {HOST}:{upstream};",
        r"Host telemetry\.example\.org": f"Host {name}:{upstream}",
        r"proxy_ssl_name telemetry\.example\.org": f"proxy_ssl_name {name}",
        r"/etc/ssl/certs/ca-certificates\.crt": str(trusted),
    }
    return _running(folder, RELAY, places, port)


@contextmanager
def _running(folder: Path, example: Path, places: Mapping[str, str], port: int) -> Iterator[None]:
    folder.mkdir()
    file = folder / "nginx.conf"
    certificate(folder, HOST)
    file.write_text(installed_at(folder, example, places), "utf-8")
    with child([nginx(), "-p", folder, "-e", folder / "start.log", "-c", file]) as process:
        deadline = time.monotonic() + SECONDS
        while not (folder / "pid").exists() or not answers(port, folder):
            assert process.poll() is None, (folder / "start.log").read_text("utf-8")
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield


def answers(port: int, folder: Path) -> bool:
    try:
        return ask(port, folder, "GET", "/nothing")[0] == 404
    except ConnectionError:
        return False


def ask(
    port: int,
    folder: Path,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    *,
    source: str = HOST,
) -> tuple[int, bytes]:
    trusted = ssl.create_default_context(cafile=folder / "certificate.pem")
    connection = http.client.HTTPSConnection(
        HOST, port, timeout=SECONDS, context=trusted, source_address=(source, 0)
    )
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
