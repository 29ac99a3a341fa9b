"""The adapter: the program around a device, which exchanges lines of JSON with the tester."""

import json
import os
import shlex
import signal
import subprocess
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from tempfile import TemporaryFile
from typing import IO, Any, Final

ANSWER_SECONDS: Final = 60.0
"""Seconds that a command may take, in real time."""


class AdapterBroke(Exception):
    """The adapter reported an error, ended, or did not answer."""


class _Process:
    """A process, and the lines that it has written; b"" is its end."""

    def __init__(self, argv: list[str], errors: IO[bytes]) -> None:
        self.lines: SimpleQueue[bytes] = SimpleQueue()
        self.popen = subprocess.Popen(  # noqa: S603 - the command is the caller's own
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        self.stdin, self._stdout = self.popen.stdin, self.popen.stdout
        threading.Thread(target=self._read, name="adapter", daemon=True).start()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        with suppress(OSError):
            self.stdin.close()

    def _read(self) -> None:
        with self._stdout as lines:
            for line in lines:
                self.lines.put(line)
        self.lines.put(b"")


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
        process = self._process
        if process is None:  # killed by the scenario during the command
            raise AdapterBroke(f"{do}: killed")
        try:
            line = process.lines.get(timeout=ANSWER_SECONDS)
        except Empty:
            self.kill()
            raise AdapterBroke(f"{do}: no answer in {ANSWER_SECONDS:.0f} seconds") from None
        if not line:
            raise AdapterBroke(f"{do}: {self._ended()}")
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
