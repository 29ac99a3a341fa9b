"""A real collector: made, published to and read by the command line, served by its own process."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from deniable.messages import SignedReport, split_upload
from deniable.messages.receipt import RECEIPT_KEY_BYTES
from tests.support.processes import DENIABLE, await_line, run

NAME = "rating-of-marriage"
_SURVEY = """\
name = "rating-of-marriage"
question = "How do you rate your marriage?"
categories = ["very poor", "poor", "fair", "good", "very good"]
epsilon = "1"
epoch = "1 week"
epochs = 1
grace = "1 day"
minimum_reports = 1
"""


Receipt = tuple[bytes, int]
"""(start of the public key, response): how the store holds a report of the one survey and epoch."""


def receipts_of(bodies: Iterable[bytes]) -> Counter[Receipt]:
    """Return the receipts that the reports in the bodies of uploads should leave."""
    reports = [SignedReport.from_envelope(each) for body in bodies for each in split_upload(body)]
    return Counter(
        (signed.public_key[:RECEIPT_KEY_BYTES], signed.report.response) for signed in reports
    )


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class CollectorProcess:
    """One collector in its directory: started, stopped and killed as often as a test likes.

    Args:
        directory: a new one; its logs and the authority's key are put beside it.
        origin: by which devices reach it; the address of a proxy, or ``None`` for its own.
    """

    def __init__(self, directory: Path, origin: str | None = None) -> None:
        self.directory = directory
        self.port = free_port()
        self.origin = origin or f"http://127.0.0.1:{self.port}"
        self.store = directory / "store.sqlite"
        self._log = directory.with_name(f"{directory.name}.log")
        self._process: subprocess.Popen[bytes] | None = None
        survey = directory.with_name(f"{directory.name}.toml")
        survey.write_text(_SURVEY, "utf-8")
        listen = ("--origin", self.origin, "--port", str(self.port))
        run([*DENIABLE, "init", directory, *listen])
        published = run([*DENIABLE, "survey", "publish", survey, "--dir", directory]).stdout
        (survey_id,) = re.findall(r"\b[0-9a-f]{64}\b", published)
        self.survey_id = bytes.fromhex(survey_id)
        settings = tomllib.loads((directory / "collector.toml").read_text("utf-8"))
        self.authority = str(settings["authority"])

    def start(self) -> None:
        """Start the process; return once it takes requests."""
        assert self._process is None
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*DENIABLE, "serve", "--dir", self.directory],
                stdout=subprocess.PIPE,
                stderr=log,
            )
        await_line(self._process, b"listening")

    @property
    def pid(self) -> int:
        """Return the running process's id."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """Kill -9, at once."""
        os.kill(self.pid, signal.SIGKILL)
        assert self._wait(20) == -signal.SIGKILL

    def terminate(self) -> None:
        """Send SIGTERM, and do not wait."""
        os.kill(self.pid, signal.SIGTERM)

    def wait(self, seconds: float = 40.0) -> tuple[int, str]:
        """Return the exit status of a process that is ending, and the rest of what it wrote."""
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.wait(seconds)
        written = self._process.stdout.read().decode()
        return self._wait(seconds), written

    def _wait(self, seconds: float) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        status = self._process.wait(seconds)
        self._process.stdout.close()
        self._process = None
        return status

    def close(self) -> None:
        """End the process, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._wait(20)

    @property
    def complaints(self) -> str:
        """Return what all processes so far have written to standard error."""
        return self._log.read_text("utf-8")

    def shown_counts(self) -> list[int]:
        """Return the raw counts that ``deniable hist --json`` shows."""
        shown = run([*DENIABLE, "hist", NAME, "--dir", self.directory, "--json"]).stdout
        return [category["raw"] for category in json.loads(shown)["categories"]]

    def receipts(self) -> Counter[Receipt]:
        """Return every receipt in the store, whether or not the process runs."""
        with closing(sqlite3.connect(self.store, timeout=10)) as store:
            rows = store.execute("SELECT key, response FROM receipts").fetchall()
        return Counter((bytes(key), int(response)) for key, response in rows)
