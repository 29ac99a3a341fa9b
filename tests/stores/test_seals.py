"""S4: a sealed epoch takes nothing, and a seal is final."""

import asyncio

import pytest

from deniable.stores import Seal, Store, StoreError, counts_digest
from tests.stores.places import (
    ISSUER,
    NOW,
    OTHER_ISSUER,
    A,
    C,
    D,
    K,
    Place,
    S,
    counts,
    publish,
    reports,
)
from tests.support.reports import report
from tests.support.surveys import MANIFEST, manifest

ID = MANIFEST.survey_id
OTHER = manifest(name="another-survey")


@pytest.mark.asyncio
async def test_s4_a_sealed_epoch_takes_neither_new_reports_nor_repeats(store: Store) -> None:
    assert await store.add([report(1, 0)]) == [A]
    await store.seal(ID, 0, NOW)
    assert await store.add([report(1, 0), report(1, 1), report(2, 0)]) == [S, S, S]
    assert await counts(store) == [1, 0, 0, 0, 0]


@pytest.mark.asyncio
async def test_s4_a_seal_holds_for_its_survey_and_epoch_alone(store: Store) -> None:
    await publish(store, OTHER)
    await store.seal(ID, 1, NOW)
    batch = [report(1, 0, epoch=epoch, survey=s) for s in (MANIFEST, OTHER) for epoch in (0, 1, 2)]
    assert await store.add(batch) == [A, S, A, A, A, A]


@pytest.mark.asyncio
async def test_s4_sealing_twice_is_sealing_once(store: Store) -> None:
    await store.seal(ID, 0, NOW)
    await store.seal(ID, 0, NOW)
    assert await store.add([report(1)]) == [S]


@pytest.mark.asyncio
async def test_s4_the_first_seal_stands_and_everybody_is_told_of_it(
    place: Place, store: Store
) -> None:
    await store.add(reports(range(3), 1))
    other = await place.open()
    first = await store.seal(ID, 0, NOW)
    assert first == Seal(0, NOW, 3, counts_digest(ID, 0, {None: [0, 3, 0, 0, 0]}), None)
    # Another collector's clock is late or early: no clock moves a seal.
    assert await other.seal(ID, 0, NOW - 100) == await store.seal(ID, 0, NOW + 100) == first
    assert await other.seals(ID) == await store.seals(ID) == [first]
    assert await other.standing_seal(ID, 0) == first
    assert await store.standing_seal(ID, 1) is None
    await other.close()


@pytest.mark.asyncio
async def test_s4_collectors_that_seal_at_once_get_the_same_seal(
    place: Place, store: Store
) -> None:
    other = await place.open()
    await store.add(reports(range(3)))
    found = await asyncio.gather(
        *(each.seal(ID, 0, NOW + n) for n in range(8) for each in (store, other))
    )
    assert len(set(found)) == 1
    assert await store.seals(ID) == found[:1]
    await other.close()


@pytest.mark.asyncio
async def test_s4_the_digest_is_that_of_all_that_was_counted(store: Store) -> None:
    courteous = manifest(name="courteous", minimum_reports=100)
    await publish(store, courteous)
    await store.add(
        [
            report(1, 4, survey=courteous, issuer=OTHER_ISSUER),
            report(2, 0, survey=courteous, issuer=ISSUER),
            report(3, 2, survey=courteous),
            report(4, 0, survey=courteous, issuer=ISSUER),
            report(4, 1, survey=courteous, issuer=ISSUER),
        ]
    )
    counted = {None: [0, 0, 1, 0, 0], ISSUER: [2, 0, 0, 0, 0], OTHER_ISSUER: [0, 0, 0, 0, 1]}
    # Whether figures show it yet is another matter.
    assert await counts(store, 0, courteous) == [0] * K
    seal = await store.seal(courteous.survey_id, 0, NOW)
    assert (seal.reports, seal.digest) == (4, counts_digest(courteous.survey_id, 0, counted))


@pytest.mark.asyncio
async def test_s4_an_epoch_without_reports_can_be_sealed(store: Store) -> None:
    assert await store.seal(ID, 5, NOW) == Seal(5, NOW, 0, counts_digest(ID, 5, {}), None)
    assert await store.add([report(1, epoch=5)]) == [S]


@pytest.mark.asyncio
async def test_seals_come_by_epoch_and_of_one_survey(store: Store) -> None:
    await publish(store, OTHER)
    assert await store.seals(ID) == []
    made = [await store.seal(ID, epoch, NOW + epoch) for epoch in (7, 0, 3)]
    assert await store.seals(ID) == [made[1], made[2], made[0]]
    assert await store.seals(OTHER.survey_id) == []


@pytest.mark.asyncio
async def test_s4_a_seal_is_durable(place: Place) -> None:
    store = await place.open()
    await publish(store)
    await store.seal(ID, 0, NOW)
    await store.close()
    store = await place.open()
    assert await store.add([report(1), report(1, epoch=1)]) == [S, A]
    await store.close()


@pytest.mark.asyncio
async def test_s4_publishing_the_survey_again_breaks_no_seal(store: Store) -> None:
    await store.seal(ID, 0, NOW)
    await publish(store)
    await publish(store, manifest(sequence=1))
    assert await store.add([report(1)]) == [S]


@pytest.mark.asyncio
async def test_s4_a_seal_of_another_connection_holds_at_once(place: Place, store: Store) -> None:
    # Read in the transaction of every insert, so that no cache of one process outlives it.
    assert await store.add([report(1)]) == [A]
    other = await place.open()
    await other.seal(ID, 0, NOW)
    await other.close()
    assert await store.add([report(1), report(2)]) == [S, S]


@pytest.mark.asyncio
async def test_s4_while_seal_and_reports_race_each_batch_is_taken_wholly_or_not(
    place: Place, store: Store
) -> None:
    other = await place.open()
    sealed = False

    async def send(start: int) -> tuple[bool, list[object]]:
        after_seal = sealed
        return after_seal, list(await store.add(reports(range(start, start + 4))))

    async def seal() -> None:
        nonlocal sealed
        await other.seal(ID, 0, NOW)
        sealed = True

    answers = await asyncio.gather(
        *(send(4 * n) for n in range(10)), seal(), *(send(4 * n) for n in range(10, 20))
    )
    later = [await send(4 * n) for n in range(20, 23)]
    await other.close()
    outcomes = [answer for answer in [*answers, *later] if answer is not None]
    assert len(outcomes) == 23
    for after_seal, verdicts in outcomes:
        assert verdicts in ([S] * 4, [A] * 4)
        assert verdicts == [S] * 4 or not after_seal
    taken = sum(verdicts == [A] * 4 for _, verdicts in outcomes)
    assert (await counts(store))[0] == 4 * taken


@pytest.mark.asyncio
async def test_figures_of_a_sealed_epoch_stay(store: Store) -> None:
    assert await store.add([report(1, 2), report(2, 2), report(1, 2), report(2, 0)]) == [A, A, D, C]
    await store.seal(ID, 0, NOW)
    assert await counts(store) == [0, 0, 2, 0, 0]
    assert await store.newest_epoch(ID) == 0


@pytest.mark.asyncio
async def test_an_unknown_survey_cannot_be_sealed(store: Store) -> None:
    with pytest.raises(StoreError):
        await store.seal(OTHER.survey_id, 0, NOW)
    with pytest.raises(StoreError):
        await store.seals(OTHER.survey_id)
    with pytest.raises(StoreError):
        await store.standing_seal(OTHER.survey_id, 0)
