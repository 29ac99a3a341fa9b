"""The sender, as far as a limit needs to know: an address that is never stored or logged."""

import re
import socket
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from deniable.directory import Network

_IPV6_SENDER_BYTES: Final = 8
_MOST_PROXIES: Final = 16
_WITH_PORT: Final = re.compile(r"\[([^\[\]]*)\](?::[0-9]*)?|([^:]*):[0-9]*", re.ASCII)


Address = IPv4Address | IPv6Address


def is_among(address: Address | None, networks: Sequence[Network]) -> bool:
    """Return whether an address is in one of these networks."""
    return address is not None and any(address in network for network in networks)


def sender(peer: str, forwarded: str, trusted: Sequence[Network]) -> Address | None:
    """Return the address of a request's sender; None for what is no address.

    Where the connection's other end is a trusted proxy, it is whom X-Forwarded-For (all its lines)
    tells of; else that is not looked at: anybody can send one.
    """
    address = read_address(peer)
    # From the right: the last is what the trusted proxy saw. Whatever stands before the first
    # address that is no proxy of ours was written by that sender, and is not looked at.
    hops = forwarded.rsplit(",", _MOST_PROXIES)[-_MOST_PROXIES:] if trusted and forwarded else []
    while hops and is_among(address, trusted):
        address = read_address(hops.pop())
    return address


def mark(address: Address | None) -> str:
    """Return the mark of one sender: an IPv4 address, or an IPv6 /64.

    It is the empty text for what is no address: all such share one limit.
    """
    if address is None:
        return ""
    if isinstance(address, IPv4Address):
        return socket.inet_ntoa(address.packed)
    network = address.packed[:_IPV6_SENDER_BYTES].ljust(len(address.packed), b"\0")
    return f"{socket.inet_ntop(socket.AF_INET6, network)}/{8 * _IPV6_SENDER_BYTES}"


def read_address(text: str) -> Address | None:
    """Read an address, perhaps with a port as some proxies write it; None if it is none."""
    text = text.strip()
    with_port = _WITH_PORT.fullmatch(text)
    if with_port is not None:
        text = with_port[1] or with_port[2] or ""
    try:
        address = _parsed(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _parsed(text: str) -> Address:
    # By the C library: ip_address() took a tenth of a connection's time.
    with suppress(OSError):
        return IPv4Address(socket.inet_pton(socket.AF_INET, text))
    with suppress(OSError):
        return IPv6Address(socket.inet_pton(socket.AF_INET6, text))
    return ip_address(text)  # with a zone, as fe80::1%eth0
