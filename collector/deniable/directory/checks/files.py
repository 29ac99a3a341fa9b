"""Files of a collector: who may read them, what must not be there, how much room there is."""

import os
import shlex
import shutil
import stat
from pathlib import Path

from deniable.directory import CONFIG_FILE, Config, key_files
from deniable.directory.checks.finding import Diagnosis, bad, doubtful, good

_PRIVATE = b"PRIVATE KEY-----"
_FULL_BYTES = 100 << 20
_NARROW_BYTES = 1 << 30
_MOST_READ = 64 << 10


def check_modes(directory: Path, config: Config) -> Diagnosis:
    """Check that nobody else reads what is secret or about people."""
    secret = [config.tls_key, config.gateway_keys, config.store, directory / CONFIG_FILE, directory]
    files = [file for file in secret if isinstance(file, Path) and os.access(file, os.F_OK)]
    if directory in files and not _mode(directory) & 0o077:
        # Nobody else gets to what is inside.
        files = [file for file in files if not file.resolve().is_relative_to(directory.resolve())]
    if isinstance(config.store, str) and (directory / CONFIG_FILE).exists():
        files.append(directory / CONFIG_FILE)
    if exposed := sorted({f"{file}" for file in files if _mode(file) & 0o077}):
        return doubtful(
            f"others may get at {', '.join(exposed)}",
            "chmod go= " + shlex.join(exposed),
        )
    return good("nobody else reads settings, store and key")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def check_authority_key(directory: Path, config: Config) -> Diagnosis:
    """Check that the authority's private key does not lie where the server could read it."""
    served = config.tls_key.resolve() if config.tls_key is not None else None
    inside = [
        file
        for file in sorted(directory.rglob("*"))
        if file.is_file() and file.resolve() != served and _holds_private_key(file)
    ]
    if inside:
        return bad(
            f"a private key is in the collector's directory: {inside[0]}",
            "move it away from the server; whoever takes over the server has it",
        )
    if beside := key_files(directory):
        return doubtful(
            f"on this machine: {', '.join(map(str, beside))}",
            "on a server, keep it elsewhere: only survey publish and authority rotate need it"
            " (--authority-key)",
        )
    return good("not on this machine, as far as can be seen")


def _holds_private_key(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return _PRIVATE in opened.read(_MOST_READ)
    except OSError:
        return False


def check_leftover(directory: Path, config: Config) -> Diagnosis | None:
    """Check that no SQLite file lies where a command without the database's URL would take it."""
    file = directory / "store.sqlite"
    if isinstance(config.store, str) and file.exists():
        return doubtful(
            f"the store is a database, and {file} is there too",
            "move it away: a command that is not told of the database acts on it",
        )
    return None


def check_disk(config: Config) -> Diagnosis | None:
    """Check that the store can grow."""
    if not (isinstance(config.store, Path) and os.access(config.store.parent, os.F_OK)):
        return None
    usage = shutil.disk_usage(config.store.parent)
    return judge_room(usage.free, usage.total)


def judge_room(free: int, total: int) -> Diagnosis:
    """Judge how much room the store has, in bytes."""
    text = f"{free / 2**30:,.1f} GiB free of {total / 2**30:,.1f}"
    if free < _FULL_BYTES:
        return bad(text, "make room: a full disk refuses reports (HTTP 507)")
    if free < max(_NARROW_BYTES, total // 50):
        return doubtful(text, "make room before reports are refused")
    return good(text)
