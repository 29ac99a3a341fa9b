"""Upkeep does what the clock asks for, once, however many do it."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deniable.messages import Manifest, Schedule
from deniable.server.metrics import Meters
from deniable.server.routes.catalogue import Catalogue
from deniable.server.upkeep import Upkeep
from deniable.stores import Seal, SqliteStore, StoreError
from deniable.stores.values import Receipt
from tests.server.collector import totals
from tests.stores.places import PLACES, A, E, S, counts, publish, reports
from tests.support.clock import FakeClock
from tests.support.reports import report
from tests.support.surveys import AUTHORITY, DAY, START, manifest

SURVEY = manifest(name="three-days", schedule=Schedule(START, DAY, 3, DAY))
ID = SURVEY.survey_id
CLOSED = SURVEY.schedule.closes(0)


def begun(epoch: int = 0, survey: Manifest = SURVEY) -> list[Receipt]:
    """Return a report, which shows that its epoch has begun."""
    return reports([99], epoch=epoch, survey=survey)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "store.sqlite")
    await publish(store, SURVEY)
    yield store
    await store.close()


def upkeep(
    store: SqliteStore, clock: FakeClock, meters: Meters | None = None, ahead: float = 0.0
) -> Upkeep:
    """Return the upkeep of a machine that has one clock, and that is ahead of its disk's."""

    async def time() -> float:
        return clock.time - ahead

    store.time = time  # type: ignore[method-assign]
    return Upkeep(store, Catalogue(store, AUTHORITY.public_key, clock), clock, meters)


def metered(meters: Meters) -> dict[str, float]:
    """Return what upkeep counted."""
    names = ("epochs_sealed", "receipts_erased", "upkeep_failed", "clock_disagrees")
    counted = {name: totals(meters)[name][()] for name in names}
    return {name: number for name, number in counted.items() if number}


async def test_a_survey_lives_from_its_first_report_to_its_end(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="deniable.collector")
    clock = FakeClock(START)
    meters = Meters()
    keeper = upkeep(store, clock, meters)
    await store.add(reports(range(5), 1, survey=SURVEY))
    await keeper.turn()
    assert await store.add([report(5, 1, survey=SURVEY)]) == [A]
    assert caplog.messages == []

    clock.time = CLOSED
    await keeper.turn()
    (seal,) = await store.seals(ID)
    assert (seal.epoch, seal.sealed_at, seal.reports) == (0, CLOSED, 6)
    assert caplog.messages == [
        f"sealed three-days (sequence 0), epoch 0: reports 6, digest {seal.digest.hex()}"
    ]
    assert await store.add([report(6, survey=SURVEY)]) == [S]

    clock.time = CLOSED + DAY
    await keeper.turn()
    assert "pruned three-days (sequence 0), epoch 0: receipts 6" in caplog.messages
    assert (await store.seals(ID))[0].pruned_at == CLOSED + DAY

    await store.add(begun(2))
    clock.time = SURVEY.schedule.closes(2)
    await keeper.turn()
    assert await store.ended() == {ID: clock.time}
    assert "ended three-days (sequence 0)" in caplog.messages
    assert await store.add([report(7, epoch=2, survey=SURVEY)]) == [E]

    clock.time += DAY
    for _ in range(3):
        await keeper.turn()
        clock.time += DAY
    assert [seal.pruned_at is not None for seal in await store.seals(ID)] == [True] * 3
    assert len(caplog.messages) == len(set(caplog.messages)) == 7
    assert metered(meters) == {"epochs_sealed": 3, "receipts_erased": 7}
    assert await counts(store, 0, SURVEY) == [0, 6, 0, 0, 0]
    assert await store.check() == []


async def test_a_seal_is_told_and_counted_by_whoever_set_it(
    store: SqliteStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, logger="deniable.collector")
    seal = store.seal

    async def overtaken(survey_id: bytes, epoch: int, now: int) -> Seal:
        await seal(survey_id, epoch, now - 60)  # another collector was a minute earlier
        return await seal(survey_id, epoch, now)

    monkeypatch.setattr(store, "seal", overtaken)
    await store.add(begun())
    meters = Meters()
    await upkeep(store, FakeClock(CLOSED + 60), meters).turn()
    assert [seal.sealed_at for seal in await store.seals(ID)] == [CLOSED]
    assert caplog.messages == []
    assert metered(meters) == {}


async def test_what_failed_is_done_at_the_next_turn(
    store: SqliteStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed, failures, seal = asyncio.Event(), iter([StoreError("for a moment")]), store.seal

    async def fails_at_first(survey_id: bytes, epoch: int, now: int) -> Seal:
        for failure in failures:
            raise failure
        made = await seal(survey_id, epoch, now)
        sealed.set()
        return made

    monkeypatch.setattr(store, "seal", fails_at_first)
    await store.add(begun())
    meters = Meters()
    running = asyncio.create_task(upkeep(store, FakeClock(CLOSED), meters).run(0.001))
    await asyncio.wait_for(sealed.wait(), 20)
    assert not running.done()
    assert "upkeep of three-days is postponed: for a moment" in caplog.messages
    assert [seal.epoch for seal in await store.seals(ID)] == [0]
    assert metered(meters)["upkeep_failed"] == 1
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()


async def test_a_survey_that_always_fails_keeps_no_other_from_being_sealed(
    store: SqliteStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, seal = manifest(name="a-first-one", schedule=SURVEY.schedule), store.seal
    await publish(store, first)

    async def fails(survey_id: bytes, epoch: int, now: int) -> Seal:
        if survey_id == first.survey_id:
            raise RuntimeError("unforeseen")
        return await seal(survey_id, epoch, now)

    monkeypatch.setattr(store, "seal", fails)
    for survey in (SURVEY, first):
        await store.add(begun(survey=survey))
    meters = Meters()
    keeper = upkeep(store, FakeClock(CLOSED), meters)
    for _ in range(2):
        await keeper.turn()
    assert [seal.epoch for seal in await store.seals(ID)] == [0]
    assert await store.seals(first.survey_id) == []
    assert metered(meters) == {"epochs_sealed": 1, "upkeep_failed": 2}
    assert "upkeep of a-first-one failed unexpectedly" in caplog.text


async def test_a_machine_80_days_ahead_ends_nothing_and_once_it_is_right_goes_on(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    await store.add(begun())
    clock = FakeClock(START + 80 * DAY)
    keeper = upkeep(store, clock)
    for _ in range(3):
        await keeper.turn()
    assert await store.seals(ID) == []
    assert await store.ended() == {}
    (asked,) = caplog.messages
    assert "epoch 0 is not sealed" in asked
    assert "deniable survey seal three-days 0" in asked

    assert await store.add(reports([1], survey=SURVEY)) == [A]
    for epoch in range(3):
        await store.add(begun(epoch))
        clock.time = SURVEY.schedule.closes(epoch)
        await keeper.turn()
    assert [seal.reports for seal in await store.seals(ID)] == [2, 1, 1]
    assert await store.ended() == {ID: clock.time}


@pytest.mark.parametrize("kind", sorted(PLACES))
@pytest.mark.parametrize("ahead", [-300.0, 0.0, 300.0])
async def test_a_clock_that_differs_from_the_stores_own_seals_nothing(
    tmp_path: Path, kind: str, ahead: float, caplog: pytest.LogCaptureFixture
) -> None:
    survey = manifest(schedule=Schedule(int(time.time()) - 2 * DAY, DAY, 1, 0))
    store = await PLACES[kind](tmp_path).open()
    try:
        await publish(store, survey)
        await store.add(begun(survey=survey))
        meters = Meters()
        clock = FakeClock(time.time() + ahead)
        catalogue = Catalogue(store, AUTHORITY.public_key, clock)
        await Upkeep(store, catalogue, clock, meters).turn()
        agrees = not ahead
        assert len(await store.seals(survey.survey_id)) == agrees
        assert ("clock_disagrees" in metered(meters)) is not agrees
        assert ("upkeep is postponed: the clocks" in caplog.text) is not agrees
    finally:
        await store.close()
