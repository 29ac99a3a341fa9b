"""A relay, run by somebody other than the collector: nginx passes on requests that it cannot read.

It uses examples/operations/relay-nginx.conf without TLS, since everything is on one machine. To
demonstrate what a relay could record, it records that.
"""

import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

_EXAMPLE = Path(__file__).parents[1] / "operations" / "relay-nginx.conf"
_LOG = "seen.log"
_WHOLE = """\
daemon off;
master_process off;
pid nginx.pid;
events {{}}
http {{
    client_body_temp_path client_body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    log_format seen "$remote_addr $content_length $request_body";
    {relay}
}}
"""


def nginx() -> str:
    """Return where nginx is; end the program if it is nowhere."""
    return (
        shutil.which("nginx")
        or shutil.which("nginx", path="/usr/sbin")
        or sys.exit("This example needs nginx: apt-get install nginx-light")
    )


@contextmanager
def relay(folder: Path, origin: str) -> Iterator[str]:
    """Run a relay to a collector's gateway, in a new folder; yield its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    collector = urlsplit(origin).netloc
    text = _EXAMPLE.read_text("utf-8")
    for pattern, here in (
        (r" +listen \[::\]:443 ssl;\n", ""),
        (r" +ssl_\w+ .*\n", ""),
        ("listen 443 ssl;", f"listen 127.0.0.1:{port};"),
        (r"telemetry\.example\.org:443", collector),
        (r"Host telemetry\.example\.org", f"Host {collector}"),
        ("https://deniable_gateway", "http://deniable_gateway"),
        ("rate=60r/m", "rate=60r/s"),  # all devices have one address here
        ("access_log off", f"access_log {_LOG} seen"),
        ("/var/log/nginx/", ""),
    ):
        text, found = re.subn(pattern, here, text)
        assert found, pattern
    folder.mkdir()
    (folder / "nginx.conf").write_text(_WHOLE.format(relay=text), "utf-8")
    command = [nginx(), "-p", str(folder), "-e", "start.log", "-c", "nginx.conf"]
    with subprocess.Popen(command) as process:  # noqa: S603
        try:
            while not (folder / "nginx.pid").exists():  # it listens before it writes this file
                assert process.poll() is None, (folder / "start.log").read_text("utf-8")
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()


def seen_by(folder: Path) -> list[str]:
    """Return what the relay saw so far."""
    lines = (folder / _LOG).read_text("ascii").splitlines()
    return [_told(*line.split(maxsplit=2)) for line in lines]


def _told(address: str, size: str, written: str) -> str:
    body = written.encode("ascii").decode("unicode_escape").encode("latin-1")  # nginx escapes bytes
    return f"{address}: …{body[-7:].hex()}, {int(size):,} bytes, sealed"
