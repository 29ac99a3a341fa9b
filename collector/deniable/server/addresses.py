"""Who sends, as far as a limit needs to know: an address that is never stored or logged."""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

__all__ = ["Network", "read_network", "sender"]

Network = IPv4Network | IPv6Network

_IPV6_SENDER_BITS = 64


def read_network(text: str) -> Network:
    """Read an address or a network, such as 10.0.0.0/8.

    Raises:
        ValueError: if it is neither.
    """
    return ip_network(text)


def sender(peer: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """Return what one sender's requests have in common: an IPv4 address, or an IPv6 /64.

    Args:
        peer: the connection's other end.
        forwarded: the request's X-Forwarded-For, of all its lines; empty if there is none.
        trusted: proxies, each of which appends who it heard from. Without them the header is not
            looked at: anybody can send one.
    """
    if trusted and _is_trusted(peer, trusted):
        # From the right: the last is what the trusted proxy saw, anything before the first
        # address that is no proxy of ours was written by that sender.
        for hop in reversed([part.strip() for part in forwarded.split(",") if part.strip()]):
            peer = hop
            if not _is_trusted(hop, trusted):
                break
    try:
        address = ip_address(peer)
    except ValueError:
        return ""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(IPv6Network((address, _IPV6_SENDER_BITS), strict=False))
    return str(address)


def _is_trusted(text: str, trusted: Sequence[Network]) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return any(address in network for network in trusted)
