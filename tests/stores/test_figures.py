"""Figures appear from, and advance in steps of, minimum_reports: a courtesy to small groups.

A step is taken by whoever reads them.
"""

import asyncio

import pytest

from deniable.stores import Figures, Store, shown_figures
from tests.stores.places import (
    ISSUER,
    NOW,
    OTHER_ISSUER,
    A,
    D,
    K,
    Place,
    counts,
    publish,
    reports,
)
from tests.support.reports import report
from tests.support.surveys import MANIFEST, manifest

COURTEOUS = manifest(name="courteous", minimum_reports=3)
ID = COURTEOUS.survey_id


async def shown(store: Store, epoch: int = 0) -> int:
    """Return how many reports the figures of the epoch contain."""
    return sum(await counts(store, epoch, COURTEOUS))


@pytest.mark.asyncio
async def test_figures_appear_from_the_minimum_on_and_advance_in_its_steps(store: Store) -> None:
    await publish(store, COURTEOUS)
    seen = []
    for device in range(10):
        assert await store.add([report(device, survey=COURTEOUS)]) == [A]
        seen.append(await shown(store))
    assert seen == [0, 0, 3, 3, 3, 6, 6, 6, 9, 9]


@pytest.mark.asyncio
async def test_a_larger_batch_is_one_step(store: Store) -> None:
    await publish(store, COURTEOUS)
    devices = iter(range(16))
    seen = []
    for size in (5, 2, 1, 7, 1):
        await store.add(reports([next(devices) for _ in range(size)], survey=COURTEOUS))
        seen.append(await shown(store))
    # 5 at once; then 2 more are too few, 3 more are a step; 7 are one; 1 more is too few.
    assert seen == [5, 5, 8, 15, 15]


@pytest.mark.asyncio
async def test_a_step_shows_all_categories_of_the_same_moment(store: Store) -> None:
    await publish(store, COURTEOUS)
    for device, response in enumerate([4, 0, 4, 1, 1, 0]):
        await store.add([report(device, response, survey=COURTEOUS)])
    assert await counts(store, 0, COURTEOUS) == [2, 2, 0, 0, 2]
    await store.add([report(6, 2, survey=COURTEOUS)])
    assert await counts(store, 0, COURTEOUS) == [2, 2, 0, 0, 2]


@pytest.mark.asyncio
async def test_a_step_is_taken_by_reading_and_seen_by_all(place: Place, store: Store) -> None:
    await publish(store, COURTEOUS)
    await store.add(reports(range(4), survey=COURTEOUS))
    await store.add(reports(range(4, 8), survey=COURTEOUS))
    other = await place.open()
    # Nobody had read the first 4, so that all 8 are one step; nor does it matter who reads.
    assert await shown(other) == 8
    await store.add(reports(range(8, 10), survey=COURTEOUS))
    assert [await shown(store), await shown(other)] == [8, 8]
    await other.add(reports([10], survey=COURTEOUS))
    assert [await shown(store), await shown(other)] == [11, 11]
    await other.close()


@pytest.mark.asyncio
async def test_readers_at_once_see_the_same_step(place: Place, store: Store) -> None:
    await publish(store, COURTEOUS)
    await store.add(reports(range(4), survey=COURTEOUS))
    other = await place.open()
    seen = await asyncio.gather(*(shown(each) for _ in range(8) for each in (store, other)))
    assert seen == [4] * 16
    await other.close()


@pytest.mark.asyncio
async def test_a_step_shows_who_vouched(store: Store) -> None:
    await publish(store, COURTEOUS)
    await store.add(reports(range(2), 1, survey=COURTEOUS, issuer=ISSUER))
    assert await store.counts(ID, 0, K) == {}
    await store.add(reports([2], 4, survey=COURTEOUS))
    both = {ISSUER: [0, 2, 0, 0, 0], None: [0, 0, 0, 0, 1]}
    assert await store.counts(ID, 0, K) == both
    await store.add(reports([3], 4, survey=COURTEOUS, issuer=ISSUER))
    assert await store.counts(ID, 0, K) == both


@pytest.mark.asyncio
async def test_figures_tell_how_many_reports_nobody_trusts_any_more(store: Store) -> None:
    await publish(store, COURTEOUS)
    assert await shown_figures(store, COURTEOUS, None) is None
    await store.add(reports(range(2), 1, survey=COURTEOUS, issuer=ISSUER))
    assert await shown_figures(store, COURTEOUS, 0) is None
    await store.add(reports(range(2, 5), 3, survey=COURTEOUS))
    assert await shown_figures(store, COURTEOUS, None) == Figures(0, [0, 2, 0, 3, 0], 0)
    await store.distrust(ISSUER, NOW)
    await store.distrust(OTHER_ISSUER, NOW)
    assert await shown_figures(store, COURTEOUS, 0) == Figures(0, [0, 2, 0, 3, 0], 2)


@pytest.mark.asyncio
async def test_figures_tell_the_seal_that_makes_them_final(store: Store) -> None:
    await publish(store, COURTEOUS)
    await store.add(reports(range(3), 1, survey=COURTEOUS))
    seal = await store.seal(ID, 0, NOW)
    assert await shown_figures(store, COURTEOUS, None) == Figures(
        0, [0, 3, 0, 0, 0], 0, seal.digest
    )


@pytest.mark.asyncio
async def test_repeats_and_conflicts_advance_nothing(store: Store) -> None:
    await publish(store, COURTEOUS)
    await store.add(reports(range(2), survey=COURTEOUS))
    for _ in range(3):
        assert await store.add(reports(range(2), survey=COURTEOUS)) == [D, D]
        await store.add(reports(range(2), 1, survey=COURTEOUS))
    assert await shown(store) == 0


@pytest.mark.asyncio
async def test_each_epoch_needs_its_own_minimum(store: Store) -> None:
    await publish(store, COURTEOUS)
    await store.add(reports(range(2), epoch=0, survey=COURTEOUS))
    await store.add(reports(range(2), epoch=1, survey=COURTEOUS))
    assert [await shown(store, 0), await shown(store, 1)] == [0, 0]
    await store.add(reports([2], epoch=1, survey=COURTEOUS))
    assert [await shown(store, 0), await shown(store, 1)] == [0, 3]


@pytest.mark.asyncio
async def test_one_group_that_fills_two_epochs_advances_both(store: Store) -> None:
    await publish(store, COURTEOUS)
    await asyncio.gather(
        store.add(reports(range(2), epoch=0, survey=COURTEOUS)),
        store.add(reports(range(3), epoch=1, survey=COURTEOUS)),
        store.add(reports([2], epoch=0, survey=COURTEOUS)),
    )
    assert [await shown(store, 0), await shown(store, 1)] == [3, 3]


@pytest.mark.asyncio
async def test_figures_and_their_step_survive_a_restart(place: Place) -> None:
    store = await place.open()
    await publish(store, COURTEOUS)
    await store.add(reports(range(3), survey=COURTEOUS))
    assert await shown(store) == 3
    await store.add(reports(range(3, 5), survey=COURTEOUS))
    await store.close()
    store = await place.open()
    assert await shown(store) == 3
    await store.add(reports([5], survey=COURTEOUS))
    assert await shown(store) == 6
    await store.close()


@pytest.mark.asyncio
@pytest.mark.parametrize("minimum", [0, 1])
async def test_without_a_minimum_every_report_is_shown_at_once(store: Store, minimum: int) -> None:
    survey = manifest(name="at-once", minimum_reports=minimum)
    await publish(store, survey)
    for device in range(3):
        await store.add([report(device, survey=survey)])
        assert sum(await counts(store, 0, survey)) == device + 1
    assert await store.newest_epoch(survey.survey_id) == 0


@pytest.mark.asyncio
async def test_the_largest_minimum_of_the_protocol_shows_nothing(store: Store) -> None:
    survey = manifest(name="never", minimum_reports=2**63 - 1)
    await publish(store, survey)
    assert await store.add(reports(range(50), survey=survey)) == [A] * 50
    assert sum(await counts(store, 0, survey)) == 0


@pytest.mark.asyncio
async def test_the_newest_epoch_is_the_latest_that_has_a_figure(store: Store) -> None:
    await publish(store, COURTEOUS)
    assert await store.newest_epoch(ID) is None
    await store.add(reports(range(2), epoch=6, survey=COURTEOUS))
    assert await store.newest_epoch(ID) is None
    await store.add(reports(range(3), epoch=2, survey=COURTEOUS))
    assert await store.newest_epoch(ID) == 2
    await store.add(reports(range(3), epoch=1, survey=COURTEOUS))
    assert await store.newest_epoch(ID) == 2
    await store.add(reports([2], epoch=6, survey=COURTEOUS))
    assert await store.newest_epoch(ID) == 6
    # Another survey's epochs are its own.
    assert await store.newest_epoch(MANIFEST.survey_id) is None
