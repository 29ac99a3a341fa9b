"""A PostgreSQL server of the test run's own: started, stopped, killed and started again.

It takes Debian's binaries, or those that ``pg_config`` names, runs as an unprivileged user (the
server refuses to be root), and listens on a Unix socket in its own directory and nowhere else. It
is as durable as can be told without cutting the power: fsync is on. But where there is room its
directory is in memory, since a restart syncs each of its files, for which a busy disk takes many
seconds.
"""

import atexit
import getpass
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final, TypeAlias

import asyncpg
import pytest

from deniable.stores import PostgresStore

Looking: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
SECONDS: Final = 60.0  # longer than anything here takes on a busy machine
_PREFIX: Final = "deniable-pg-"
_ROOM: Final = 3 << 30
_TEMPLATE: Final = "store"
_STORES: Final = 6  # so many databases are emptied in turn: ten times as fast as making one
_EMPTY: Final = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid();
    DELETE FROM deniable.receipts;
    DELETE FROM deniable.counts;
    DELETE FROM deniable.deltas;
    DELETE FROM deniable.published_counts;
    DELETE FROM deniable.seals;
    DELETE FROM deniable.ends;
    DELETE FROM deniable.notes;
    DELETE FROM deniable.log_entries;
    DELETE FROM deniable.log_checkpoints;
    DELETE FROM deniable.tokens;
    DELETE FROM deniable.rotations;
    DELETE FROM deniable.surveys;
    DELETE FROM deniable.issuers WHERE issuer <> 0;
    UPDATE deniable.state SET backed_up_at = NULL;
"""


class PostgresServer:
    """One cluster of databases in a temporary directory.

    Attributes:
        directory: where it is, and its socket.

    Args:
        binaries: where initdb and postgres are.
        root: below which directory; by default in memory, if there is room.
        primary: a running server of which this is to be a standby.
    """

    def __init__(
        self, binaries: Path, root: Path | None = None, primary: "PostgresServer | None" = None
    ) -> None:
        self._binaries = binaries
        # Not below pytest's directories: the path of a socket has at most 107 bytes.
        root = root or _memory() or Path(tempfile.gettempdir())
        _remove_leftovers(root)
        self.directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=root))
        self._user, self._switch = _unprivileged()
        shutil.chown(self.directory, self._user)
        self._numbers = count()
        self._has_template = False
        self._stores: deque[str] = deque()
        self._process: subprocess.Popen[str] | None = None
        self._log: deque[str] = deque(maxlen=200)
        self._ready = threading.Event()
        self._reader: threading.Thread | None = None
        initdb = ["initdb", "--auth=trust", "--username=deniable", "--encoding=UTF8", "--locale=C"]
        program, *options = (
            initdb
            if primary is None
            else [
                "pg_basebackup",
                "--checkpoint=fast",
                "--write-recovery-conf",
                f"--dbname={primary.url('')}",
            ]
        )
        options += [f"--pgdata={self.directory / 'data'}", "--no-sync"]
        made = subprocess.run(
            [*self._switch, binaries / program, *options],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=self.directory,
        )
        assert made.returncode == 0, made.stderr

    def url(self, database: str) -> str:
        return f"postgresql://deniable@/{database}?host={self.directory}&port=5432"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def socket(self) -> Path:
        return self.directory / ".s.PGSQL.5432"

    def start(self, *settings: str) -> None:
        self.launch(*settings)
        self.wait()

    def wait(self) -> None:
        assert self._ready.wait(SECONDS), "\n".join(self._log)

    def launch(self, *settings: str) -> None:
        """Start it; from the main thread, with whose end it ends."""
        assert self._process is None
        self._ready.clear()
        chosen = [
            "listen_addresses=",
            "max_connections=40",
            "shared_buffers=64MB",
            "max_wal_size=256MB",
        ]
        self._process = subprocess.Popen(
            [
                *self._switch,
                self._binaries / "postgres",
                f"-D{self.directory / 'data'}",
                f"-k{self.directory}",
                "-p5432",  # no port is taken: it is part of the socket's name
                *(f"-c{setting}" for setting in [*chosen, *settings]),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
            cwd=self.directory,
        )
        # A daemon: the interpreter would wait for it before it calls what erases the server.
        self._reader = threading.Thread(
            target=self._read, args=(self._process,), name="postgres", daemon=True
        )
        self._reader.start()

    def stop(self) -> None:
        """Stop it as an administrator does; whoever is connected is cut off."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        if self._process is None:
            self.start()

    def erase(self) -> None:
        if self._process is not None:
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    async def create(self, template: str = "template1") -> str:
        """Return a new database, a copy of the template."""
        name = f"d{next(self._numbers)}"
        await self.administer(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    async def create_store(self) -> str:
        """Return a new database with an empty store in it, to do anything with."""
        if not self._has_template:
            await self.administer(f"CREATE DATABASE {_TEMPLATE}")
            await (await PostgresStore.open(self.url(_TEMPLATE), create=True)).close()
            self._has_template = True
        return await self.create(_TEMPLATE)

    async def empty_store(self) -> str:
        """Return a database with an empty store in it, which a later test gets emptied."""
        if len(self._stores) < _STORES:
            self._stores.append(await self.create_store())
            return self._stores[-1]
        self._stores.rotate(-1)
        async with connected(self.url(self._stores[-1])) as connection:
            await connection.execute(_EMPTY)
        return self._stores[-1]

    async def administer(self, statement: str) -> None:
        async with connected(self.url("postgres")) as connection:
            await connection.execute(statement)

    def _read(self, process: "subprocess.Popen[str]") -> None:
        """Read the server's log to its end, which comes when none of its processes is left."""
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                self._log.append(line.rstrip())
                if "ready to accept" in line:  # connections, or of a standby read-only ones
                    self._ready.set()
        self._ready.set()  # it ended: who waits looks at the log

    def _end(self, number: signal.Signals) -> None:
        assert self._process is not None
        assert self._reader is not None
        self._process.send_signal(number)
        self._process.wait(SECONDS)
        # Its processes notice that they are orphans; until then a new server cannot start.
        self._reader.join(SECONDS)
        assert not self._reader.is_alive()
        self._process = None


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Looking]:
    """Yield a connection that is no store's."""
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


def _memory() -> Path | None:
    """Return a file system in memory, if there is one with room."""
    memory = Path("/dev/shm")
    has_room = memory.is_dir() and shutil.disk_usage(memory).free > _ROOM
    return memory if has_room and os.access(memory, os.W_OK) else None


def _remove_leftovers(root: Path) -> None:
    """Remove what test runs left that were killed; their servers have ended with them."""
    for left in root.glob(f"{_PREFIX}*-*"):
        if not Path(f"/proc/{left.name.removeprefix(_PREFIX).partition('-')[0]}").exists():
            shutil.rmtree(left, ignore_errors=True)


def _unprivileged() -> tuple[str, list[str]]:
    """Return as whom the server runs, and the command that changes to that user.

    The server ends with the test run, even if that is killed.
    """
    if os.geteuid() != 0:
        last = shutil.which("setpriv")
        return getpass.getuser(), [last, "--pdeathsig=QUIT"] if last else []
    names = {user.pw_name for user in pwd.getpwall()}
    user = "postgres" if "postgres" in names else "nobody"
    group = str(pwd.getpwnam(user).pw_gid)
    switch = [f"--reuid={user}", f"--regid={group}", "--clear-groups", "--pdeathsig=QUIT"]
    return user, ["setpriv", *switch]


def find_binaries() -> Path | None:
    """Return the newest PostgreSQL's programs, or None."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4])
    )
    if found:
        return found[-1].parent
    config = shutil.which("pg_config")
    if config is None:
        return None
    named = Path(subprocess.check_output([config, "--bindir"], text=True, timeout=SECONDS).strip())
    return named if (named / "postgres").exists() else None


@cache
def _server() -> PostgresServer | None:
    binaries = find_binaries()
    if binaries is None:
        return None
    server = PostgresServer(binaries)
    atexit.register(server.erase)
    server.start()
    return server


def postgres_server() -> PostgresServer:
    """Return the test run's server, made when it is first asked for; skip where there is none."""
    server = _server()
    if server is None:
        pytest.skip("PostgreSQL is not installed")
    server.restart()
    return server
