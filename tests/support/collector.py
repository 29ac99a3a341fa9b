"""A real collector: made, published to and read by the command line, served by its own process."""

import asyncio
import copy
import json
import os
import re
import signal
import sqlite3
import subprocess
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self

from deniable.client import IN_MEMORY, Client, Survey
from deniable.counterparts.bodies import split_upload
from deniable.messages import SignedReport
from deniable.stores.values import RECEIPT_KEY_BYTES
from tests.support.clients import client_of
from tests.support.postgres import connected
from tests.support.processes import DENIABLE, await_line, free_port, run

NAME = "rating-of-marriage"
_SURVEY = """\
name = "rating-of-marriage"
question = "How do you rate your marriage?"
categories = ["very poor", "poor", "fair", "good", "very good"]
mechanism = "randomised-response"
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


class CollectorProcess:
    """One collector in its directory: started, stopped and killed as often as a test likes.

    Args:
        directory: a new one; its logs and the authority's key are put beside it.
        origin: by which devices reach it; the address of a proxy, or ``None`` for its own.
        environment: settings that override those of the directory, as ``DENIABLE_…``.
    """

    def __init__(
        self,
        directory: Path,
        origin: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self.port = free_port()
        self.origin = origin or f"http://127.0.0.1:{self.port}"
        self._environment = dict(environment or {})
        self.store = Path(self._environment.get("DENIABLE_STORE", directory / "store.sqlite"))
        self._log = directory.with_name(f"{directory.name}.log")
        self._process: subprocess.Popen[bytes] | None = None
        survey = directory.with_name(f"{directory.name}.toml")
        survey.write_text(_SURVEY, "utf-8")
        listen = ("--origin", self.origin, "--port", str(self.port))
        run([*DENIABLE, "init", directory, *listen], env=self._environment)
        published = self._command("survey", "publish", survey)
        (survey_id,) = re.findall(r"\b[0-9a-f]{64}\b", published)
        self.survey_id = bytes.fromhex(survey_id)
        settings = tomllib.loads((directory / "collector.toml").read_text("utf-8"))
        self.authority = str(settings["authority"])

    def beside(self) -> "CollectorProcess":
        other = copy.copy(self)
        other.port = free_port()
        other._environment = {**self._environment, "DENIABLE_PORT": str(other.port)}
        other._process = None
        return other

    def with_store(self, store: str) -> "CollectorProcess":
        """Return this collector with another store, a file or a database."""
        other = copy.copy(self)
        other.store = Path(store)
        other._environment = {**self._environment, "DENIABLE_STORE": store}
        other._process = None
        return other

    def start(self, *command: str | Path) -> None:
        """Start the process, by such a command line or ours; return once it takes requests."""
        assert self._process is None
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*(command or DENIABLE), "serve", "--dir", self.directory],
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **self._environment},
            )
        await_line(self._process, b"listening")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def workers(self) -> list[int]:
        """Return the ids of the processes that it has started, if it starts any."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text("ascii")
        return sorted(map(int, children.split()))

    def kill_parent(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        assert self._wait(20) == -signal.SIGKILL

    def kill(self) -> None:
        """Kill -9, at once; return when its workers, if there are any, have noticed."""
        workers = self.workers()
        self.kill_parent()
        deadline = time.monotonic() + 60
        while any(map(runs, workers)):
            assert time.monotonic() < deadline, "workers outlive their parent"
            time.sleep(0.01)

    def terminate(self) -> None:
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._wait(20)

    @property
    def complaints(self) -> str:
        """Return what all processes so far have written to standard error."""
        return self._log.read_text("utf-8")

    def publish(self, surveys: Mapping[str, str]) -> None:
        """Publish surveys of one day: by the name of each, the other lines of its file."""
        for name, lines in surveys.items():
            file = self.directory.with_name(f"{name}.toml")
            file.write_text(
                f'name = "{name}"\nquestion = "{name}?"\nepoch = "1 day"\nepochs = 1\n'
                f"minimum_reports = 1\n{lines}\n",
                "utf-8",
            )
            self._command("survey", "publish", file)

    def device(self, surveys: Sequence[Survey], state: Any = IN_MEMORY, **changes: Any) -> Client:
        """Return the client of a device whose user consented, and that sends when it is told to."""
        defaults: dict[str, Any] = {"authority": self.authority, "consent": "on"}
        defaults["background"] = False
        return client_of(self.origin, surveys=surveys, state=state, **defaults | changes)

    def export(self, file: Path) -> None:
        self._command("survey", "export", NAME, "--out", file)

    def shown_counts(self) -> list[int]:
        shown = self._command("hist", NAME, "--json")
        return [category["raw"] for category in json.loads(shown)["categories"]]

    def _command(self, *arguments: str | Path) -> str:
        """Return what the command line says about the directory."""
        command = [*DENIABLE, *arguments, "--dir", self.directory]
        return run(command, env=self._environment).stdout

    def receipts(self) -> Counter[Receipt]:
        url = self._environment.get("DENIABLE_STORE", "")
        if url.startswith("postgresql:"):
            return asyncio.run(_receipts_in(url))
        with closing(sqlite3.connect(self.store, timeout=10)) as store:
            rows = store.execute("SELECT key, response FROM receipts").fetchall()
        return Counter((bytes(key), int(response)) for key, response in rows)


def runs(pid: int) -> bool:
    """Return if a process is more than an exit status."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


async def _receipts_in(url: str) -> Counter[Receipt]:
    async with connected(url) as connection:
        rows = await connection.fetch("SELECT key, response FROM deniable.receipts")
    return Counter((key.bytes, int(response)) for key, response in rows)
