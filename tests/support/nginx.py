"""The nginx of examples/operations in front of a collector, on a free port of this machine."""

import http.client
import os
import re
import shutil
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.certificates import certificate
from tests.support.processes import ROOT, child

EXAMPLE = ROOT / "examples" / "operations" / "nginx.conf"
SECONDS = 30.0
HOST = "127.0.0.1"


def nginx() -> str:
    found = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        pytest.skip("needs nginx")
    return found


def installed_at(folder: Path, port: int, upstream: int) -> str:
    """Return the example with this place's files and ports, in a configuration of its own."""
    example = EXAMPLE.read_text("utf-8")
    for pattern, here in (
        (r"listen 443 ssl;", f"listen {HOST}:{port} ssl;"),
        (r"listen \[::\]:443 ssl;", ""),
        (r"server 127\.0\.0\.1:8377;", f"server {HOST}:{upstream};"),
        (r"/etc/letsencrypt/live/\S+/fullchain\.pem", str(folder / "certificate.pem")),
        (r"/etc/letsencrypt/live/\S+/privkey\.pem", str(folder / "key.pem")),
        (r"/var/log/nginx/error\.log", str(folder / "error.log")),
    ):
        example, found = re.subn(pattern, here, example)
        assert found == 1, pattern
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder / kind};\n" for kind in kinds)
    return (
        # One process, as whoever runs the tests: no other may read this folder.
        f"daemon off;\nmaster_process off;\npid {folder / 'pid'};\n"
        f"events {{}}\nhttp {{\n{places}{example}}}\n"
    )


@contextmanager
def serving(folder: Path, upstream: int, port: int) -> Iterator[None]:
    folder.mkdir()
    file = folder / "nginx.conf"
    certificate(folder, HOST)
    file.write_text(installed_at(folder, port, upstream), "utf-8")
    with child([nginx(), "-p", folder, "-e", folder / "start.log", "-c", file]) as process:
        deadline = time.monotonic() + SECONDS
        while not (folder / "pid").exists() or not answers(port, folder):
            assert process.poll() is None, (folder / "start.log").read_text("utf-8")
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield


def answers(port: int, folder: Path) -> bool:
    try:
        return ask(port, folder, "GET", "/")[0] == 404
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
