"""The slots: in whatever order connections come, wait, work, send and leave."""

from ipaddress import ip_network

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from deniable.directory import Config
from deniable.server import connection_slots
from deniable.server.connection_slots import ConnectionSlots
from deniable.server.metrics import Meters
from tests.server.collector import totals
from tests.support.effort import effort
from tests.support.surveys import AUTHORITY, ORIGIN

PROXY = "10.0.0.1"
PEERS = [PROXY, "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"]
CALLERS = dict(zip(PEERS, [None, "192.0.2.1", "192.0.2.2", "v6", "v6"], strict=True))
MOST, MOST_OF_ONE = 7, 3


class Holder:
    """A connection whose eviction is noted."""

    def __init__(self, peer: str, evicted: list["Holder"]) -> None:
        self.peer = peer
        self._evicted = evicted

    def evict(self) -> None:
        self._evicted.append(self)


class SlotsMachine(RuleBasedStateMachine):
    """Beside the slots: lists of who waits and who works."""

    def __init__(self) -> None:
        super().__init__()
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr(connection_slots, "MOST_CONNECTIONS", MOST)
        self.patched.setattr(connection_slots, "_MOST_OF_ADDRESS", MOST_OF_ONE)
        self.meters = Meters()
        config = Config(
            origin=ORIGIN, authority=AUTHORITY.public_key, trusted_proxies=(ip_network(PROXY),)
        )
        self.slots = ConnectionSlots(config, self.meters)
        self.evicted: list[Holder] = []
        self.waiting: list[Holder] = []  # the longest first
        self.working: list[Holder] = []

    def teardown(self) -> None:
        self.patched.undo()

    @property
    def inside(self) -> list[Holder]:
        return self.waiting + self.working

    def gone(self, holder: Holder) -> None:
        self.waiting = [each for each in self.waiting if each is not holder]
        self.working = [each for each in self.working if each is not holder]

    @rule(peer=st.sampled_from(PEERS))
    def enter(self, peer: str) -> None:
        mine = [g for g in self.inside if CALLERS[g.peer] == CALLERS[peer]]
        if CALLERS[peer] is not None and len(mine) >= MOST_OF_ONE:
            full, victims = True, [g for g in self.waiting if g in mine]
        else:
            full, victims = len(self.inside) >= MOST, self.waiting
        holder = Holder(peer, self.evicted)
        assert self.slots.enter(holder, peer) is (not full or bool(victims))
        expected = victims[:1] if full else []
        assert self.evicted == expected
        for each in expected:
            self.gone(each)
        if not full or expected:
            self.waiting.append(holder)
        self.evicted.clear()

    @precondition(lambda self: bool(self.inside))
    @rule(data=st.data())
    def work(self, data: st.DataObject) -> None:
        holder = data.draw(st.sampled_from(self.inside))
        self.slots.works(holder)
        if holder in self.waiting:
            self.waiting.remove(holder)
            self.working.append(holder)

    @precondition(lambda self: bool(self.inside))
    @rule(data=st.data())
    def send(self, data: st.DataObject) -> None:
        holder = data.draw(st.sampled_from(self.inside))
        self.gone(holder)
        self.waiting.append(holder)
        self.slots.waits(holder)

    @precondition(lambda self: bool(self.inside))
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        holder = data.draw(st.sampled_from(self.inside))
        self.slots.leave(holder)
        self.gone(holder)
        self.slots.leave(holder)  # an end is told more than once
        self.slots.waits(holder)

    @invariant()
    def no_more_than_the_limits(self) -> None:
        assert len(self.inside) <= MOST
        assert totals(self.meters)["connections"] == {(): len(self.inside)}


TestConnectionSlots = SlotsMachine.TestCase
TestConnectionSlots.settings = settings(max_examples=effort(100), stateful_step_count=40)
