"""The room: in whatever order connections come, wait, work, send and leave."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from deniable.server import room
from deniable.server.addresses import read_network
from deniable.server.limits import Limits
from deniable.server.meters import Meters
from deniable.server.room import Room

PROXY = "10.0.0.1"
PEERS = [PROXY, "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"]
CALLERS = dict(zip(PEERS, [None, "192.0.2.1", "192.0.2.2", "v6", "v6"], strict=True))
MOST, MOST_OF_ONE = 7, 3
SLICE, BUDGET = 4, 16
BODIES = [bytes([i]) * size for i, size in enumerate((1, SLICE, 2 * SLICE, 9 * SLICE))]


class Guest:
    """A connection whose eviction is noted."""

    def __init__(self, peer: str, evicted: list["Guest"]) -> None:
        self.peer = peer
        self._evicted = evicted

    def evict(self) -> None:
        self._evicted.append(self)


class RoomMachine(RuleBasedStateMachine):
    """Beside the room: lists of who waits, works and sends what."""

    def __init__(self) -> None:
        super().__init__()
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr(room, "_MOST_UNREAD_BYTES", BUDGET)
        self.patched.setattr(room, "SLICE_BYTES", SLICE)
        self.meters = Meters()
        limits = Limits(connections=MOST, address_connections=MOST_OF_ONE)
        self.room = Room(limits, [read_network(PROXY)], self.meters)
        self.evicted: list[Guest] = []
        self.waiting: list[Guest] = []  # the longest first
        self.working: list[Guest] = []
        self.sending: dict[Guest, bytes] = {}

    def teardown(self) -> None:
        self.patched.undo()

    @property
    def inside(self) -> list[Guest]:
        return self.waiting + self.working

    def gone(self, guest: Guest) -> None:
        self.waiting = [each for each in self.waiting if each is not guest]
        self.working = [each for each in self.working if each is not guest]
        self.sending.pop(guest, None)

    @rule(peer=st.sampled_from(PEERS))
    def enter(self, peer: str) -> None:
        mine = [g for g in self.inside if CALLERS[g.peer] == CALLERS[peer]]
        if CALLERS[peer] is not None and len(mine) >= MOST_OF_ONE:
            full, victims = True, [g for g in self.waiting if g in mine]
        else:
            full, victims = len(self.inside) >= MOST, self.waiting
        guest = Guest(peer, self.evicted)
        assert self.room.enter(guest, peer) is (not full or bool(victims))
        expected = victims[:1] if full else []
        assert self.evicted == expected
        for each in expected:
            self.gone(each)
        if not full or expected:
            self.waiting.append(guest)
        self.evicted.clear()

    @precondition(lambda self: any(guest not in self.sending for guest in self.inside))
    @rule(data=st.data())
    def work(self, data: st.DataObject) -> None:
        guest = data.draw(st.sampled_from([g for g in self.inside if g not in self.sending]))
        self.room.works(guest)
        if guest in self.waiting:
            self.waiting.remove(guest)
            self.working.append(guest)

    @precondition(lambda self: any(guest not in self.sending for guest in self.inside))
    @rule(data=st.data(), body=st.sampled_from(BODIES))
    def send(self, data: st.DataObject, body: bytes) -> None:
        guest = data.draw(st.sampled_from([g for g in self.inside if g not in self.sending]))
        self.gone(guest)
        self.waiting.append(guest)
        self.sending[guest] = body
        self.room.sends(guest, body)
        expected = []
        for slow in [each for each in self.waiting[:-1] if each in self.sending]:
            if self.held() > BUDGET:
                expected.append(slow)
                self.gone(slow)
        assert self.evicted == expected
        self.evicted.clear()

    @precondition(lambda self: bool(self.inside))
    @rule(data=st.data(), leaves=st.booleans())
    def sent_or_left(self, data: st.DataObject, leaves: bool) -> None:
        guest = data.draw(st.sampled_from(self.inside))
        (self.room.leave if leaves else self.room.sent)(guest)
        self.sending.pop(guest, None)
        if leaves:
            self.gone(guest)
            self.room.leave(guest)  # an end is told more than once
            self.room.sends(guest, BODIES[-1])

    def held(self) -> int:
        slices = sum(min(len(body), SLICE) for body in self.sending.values())
        return slices + sum(map(len, set(self.sending.values())))

    @invariant()
    def no_more_than_the_limits(self) -> None:
        assert len(self.inside) <= MOST
        totals = {meter.name: values for meter, values in self.meters.totals()}
        assert totals["connections"] == [len(self.inside)]
        assert self.room.unread_bytes == self.held()
        assert self.held() <= BUDGET or len(self.sending) == 1


TestRoom = RoomMachine.TestCase
TestRoom.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
