"""The collector's settings: one TOML file, which environment variables override.

An error names the file or variable that it is about, and never repeats a value: it may be a secret.
"""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deniable.messages import InvalidManifest, Refusal
from deniable.server.addresses import Network, read_network
from deniable.server.limits import Limits
from deniable.server.settings import DATABASE_SCHEMES, SETTINGS, Setting, read_address

__all__ = ["CONFIG_FILE", "Config", "InvalidConfig"]

CONFIG_FILE: Final = "collector.toml"

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,),
    "int": (int,),
    "float": (float, int),
    "list": (list,),
}
_NUMBER: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_DECIMAL: Final = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?", re.ASCII)


class InvalidConfig(ValueError):
    """A setting is missing, unreadable or wrong; the message says which, and where it stands."""


@dataclass(frozen=True, slots=True)
class Config:
    """A collector's settings, checked.

    Attributes: see :data:`SETTINGS`. ``store`` is the path of an SQLite file, or the text of a
        PostgreSQL URL; ``authority`` the key's bytes; ``places`` tells of each setting by its name
        where it stands, a file or a variable.
    """

    origin: str
    authority: bytes
    host: str = "127.0.0.1"
    port: int = 8377
    store: Path | str = field(default=Path("store.sqlite"), repr=False)  # may hold a password
    database_connections: int = 8
    public: frozenset[str] = frozenset()
    workers: int = 1
    most_waiting: int = 20_000
    most_connections: int = 1_000
    address_connections: int = 250
    head_seconds: float = 10.0
    body_seconds: float = 10.0
    answer_seconds: float = 120.0
    idle_seconds: float = 60.0
    address_rate: float = 1_000.0
    issuer_rate: float = 0.0
    trusted_proxies: tuple[Network, ...] = ()
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    metrics: tuple[str, int] | None = None
    log_format: str = "text"
    upkeep_seconds: float = 60.0
    places: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def place(self, name: str) -> str:
        """Return the name of a setting, behind where it stands."""
        return f"{self.places[name]}: {name}" if name in self.places else name

    @property
    def limits(self) -> Limits:
        """Return what one connection, and all of them together, may take."""
        return Limits(
            self.most_connections,
            self.head_seconds,
            self.body_seconds,
            self.answer_seconds,
            self.idle_seconds,
            self.address_connections,
        )

    @classmethod
    def load(cls, directory: Path, environment: Mapping[str, str] = os.environ) -> "Config":
        """Read the settings of a collector's directory.

        Args:
            directory: where the settings file is; relative paths in it start there.
            environment: variables that override it.

        Raises:
            InvalidConfig: naming the setting at fault.
        """
        file = directory / CONFIG_FILE
        table = _read(file)
        unknown = set(table) - {setting.name for setting in SETTINGS}
        if unknown:
            raise InvalidConfig(f"{file}: unknown setting {min(unknown)!r}")
        config = cls(
            **{
                setting.name: _MADE.get(setting.name, _as_it_is)(
                    _checked(setting, table, file, environment), directory
                )
                for setting in SETTINGS
            },
            places={
                setting.name: given[0] if given is not None else str(file)
                for setting in SETTINGS
                for given in [_from_environment(setting, environment)]
            },
        )
        if (config.tls_certificate is None) != (config.tls_key is None):
            names = ("tls_certificate", "tls_key")
            there, missing = names if config.tls_certificate else reversed(names)
            raise InvalidConfig(
                f"{config.place(there)} is set, and {missing} is not; they need each other"
            )
        return config


def _as_it_is(value: Any, _: Path) -> Any:
    return value


def _path(value: str, directory: Path) -> Path | None:
    return directory / value if value else None


def _store(value: str, directory: Path) -> Path | str:
    return value if value.startswith(DATABASE_SCHEMES) else directory / value


_MADE: Final[dict[str, Callable[[Any, Path], Any]]] = {
    "authority": lambda value, _: bytes.fromhex(value),
    "store": _store,
    "public": lambda value, _: frozenset(value),
    "trusted_proxies": lambda value, _: tuple(read_network(network) for network in value),
    "tls_certificate": _path,
    "tls_key": _path,
    "metrics": lambda value, _: read_address(value) if value else None,
}
"""What becomes of a checked value, if it does not stay as it is."""


def _read(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InvalidConfig(
            f"{file} does not exist; name the collector's directory with --dir or DENIABLE_DIR,"
            f" or make one with: deniable init {file.parent}"
        ) from error
    except OSError as error:
        raise InvalidConfig(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise InvalidConfig(f"{file}: {error}") from error


def _checked(
    setting: Setting, table: dict[str, object], file: Path, environment: Mapping[str, str]
) -> object:
    place, value = f"{file}: {setting.name}", table.get(setting.name, setting.default)
    given = _from_environment(setting, environment)
    if given is not None:
        variable, text = given
        place, value = f"{variable}: {setting.name}", _parsed(setting, text)
    if value is None:
        raise InvalidConfig(f"{place} is missing: {setting.meaning}")
    if type(value) not in _KINDS[setting.kind]:
        kind = setting.kind if given is None else "number"
        raise InvalidConfig(f"{place} must be a {'TOML ' * (given is None)}{kind}")
    try:
        setting.check(value)
    except (ValueError, Refusal) as error:
        reason = error.reason if isinstance(error, InvalidManifest | Refusal) else error
        raise InvalidConfig(f"{place} {reason}") from error
    return float(str(value)) if setting.kind == "float" else value


def _from_environment(setting: Setting, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return which variable gives a setting, and its text; None if none does."""
    variable, pointer = setting.variable, f"{setting.variable}_FILE"
    if variable in environment and pointer in environment:
        raise InvalidConfig(f"{variable} and {pointer} are both set; unset one")
    if variable in environment:
        return variable, environment[variable]
    if pointer not in environment:
        return None
    try:
        text = Path(environment[pointer]).read_text("utf-8")
    except OSError as error:
        raise InvalidConfig(f"{pointer}: the file cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise InvalidConfig(f"{pointer}: the file must be UTF-8") from error
    text = text.removesuffix("\n").removesuffix("\r")
    if "\n" in text:
        raise InvalidConfig(f"{pointer}: the file must hold one line, the value of {setting.name}")
    return pointer, text


def _parsed(setting: Setting, text: str) -> object:
    """Return a variable's text as what a TOML file would hold; if it cannot be, the text."""
    match setting.kind:
        case "int" if _NUMBER.fullmatch(text):
            return int(text)
        case "float" if _DECIMAL.fullmatch(text):
            return float(text)
        case "list":
            return [part.strip() for part in text.split(",") if part.strip()]
    return text
