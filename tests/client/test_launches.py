"""The moment of a launch is never the moment of a request (D7)."""

from functools import partial
from random import Random

import pytest

from benchmarks.launches import live
from deniable.client.client import engine_of
from deniable.client.sending.delays import LONGEST_DELAY, LaunchDelay
from deniable.messages import Schedule
from tests.support.devices import NAME, Bench
from tests.support.effort import THOROUGH
from tests.support.surveys import DAY, ORIGIN, START, manifest
from tests.support.watched import device, until


@pytest.fixture(autouse=True)
def _times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.client.engine.uniform", Random(20_071_123).random)


@pytest.mark.long
@pytest.mark.parametrize("seconds", [10.0, 60.0])
def test_d7_no_launch_is_the_moment_of_a_request(seconds: float) -> None:
    waits = live(seconds, epoch_days=1, days=56, seed=1).waits
    assert len(waits) > 60
    # Of a delay that is uniform in 30 s the first second has a thirtieth, and where sessions end
    # before it does, of what is left of it no more than a tenth. Of n = 60 to 120 that more than
    # a fifth are early has a chance of less than 1e-3 (binomial, p = .1); these seeds are fixed.
    # Without the delay nearly all were.
    assert sum(wait < 1 for wait in waits) < len(waits) / 5
    # That 60 of them lie within half of their range has a chance of less than 1e-15.
    assert max(waits) - min(waits) > min(seconds, LONGEST_DELAY) / 2


@pytest.mark.parametrize(
    ("seconds", "a_day"),
    [(5.0, 5), *(pytest.param(*each, marks=pytest.mark.long) for each in ((0.3, 30), (60.0, 5)))],
)
def test_d7_sessions_of_any_length_deliver_in_the_end(seconds: float, a_day: int) -> None:
    weeks = 6 if THOROUGH else 3
    life = live(seconds, epoch_days=7, days=7 * weeks, seed=2, a_day=a_day)
    assert len(life.made) == weeks
    assert life.share_within(14) == 1


@pytest.mark.parametrize("killed", [False, True])
def test_d7_what_is_left_of_a_delay_is_kept_across_starts(bench: Bench, killed: bool) -> None:
    client, chance = bench.ready(), Random(3)
    for _ in range(20):
        drawn, ran = chance.random(), 0.0
        over = False
        while not over:
            delay = LaunchDelay(
                engine_of(client).state, ORIGIN, bench.clock, partial(float, drawn), 3600.0
            )
            began, ends = bench.clock.time, bench.clock.time + chance.uniform(0.3, 12)
            delay.begin()
            delay.hold()
            delay.end_look()
            while not (over := delay.hold() == 0) and bench.clock.time < ends:
                bench.clock.time += min(delay.begin(), ends - bench.clock.time) + 1e-6
            ran += bench.clock.time - began
            if over:
                delay.begin()
            elif not killed:
                delay.note()
            bench.clock.time += chance.uniform(0, DAY)  # while nothing runs
        least = int(drawn * 30_000) / 1000
        # A start loses a millisecond to rounding; who is killed, half of what it ran at most.
        assert least - 0.2 <= ran <= (2 if killed else 1) * least + 0.2
        assert bench.rows("SELECT * FROM launches") == []


def test_d7_a_thread_that_starts_draws_a_delay_for_what_is_overdue(bench: Bench) -> None:
    bench.reported().close()
    bench.clock.time += 2 * DAY  # report and fetch are overdue, and the clock stands still
    requests = len(bench.transport.requests)
    client = device(bench, delivery_seconds=3600.0)
    client.start()
    until(lambda: bench.rows("SELECT count(*) FROM launches") == [(1,)])
    client.close()
    assert len(bench.transport.requests) == requests
    assert bench.client().flush().delivered == 1  # the app's own moment


def test_d7_a_delay_that_is_over_at_the_end_is_not_none_at_the_start(bench: Bench) -> None:
    bench.reported().close()
    bench.clock.time += 2 * DAY
    client = bench.client()
    engine_of(client).uploader.step()
    bench.clock.time += 40  # the thread does not come to run meanwhile
    engine_of(client).launch.note()
    client.close()
    assert engine_of(bench.client()).uploader.step() > 0
    assert len(bench.transport.uploads) == 0


def test_d7_what_is_not_overdue_at_a_start_draws_nothing(bench: Bench) -> None:
    client = bench.reported()
    nap = engine_of(client).uploader.step()
    assert bench.rows("SELECT * FROM launches") == []
    assert client.report(NAME, "good").ok
    bench.clock.time += nap
    engine_of(client).uploader.step()
    assert len(bench.transport.uploads) == 1


def test_d7_a_machine_whose_timers_are_always_late_sends_in_the_end(bench: Bench) -> None:
    bench.reported().close()
    bench.clock.time += 2 * DAY
    uploader = engine_of(bench.client()).uploader
    for _ in range(2 + 4 * 30):  # a quarter of a second a return, of half a minute at most
        bench.clock.time += uploader.step() + 31
    assert len(bench.transport.uploads) == 1


@pytest.mark.parametrize("counts", [True, False], ids=["stopped", "asleep"])
def test_d7_no_resumption_is_a_request(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, counts: bool
) -> None:
    chance, suspended, all_days = Random(4), 0.0, 40 if THOROUGH else 20
    # A stopped process has its monotonic clock go on, a machine that is asleep has not.
    monkeypatch.setattr(bench.clock, "monotonic", lambda: bench.clock.time - suspended)
    bench.transport.publish(manifest(schedule=Schedule(START, DAY, 40, 30 * DAY)))
    client = bench.ready(lifetime_epsilon="40")
    step = engine_of(client).uploader.step
    sent = days = 0  # reports, and days on which one left within the delay
    for day in range(all_days):
        bench.clock.time = START + day * DAY
        assert client.report(NAME, "good").ok
        nap = step()
        for _ in range(chance.randrange(3)):
            bench.clock.time += nap
            nap = step()
        bench.clock.time += chance.uniform(2, 6) * 3600
        suspended += 0.0 if counts else 3600.0
        before = len(bench.transport.requests)
        nap, began = step(), bench.clock.time
        assert len(bench.transport.requests) == before
        while len(bench.transport.uploads) == sent and bench.clock.time < began + 30:
            bench.clock.time += nap
            nap = step()
        days += len(bench.transport.uploads) > sent
        sent = len(bench.transport.uploads)
    assert days > all_days / 2
