"""All that may happen to a device: rules for a state machine, in front of a hostile collector."""

import os
import random
import shutil
import sqlite3
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from deniable.client import Client, OutcomeStatus, state_file
from deniable.messages import Schedule
from tests.support.devices import CountingDraw
from tests.support.hostile import FATES, HostileCollector, SkewedClock
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, DECLARED, ORIGIN, START, manifest

NAMES = ("first", "second")
FLUSH_SECONDS = 7200.0
"""Longer than any wait that a collector can bring about."""

_SURVEYS = [replace(DECLARED, name=name, min_epoch_seconds=1) for name in NAMES]
_TERMS: list[dict[str, Any]] = [
    *[{}] * 8,
    {"categories": CATEGORIES[:2]},
    {"categories": CATEGORIES[::-1]},
    {"epsilon": "1.5"},
    {"epsilon": "0.5"},
    {"delta": "0.1"},
    {"question": "Really?"},
]
_connect = state_file._connect

_who = st.integers(0, 1)
_names = st.sampled_from(NAMES)
_lengths = st.sampled_from([1, 2, 60, 3600, DAY, 7 * DAY])
_offsets = st.one_of(st.just(0), st.integers(-9 * DAY, 9 * DAY), st.integers(-90, 90))


def _connect_without_waiting_for_the_disk(path: Path) -> sqlite3.Connection:
    connection = _connect(path)
    connection.execute("PRAGMA synchronous=OFF")  # nobody pulls the plug here
    return connection


class HostileDevice(RuleBasedStateMachine):
    """One device, whose app runs twice at a time.

    Attributes:
        clock: the device's; its true time is the collector's.
        collector: the other side.
        clients: the two running apps.
        draw: counts.
        decided: (survey id, epoch) of every outcome that said it was recorded, ever.
        standing: how many of them the present state must still hold.
        highest: the highest epoch among those, by name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.nonce = 0
        self.patches = ExitStack()
        impatient = mock.patch.object(state_file, "_connect", _connect_without_waiting_for_the_disk)
        self.patches.enter_context(impatient)
        self.patches.enter_context(mock.patch.object(os, "fsync"))
        # The waiting times, not the draws: a failure is found again.
        seeded = random.Random(0).random
        patched = mock.patch("deniable.client.client._uniform", seeded)
        self.patches.enter_context(patched)
        self.clock = SkewedClock()
        self.collector = HostileCollector(self.clock)
        self.draw = CountingDraw()
        self.decided: list[tuple[bytes, int]] = []
        self.standing = 0
        self.highest = dict.fromkeys(NAMES, -1)
        self.backup: tuple[bytes, int, dict[str, int]] | None = None
        self.clients = [self.start(), self.start()]
        self.hanging: list[Client] = []

    def start(self) -> Client:
        """Return a new client of the one state."""
        return Client(
            ORIGIN,
            authority=AUTHORITY.public_key,
            surveys=_SURVEYS,
            state=self.folder / "device.sqlite",
            consent="on",
            lifetime_epsilon="9999",
            background=False,
            clock=self.clock,
            transport=self.collector,
            unsafe_draw=self.draw,
        )

    def stop(self) -> None:
        """End every process, so that the state is one file and its mark."""
        for client in [*self.clients, *self.hanging]:
            client.close()

    def teardown(self) -> None:
        self.stop()
        self.patches.close()
        shutil.rmtree(self.folder)

    def rows(self, query: str, *arguments: object) -> list[tuple[Any, ...]]:
        """Ask the state."""
        with self.clients[0]._state.transaction(self.clock.now()) as connection:
            return connection.execute(query, arguments).fetchall()

    @initialize(length=_lengths)
    def begin(self, length: int) -> None:
        for name in NAMES:
            schedule = Schedule(START, length, 50, 30 * DAY)
            self.collector.publish(manifest(name=name, schedule=schedule))
        self.clients[0].refresh()

    @rule(
        name=_names,
        step=st.sampled_from([-1, 0, 1, 1, 1, 1, 2]),
        length=_lengths,
        shift=st.integers(-4500, 150),
        grace=st.sampled_from([0, 600, DAY, 30 * DAY]),
        terms=st.sampled_from(_TERMS),
        fetch=st.sampled_from([True, True, True, False]),
    )
    def publish(
        self,
        name: str,
        step: int,
        length: int,
        shift: int,
        grace: int,
        terms: dict[str, Any],
        fetch: bool,
    ) -> None:
        """Sign a manifest that began some hundredths of its epochs ago, or will begin so."""
        self.nonce += 1
        start = max(0, int(self.clock.now() + shift * length / 100))
        before = self.collector.published[name].sequence
        offered = manifest(
            name=name,
            sequence=max(0, before + step),
            nonce=self.nonce.to_bytes(16),
            schedule=Schedule(start, length, 50, grace),
            **terms,
        )
        self.collector.publish(offered)
        if fetch:
            self.clients[0].refresh()
            self.report(0, name, CATEGORIES[1])

    @rule(
        name=_names,
        length=_lengths,
        number=st.integers(-1, 2),
        phase=st.integers(0, 99),
        after=st.integers(0, 2),
    )
    def succeed(self, name: str, length: int, number: int, phase: int, after: int) -> None:
        """Republish just when the last decided epoch has ended, as cunningly as can be.

        The new schedule's current epoch has a number about the next one, and began as late or as
        long ago as the operator likes.
        """
        query = "SELECT max(epoch), max(ends) FROM decisions WHERE name = ?"
        ((epoch, ends),) = self.rows(query, name)
        if epoch is None:
            return
        self.clock.time += max(0, ends + after - self.clock.now())
        current = epoch + 1 + number
        shift = -100 * current - phase
        self.publish(name, 1, length, shift, 30 * DAY, {}, fetch=True)

    @rule(who=_who, name=_names, answer=st.sampled_from(CATEGORIES))
    def report(self, who: int, name: str, answer: str) -> None:
        outcome = self.clients[who].report(name, answer)
        assert self.collector.listening or not outcome.ok
        if outcome.status is OutcomeStatus.RECORDED:
            assert outcome.epoch is not None
            assert outcome.epoch > self.highest[name]  # D3, whatever a successor's numbers are
            self.highest[name] = outcome.epoch
            query = "SELECT survey_id FROM decisions WHERE name = ? AND epoch = ?"
            ((survey_id,),) = self.rows(query, name, outcome.epoch)
            self.decided.append((survey_id, outcome.epoch))
            self.standing += 1

    @rule(who=_who, name=_names, percent=st.integers(10, 250), times=st.integers(2, 5))
    def report_regularly(self, who: int, name: str, percent: int, times: int) -> None:
        for _ in range(times):
            self.report(who, name, CATEGORIES[0])
            self.clock.time += self.collector.published[name].schedule.epoch_seconds * percent / 100

    @rule(who=_who, fetch=st.sampled_from(["served"] * 4 + ["portal", "missing", "unreachable"]))
    def refresh(self, who: int, fetch: str) -> None:
        self.collector.fetch = fetch
        self.clients[who].refresh()
        self.collector.fetch = "served"

    @rule(
        who=_who,
        fate=st.sampled_from(FATES),
        seconds=st.sampled_from([0.0, 1.0, 1.0, 100.0, FLUSH_SECONDS]),
    )
    def flush(self, who: int, fate: str, seconds: float) -> None:
        self.collector.fate = fate
        self.clients[who].flush(seconds)

    @rule(who=_who, name=_names, fate=st.sampled_from(FATES))
    def report_and_send(self, who: int, name: str, fate: str) -> None:
        self.report(who, name, CATEGORIES[2])
        self.flush(who, fate, 1.0)
        self.report(1 - who, name, CATEGORIES[3])

    @rule(who=_who, offset=_offsets, fate=st.sampled_from(FATES))
    def send_while_the_clock_is_wrong(self, who: int, offset: int, fate: str) -> None:
        before, self.clock.offset = self.clock.offset, float(offset)
        self.flush(who, fate, 1.0)
        self.clock.offset = before

    @rule(seconds=st.one_of(st.sampled_from([1, 60, 3600, DAY]), st.integers(0, 8 * DAY)))
    def time_passes(self, seconds: int) -> None:
        self.clock.time += seconds

    @rule(offset=_offsets)
    def clock_jumps(self, offset: int) -> None:
        self.clock.offset = float(offset)

    @rule(who=_who, name=_names, epochs=st.integers(-5, 5))
    def clock_jumps_by_epochs(self, who: int, name: str, epochs: int) -> None:
        self.clock.offset += epochs * self.collector.published[name].schedule.epoch_seconds
        self.report(who, name, CATEGORIES[4])

    @rule(who=_who, closed=st.booleans())
    def restart(self, who: int, closed: bool) -> None:
        before, self.clients[who] = self.clients[who], self.start()
        if closed:
            before.close()
        else:
            self.hanging.append(before)  # it does nothing more, and tidies nothing up

    @rule()
    def back_up(self) -> None:
        self.stop()
        content = (self.folder / "device.sqlite").read_bytes()
        self.backup = (content, self.standing, dict(self.highest))

    @rule(name=_names, to_backup=st.booleans())
    def lose_the_state(self, name: str, to_backup: bool) -> None:
        """Delete the state, or put an older one in its place; its mark stays where it is."""
        self.stop()
        (self.folder / "device.sqlite").unlink()
        self.standing, self.highest = 0, dict.fromkeys(NAMES, -1)
        if to_backup and self.backup is not None:
            content, self.standing, self.highest = (
                self.backup[0],
                self.backup[1],
                dict(self.backup[2]),
            )
            (self.folder / "device.sqlite").write_bytes(content)
        self.clients = [self.start(), self.start()]
        self.clients[0].refresh()
        self.report(0, name, CATEGORIES[0])

    @rule(on=st.sampled_from([True, True, True, False]))
    def change_consent(self, on: bool) -> None:
        self.clients[0].set_consent("on" if on else "off")
        self.collector.listening = on

    @rule(name=_names)
    def withdraw_and_consent_again(self, name: str) -> None:
        self.change_consent(on=False)
        self.change_consent(on=True)
        self.report(0, name, CATEGORIES[0])
