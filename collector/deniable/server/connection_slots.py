"""Slots of connections: limits on their number, and the number per address.

An address is never stored or logged: only slots and token buckets in memory contain it.
"""

import re
from collections import Counter, OrderedDict
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, Protocol

from deniable.directory import Config, Network
from deniable.server.metrics import Meters

_IPV6_SENDER_BYTES: Final = 8
_MOST_PROXIES: Final = 16
_WITH_PORT: Final = re.compile(r"\[([^\[\]]*)\](?::[0-9]*)?|([^:]*):[0-9]*", re.ASCII)


Address = IPv4Address | IPv6Address


def is_among(address: Address | None, networks: Sequence[Network]) -> bool:
    """Return whether an address is in one of these networks."""
    return address is not None and any(address in network for network in networks)


def sender(peer: str, forwarded: str, trusted: Sequence[Network]) -> Address | None:
    """Return the address of a request's sender; None for text that is not an address.

    If the connection's other end is a trusted proxy, the address is taken from X-Forwarded-For (all
    its lines). Otherwise that header is ignored, since anybody can send one.
    """
    address = read_address(peer)
    # From the right: the last is the one that the trusted proxy saw. Everything before the first
    # address that is not a trusted proxy was written by that sender, and is ignored.
    hops = forwarded.rsplit(",", _MOST_PROXIES)[-_MOST_PROXIES:] if trusted and forwarded else []
    while hops and is_among(address, trusted):
        address = read_address(hops.pop())
    return address


def mark(address: Address | None) -> str:
    """Return the mark of a sender: an IPv4 address, or an IPv6 /64.

    The mark is empty for text that is not an address: all such senders share one limit.
    """
    if address is None:
        return ""
    if isinstance(address, IPv4Address):
        return str(address)
    network = address.packed[:_IPV6_SENDER_BYTES].ljust(len(address.packed), b"\0")
    return f"{IPv6Address(network)}/{8 * _IPV6_SENDER_BYTES}"


def read_address(text: str) -> Address | None:
    """Read an address, with or without a port (some proxies add one); None if it is invalid."""
    text = text.strip()
    with_port = _WITH_PORT.fullmatch(text)
    if with_port is not None:
        text = with_port[1] or with_port[2] or ""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


MOST_CONNECTIONS: Final = 1_000
"""The most connections of one worker.

Devices connect, send and leave, so honest ones need far fewer. With the kernel's buffers, 128 KiB
for each direction, this many use at most 250 MiB.
"""
_MOST_OF_ADDRESS: Final = 250
"""The most connections of one address, except trusted proxies, so that it cannot use all."""
SLICE_BYTES: Final = 1 << 16
"""Bytes of an answer that are passed to a connection at a time."""


class SlotHolder(Protocol):
    """The method of a connection that its slot needs."""

    def evict(self) -> None:
        """End the connection at once."""


class ConnectionSlots:
    """One worker's slots for connections, with limits in all and per address.

    A newcomer beyond a limit replaces the client that has kept the server waiting longest. Only a
    connection that waits for its own client is ended for another, never a request in progress: a
    newcomer is turned away only if all places are taken by such requests.
    """

    def __init__(self, config: Config, meters: Meters) -> None:
        self._trusted = config.trusted_proxies  # each represents any number of addresses
        self._meters = meters
        self._callers: dict[SlotHolder, str | None] = {}
        self._held = Counter[str | None]()
        self._waiting = OrderedDict[SlotHolder, None]()  # the longest waiting first

    def enter(self, holder: SlotHolder, peer: str) -> bool:
        """Give a slot to a connection that waits for its client; return False if none is free."""
        address = read_address(peer)
        name = None if is_among(address, self._trusted) else mark(address)
        if name is not None and self._held[name] >= _MOST_OF_ADDRESS:
            longest = next((other for other in self._waiting if self._callers[other] == name), None)
        elif len(self._callers) >= MOST_CONNECTIONS:
            longest = next(iter(self._waiting), None)
        else:
            longest = holder
        if longest is None:
            self._meters.connections_refused.inc()
            return False
        if longest is not holder:
            self._evict(longest)
        self._meters.connections.inc()
        self._callers[holder] = name
        self._held[name] += 1
        self._waiting[holder] = None
        return True

    def leave(self, holder: SlotHolder) -> None:
        """Release a connection's slot, if it has one."""
        if holder not in self._callers:
            return
        self._meters.connections.dec()
        self._waiting.pop(holder, None)
        name = self._callers.pop(holder)
        self._held[name] -= 1
        if not self._held[name]:
            del self._held[name]

    def works(self, holder: SlotHolder) -> None:
        """Note that the connection's request has arrived and is being answered."""
        self._waiting.pop(holder, None)

    def waits(self, holder: SlotHolder) -> None:
        """Note that the answer begins: from now on, the server waits for the client."""
        if holder in self._callers:
            self._waiting[holder] = None
            self._waiting.move_to_end(holder)

    def _evict(self, holder: SlotHolder) -> None:
        self._meters.connections_evicted.inc()
        self.leave(holder)
        holder.evict()
