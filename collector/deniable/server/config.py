"""The collector's settings: one TOML file, one table, no secrets in it."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deniable.messages import (
    MAX_UPLOAD_REPORTS,
    InvalidManifest,
    Refusal,
    check_origin,
    check_public_key,
)
from deniable.server.addresses import Network
from deniable.server.limits import Limits

__all__ = ["CONFIG_FILE", "SETTINGS", "Config", "InvalidConfig", "Setting"]

CONFIG_FILE: Final = "collector.toml"


class InvalidConfig(ValueError):
    """The settings file is missing, unreadable or wrong; the message says which setting."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of the file.

    Attributes:
        name: its key.
        kind: the type of its TOML value.
        default: what holds if it is left out; None if it must be given.
        meaning: one line for people.
        check: raises ValueError or Refusal for a value out of its domain.
    """

    name: str
    kind: type
    default: object
    meaning: str
    check: Callable[[object], None] = lambda _: None


def _check_port(value: object) -> None:
    if not isinstance(value, int) or not 0 <= value <= 65_535:
        raise ValueError("must be in [0, 65535]")


def _check_authority(value: object) -> None:
    check_public_key(bytes.fromhex(str(value)))


def _check_names(value: object) -> None:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError("must be a list of survey names")


def _check_most_waiting(value: object) -> None:
    if not isinstance(value, int) or value < MAX_UPLOAD_REPORTS:
        raise ValueError(f"must be at least {MAX_UPLOAD_REPORTS}, what one request may hold")


SETTINGS: Final = (
    Setting(
        "origin",
        str,
        None,
        "https://host[:port] by which devices reach this collector; signed into every manifest",
        lambda value: check_origin(str(value)),
    ),
    Setting(
        "authority",
        str,
        None,
        "public key, 64 hex digits, that apps pin; it signs the manifests until it is rotated",
        _check_authority,
    ),
    Setting("host", str, "127.0.0.1", "address to listen on"),
    Setting("port", int, 8377, "port to listen on; 0 for any that is free", _check_port),
    Setting("store", str, "store.sqlite", "the SQLite file, relative to this one"),
    Setting(
        "public",
        list,
        [],
        "names of surveys whose histograms anyone may read, without a token",
        _check_names,
    ),
    Setting(
        "most_waiting",
        int,
        20_000,
        "reports that may wait for their commit before HTTP 503",
        _check_most_waiting,
    ),
)
"""Every setting there is; the documentation's table is tested against it."""


@dataclass(frozen=True, slots=True)
class Config:
    """A collector's settings, checked.

    Attributes: see :data:`SETTINGS`; ``store`` is a path, ``authority`` the key's bytes.
    """

    origin: str
    authority: bytes
    host: str
    port: int
    store: Path
    public: frozenset[str]
    most_waiting: int
    path_prefix: str = ""
    tls_certificate: Path | None = None
    trusted_proxies: tuple[Network, ...] = ()
    address_rate: float = 0.0
    issuer_rate: float = 0.0
    limits: Limits = field(default_factory=Limits)
    workers: int = 1

    @classmethod
    def load(cls, directory: Path) -> "Config":
        """Read the settings of a collector's directory.

        Raises:
            InvalidConfig: naming the setting at fault.
        """
        file = directory / CONFIG_FILE
        try:
            table = tomllib.loads(file.read_text("utf-8"))
        except FileNotFoundError as error:
            raise InvalidConfig(
                f"{file} does not exist; make a collector with: deniable init {directory}"
            ) from error
        except (OSError, ValueError) as error:
            raise InvalidConfig(f"{file}: {error}") from error
        unknown = set(table) - {setting.name for setting in SETTINGS}
        if unknown:
            raise InvalidConfig(f"{file}: unknown setting {min(unknown)!r}")
        values = {setting.name: _checked(setting, table, file) for setting in SETTINGS}
        return cls(
            origin=str(values["origin"]),
            authority=bytes.fromhex(str(values["authority"])),
            host=str(values["host"]),
            port=int(str(values["port"])),
            store=directory / str(values["store"]),
            public=frozenset(table.get("public", [])),
            most_waiting=int(str(values["most_waiting"])),
        )


def _checked(setting: Setting, table: dict[str, object], file: Path) -> object:
    value = table.get(setting.name, setting.default)
    if value is None:
        raise InvalidConfig(f"{file}: {setting.name} is missing: {setting.meaning}")
    if type(value) is not setting.kind:
        raise InvalidConfig(f"{file}: {setting.name} must be a TOML {setting.kind.__name__}")
    try:
        setting.check(value)
    except (ValueError, Refusal) as error:
        reason = error.reason if isinstance(error, InvalidManifest | Refusal) else error
        raise InvalidConfig(f"{file}: {setting.name} {reason}") from error
    return value
