"""The adapter: the program around a device, which exchanges lines of JSON with the tester."""

import json
import os
import selectors
import shlex
import signal
import subprocess
import threading
import time
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, Any, Final

ANSWER_SECONDS: Final = 60.0
"""Seconds that a command may take, in real time."""


class AdapterBroke(Exception):
    """The adapter reported an error, ended, or did not answer."""


class _Process:
    """A process, its output so far, and the lock of its reader."""

    def __init__(self, argv: list[str], errors: IO[bytes]) -> None:
        self.reading = threading.RLock()
        self.received = b""
        self.popen = subprocess.Popen(  # noqa: S603 - the command is the caller's own
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        self.stdin, self.stdout = self.popen.stdin, self.popen.stdout

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        with self.reading:  # a waiting reader sees the end before the file is closed
            for stream in (self.stdin, self.stdout):
                with suppress(OSError):
                    stream.close()


class Adapter:
    """The adapter's process: started for the first command, and after each kill.

    Attributes:
        elapsed: running seconds of the device, continued across restarts.
    """

    def __init__(self, command: str) -> None:
        try:
            self._argv = shlex.split(command)
        except ValueError as error:
            raise AdapterBroke(f"the command cannot be read: {error}") from error
        self._process: _Process | None = None
        self._errors = TemporaryFile()  # noqa: SIM115 - closed by close()
        self.elapsed = 1000.0

    def command(self, do: str, **fields: Any) -> dict[str, Any]:
        """Have a command executed, and return its answer.

        Raises:
            AdapterBroke: if there is none, or it reports an error.
        """
        self.begin(do, **fields)
        answer = self._answer(do)
        if "error" in answer:
            raise AdapterBroke(f"{do}: {answer['error']}")
        return answer

    def begin(self, do: str, **fields: Any) -> None:
        """Send a command, without waiting for an answer."""
        process = self._process
        if process is None:
            process = self._start()
            if do != "hello":
                self.command("hello", now=fields["now"], version=1)
        line = json.dumps({"do": do, "elapsed": self.elapsed, **fields})
        try:
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
        except (OSError, ValueError) as error:  # ValueError: killed and closed meanwhile
            raise AdapterBroke(f"{do}: {self._ended()}") from error

    def kill(self) -> None:
        """Kill the process and its children, at once, from any thread."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process."""
        self.kill()
        self._errors.close()

    def _start(self) -> _Process:
        self._errors.seek(0)
        self._errors.truncate()
        try:
            self._process = _Process(self._argv, self._errors)
        except (OSError, IndexError) as error:  # IndexError: for an empty command
            raise AdapterBroke(f"cannot be started: {error}") from error
        return self._process

    def _answer(self, do: str) -> dict[str, Any]:
        end = time.monotonic() + ANSWER_SECONDS
        process = self._process
        if process is None:  # killed by the scenario during the command
            raise AdapterBroke(f"{do}: killed")
        with process.reading, selectors.DefaultSelector() as selector:
            if process.stdout.closed:
                raise AdapterBroke(f"{do}: killed")
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in process.received:
                if not selector.select(max(0.0, end - time.monotonic())):
                    self.kill()
                    raise AdapterBroke(f"{do}: no answer in {ANSWER_SECONDS:.0f} seconds")
                received = os.read(process.stdout.fileno(), 1 << 16)
                if not received:
                    raise AdapterBroke(f"{do}: {self._ended()}")
                process.received += received
            line, _, process.received = process.received.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise AdapterBroke(f"{do}: an answer that is not a JSON object: {line[:100]!r}")
        return answer

    def _ended(self) -> str:
        """Return the last line of output of a process that ended."""
        self.kill()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f"its process ended: {last}" if last else "its process ended"
