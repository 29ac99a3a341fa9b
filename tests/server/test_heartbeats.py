"""A heart that stands still is noticed; a machine that slept has killed nobody."""

import asyncio

from deniable.server.workers import FROZEN_SECONDS, LOOK_SECONDS, SILENT_SECONDS, Heartbeats
from tests.support.clock import FakeClock

LOOKS = int(FROZEN_SECONDS / LOOK_SECONDS)


def look_often(hearts: Heartbeats, clock: FakeClock, *beating: int) -> list[int]:
    """Let time pass in which some hearts beat; return which have stopped."""
    silent: list[float] = []
    for _ in range(LOOKS + 1):
        clock.time += LOOK_SECONDS
        for worker in beating:
            hearts.beat(worker)
        silent = hearts.look()
    return [worker for worker, seconds in enumerate(silent) if seconds >= FROZEN_SECONDS]


def test_who_does_not_beat_has_stopped_and_who_beats_again_lives() -> None:
    clock = FakeClock()
    hearts = Heartbeats(3, clock)
    assert look_often(hearts, clock, 0, 2) == [1]
    assert look_often(hearts, clock, 0, 1, 2) == []
    assert look_often(hearts, clock, 1) == [0, 2]


def test_time_in_which_nobody_looked_is_nobodys_fault() -> None:
    clock = FakeClock()
    hearts = Heartbeats(2, clock)
    hearts.beat(0)
    hearts.look()
    for _ in range(3):  # suspended, again and again
        clock.time += 86_400.0
        assert max(hearts.look()) < SILENT_SECONDS
        hearts.beat(0)
        hearts.beat(1)
        assert hearts.look() == [0, 0]


def test_the_lowest_that_beats_leads() -> None:
    clock = FakeClock()
    hearts = Heartbeats(3, clock)
    for beating, leading in (((0, 1, 2), [0]), ((1, 2), [0, 1]), ((2,), [0, 1, 2])):
        look_often(hearts, clock, *beating)
        assert [worker for worker in range(3) if hearts.leads(worker)] == leading


async def test_a_heart_beats_by_itself_for_as_long_as_the_loop_runs() -> None:
    clock = FakeClock()
    hearts = Heartbeats(2, clock)
    assert hearts.leads(1)
    beating = asyncio.create_task(hearts.keep_beating(0))
    await asyncio.sleep(0)
    assert not hearts.leads(1)
    beating.cancel()
