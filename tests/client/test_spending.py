"""What was spent is forgotten by no ceiling: neither as it is merged, nor by losses and restores.

The model is a list of (cost, when by true time). Time of use is never ahead of true time, so what a
ceiling over any period must see is at least what the list holds of that period.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from deniable.client import Consent
from deniable.client.client import engine_of
from deniable.client.clock import Boot
from deniable.client.ledger.allowance import spent_in_all, spent_since
from deniable.client.state import mark as mark_module
from deniable.client.state.mark import merged, unknown, whole_days
from deniable.client.state.state import State
from deniable.client.survey import LONGEST_PERIOD
from tests.support.devices import Bench
from tests.support.effort import effort
from tests.support.surveys import DAY, START

_days = st.one_of(st.integers(0, 40), st.integers(0, 40_000))
_waits = st.one_of(st.integers(0, 2 * DAY), st.sampled_from([6 * DAY, 60 * DAY]))
_which = st.integers(0, 9)
DECISION = (
    "INSERT INTO decisions (name, epoch, origin, survey_id, cost, starts, ends, closes, status,"
    " verdict, attempts, unanswered, due, held, decided, lived)"
    " VALUES (?, ?, '', x'', ?, 0, 0, 0, 'dropped', '', 0, 0, 0.0, 0.0, 0, ?)"
)
_spent = st.dictionaries(_days, st.integers(1, 10**12), max_size=60)


def since(spent: Mapping[int, int], day: int) -> int:
    return sum(cost for other, cost in spent.items() if other >= day)


@settings(max_examples=effort(100))
@given(_spent, st.integers(0, 40_000), st.integers(0, 40_000))
def test_merging_forgets_nothing(spent: dict[int, int], later: int, much_later: int) -> None:
    today = max(spent, default=0) + later
    told = merged(spent, today)
    assert told.total() == sum(spent.values())
    assert len(told) <= LONGEST_PERIOD + 1
    for day in [*spent, *told]:
        assert since(told, day) >= since(spent, day)
        assert day <= today - LONGEST_PERIOD or since(told, day) == since(spent, day)
    assert merged(told, today + much_later) == merged(spent, today + much_later)


@settings(max_examples=effort(100))
@given(_spent, _spent, st.integers(0, 40_000), st.integers(0, 40_000))
def test_what_a_backup_does_not_know_is_the_exact_difference(
    known: dict[int, int], since_then: dict[int, int], later: int, much_later: int
) -> None:
    today = max([*known, *since_then], default=0) + later
    told = merged({**known, **since_then}, today)
    others = {
        day: since_then[day] - known.get(day, 0)
        for day in since_then
        if since_then[day] > known.get(day, 0)
    }
    whole = {day: known.get(day, 0) + others.get(day, 0) for day in {*known, *others}}
    assert unknown(merged(whole, today), known, today) == merged(others, today)
    assert not unknown(told, told, today)
    # An older mark knows nothing new, nor beside a state that carries what was merged since.
    assert not unknown(merged(known, today), whole, today)
    afterwards = today + much_later
    assert not unknown(merged(known, today), merged(whole, afterwards), afterwards)


class Histories(RuleBasedStateMachine):
    """A device that spends while its files are lost, put back and damaged, and its clock jumps."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "device.sqlite"
        self.mark = self.folder / "device.sqlite.mark"
        self.fsync = mock.patch.object(os, "fsync")
        self.fsync.start()
        self.true, self.offset, self.epoch = 0, 0, 0
        self.spent: list[tuple[int, int]] = []
        self.states: list[tuple[bytes, bytes, int]] = []
        self.state = self.opened()

    def opened(self) -> State:
        return State(self.path, Consent.ON, {}, self.boot_time)

    def boot_time(self) -> Boot:
        return "the boot", float(self.true)

    def teardown(self) -> None:
        self.state.close()
        self.fsync.stop()
        shutil.rmtree(self.folder)

    @property
    def now(self) -> int:
        return START + self.true + self.offset

    @initialize(cost=st.integers(1, 99))
    def begin(self, cost: int) -> None:
        self.spend(cost, DAY)

    @rule(cost=st.integers(1, 99), seconds=_waits)
    def spend(self, cost: int, seconds: int) -> None:
        self.true += seconds
        self.epoch += 1
        self.state.learn_date(self.now, self.now)
        with self.state.transaction(self.now) as connection:
            lived = self.state.look_at_clock(connection, self.now)
            connection.execute(DECISION, ("name", self.epoch, cost, whole_days(lived)))
            self.state.advance(connection, self.now, decided_for=self.now)
        self.spent.append((cost, self.true))

    @rule(seconds=st.integers(-90 * DAY, 90 * DAY))
    def clock_jumps(self, seconds: int) -> None:
        self.offset += seconds
        with self.state.transaction(self.now) as connection:
            self.state.look_at_clock(connection, self.now)

    @rule()
    def back_up(self) -> None:
        self.state.close()
        self.states.append((self.path.read_bytes(), self.mark.read_bytes(), len(self.spent)))

    @rule()
    def lose_the_mark(self) -> None:
        self.restart(lambda: self.mark.unlink())

    @rule(damage=st.booleans())
    def lose_the_state(self, damage: bool) -> None:
        self.restart(lambda: self.path.write_bytes(b"rot" * 999) if damage else self.path.unlink())

    @rule(which=_which)
    def put_an_old_state_back(self, which: int) -> None:
        if self.states:
            state, _, _ = self.states[which % len(self.states)]
            self.restart(lambda: self.path.write_bytes(state))

    @rule(which=_which)
    def put_an_old_mark_back(self, which: int) -> None:
        if self.states:
            _, mark, _ = self.states[which % len(self.states)]
            self.restart(lambda: self.put_mark_back(mark))

    @rule(which=_which)
    def put_both_back(self, which: int) -> None:
        """Leave no trace of what came after the backup: it alone is forgotten."""
        if self.states:
            state, mark, known = self.states[which % len(self.states)]
            self.spent = self.spent[:known]
            self.states = [each for each in self.states if each[2] <= known]
            self.restart(lambda: self.put_back(state, mark))

    def put_back(self, state: bytes, mark: bytes) -> None:
        self.path.write_bytes(state)
        self.put_mark_back(mark)

    def put_mark_back(self, mark: bytes) -> None:
        self.mark.write_bytes(mark.rsplit(maxsplit=1)[0] + b" 0:0\n")  # it changed since

    def restart(self, happens: Callable[[], object]) -> None:
        self.state.close()
        happens()
        self.state = self.opened()

    @invariant()
    def every_ceiling_sees_what_was_spent(self) -> None:
        with self.state.transaction(self.now) as connection:
            lived = self.state.look_at_clock(connection, self.now)
            assert spent_in_all(connection) == sum(cost for cost, _ in self.spent)
            for days in (1, 2, 7, 30, 365):
                recent = sum(cost for cost, at in self.spent if at > self.true - days * DAY)
                assert spent_since(connection, lived - days * DAY) >= recent


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=effort(60), stateful_step_count=20, derandomize=True)


def test_an_old_mark_beside_a_state_that_followed_a_lost_one_counts_nothing_twice() -> None:
    history = Histories()
    try:
        history.begin(1)
        history.spend(1, 1)
        history.back_up()
        for _ in range(3):
            history.spend(1, 6 * DAY)  # until two days of use are merged into one
        history.lose_the_state(damage=False)
        history.every_ceiling_sees_what_was_spent()
        history.put_an_old_mark_back(0)
        history.every_ceiling_sees_what_was_spent()
    finally:
        history.teardown()


def test_the_mark_stays_small_through_ten_years(bench: Bench) -> None:
    client = bench.client()
    assert client.consent == "on"
    with engine_of(client).state.transaction(START) as connection:
        connection.execute("UPDATE device SET lived = ?", (3650 * DAY,))
        connection.executemany(
            "INSERT INTO carried VALUES (?, ?)", [(day * DAY, 10**9) for day in range(3650)]
        )
        engine_of(client).state.advance(connection, START)
    mark = mark_module.Mark.read(bench.path)
    assert mark is not None
    assert sum(mark.spent.values()) == 3650 * 10**9
    assert bench.path.with_name("device.sqlite.mark").stat().st_size < 10_000
