"""The collector that is soaked: started, killed, restarted, and its memory watched."""

import asyncio
import os
import re
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from benchmarks.servers import children, run_command
from benchmarks.soak.plan import Plan
from benchmarks.soak.signing import RESPONSES, Slot
from benchmarks.soak.tally import Tally

NAMES: Final = ("soak-one", "soak-two", "soak-three")
EPOCHS: Final = 2
"""So many epochs are open at once: the last one is within its grace."""
_SURVEY: Final = """\
name = "{name}"
question = "Which one?"
categories = [{categories}]
epsilon = "1"
epoch = "1 day"
epochs = 8
grace = "4 days"
start = {start}
minimum_reports = 1
"""
_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 120.0
_LOOK_SECONDS: Final = 0.05


class SoakedCollector:
    """A collector in a new directory of its own, beside which its logs and keys are put.

    It listens at ``port`` on 127.0.0.1, and takes the reports of ``slots``. Without the address of
    a database, its store is a file in the directory.
    """

    def __init__(self, directory: Path, plan: Plan, store: str | None, tally: Tally) -> None:
        self.port = _free_port()
        self._directory = directory
        self._several = plan.workers > 1
        self._tally = tally
        self._process: asyncio.subprocess.Process | None = None
        self._processes: set[int] = set()
        self._log = directory.with_name("collector.log")
        self._settings = {
            "DENIABLE_WORKERS": str(plan.workers),
            "DENIABLE_ADDRESS_RATE": "0",  # all come from one
            **({"DENIABLE_STORE": store} if store else {}),
        }
        origin = ("--origin", f"http://127.0.0.1:{self.port}", "--port", str(self.port))
        run_command("init", directory, *origin, settings=self._settings)
        self.slots = self._publish()

    def _publish(self) -> list[Slot]:
        start = (datetime.now(UTC) - timedelta(days=1, hours=12)).isoformat(timespec="seconds")
        slots: list[Slot] = []
        for name in NAMES:
            file = self._directory.with_name(f"{name}.toml")
            categories = ", ".join(f'"category {number}"' for number in range(RESPONSES))
            file.write_text(_SURVEY.format(name=name, categories=categories, start=start), "utf-8")
            publish = ("survey", "publish", file, "--dir", self._directory)
            told = run_command(*publish, settings=self._settings)
            (survey_id,) = re.findall(r"\b[0-9a-f]{64}\b", told)
            slots += [(bytes.fromhex(survey_id), epoch) for epoch in range(EPOCHS)]
        return slots

    async def start(self) -> None:
        """Start it; return once it takes requests, which has to be within a minute."""
        async with asyncio.timeout(_START_SECONDS):
            while True:
                if await self._begin():
                    return
                # The workers of one that was killed may still hold the port for a moment.
                await asyncio.sleep(_LOOK_SECONDS)

    async def _begin(self) -> bool:
        with self._log.open("ab") as log:
            command = (sys.executable, "-m", "deniable.cli", "serve", "--dir", self._directory)
            process = await asyncio.create_subprocess_exec(
                *command,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={**os.environ, **self._settings},
            )
        assert process.stdout is not None
        while line := await process.stdout.readline():
            if b"listening" in line:
                self._process = process
                self.watch()
                return True
        await process.wait()
        return False

    async def kill(self) -> None:
        """Kill -9 the process that was started; its workers, if any, must notice."""
        assert self._process is not None
        self._tally.kills["kill -9 of the " + ("parent" if self._several else "collector")] += 1
        self._process.kill()
        await self._process.wait()

    def kill_worker(self, number: int) -> None:
        """Kill -9 one worker; it is to be started anew by itself."""
        workers = self._workers()
        if workers:
            self._tally.kills["kill -9 of a worker"] += 1
            with suppress(ProcessLookupError):
                os.kill(workers[number % len(workers)], signal.SIGKILL)

    async def stop(self) -> None:
        """Have it finish what it has begun, and end."""
        assert self._process is not None
        self._tally.kills["SIGTERM"] += 1
        self._process.terminate()
        async with asyncio.timeout(_STOP_SECONDS):
            status = await self._process.wait()
        if status != 0:
            self._tally.broken[f"status {status} after SIGTERM"] += 1

    async def all_gone(self) -> None:
        """Wait until none of its processes is left, orphans included."""
        async with asyncio.timeout(_STOP_SECONDS):
            while True:
                if not any(map(_is_ours, self._processes)):
                    return
                await asyncio.sleep(_LOOK_SECONDS)

    def watch(self) -> None:
        """Take note of the memory that each process has used at most."""
        if self._process is None:
            return
        workers = self._workers()
        parent = "supervisor" if self._several else "collector"
        for pid, name in ((self._process.pid, parent), *((pid, "worker") for pid in workers)):
            self._processes.add(pid)
            self._tally.peaks[name] = max(self._tally.peaks[name], _peak_kib(pid))

    def close(self) -> None:
        """Kill whatever is left."""
        for pid in self._processes:
            if _is_ours(pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    @property
    def complaints(self) -> str:
        """Return what it wrote to standard error."""
        return self._log.read_text("utf-8", "replace")

    def _workers(self) -> Sequence[int]:
        assert self._process is not None
        with suppress(OSError):
            return sorted(children(self._process.pid))
        return ()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _peak_kib(pid: int) -> int:
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text("ascii"))
        return int(found[1]) if found else 0
    return 0


def _is_ours(pid: int) -> bool:
    with suppress(OSError):
        return b"deniable.cli" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
