"""Who may stay connected: so many in all, so many of one address, so many bytes that wait unread.

Whoever comes beyond that takes the place of whoever keeps us waiting longest. What holds:

R1. Ended for another's sake is only what waits for its own client, never a request in our hands:
    a newcomer is turned away only where all places are taken by such requests.
R2. Handshakes under way take places like connections.
R3. Answers that are not in the kernel's hands yet hold no more than the budget, or one answer: each
    counts as one slice (TLS holds as much again, encrypted), and a shared body is counted once.
"""

from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Final, Protocol

from deniable.server.addresses import Network, caller
from deniable.server.limits import Limits
from deniable.server.meters import Meters

__all__ = ["SLICE_BYTES", "Guest", "Room"]

SLICE_BYTES: Final = 1 << 16
"""How much of an answer is given to a connection at a time."""
_MOST_UNREAD_BYTES: Final = 128 << 20


class Guest(Protocol):
    """A connection, as far as its place is concerned."""

    def evict(self) -> None:
        """End at once."""


class Room:
    """The places of one worker.

    Args:
        limits: how many there are.
        trusted: proxies, each of which speaks for any number of addresses.
        meters: what is counted.
    """

    def __init__(self, limits: Limits, trusted: Sequence[Network], meters: Meters) -> None:
        self.limits = limits
        self._trusted = trusted
        self._meters = meters
        self._callers: dict[Guest, str | None] = {}
        self._held = Counter[str | None]()
        self._waiting = OrderedDict[Guest, None]()  # those who keep us waiting longest first
        self._sending: dict[Guest, bytes] = {}
        self._readers = Counter[int]()  # by the body's identity: it is there as long as they are
        self.unread_bytes = 0

    def enter(self, guest: Guest, peer: str) -> bool:
        """Give a connection a place; return False if there is none.

        Args:
            guest: the connection, which waits for its client.
            peer: its other end.
        """
        name = caller(peer, self._trusted)
        most = self.limits.address_connections
        if most and name is not None and self._held[name] >= most:
            longest = next((each for each in self._waiting if self._callers[each] == name), None)
        elif len(self._callers) >= self.limits.connections:
            longest = next(iter(self._waiting), None)
        else:
            longest = guest
        if longest is None:
            self._meters.count("connections_refused")
            return False
        if longest is not guest:
            self._evict(longest)
        self._meters.count("connections")
        self._callers[guest] = name
        self._held[name] += 1
        self._waiting[guest] = None
        return True

    def leave(self, guest: Guest) -> None:
        """Take a place back, if it has one."""
        if guest not in self._callers:
            return
        self.sent(guest)
        self._meters.count("connections", -1)
        self._waiting.pop(guest, None)
        name = self._callers.pop(guest)
        self._held[name] -= 1
        if not self._held[name]:
            del self._held[name]

    def works(self, guest: Guest) -> None:
        """Note that its request is in our hands."""
        self._waiting.pop(guest, None)

    def sends(self, guest: Guest, body: bytes) -> None:
        """Note that its answer begins: from now on, it keeps us waiting."""
        if guest not in self._callers:
            return
        self._waiting[guest] = None
        self._waiting.move_to_end(guest)
        self._sending[guest] = body
        self._readers[id(body)] += 1
        self.unread_bytes += _cost(body, shared=self._readers[id(body)] > 1)
        if self.unread_bytes > _MOST_UNREAD_BYTES:
            for slow in [each for each in self._waiting if each in self._sending]:
                if slow is not guest and self.unread_bytes > _MOST_UNREAD_BYTES:
                    self._evict(slow)

    def sent(self, guest: Guest) -> None:
        """Note that its answer is in the kernel's hands, or thrown away."""
        body = self._sending.pop(guest, None)
        if body is not None:
            self._readers[id(body)] -= 1
            self.unread_bytes -= _cost(body, shared=self._readers[id(body)] > 0)
            if not self._readers[id(body)]:
                del self._readers[id(body)]

    def _evict(self, guest: Guest) -> None:
        self._meters.count("connections_evicted")
        self.leave(guest)
        guest.evict()


def _cost(body: bytes, *, shared: bool) -> int:
    """Return what one more reader of a body holds: a slice of it, and the first all of it."""
    return min(len(body), SLICE_BYTES) + (0 if shared else len(body))
