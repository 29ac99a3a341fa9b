"""Child processes that always end: every run is bounded, and every child is killed at last."""

import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]  # the checkout
DENIABLE = (sys.executable, "-m", "deniable.cli")
"""The command line, as this environment has it installed."""
_WITHOUT = (f"-pno:{plugin}" for plugin in ("asyncio", "cacheprovider"))
PYTEST = (sys.executable, "-W", "error", "-m", "pytest", "-q", *_WITHOUT)
"""pytest as an app's developers run it, without this project's settings and plugins but ours."""


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    typed: str = "",
    seconds: float = 300.0,  # a guard against hanging, however slow the machine
    status: int | None = 0,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; fail with its output if its status is not the expected one."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        input=typed,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    shown = f"{[*command]}\n{done.stdout}\n{done.stderr}"
    assert status is None or done.returncode == status, f"status {done.returncode} of {shown}"
    return done


@contextmanager
def child(command: Sequence[str | Path], **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command beside the test; kill it when the block ends, if it has not ended by itself."""
    process = subprocess.Popen(command, **options)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait(20)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def await_line(process: subprocess.Popen[bytes], word: bytes, seconds: float = 30.0) -> bytes:
    """Return what a child has written to its piped output once it contains a word."""
    assert process.stdout is not None
    deadline = time.monotonic() + seconds
    seen = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while word not in seen:
            assert selector.select(max(0.0, deadline - time.monotonic())), f"only {seen!r} came"
            read = os.read(process.stdout.fileno(), 65_536)
            assert read, f"the process ended after {seen!r}"
            seen += read
    return seen


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
