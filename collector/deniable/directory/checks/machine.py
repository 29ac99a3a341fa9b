"""The machine that serves: processors, open files, clock, libraries."""

import ctypes
import os
import resource
import shlex
import sqlite3
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from deniable.directory import Config
from deniable.directory.checks.finding import Diagnosis, bad, doubtful, good

_OTHER_FILES = 64
"""What a worker opens besides connections: store, logs, pipes, sockets."""
_UNSYNCHRONISED = 5
"""What adjtimex(2) returns of a clock that nothing sets: TIME_ERROR."""
_TIMEX_BYTES = 512
"""More than its structure has on any Linux."""
_ONE_SECOND = 1.0


def check_workers(config: Config) -> Diagnosis:
    """Check that there are processors for the workers."""
    cores = len(os.sched_getaffinity(0))
    text = f"{config.workers}, on {cores} processor{'s' * (cores > 1)}"
    if config.workers > cores:
        return doubtful(text, f"more workers than processors gain nothing; set {cores}")
    return good(text)


def check_open_files(config: Config) -> Diagnosis:
    """Check that a process may open as many files as it has connections."""
    return judge_open_files(config, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def judge_open_files(config: Config, allowed: int) -> Diagnosis:
    """Judge how many files a process may open."""
    needed = config.most_connections + config.database_connections + _OTHER_FILES
    if allowed == resource.RLIM_INFINITY or allowed >= needed:
        return good(f"{allowed} allowed, {needed} needed")
    return doubtful(
        f"{allowed} allowed in this shell, {needed} needed",
        f"allow the server {needed} (LimitNOFILE= in its unit), or lower most_connections",
    )


def check_clock(directory: Path, now: float) -> Diagnosis:
    """Check the clock: epochs open and close by it."""
    written = ((file.stat().st_mtime, file) for file in directory.iterdir())
    newest, file = max(written, default=(now, directory))
    return judge_clock(file, newest, now, synchronised=_synchronised())


def judge_clock(file: Path, newest: float, now: float, *, synchronised: bool | None) -> Diagnosis:
    """Judge the clock; whether something sets it is None where the kernel does not say."""
    if newest > now + _ONE_SECOND:
        return bad(
            f"{newest - now:,.0f} s behind the newest file, {file}",
            "set the clock before serving: reports of open epochs would be refused. If it is right,"
            f" it was wrong when that was written: touch {shlex.quote(str(file))}",
        )
    time_text = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now)) + " UTC"
    if synchronised is False:
        return doubtful(
            f"{time_text}, not synchronised",
            "run a time service, such as chrony or systemd-timesyncd",
        )
    return good(time_text + (", synchronised" if synchronised else ""))


def _synchronised() -> bool | None:
    """Ask the kernel, which changes nothing; None where it cannot be asked."""
    try:
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    except (AttributeError, OSError):
        return None
    return None if state < 0 else state != _UNSYNCHRONISED


def check_libraries() -> Diagnosis:
    """Say which libraries the server uses, and whether the faster event loop is there."""
    versions = {name: _version(name) for name in ("aiohttp", "PyNaCl", "uvloop")}
    installed = [f"{name} {number}" for name, number in versions.items() if number]
    text = ", ".join([*installed, f"SQLite {sqlite3.sqlite_version}"])
    if versions["uvloop"] is None:
        return doubtful(text, "pip install uvloop: it takes more reports a second")
    return good(text)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
