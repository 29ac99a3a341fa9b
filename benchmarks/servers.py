"""Server processes under measurement, and the processor time that they have used."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TICK: Final = 1 / os.sysconf("SC_CLK_TCK")
_MOST_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Server:
    """A running server that listens on 127.0.0.1."""

    pid: int
    port: int

    def cpu_seconds(self) -> float:
        """Return what its process and the children of that have used, in all threads."""
        return sum(_cpu_seconds(pid) for pid in (self.pid, *children(self.pid)))


def run_command(*arguments: str | Path, settings: Mapping[str, str] | None = None) -> str:
    """Run the ``deniable`` command, perhaps with environment variables; return what it prints."""
    command = [sys.executable, "-m", "deniable.cli", *arguments]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=_MOST_SECONDS,
        env={**os.environ, **(settings or {})},
    )
    return done.stdout


@contextmanager
def collector(directory: Path, workers: int = 1) -> Iterator[Server]:
    """Serve a collector's directory, whose settings name port 0."""
    command: list[str | Path] = [sys.executable, "-m", "deniable.cli", "serve"]
    with _serving([*command, "--dir", directory, "--workers", str(workers)]) as server:
        yield server


@contextmanager
def bare_handler(*, verify: bool = False) -> Iterator[Server]:
    """Serve the handler that only reads a body, verifies it if told to, and answers 200."""
    options = ["--verify"] if verify else []
    with _serving([sys.executable, "-m", "benchmarks.bare_handler", *options]) as server:
        yield server


@contextmanager
def _serving(command: Sequence[str | Path]) -> Iterator[Server]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            announced = process.stdout.readline()
            address = re.search(r"https?://127\.0\.0\.1:([0-9]+)", announced)
            if address is None:
                raise RuntimeError(f"the server did not start: {announced!r}")
            yield Server(process.pid, int(address[1]))
        finally:
            process.kill()
            process.wait(_MOST_SECONDS)


def _cpu_seconds(pid: int) -> float:
    # The command's name, in brackets, may contain anything; utime and stime are fields 14 and 15.
    fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK


def children(pid: int) -> Iterator[int]:
    """Return the processes that a process started, and those that these started."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text("ascii").split()):
            yield child
            yield from children(child)
