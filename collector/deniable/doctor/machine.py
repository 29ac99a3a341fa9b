"""Checks of the serving machine and the collector's files."""

import ipaddress
import os
import pwd
import shlex
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from deniable.directory import CONFIG_FILE, SETTINGS, Config, InvalidConfig, key_files
from deniable.doctor.diagnosis import Diagnosis, bad, doubtful, good

_PREFIX: Final = "DENIABLE_"
_OTHERS: Final = frozenset({"DENIABLE_DIR", "DENIABLE_CONSENT"})

VARIABLES: Final = frozenset(
    variable for setting in SETTINGS for variable in (setting.variable, f"{setting.variable}_FILE")
)
"""Every environment variable that is a setting."""


def unknown_variables(environment: Iterable[str]) -> list[str]:
    """Return the variables, sorted, that look like settings and are not."""
    ours = {name for name in environment if name.startswith(_PREFIX)}
    return sorted(ours - VARIABLES - _OTHERS)


_PRIVATE = b"PRIVATE KEY-----"
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
            f"other users can access {', '.join(exposed)}", "chmod go= " + shlex.join(exposed)
        )
    return good("no other user can read the settings, the store or the key")


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


def check_rights(store: Path) -> Diagnosis | None:
    """Check that a SQLite store's files and folder are writable; None if they are.

    Raises:
        FileNotFoundError: if the store or its folder does not exist.
    """
    beside = [store.with_name(f"{store.name}-{end}") for end in ("wal", "shm")]
    rights = {store.parent: os.R_OK | os.W_OK | os.X_OK}
    if os.access(store.parent, os.X_OK, effective_ids=True):
        store.stat()
        rights |= dict.fromkeys((store, *filter(Path.exists, beside)), os.R_OK | os.W_OK)
    for file, right in rights.items():
        owner = _name(file.stat().st_uid)
        if not os.access(file, right, effective_ids=True):
            return bad(
                f"{file} cannot be written by {_name(os.geteuid())}; it belongs to {owner}",
                f"{as_user(store.parent.stat().st_uid)}. If this is that user, make the file system"
                " writable, or have root run chown and chmod",
            )
    return None


def as_user(number: int) -> str:
    """Return the command that runs the checks as the serving user: the files' owner."""
    return f"run this command as the server's user: runuser -u {_name(number)} -- deniable doctor"


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
            f"of {config.address_rate:g} reports per second applies to all devices together",
        )
    return good(f"{len(config.trusted_proxies)} trusted")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
