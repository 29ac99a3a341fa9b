"""The collector's settings: one TOML file, which environment variables override.

A setting is defined by one field of ``Config``: its default, its checks, its environment variable,
and the output of `deniable init`, `deniable doctor` and the documentation follow from it.

An error names its file or variable, and never repeats a value, which may be a secret.
"""

import math
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import UTC, date, datetime, time
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable.messages import InvalidManifest, Refusal, check_origin, check_public_key
from deniable.messages.schedule import EARLY_SECONDS
from deniable.stores.opening import is_postgresql

if TYPE_CHECKING:
    from deniable.logs import Witness

CONFIG_FILE: Final = "collector.toml"
"""The settings file's name in a collector's directory."""

_ADDRESS: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:]+)):([0-9]{1,5})", re.ASCII)
_ORIGIN: Final = re.compile(r"https?://[a-z0-9.\[\]:-]+", re.ASCII)
_NUMBERS: Final = {
    "int": (int, re.compile(r"[0-9]{1,18}", re.ASCII)),
    "float": (float, re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?", re.ASCII)),
}

_NEVER: Final = 1 << 62

Network = IPv4Network | IPv6Network
"""An address, or a network of them."""

Read = Callable[[Any], object]
"""A reader of a TOML value for ``Config``; raises ValueError or Refusal for an invalid one."""


class InvalidConfig(ValueError):
    """A setting is missing, unreadable or invalid; the message contains its name and place."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of the collector, as its field of ``Config`` describes it."""

    default: object  # the default as a TOML value; None if the setting is required
    meaning: str  # for people
    read: Read
    name: str = ""

    @property
    def kind(self) -> str:
        """Return the type of its TOML value; a whole number is accepted for a float."""
        return "str" if self.default is None else type(self.default).__name__

    @property
    def variable(self) -> str:
        """Return its environment variable."""
        return f"DENIABLE_{self.name.upper()}"


def _setting(
    default: object, meaning: str, read: Read = lambda value: value, *, secret: bool = False
) -> Any:
    """Return a field of ``Config``."""
    held: Any = MISSING if default is None else read(default)
    described = {"setting": Setting(default, meaning, read)}
    return field(default=held, repr=not secret, metadata=described)


def _between(low: float, high: float) -> Read:
    domain = f"from {low:g} to {high:g}" if math.isfinite(high) else f"at least {low:g}"

    def read(value: float) -> float:
        if not (math.isfinite(value) and low <= value <= high):
            raise ValueError(f"must be {domain}")
        return value

    return read


def _origin(value: str) -> str:
    check_origin(value)
    return value


def _authority(value: str) -> bytes:
    key = bytes.fromhex(value)
    check_public_key(key)
    return key


def _store(value: str) -> Path | str:
    if is_postgresql(value):
        return value
    if not value or "://" in value:
        raise ValueError("must be a file, or postgresql://…")
    return Path(value)


def _texts(value: list[str]) -> list[str]:
    if not all(isinstance(name, str) for name in value):
        raise ValueError("must be a list of survey names")
    return value


def _hidden(value: list[Any]) -> frozenset[str]:
    if not all(isinstance(text, str) and text.strip() for text in value):
        raise ValueError('must be a list of texts, such as ["a-text"]')
    return frozenset(value)


def _origins(value: list[str]) -> frozenset[str]:
    if not all(_ORIGIN.fullmatch(str(origin)) for origin in value):
        raise ValueError('must be a list of origins, such as "https://example.org"')
    return frozenset(value)


def _networks(value: list[str]) -> tuple[Network, ...]:
    try:
        return tuple(ip_network(str(network)) for network in value)
    except ValueError as error:
        raise ValueError('must be a list of addresses or networks, such as "10.0.0.0/8"') from error


def _witnesses(value: list[str]) -> "tuple[Witness, ...]":
    """Read lines of a verifier key and a URL."""
    if not value:  # most collectors have none, and then need nothing for logs
        return ()
    from deniable.logs import VerifierKey, Witness
    from deniable.logs.notes import COSIGNER

    try:
        read = [line.split() for line in value]
        witnesses = tuple(
            Witness(f"w{number}", VerifierKey.parse(key), url)
            for number, (key, url) in enumerate(read, start=1)
        )
    except (ValueError, AttributeError) as error:
        raise ValueError(
            'must be a list of verifier keys, each with a URL: "name+id+key https://…"'
        ) from error
    keys = {witness.key.public_key for witness in witnesses}
    if len(keys) < len(witnesses) or any(one.key.algorithm != COSIGNER for one in witnesses):
        raise ValueError("must list each witness's key only once")
    return witnesses


def _file(value: str) -> Path | None:
    return Path(value) if value else None


def _address(value: str) -> tuple[str, int] | None:
    """Read ``host:port`` or ``[IPv6]:port``."""
    if not value:
        return None
    match = _ADDRESS.fullmatch(value)
    if match is None or int(match[3]) > 65_535:
        raise ValueError("must be host:port, such as 127.0.0.1:9377")
    return match[1] or match[2], int(match[3])


def _day(value: str) -> int:
    if not value:
        return _NEVER
    try:
        begins = datetime.combine(date.fromisoformat(value), time(), UTC)
        # Devices may report this early to an epoch that begins with the day.
        return int(begins.timestamp()) - EARLY_SECONDS
    except ValueError as error:
        raise ValueError("must be a day, such as 2026-12-31") from error


def _log_format(value: str) -> str:
    if value not in {"text", "json"}:
        raise ValueError("must be text or json")
    return value


@dataclass(frozen=True, slots=True)
class Config:
    """A collector's settings, checked; each field has its own explanation."""

    origin: str = _setting(
        None,
        "https://host[:port] at which devices reach this collector; part of every signed manifest",
        _origin,
    )
    authority: bytes = _setting(
        None,
        "public key, 64 hex digits, that apps pin; it signs the manifests until it is rotated",
        _authority,
    )
    host: str = _setting("127.0.0.1", "address to listen on")
    port: int = _setting(8377, "port to listen on; 0 for any free port", _between(0, 65_535))
    store: Path | str = _setting(  # noqa: RUF009 - it returns a field
        "store.sqlite",
        "SQLite file, relative to this file; or postgresql://user@host/database",
        _store,
        secret=True,  # it may hold a password
    )
    database_connections: int = _setting(
        8, "connections to PostgreSQL that each worker keeps", _between(2, 1_000)
    )
    public: frozenset[str] = _setting(
        [],
        "names of surveys whose histograms anyone may read, without a token",
        lambda value: frozenset(_texts(value)),
    )
    board: tuple[str, ...] = _setting(
        [],
        "surveys that the first page shows, in this order, with all others collapsed below; "
        "empty for all",
        lambda value: tuple(dict.fromkeys(_texts(value))),
    )
    hidden_texts: frozenset[str] = _setting(
        [], "texts that pages and commands hide, for surveys whose answers are texts", _hidden
    )
    upload_origins: frozenset[str] = _setting(
        [], "origins whose pages may report to surveys as devices in a browser", _origins
    )
    workers: int = _setting(1, "processes that share the port", _between(1, 256))
    address_rate: float = _setting(
        1_000.0,
        "reports per second that each worker accepts from one address; 0 for no limit",
        _between(0, math.inf),
    )
    trusted_proxies: tuple[Network, ...] = _setting(
        [], "addresses or networks of proxies whose X-Forwarded-For header is trusted", _networks
    )
    relays: tuple[Network, ...] = _setting(
        [], "addresses or networks of relays, which send for many devices", _networks
    )
    relay_rate: float = _setting(
        10_000.0,
        "requests per second that each worker accepts from one relay; 0 for no limit",
        _between(0, math.inf),
    )
    gateway_keys: Path = _setting(  # noqa: RUF009
        "gateway.json",
        "the gateway's key file, written by `deniable gateway`; relative to this file",
        Path,
    )
    witnesses: tuple["Witness", ...] = _setting(
        [],
        'witnesses of the public log, each as "name+id+key https://…"; more than half must cosign',
        _witnesses,
    )
    tls_certificate: Path | None = _setting(  # noqa: RUF009
        "", "PEM file of the certificate and its chain, for HTTPS; empty for HTTP", _file
    )
    tls_key: Path | None = _setting("", "PEM file of the certificate's private key", _file)  # noqa: RUF009
    metrics: tuple[str, int] | None = _setting(
        "",
        "host:port where anyone may read /metrics; empty for the operators' route only",
        _address,
    )
    log_format: str = _setting(
        "text", "log format: text, or json for one object per line", _log_format
    )
    upkeep_seconds: float = _setting(
        60.0,
        "seconds between checks for epochs to seal and receipts to erase; 0 for never",
        _between(0, 86_400),
    )
    relayed_from: int = _setting(
        "",
        "day, such as 2026-12-31 (UTC), from which reports are accepted only through relays; "
        "empty for never",
        _day,
    )
    places: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The place of each setting, by its name: a file or a variable."""

    def place(self, name: str) -> str:
        """Return a setting's place and name."""
        return f"{self.places[name]}: {name}" if name in self.places else name

    @classmethod
    def load(cls, directory: Path, environment: Mapping[str, str] = os.environ) -> "Config":
        """Read the settings of a collector's directory, to which relative paths in them refer.

        Raises:
            InvalidConfig: naming the invalid setting.
        """
        file = directory / CONFIG_FILE
        table = _read(file)
        if unknown := set(table) - {setting.name for setting in SETTINGS}:
            near = get_close_matches(min(unknown), [setting.name for setting in SETTINGS], 1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise InvalidConfig(f"{file}: unknown setting {min(unknown)!r}{meant}")
        values, places = dict[str, Any](), dict[str, str]()
        for setting in SETTINGS:
            places[setting.name], value = _value(setting, table, file, environment)
            values[setting.name] = directory / value if isinstance(value, Path) else value
        config = cls(**values, places=places)
        if (config.tls_certificate is None) != (config.tls_key is None):
            names = ("tls_certificate", "tls_key")
            there, missing = names if config.tls_certificate else reversed(names)
            raise InvalidConfig(
                f"{config.place(there)} is set, but {missing} is not; set both or neither"
            )
        if config.relayed_from != _NEVER and not config.relays:
            raise InvalidConfig(f"{config.place('relayed_from')} is set, but `relays` is not")
        return config


SETTINGS: Final[tuple[Setting, ...]] = tuple(
    replace(entry.metadata["setting"], name=entry.name)
    for entry in fields(Config)
    if "setting" in entry.metadata
)
"""All settings, in the order of ``Config``."""


def _read(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InvalidConfig(
            f"{file} does not exist; give the collector's directory with --dir or DENIABLE_DIR, "
            f"or create one with: deniable init {file.parent}"
        ) from error
    except (OSError, ValueError) as error:
        raise InvalidConfig(f"{file}: {getattr(error, 'strerror', error)}") from error


def _value(
    setting: Setting, table: Mapping[str, object], file: Path, environment: Mapping[str, str]
) -> tuple[str, object]:
    """Return a setting's place, and its value."""
    given = _from_environment(setting, environment)
    if given is None:
        where, kind = str(file), f"TOML {setting.kind}"
        value = table.get(setting.name, setting.default)
    else:
        where, text = given
        kind, value = "number", _parsed(setting, text)
    place = f"{where}: {setting.name}"
    if value is None:
        raise InvalidConfig(f"{place} is missing: {setting.meaning}")
    if setting.kind == "float" and type(value) is int:
        value = float(value)
    if type(value).__name__ != setting.kind:
        raise InvalidConfig(f"{place} must be a {kind}")
    try:
        return where, setting.read(value)
    except (ValueError, Refusal) as error:
        reason = error.reason if isinstance(error, InvalidManifest | Refusal) else error
        raise InvalidConfig(f"{place} {reason}") from error


def _from_environment(setting: Setting, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the variable that overrides a setting, and its text; None if there is none."""
    variable, pointer = setting.variable, f"{setting.variable}_FILE"
    if variable in environment and pointer in environment:
        raise InvalidConfig(f"{variable} and {pointer} are both set; unset one")
    if variable in environment:
        return variable, environment[variable]
    if pointer not in environment:
        return None
    try:
        text = Path(environment[pointer]).read_text("utf-8").removesuffix("\n").removesuffix("\r")
    except OSError as error:
        raise InvalidConfig(f"{pointer}: the file cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise InvalidConfig(f"{pointer}: the file must be UTF-8") from error
    if "\n" in text:
        raise InvalidConfig(
            f"{pointer}: the file must contain one line, the value of {setting.name}"
        )
    return pointer, text


def _parsed(setting: Setting, text: str) -> object:
    """Return a variable's text as a TOML value; the text itself if that is impossible."""
    if setting.kind == "list":
        return [part.strip() for part in text.split(",") if part.strip()]
    number, pattern = _NUMBERS.get(setting.kind, (str, None))
    return number(text) if pattern is None or pattern.fullmatch(text) else text
