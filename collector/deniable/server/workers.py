"""Several processes that serve one port, and a supervisor that restarts them when they die.

The supervisor accepts no requests and opens no store, so nothing that affects a worker can harm it.
Its workers are forked, so they share imported modules, and the memory of heartbeats. Their meters
are in files of a new folder, for them alone, which is deleted with the supervisor. They accept
connections from the same sockets, which the supervisor opened, so a frozen or dead worker keeps
none waiting. A frozen one may have locks that others wait for: if it does not continue, it is
killed.
"""

import asyncio
import logging
import mmap
import os
import select
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Final, NoReturn

from prometheus_client.multiprocess import mark_process_dead

from deniable.directory import Config
from deniable.server.metrics import WORKER_BYTES, Meters
from deniable.server.serving import Sockets, run_in_loop, serve, sockets_of

_LOG = logging.getLogger("deniable.collector")

_ENDING: Final = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_WATCHED: Final = _ENDING | {signal.SIGCHLD}
_STABLE_SECONDS: Final = 60.0
"""A worker that lasted this long is restarted at once; any other after increasing pauses."""
_LONGEST_PAUSE: Final = 30.0
STOPPING_SECONDS: Final = 75.0
"""Longer than a worker needs to drain. A hanging one is killed, and loses nothing stored."""
_WAIT_SECONDS: Final = 0.1
_SERVING: Final = b"\1"
_MOST_SAID: Final = 65_536
LOOK_SECONDS: Final = 1.0
"""Seconds between two beats, and between two checks of all of them."""
FROZEN_SECONDS: Final = 20.0
"""A worker that has been silent this long will not continue. No work in a worker's event loop takes
a second; long work is done in threads."""
SILENT_SECONDS: Final = 5.0
"""Seconds for which a silent worker still counts as alive."""
_MEMORY: Final = "/dev/shm"  # noqa: S108 - the folder in it is private, and its name random
"""A folder whose files are in memory: metrics are kept there, if there is room."""


class Heartbeats:
    """The workers' heartbeats, created by their parent before it forks.

    The event loop of each signals about once a second, in shared memory, that it is alive. A
    stopped process or a blocked loop does not. No request is sent, since a hanging worker could not
    answer.
    """

    def __init__(self, workers: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._beats = memoryview(mmap.mmap(-1, workers * 8)).cast("d")
        self._clock = clock
        self._seen = [0.0] * workers
        self._still = [0.0] * workers
        self._looked_at = clock()

    def beat(self, worker: int) -> None:
        """Note that a worker is alive, or is being started."""
        self._beats[worker] = self._clock()

    async def keep_beating(self, worker: int) -> None:
        """Note that a worker is alive as long as its event loop runs."""
        while True:
            self.beat(worker)
            await asyncio.sleep(LOOK_SECONDS)

    def leads(self, worker: int) -> bool:
        """Return whether no worker with a lower number is alive."""
        alive_since = self._clock() - SILENT_SECONDS
        return all(beat < alive_since for beat in self._beats[:worker])

    def look(self) -> list[float]:
        """Return the seconds of each worker's silence; call this once a second.

        Only the caller's own running time counts, so a sleeping machine or a stopped process group
        does not look dead.
        """
        now = self._clock()
        passed = min(now - self._looked_at, 2 * LOOK_SECONDS)
        self._looked_at = now
        for worker, beat in enumerate(self._beats):
            self._still[worker] = self._still[worker] + passed if beat == self._seen[worker] else 0
            self._seen[worker] = beat
        return self._still.copy()


class WorkersFailed(Exception):
    """A worker could not begin to serve; the message is that of the worker's error."""


@dataclass(slots=True)
class _Worker:
    """A worker's place: its process, its start, and the time of its restart."""

    pid: int = 0  # 0 while there is no process
    ready: socket.socket | None = None  # for the worker's message that it serves
    started: float = 0.0  # monotonic seconds
    deaths: int = 0  # early deaths, in succession
    due: float = 0.0

    def said(self) -> bytes:
        """Return the worker's messages since the last call.

        The result is empty if there are no messages; it states if no more can come.
        """
        if self.ready is None or not select.select([self.ready], [], [], 0)[0]:
            return b""
        said = self.ready.recv(_MOST_SAID)
        if not said:
            self.let_go()
        return said or b"a worker ended before it served"

    def let_go(self) -> None:
        """Expect no more messages."""
        if self.ready is not None:
            self.ready.close()
        self.ready = None


def serve_with_workers(config: Config, announce: Callable[[str], None]) -> None:
    """Serve with ``config.workers`` processes until SIGTERM or SIGINT; announce when all serve.

    Raises:
        OSError: if listening on the address fails.
        WorkersFailed: if a worker cannot begin to serve.
    """
    # The parent process may ignore the ends of children: then they would not be reported.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Signals are fetched, not delivered: none comes between a check and the following wait.
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    folder = _folder_of_metrics(config.workers)
    with (
        closing(sockets_of(config)) as sockets,
        TemporaryDirectory(prefix="deniable-", dir=folder) as files,
    ):
        supervisor = _Supervisor(config, sockets, files)
        try:
            if supervisor.start_all():
                announce(sockets.address(config))
                supervisor.watch()
        finally:
            supervisor.stop_all()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)


def _folder_of_metrics(workers: int) -> str | None:
    """Return the folder whose files are in memory; None if there is none, or no room."""
    if not os.access(_MEMORY, os.W_OK):
        return None
    return _MEMORY if shutil.disk_usage(_MEMORY).free >= workers * WORKER_BYTES else None


class _Supervisor:
    def __init__(self, config: Config, sockets: Sockets, files: str) -> None:
        self._config = config
        self._sockets = sockets
        self._files = files
        self._pid = os.getpid()
        self._heartbeats = Heartbeats(config.workers)
        self._workers = [_Worker() for _ in range(config.workers)]
        # The workers have the reading end, which ends when this process does, for any reason.
        self._life_read, self._life_write = os.pipe()

    def start_all(self) -> bool:
        """Start every worker; return once all serve, or False if told to stop before that."""
        for number in range(len(self._workers)):
            self._start(number)
        for worker in self._workers:
            while not (said := worker.said()):
                self._end_frozen()
                got = signal.sigtimedwait(_WATCHED, _WAIT_SECONDS)
                if got is not None and got.si_signo in {signal.SIGTERM, signal.SIGINT}:
                    return False
            if said != _SERVING:
                raise WorkersFailed(said.decode())
        return True

    def watch(self) -> None:
        """Restart every worker that dies, until told to stop."""
        while True:
            pauses = [worker.due - time.monotonic() for worker in self._workers if not worker.pid]
            got = signal.sigtimedwait(_WATCHED, max(0.0, min([*pauses, LOOK_SECONDS])))
            if got is not None and got.si_signo == signal.SIGHUP and self._config.tls_certificate:
                self._tell(signal.SIGHUP)  # the workers reload the certificate
            # If a stop interrupted the wait, Python's result is not a signal.
            elif got is not None and got.si_signo in _ENDING:
                return
            self._reap()
            for worker in self._workers:
                worker.said()
            self._end_frozen()
            for number, worker in enumerate(self._workers):
                if not worker.pid and worker.due <= time.monotonic():
                    self._start(number)

    def stop_all(self) -> None:
        """Let every worker finish its requests in progress."""
        self._sockets.close()
        self._tell(signal.SIGTERM)
        deadline = time.monotonic() + STOPPING_SECONDS
        for worker in self._workers:
            while worker.pid and not os.waitpid(worker.pid, os.WNOHANG)[0]:
                if time.monotonic() >= deadline:
                    os.kill(worker.pid, signal.SIGKILL)
                signal.sigtimedwait({signal.SIGCHLD}, _WAIT_SECONDS)
            worker.pid = 0
        os.close(self._life_write)
        os.close(self._life_read)

    def _tell(self, number: signal.Signals) -> None:
        for worker in self._workers:
            if worker.pid:
                os.kill(worker.pid, number)

    def _reap(self) -> None:
        """Collect the workers that ended, and schedule their restarts."""
        for number, worker in enumerate(self._workers):
            if not worker.pid:
                continue
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if pid:
                now = time.monotonic()
                young = now - worker.started < _STABLE_SECONDS
                worker.deaths = worker.deaths + 1 if young else 0
                pause = _pause(worker.deaths)
                worker.pid, worker.due = 0, now + pause
                worker.let_go()
                mark_process_dead(number, self._files)  # the worker no longer has gauges
                code = os.waitstatus_to_exitcode(status)
                how = f"signal {-code}" if code < 0 else f"status {code}"
                _LOG.error("worker %d ended (%s); restarting it in %.1f s", number, how, pause)

    def _end_frozen(self) -> None:
        for number, seconds in enumerate(self._heartbeats.look()):
            worker = self._workers[number]
            if seconds >= FROZEN_SECONDS:
                self._heartbeats.beat(number)  # otherwise each check would kill it again
                if worker.pid:
                    _LOG.error("worker %d has hung for %d s and will be killed", number, seconds)
                    os.kill(worker.pid, signal.SIGKILL)

    def _start(self, number: int) -> None:
        worker = self._workers[number]
        worker.ready, said = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        worker.started = time.monotonic()
        self._heartbeats.beat(number)
        worker.pid = os.fork()
        if worker.pid == 0:
            self._work(number, said)
        said.close()

    def _work(self, number: int, said: socket.socket) -> NoReturn:
        """Run as a worker; never return."""
        status = 1
        try:
            os.close(self._life_write)
            for worker in self._workers:
                worker.let_go()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
            run_in_loop(self._serve(number, said))
            status = 0
        except KeyboardInterrupt:
            status = 0
        except Exception as error:  # noqa: BLE001 - whatever it is, the supervisor tells it
            _tell_supervisor(said, " ".join(str(error).split()).encode())
            _LOG.error("worker %d cannot serve: %s", number, error)
        finally:
            if os.getppid() != self._pid:
                shutil.rmtree(self._files, ignore_errors=True)  # nobody else would delete the files
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    async def _serve(self, number: int, said: socket.socket) -> None:
        beating = asyncio.create_task(self._heartbeats.keep_beating(number))
        await serve(
            self._config,
            lambda _: _tell_supervisor(said, _SERVING),
            meters=Meters(self._files, number),
            sockets=self._sockets,
            until_closed=self._life_read,
            leads=lambda: self._heartbeats.leads(number),
        )
        beating.cancel()


def _pause(deaths: int) -> float:
    """Return the pause before a restart after this many early deaths: 0, 0, 1, 2, 4 … seconds."""
    return min(_LONGEST_PAUSE, 2.0 ** (deaths - 2)) if deaths > 1 else 0.0


def _tell_supervisor(supervisor: socket.socket, what: bytes) -> None:
    """Tell the supervisor that this worker serves, or why it cannot serve."""
    with suppress(BrokenPipeError):
        supervisor.send(what)
