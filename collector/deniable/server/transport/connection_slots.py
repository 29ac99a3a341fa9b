"""Connections that stay: so many in all, so many of one address, so many bytes that wait unread.

Whoever comes beyond that takes the place of whoever keeps us waiting longest. What holds:

S1. Ended for another's sake is only what waits for its own client, never a request in our hands:
    a newcomer is turned away only where all places are taken by such requests.
S2. Handshakes under way take places like connections.
S3. Answers that are not in the kernel's hands yet hold no more than the budget, or one answer: each
    counts as one slice (TLS holds as much again, encrypted), and a shared body is counted once.
"""

from collections import Counter, OrderedDict
from typing import Final, Protocol

from deniable.directory import Config
from deniable.server.operations.metrics import Meters
from deniable.server.transport.addresses import is_among, mark, read_address

MOST_CONNECTIONS: Final = 1_000
"""Connections of one worker at once.

Devices come, send and leave, so honest ones need far fewer. With the kernel's buffers, 128 KiB of
each direction, so many hold 250 MiB at most.
"""
_MOST_OF_ADDRESS: Final = 250
"""Of these, connections of one address, trusted proxies excepted: it takes several to fill all."""
SLICE_BYTES: Final = 1 << 16
"""How much of an answer is given to a connection at a time."""
_MOST_UNREAD_BYTES: Final = 128 << 20


class SlotHolder(Protocol):
    """A connection, as far as its slot is concerned."""

    def evict(self) -> None:
        """End at once."""


class ConnectionSlots:
    """The slots for connections of one worker."""

    def __init__(self, config: Config, meters: Meters) -> None:
        self._trusted = config.trusted_proxies  # each speaks for any number of addresses
        self._meters = meters
        self._callers: dict[SlotHolder, str | None] = {}
        self._held = Counter[str | None]()
        self._waiting = OrderedDict[SlotHolder, None]()  # those who keep us waiting longest first
        self._sending: dict[SlotHolder, bytes] = {}
        self._readers = Counter[int]()  # by the body's identity: it is there as long as they are
        self.unread_bytes = 0

    def enter(self, holder: SlotHolder, peer: str) -> bool:
        """Give a connection, which waits for its client, a slot; return False if there is none."""
        address = read_address(peer)
        name = None if is_among(address, self._trusted) else mark(address)
        if name is not None and self._held[name] >= _MOST_OF_ADDRESS:
            longest = next((other for other in self._waiting if self._callers[other] == name), None)
        elif len(self._callers) >= MOST_CONNECTIONS:
            longest = next(iter(self._waiting), None)
        else:
            longest = holder
        if longest is None:
            self._meters.count("connections_refused")
            return False
        if longest is not holder:
            self._evict(longest)
        self._meters.count("connections")
        self._callers[holder] = name
        self._held[name] += 1
        self._waiting[holder] = None
        return True

    def leave(self, holder: SlotHolder) -> None:
        """Take a slot back, if it has one."""
        if holder not in self._callers:
            return
        self.sent(holder)
        self._meters.count("connections", -1)
        self._waiting.pop(holder, None)
        name = self._callers.pop(holder)
        self._held[name] -= 1
        if not self._held[name]:
            del self._held[name]

    def works(self, holder: SlotHolder) -> None:
        """Note that its request is in our hands."""
        self._waiting.pop(holder, None)

    def sends(self, holder: SlotHolder, body: bytes) -> None:
        """Note that its answer begins: from now on, it keeps us waiting."""
        if holder not in self._callers:
            return
        self._waiting[holder] = None
        self._waiting.move_to_end(holder)
        self._sending[holder] = body
        self._readers[id(body)] += 1
        self.unread_bytes += _cost(body, shared=self._readers[id(body)] > 1)
        if self.unread_bytes > _MOST_UNREAD_BYTES:
            for slow in [other for other in self._waiting if other in self._sending]:
                if slow is not holder and self.unread_bytes > _MOST_UNREAD_BYTES:
                    self._evict(slow)

    def sent(self, holder: SlotHolder) -> None:
        """Note that its answer is in the kernel's hands, or thrown away."""
        body = self._sending.pop(holder, None)
        if body is not None:
            self._readers[id(body)] -= 1
            self.unread_bytes -= _cost(body, shared=self._readers[id(body)] > 0)
            if not self._readers[id(body)]:
                del self._readers[id(body)]

    def _evict(self, holder: SlotHolder) -> None:
        self._meters.count("connections_evicted")
        self.leave(holder)
        holder.evict()


def _cost(body: bytes, *, shared: bool) -> int:
    """Return the bytes that one more reader of a body holds: a slice, and the first all of it."""
    return min(len(body), SLICE_BYTES) + (0 if shared else len(body))
