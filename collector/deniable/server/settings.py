"""The table of settings: each with its type, its default, what it means, and what it may be."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from deniable.messages import MAX_UPLOAD_REPORTS, check_origin, check_public_key
from deniable.server.addresses import read_network

__all__ = ["DATABASE_SCHEMES", "SETTINGS", "Setting", "read_address"]

DATABASE_SCHEMES: Final = ("postgresql://", "postgres://")
_ADDRESS: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:]+)):([0-9]{1,5})", re.ASCII)

Check = Callable[[object], object]


def _nothing_to_check(_: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of the collector.

    Attributes:
        name: its key in the file; behind ``DENIABLE_`` and in capitals, its environment variable.
        kind: the type of its TOML value; a whole number does for a float.
        default: what holds if it is left out; None if it must be given.
        meaning: one line for people.
        check: raises ValueError or Refusal for a value out of its domain.
    """

    name: str
    kind: Literal["str", "int", "float", "list"]
    default: object
    meaning: str
    check: Check = _nothing_to_check

    @property
    def variable(self) -> str:
        """Return its environment variable."""
        return f"DENIABLE_{self.name.upper()}"


def read_address(text: str) -> tuple[str, int]:
    """Read ``host:port`` or ``[IPv6]:port``.

    Raises:
        ValueError: if it is neither.
    """
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found[3]) > 65_535:
        raise ValueError("must be host:port, such as 127.0.0.1:9377")
    return found[1] or found[2], int(found[3])


def _between(low: float, high: float) -> Check:
    """Return a check that both ends pass."""
    domain = f"in [{low:g}, {high:g}]" if math.isfinite(high) else f"at least {low:g}"

    def check(value: object) -> None:
        assert isinstance(value, int | float)
        if not (math.isfinite(value) and low <= value <= high):
            raise ValueError(f"must be {domain}")

    return check


def _one_of(*values: str) -> Check:
    def check(value: object) -> None:
        if value not in values:
            raise ValueError(f"must be {' or '.join(values)}")

    return check


def _check_authority(value: object) -> None:
    check_public_key(bytes.fromhex(str(value)))


def _check_names(value: object) -> None:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError("must be a list of survey names")


def _check_networks(value: object) -> None:
    assert isinstance(value, list)
    try:
        networks = [read_network(each) for each in value if isinstance(each, str)]
    except ValueError:
        networks = []
    if len(networks) != len(value):
        raise ValueError('must be a list of addresses or networks, such as "10.0.0.0/8"')


def _check_store(value: object) -> None:
    # Whatever is wrong is not repeated: it may hold a password.
    text = str(value)
    if not text or ("://" in text and not text.startswith(DATABASE_SCHEMES)):
        raise ValueError(f"must be a file, or {DATABASE_SCHEMES[0]}…")


def _check_metrics(value: object) -> None:
    if value:
        read_address(str(value))


_SECONDS: Final = _between(0.001, 86_400)

SETTINGS: Final = (
    Setting(
        "origin",
        "str",
        None,
        "https://host[:port] by which devices reach this collector; signed into every manifest",
        lambda value: check_origin(str(value)),
    ),
    Setting(
        "authority",
        "str",
        None,
        "public key, 64 hex digits, that apps pin; it signs the manifests until it is rotated",
        _check_authority,
    ),
    Setting("host", "str", "127.0.0.1", "address to listen on"),
    Setting("port", "int", 8377, "port to listen on; 0 for any that is free", _between(0, 65_535)),
    Setting(
        "store",
        "str",
        "store.sqlite",
        "an SQLite file, relative to this one; or postgresql://user@host/database",
        _check_store,
    ),
    Setting(
        "database_connections",
        "int",
        8,
        "connections to PostgreSQL that each worker keeps",
        _between(2, 1_000),
    ),
    Setting(
        "public",
        "list",
        [],
        "names of surveys whose histograms anyone may read, without a token",
        _check_names,
    ),
    Setting("workers", "int", 1, "processes that share the port", _between(1, 256)),
    Setting(
        "most_waiting",
        "int",
        20_000,
        "reports that may wait for their commit, in each worker, before HTTP 503",
        _between(MAX_UPLOAD_REPORTS, 10_000_000),
    ),
    Setting(
        "most_connections",
        "int",
        1_000,
        "connections that each worker holds at once",
        _between(1, 1_000_000),
    ),
    Setting(
        "address_connections",
        "int",
        250,
        "of these, connections of one address, trusted proxies excepted; 0 for any",
        _between(0, 1_000_000),
    ),
    Setting("head_seconds", "float", 10.0, "for a request's head to arrive", _SECONDS),
    Setting("body_seconds", "float", 10.0, "for its body to arrive", _SECONDS),
    Setting("answer_seconds", "float", 120.0, "to make its answer, and to read it", _SECONDS),
    Setting("idle_seconds", "float", 60.0, "between the requests of one connection", _SECONDS),
    Setting(
        "address_rate",
        "float",
        1_000.0,
        "reports a second that each worker takes from one address; 0 for any",
        _between(0, math.inf),
    ),
    Setting(
        "issuer_rate",
        "float",
        0.0,
        "reports a second that it takes of those that one issuer vouches for; 0 for any",
        _between(0, math.inf),
    ),
    Setting(
        "trusted_proxies",
        "list",
        [],
        "addresses or networks of proxies whose X-Forwarded-For is believed",
        _check_networks,
    ),
    Setting(
        "tls_certificate",
        "str",
        "",
        "PEM file of the certificate and its chain, to speak HTTPS; empty for HTTP",
    ),
    Setting("tls_key", "str", "", "PEM file of its private key"),
    Setting(
        "metrics",
        "str",
        "",
        "host:port where /metrics is served to anyone; empty for none but the operators' route",
        _check_metrics,
    ),
    Setting(
        "log_format",
        "str",
        "text",
        "text, or json: one object a line",
        _one_of("text", "json"),
    ),
    Setting(
        "upkeep_seconds",
        "float",
        60.0,
        "between looks at which epochs to seal and which receipts to erase; 0 for never",
        _between(0, 86_400),
    ),
)
"""Every setting there is; the documentation's table is tested against it."""
