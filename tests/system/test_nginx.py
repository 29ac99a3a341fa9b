"""The nginx of examples/operations before a real collector, with a real device behind TLS."""

import http.client
import json
import os
import re
import shutil
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.client import IN_MEMORY, Client, Survey
from deniable.messages import UploadAnswer, pack_upload
from tests.support.certificates import certificate
from tests.support.collector import NAME, CollectorProcess
from tests.support.processes import ROOT, child, free_port

EXAMPLE = ROOT / "examples" / "operations" / "nginx.conf"
SECONDS = 30.0
BURST = 256  # reports that an address may send at once, however low its rate
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


@pytest.mark.long
def test_a_device_behind_nginx_is_counted_limited_by_its_own_address_and_read_by_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, folder = free_port(), tmp_path / "nginx"
    settings = {
        "DENIABLE_TRUSTED_PROXIES": HOST,
        "DENIABLE_ADDRESS_RATE": "0.001",
        "DENIABLE_PUBLIC": NAME,
    }
    collector = CollectorProcess(tmp_path / "collector", f"https://{HOST}:{port}", settings)
    collector.start()
    try:
        with serving(folder, collector.port, port):
            monkeypatch.setenv("SSL_CERT_FILE", str(folder / "certificate.pem"))
            bundle = tmp_path / "survey.json"
            collector.export(bundle)
            # Declared, and not bundled: the device asks for the manifest by itself.
            survey = replace(Survey.bundled(bundle), bundle=None)
            with Client(
                collector.origin,
                authority=collector.authority,
                surveys=[survey],
                state=IN_MEMORY,
                consent="on",
                background=False,
                environment={},
            ) as device:
                assert device.refresh().ready == (NAME,)
                device.report(NAME, "good", strict=True)
                assert device.flush().delivered == 1

            def send(source: str, forged: str = "") -> int:
                headers = {"Content-Type": "application/msgpack"}
                headers |= {"X-Forwarded-For": forged} if forged else {}
                body = pack_upload([b"\xc0"] * BURST)
                status, said = ask(
                    port, folder, "POST", "/v1/reports", body, headers, source=source
                )
                assert status != 200 or UploadAnswer.from_json(said, BURST) is not None
                return status

            # Each address has its own share, and nobody gets another's by claiming it.
            assert [send("127.0.0.2"), send("127.0.0.2")] == [200, 429]
            assert send("127.0.0.2", forged="192.0.2.1") == 429
            assert send("127.0.0.3") == 200

            # People may have a longer path, which nginx takes off; nothing else is let through.
            path = f"/v1/surveys/{NAME}/histogram"
            figures = [ask(port, folder, "GET", prefix + path) for prefix in ("", "/telemetry")]
            assert figures[0] == figures[1]
            assert (figures[0][0], json.loads(figures[0][1])["n"]) == (200, 1)
            for hidden in ("/healthz", "/metrics", "/telemetry/v1/reports", "/telemetry/healthz"):
                assert ask(port, folder, "GET", hidden)[0] == 404
    finally:
        collector.close()
    assert (folder / "error.log").read_text("utf-8") == ""
    assert "Traceback" not in collector.complaints
