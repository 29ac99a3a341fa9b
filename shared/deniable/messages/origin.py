"""Origins: the one form in which a collector is named, compared byte for byte."""

import ipaddress
import re

from deniable.messages.refusals import InvalidManifest

_HOST_NAME = r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"
_ORIGIN = re.compile(
    r"(?P<scheme>https?)://"
    rf"(?P<host>\[[0-9a-f:.]+\]|{_HOST_NAME})"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?",
    re.ASCII,
)
_LOOPBACK = frozenset({"127.0.0.1", "[::1]"})
_DEFAULT_PORT = {"https": 443, "http": 80}


def check_origin(origin: str) -> None:
    """Check the text of an origin.

    Raises:
        InvalidManifest: unless it is ``https://host[:port]`` in lower case without user, path or
            default port; ``http`` for 127.0.0.1 and [::1] only.
    """
    match = _ORIGIN.fullmatch(origin)
    if match is None:
        raise InvalidManifest("origin", "must be https://host[:port], in lower case, without path")
    host, port = match["host"], match["port"]
    if host.startswith("["):
        try:
            address = ipaddress.IPv6Address(host[1:-1])
        except ValueError:
            address = None
        # How a mapped IPv4 address is written differs between versions of Python.
        if address is None or address.ipv4_mapped or str(address) != host[1:-1]:
            raise InvalidManifest("origin", "must hold a canonical IPv6 address")
    if ".." in host:
        raise InvalidManifest("origin", "must hold a host name")
    if match["scheme"] == "http" and host not in _LOOPBACK:
        raise InvalidManifest("origin", "must be https; http is for 127.0.0.1 and [::1] only")
    if port is not None and (int(port) > 65_535 or int(port) == _DEFAULT_PORT[match["scheme"]]):
        raise InvalidManifest("origin", "must not name the default port or one above 65535")


def host_of(origin: str) -> str:
    """Return the host of a checked origin: its name or address, without the port."""
    match = _ORIGIN.fullmatch(origin)
    assert match is not None
    return match["host"]


def is_host_name(name: str) -> bool:
    """Return whether a text is the name of a host, in lower case."""
    return bool(re.fullmatch(_HOST_NAME, name, re.ASCII)) and ".." not in name
