"""S7: an ended survey takes nothing, nor does anything a distrusted issuer vouches for."""

import asyncio

import pytest

from deniable.stores import Store, StoreError
from tests.stores.places import (
    ISSUER,
    NOW,
    OTHER_ISSUER,
    A,
    C,
    D,
    E,
    Place,
    S,
    X,
    counts,
    publish,
    reports,
)
from tests.support.reports import report
from tests.support.surveys import MANIFEST, manifest

ID = MANIFEST.survey_id
OTHER = manifest(name="another-survey")


@pytest.mark.asyncio
async def test_s7_an_ended_survey_takes_neither_new_reports_nor_repeats(store: Store) -> None:
    await publish(store, OTHER)
    await store.add(reports(range(3)))
    await store.end(ID, NOW)
    batch = [report(1), report(1, 1), report(9), report(9, epoch=3), report(9, survey=OTHER)]
    assert await store.add(batch) == [E, E, E, E, A]
    assert await counts(store) == [3, 0, 0, 0, 0]
    assert await store.newest_epoch(ID) == 0


@pytest.mark.asyncio
async def test_s7_an_end_is_final_durable_and_seen_by_all_at_once(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await publish(store)
    assert await store.ended() == {}
    assert await other.add([report(1)]) == [A]
    await store.end(ID, NOW)
    assert await other.add([report(1), report(2)]) == [E, E]
    await other.end(ID, NOW + 50)
    await publish(store)
    await publish(store, manifest(sequence=1))
    assert await other.ended() == {ID: NOW}
    await store.close()
    await other.close()
    store = await place.open()
    assert await store.ended() == {ID: NOW}
    assert await store.add([report(2)]) == [E]
    await store.close()


@pytest.mark.asyncio
async def test_an_ended_survey_can_be_sealed(store: Store) -> None:
    await store.add(reports(range(3)))
    await store.end(ID, NOW)
    assert (await store.seal(ID, 0, NOW)).reports == 3
    assert await store.check() == []


@pytest.mark.asyncio
async def test_an_unknown_survey_cannot_be_ended(store: Store) -> None:
    with pytest.raises(StoreError):
        await store.end(OTHER.survey_id, NOW)
    assert await store.ended() == {}


@pytest.mark.asyncio
async def test_counts_are_kept_by_issuer(store: Store) -> None:
    await store.add(
        [
            report(1, 0, issuer=ISSUER),
            report(2, 3, issuer=ISSUER),
            report(3, 3, issuer=ISSUER),
            report(4, 3, issuer=OTHER_ISSUER),
            report(5, 1),
        ]
    )
    assert await store.counts(ID, 0, 5) == {
        ISSUER: [1, 0, 0, 2, 0],
        OTHER_ISSUER: [0, 0, 0, 1, 0],
        None: [0, 1, 0, 0, 0],
    }
    assert await store.counts(ID, 1, 5) == {}


@pytest.mark.asyncio
async def test_s2_who_vouches_is_no_part_of_a_reports_identity(store: Store) -> None:
    assert await store.add([report(1, issuer=ISSUER)]) == [A]
    again = [report(1, issuer=OTHER_ISSUER), report(1, 1, issuer=OTHER_ISSUER), report(1)]
    assert await store.add(again) == [D, C, D]
    assert await store.counts(ID, 0, 5) == {ISSUER: [1, 0, 0, 0, 0]}


@pytest.mark.asyncio
async def test_s7_what_a_distrusted_issuer_vouches_for_is_not_taken(store: Store) -> None:
    await publish(store, OTHER)
    await store.add([report(1, issuer=ISSUER), report(2, issuer=OTHER_ISSUER)])
    await store.distrust(ISSUER, NOW)
    batch = [
        report(1, issuer=ISSUER),
        report(3, issuer=ISSUER),
        report(3, issuer=OTHER_ISSUER),
        report(3, issuer=ISSUER),
        report(4),
        report(4, survey=OTHER, issuer=ISSUER),
    ]
    assert await store.add(batch) == [X, X, A, X, A, X]
    assert await store.distrusted() == {ISSUER}
    # What was counted before stays, and is told apart.
    assert (await store.counts(ID, 0, 5))[ISSUER] == [1, 0, 0, 0, 0]


@pytest.mark.asyncio
async def test_s7_distrust_is_final_durable_and_seen_by_all_at_once(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await publish(store)
    assert await store.distrusted() == frozenset()
    await store.distrust(ISSUER, NOW)  # who vouched for nothing yet
    await other.distrust(ISSUER, NOW + 1)
    assert await other.add([report(1, issuer=ISSUER)]) == [X]
    await store.close()
    await other.close()
    store = await place.open()
    assert await store.distrusted() == {ISSUER}
    assert await store.add([report(1, issuer=ISSUER)]) == [X]
    await store.close()


@pytest.mark.asyncio
async def test_of_several_reasons_the_first_in_the_protocols_order_is_given(store: Store) -> None:
    await publish(store, OTHER)
    await store.distrust(ISSUER, NOW)
    await store.seal(ID, 0, NOW)
    await store.seal(OTHER.survey_id, 0, NOW)
    await store.end(OTHER.survey_id, NOW)
    batch = [report(1, epoch=e, survey=s, issuer=ISSUER) for s in (OTHER, MANIFEST) for e in (0, 1)]
    assert await store.add(batch) == [E, E, S, X]


@pytest.mark.asyncio
async def test_s7_while_an_end_and_reports_race_each_batch_is_taken_wholly_or_not(
    place: Place, store: Store
) -> None:
    other = await place.open()
    answers = await asyncio.gather(
        *(store.add(reports(range(4 * n, 4 * n + 4))) for n in range(10)),
        other.end(ID, NOW),
        *(store.add(reports(range(4 * n, 4 * n + 4))) for n in range(10, 20)),
    )
    await other.close()
    verdicts = [answer for answer in answers if answer is not None]
    assert all(answer in ([A] * 4, [E] * 4) for answer in verdicts)
    assert (await counts(store))[0] == 4 * verdicts.count([A] * 4)
    assert await store.add([report(900)]) == [E]
