"""How long an app's exit takes with a report under way to a server that never answers."""

import socket
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.rounds import interleave
from benchmarks.table import Row, show

_QUOTED: Final = {
    "Glean": "0.4",
    "PostHog": "1.5-1.8",
    "Sentry": "2.4-2.7",
    "OpenTelemetry": "10.3-10.7",
    "Segment": "16",
}
_PREPARE: Final = """
import sys, time
from benchmarks.surveys import AUTHORITY, declaration, running_survey
from deniable.client import Client, HttpTransport
import threading
entered = threading.Event()
class Announced(HttpTransport):
    def request(self, *arguments, **named):
        entered.set()
        return super().request(*arguments, **named)
origin, state = sys.argv[1:]
manifest, envelope = running_survey(origin)
client = Client(
    origin, authority=AUTHORITY.public_key, surveys=[declaration(manifest)], state=state,
    consent="on", manifests=[envelope], delivery_seconds=0, transport=Announced(origin),
)
"""
_REPORT: Final = """
client.report(manifest.name, manifest.categories[0], strict=True)
assert entered.wait(20)
time.sleep(0.1)
"""
_END: Final = "print(time.monotonic(), flush=True)\n"


def run() -> None:
    """Measure and print."""
    programs = {
        "nothing was reported": _PREPARE + _END,
        "a request hangs": _PREPARE + _REPORT + _END,
        "a request hangs, and the app calls close()": _PREPARE
        + _REPORT
        + _END
        + "client.close()\n",
    }
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as server:
        # Nobody accepts: the system completes the connection, and no byte ever comes.
        origin = f"http://127.0.0.1:{server.getsockname()[1]}"
        found = interleave(
            {name: partial(_seconds, program, origin) for name, program in programs.items()}
        )
    show(
        "exit of an app, against a server that never answers",
        [Row(name, seconds, "s") for name, seconds in found.items()],
    )
    print("\nothers' delays there, quoted from an earlier comparison, not measured in this run")
    for name, seconds in _QUOTED.items():
        print(f"{name:<14} {seconds} s")


def _seconds(program: str, origin: str) -> float:
    """Return the seconds between the last line of an app's main program and its end."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", program, origin, str(Path(folder) / "device.sqlite")]
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60)
        ended = time.monotonic()
    assert done.stderr == ""
    return ended - float(done.stdout)
