"""Checks of the serving machine and the collector's files, and warnings at its start."""

import ipaddress
import os
import pwd
import resource
import shlex
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from deniable.directory import (
    CONFIG_FILE,
    SETTINGS,
    Config,
    InvalidConfig,
    key_files,
    signed_surveys,
    with_store,
)
from deniable.directory.collector_directory import current, running
from deniable.doctor.diagnosis import Diagnosis, bad, doubtful, good
from deniable.doctor.survey_checks import unpublished_names
from deniable.messages import Manifest, Refusal, instant_text
from deniable.stores import Store

_PREFIX: Final = "DENIABLE_"
_OTHERS: Final = frozenset({"DENIABLE_DIR", "DENIABLE_CONSENT", "DENIABLE_DEBUG"})
_LIKENESS: Final = 0.7
"""The similarity of PROT and PORT; PORT_8377_TCP, from Kubernetes, is less similar."""

VARIABLES: Final = frozenset(
    variable for setting in SETTINGS for variable in (setting.variable, f"{setting.variable}_FILE")
)
"""Every environment variable that is a setting."""


def start_warnings(config: Config, environment: Mapping[str, str]) -> list[str]:
    """Return a line for each setting or file that is probably a mistake.

    The store is only read; a SQLite file of an older version is migrated, as serving would.

    Raises:
        StoreError: if the store cannot be opened.
    """

    async def look(store: Store) -> list[str]:
        warnings = list(_about_variables(environment))
        try:
            surveys, _ = await signed_surveys(store, config)
        except Refusal:  # invalid rotations: the server logs them, and offers the rest
            surveys, offered = [], []
        else:
            offered = current(running(surveys, await store.ended(), time.time()))
        return [*warnings, *_about_surveys(config, surveys, offered)]

    return with_store(config, look, migrate=True)


def unknown_variables(environment: Iterable[str]) -> list[str]:
    """Return the variables, sorted, that look like settings and are not."""
    ours = {name for name in environment if name.startswith(_PREFIX)}
    return sorted(ours - VARIABLES - _OTHERS)


def _about_variables(environment: Mapping[str, str]) -> Iterator[str]:
    names = [name.removeprefix(_PREFIX) for name in sorted(VARIABLES)]
    for variable in unknown_variables(environment):
        for meant in get_close_matches(variable.removeprefix(_PREFIX), names, 1, _LIKENESS):
            yield f"{variable} is not a setting and has no effect; did you mean {_PREFIX}{meant}?"


def _about_surveys(
    config: Config, surveys: Iterable[Manifest], offered: Iterable[Manifest]
) -> Iterator[str]:
    for survey in offered:
        if survey.origin != config.origin:
            yield (
                f"{survey.name} is signed for {survey.origin}, not for {config.origin}: devices "
                f"refuse the survey; restore `origin`, or publish the survey's file again"
            )
    for name in unpublished_names(config, surveys):
        yield f"{name} is not published"


_PRIVATE = b"PRIVATE KEY-----"
_FULL_BYTES = 100 << 20
_NARROW_BYTES = 1 << 30
_MOST_READ = 64 << 10


def check_modes(directory: Path, config: Config) -> Diagnosis:
    """Check that nobody else can read secrets or data about people."""
    secret = [config.tls_key, config.gateway_keys, config.store, directory / CONFIG_FILE, directory]
    files = [file for file in secret if isinstance(file, Path) and os.access(file, os.F_OK)]
    if directory in files and not _mode(directory) & 0o077:
        # Files inside are protected by the directory.
        files = [file for file in files if not file.resolve().is_relative_to(directory.resolve())]
    if isinstance(config.store, str) and (directory / CONFIG_FILE).exists():
        files.append(directory / CONFIG_FILE)
    if exposed := sorted({f"{file}" for file in files if _mode(file) & 0o077}):
        return doubtful(
            f"other users can access {', '.join(exposed)}",
            "chmod go= " + shlex.join(exposed),
        )
    return good("no other user can read settings, store and key")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def check_authority_key(directory: Path, config: Config) -> Diagnosis:
    """Check that the authority's private key is not where the server could read it."""
    served = config.tls_key.resolve() if config.tls_key is not None else None
    inside = [
        file
        for file in sorted(directory.rglob("*"))
        if file.is_file() and file.resolve() != served and _holds_private_key(file)
    ]
    if inside:
        return bad(
            f"a private key is in the collector's directory: {inside[0]}",
            "move it off the server, where an intruder could read it",
        )
    if beside := key_files(directory):
        return doubtful(
            f"on this machine: {', '.join(map(str, beside))}",
            "if this is a server, keep the key elsewhere: only survey publish and authority rotate "
            "need it (--authority-key)",
        )
    return good("not found on this machine")


def _holds_private_key(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return _PRIVATE in opened.read(_MOST_READ)
    except OSError:
        return False


def check_leftover(directory: Path, config: Config) -> Diagnosis | None:
    """Check that no SQLite file is where a command without the database's URL would use it."""
    file = directory / "store.sqlite"
    if isinstance(config.store, str) and file.exists():
        return doubtful(
            f"the store is a database, but {file} exists too",
            "move the file away, or commands without the database's URL will use it",
        )
    return None


def check_disk(config: Config) -> Diagnosis | None:
    """Check that the store can grow."""
    if not (isinstance(config.store, Path) and os.access(config.store.parent, os.F_OK)):
        return None
    usage = shutil.disk_usage(config.store.parent)
    return judge_room(usage.free, usage.total)


def judge_room(free: int, total: int) -> Diagnosis:
    """Assess the store's free space, in bytes."""
    text = f"{free / 2**30:,.1f} GiB free of {total / 2**30:,.1f}"
    if free < _FULL_BYTES:
        return bad(text, "free some space: with a full disk, reports are refused (HTTP 507)")
    if free < max(_NARROW_BYTES, total // 50):
        return doubtful(text, "free some space before reports are refused")
    return good(text)


def check_rights(store: Path) -> Diagnosis | None:
    """Check that a SQLite store's files and folder are writable; None if they are.

    Raises:
        FileNotFoundError: if the store or its folder does not exist.
    """
    denied = list(_denied(store))
    if not denied:
        return None
    me, its_owner = os.geteuid(), denied[0].stat().st_uid
    text = f"{denied[0]} cannot be written by {_name(me)}; it belongs to {_name(its_owner)}"
    if os.statvfs(denied[0]).f_flag & os.ST_RDONLY:
        return bad(text, "the file system is read-only: remount it writable")
    serves = its_owner
    with suppress(PermissionError):
        serves = store.stat().st_uid
    # The folder's owner runs the server, even if root created a file in it.
    if me not in {serves, store.parent.stat().st_uid}:
        return bad(text, as_user(serves))
    quoted = " ".join(shlex.quote(str(file)) for file in denied)
    if {file.stat().st_uid for file in denied} != {me}:
        return bad(text, f"as root: chown {_name(me)} {quoted}")
    return bad(text, f"chmod u+rwX {quoted}")


def as_user(number: int) -> str:
    """Return the command that runs the checks as the serving user: the files' owner."""
    return f"run this command as the server's user: runuser -u {_name(number)} -- deniable doctor"


def _denied(store: Path) -> Iterator[Path]:
    if not _may(store.parent, os.R_OK | os.W_OK | os.X_OK):
        yield store.parent
        return
    store.stat()
    for file in (store, *(store.with_name(f"{store.name}-{end}") for end in ("wal", "shm"))):
        if file.exists() and not _may(file, os.R_OK | os.W_OK):
            yield file


def _may(path: Path, how: int) -> bool:
    path.stat()
    return os.access(path, how, effective_ids=True)


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def read_settings(
    directory: Path, environment: Mapping[str, str]
) -> tuple[Config | None, Diagnosis]:
    """Return the settings, or None if they are wrong, and the finding about the settings."""
    try:
        config = Config.load(directory, environment)
    except InvalidConfig as error:
        if isinstance(error.__cause__, PermissionError):
            return None, bad(str(error), as_user(directory.stat().st_uid))
        return None, bad(
            str(error), "correct this and run the checks again: all others were skipped"
        )
    return config, good(f"{directory / CONFIG_FILE}, for {config.origin}")


def check_variables(environment: Mapping[str, str]) -> Diagnosis:
    """Report the variables that override settings, and those that seem meant to."""
    if strange := unknown_variables(environment):
        return doubtful(
            f"not a setting: {', '.join(strange)}",
            "check the spelling against docs/reference/settings.md",
        )
    used = sorted(VARIABLES & environment.keys())
    return good(f"overrides: {', '.join(used)}" if used else "no variable overrides a setting")


def check_proxies(config: Config) -> Diagnosis:
    """Report how connections arrive, and whether the limits can distinguish senders."""
    secured = config.tls_certificate is not None
    proxied = config.origin.startswith("https://") and not secured
    if not proxied:
        return good("no proxy is needed: devices connect directly")
    if not _is_loopback(config.host):
        return doubtful(
            f"plain HTTP on {config.host}, although the origin is https",
            "set host to 127.0.0.1 if the proxy that terminates TLS is on this machine; otherwise "
            "let only the proxy reach this port, or set tls_certificate",
        )
    if config.address_rate > 0 and not config.trusted_proxies:
        return doubtful(
            "all devices behind the proxy count as one address",
            f"set trusted_proxies to the proxy's address, such as 127.0.0.1: until then, the limit "
            f"of {config.address_rate:g} reports per second is for all devices together",
        )
    return good(f"{len(config.trusted_proxies)} trusted")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_OTHER_FILES = 64
"""Files that a worker opens besides connections: store, logs, pipes, sockets."""
_ONE_SECOND = 1.0


def check_workers(config: Config) -> Diagnosis:
    """Check that there are enough processors for the workers."""
    cores = len(os.sched_getaffinity(0))
    text = f"{config.workers}, on {cores} processor{'s' * (cores > 1)}"
    if config.workers > cores:
        return doubtful(text, f"set workers to {cores}: one per processor is enough")
    return good(text)


def check_open_files(config: Config, connections: int) -> Diagnosis:
    """Check that a process may open enough files for all its connections."""
    return judge_open_files(config, connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def judge_open_files(config: Config, connections: int, allowed: int) -> Diagnosis:
    """Assess how many files a process may open."""
    needed = connections + config.database_connections + _OTHER_FILES
    if allowed == resource.RLIM_INFINITY or allowed >= needed:
        return good(f"{allowed} allowed, {needed} needed")
    return doubtful(
        f"{allowed} allowed in this shell, {needed} needed",
        f"allow the server {needed} open files (LimitNOFILE= in its systemd unit)",
    )


def check_clock(directory: Path, now: float) -> Diagnosis:
    """Check the clock: epochs open and close by it."""
    written = ((file.stat().st_mtime, file) for file in directory.iterdir())
    newest, file = max(written, default=(now, directory))
    return judge_clock(file, newest, now)


def judge_clock(file: Path, newest: float, now: float) -> Diagnosis:
    """Assess the clock by the time at which the newest file was written."""
    if newest > now + _ONE_SECOND:
        return bad(
            f"{newest - now:,.0f} s behind the newest file, {file}",
            "set the clock before serving, or reports of open epochs are refused. If the clock is "
            f"correct now, it was wrong earlier: run touch {shlex.quote(str(file))}",
        )
    return good(instant_text(now, "%Y-%m-%d %H:%M:%S UTC"))
