"""The settings: whether they can be read, and go together."""

import ipaddress
from collections.abc import Mapping
from pathlib import Path

from deniable.directory import CONFIG_FILE, Config, InvalidConfig
from deniable.directory.checks.finding import Diagnosis, bad, doubtful, good
from deniable.directory.checks.rights import as_user
from deniable.directory.start_warnings import VARIABLES, unknown_variables


def read_settings(
    directory: Path, environment: Mapping[str, str]
) -> tuple[Config | None, Diagnosis]:
    """Return the settings, None if they are wrong, and what to say about them."""
    try:
        config = Config.load(directory, environment)
    except InvalidConfig as error:
        if isinstance(error.__cause__, PermissionError):
            return None, bad(str(error), as_user(directory.stat().st_uid))
        return None, bad(str(error), "correct it; nothing else was looked at")
    return config, good(f"{directory / CONFIG_FILE}, for {config.origin}")


def check_variables(environment: Mapping[str, str]) -> Diagnosis:
    """Say which variables override settings, and which look as if they should."""
    if strange := unknown_variables(environment):
        return doubtful(
            f"no setting: {', '.join(strange)}",
            "is it misspelt? The settings are in docs/reference/settings.md",
        )
    used = sorted(VARIABLES & environment.keys())
    return good(f"overrides: {', '.join(used)}" if used else "no variable overrides a setting")


def check_proxies(config: Config) -> Diagnosis:
    """Say how connections come in, and whether limits see who sends."""
    secured = config.tls_certificate is not None
    proxied = config.origin.startswith("https://") and not secured
    if not proxied:
        return good("none is needed: devices come here directly")
    if not _is_loopback(config.host):
        return doubtful(
            f"plain HTTP on {config.host}, and an origin with https",
            "set host to 127.0.0.1, if the proxy that ends TLS is on this machine; else let nobody"
            " but the proxy reach it, or set tls_certificate",
        )
    if config.address_rate > 0 and not config.trusted_proxies:
        return doubtful(
            "whatever comes through the proxy counts as one address's",
            f"set trusted_proxies to its address, such as 127.0.0.1: {config.address_rate:g} "
            "reports a second are a limit for all devices together now",
        )
    return good(f"{len(config.trusted_proxies)} trusted")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
