"""S1 to S3: first write wins, in index order, counted once, and for good."""

import asyncio

import pytest

from deniable.stores import Store, StoreError
from tests.stores.places import A, C, D, K, Place, counts, publish, reports
from tests.support.reports import report
from tests.support.surveys import manifest

OTHER = manifest(name="another-survey")


@pytest.mark.asyncio
async def test_s2_the_first_report_stands_and_later_ones_repeat_or_contradict_it(
    store: Store,
) -> None:
    assert await store.add([report(1, 3)]) == [A]
    assert await store.add([report(1, 3)]) == [D]
    assert await store.add([report(1, 4)]) == [C]
    # The conflict changed nothing: the first response is still the one that repeats.
    assert await store.add([report(1, 3)]) == [D]
    assert await store.add([report(1, 4)]) == [C]
    assert await counts(store) == [0, 0, 0, 1, 0]


@pytest.mark.asyncio
async def test_s2_order_within_a_batch_decides(store: Store) -> None:
    batch = [report(1, 0), report(2, 1), report(1, 0), report(1, 1), report(2, 1), report(3, 1)]
    assert await store.add(batch) == [A, A, D, C, D, A]
    assert await counts(store) == [1, 2, 0, 0, 0]


@pytest.mark.asyncio
async def test_s2_order_across_a_commit_group_decides(store: Store) -> None:
    verdicts = await asyncio.gather(
        store.add([report(1, 0), report(2, 0)]),
        store.add([report(1, 0), report(2, 1), report(3, 1)]),
        store.add([report(3, 0), report(3, 1)]),
    )
    assert [*verdicts] == [[A, A], [D, C, A], [C, D]]
    assert await counts(store) == [2, 1, 0, 0, 0]


@pytest.mark.asyncio
async def test_s2_many_concurrent_requests_about_one_device_store_one_report(store: Store) -> None:
    answers = await asyncio.gather(*(store.add([report(1, n % K)]) for n in range(50)))
    verdicts = [verdict for (verdict,) in answers]
    assert verdicts.count(A) == 1
    assert verdicts.count(D) == 50 // K - 1
    assert verdicts.count(C) == 50 - 50 // K
    assert sum(await counts(store)) == 1


@pytest.mark.asyncio
async def test_s2_two_connections_agree_on_who_was_first(place: Place, store: Store) -> None:
    other = await place.open()
    try:
        answers = await asyncio.gather(
            *(way.add([report(device, 0)]) for device in range(20) for way in (store, other))
        )
        pairs = [(*answers[i], *answers[i + 1]) for i in range(0, 40, 2)]
        assert set(pairs) <= {(A, D), (D, A)}
        assert await counts(other) == await counts(store) == [20, 0, 0, 0, 0]
    finally:
        await other.close()


@pytest.mark.asyncio
async def test_s2_identity_is_survey_epoch_and_key_together(store: Store) -> None:
    await publish(store, OTHER)
    first = report(1, 0)
    same_key = [
        first._replace(epoch=1),
        first._replace(survey_id=OTHER.survey_id),
        first._replace(key=first.key[::-1]),
    ]
    assert await store.add([first]) == [A]
    assert await store.add(same_key) == [A, A, A]
    assert await store.add([first, *same_key]) == [D, D, D, D]
    assert await counts(store, 0) == [2, 0, 0, 0, 0]
    assert await counts(store, 1) == [1, 0, 0, 0, 0]
    assert await counts(store, 0, OTHER) == [1, 0, 0, 0, 0]


@pytest.mark.asyncio
async def test_s1_what_was_acknowledged_is_known_after_a_restart(place: Place) -> None:
    store = await place.open()
    await publish(store)
    assert await store.add([report(1, 0), report(2, 1)]) == [A, A]
    await store.close()
    store = await place.open()
    assert await counts(store) == [1, 1, 0, 0, 0]
    assert await store.add([report(1, 0), report(2, 0), report(3, 0)]) == [D, C, A]
    assert await counts(store) == [2, 1, 0, 0, 0]
    await store.close()


@pytest.mark.asyncio
async def test_s3_counts_are_those_of_the_receipts(store: Store) -> None:
    for response in range(K):
        await store.add(reports(range(100 * response, 100 * response + 7 * response), response))
    await store.add(reports(range(0, 500, 3), 1))
    expected = [0, 7, 14, 21, 28]
    fresh = [n for n in range(0, 500, 3) if not n % 100 < 7 * (n // 100)]
    expected[1] += len(fresh)
    assert await counts(store) == expected


@pytest.mark.asyncio
async def test_counts_are_kept_apart_by_epoch_and_survey(store: Store) -> None:
    await publish(store, OTHER)
    await store.add(
        [report(1, 0), report(1, 1, epoch=7), report(1, 2, survey=OTHER), report(2, 1, epoch=7)]
    )
    assert await counts(store, 0) == [1, 0, 0, 0, 0]
    assert await counts(store, 7) == [0, 2, 0, 0, 0]
    assert await counts(store, 0, OTHER) == [0, 0, 1, 0, 0]
    assert await counts(store, 7, OTHER) == [0, 0, 0, 0, 0]


@pytest.mark.asyncio
async def test_an_empty_batch_stores_nothing(store: Store) -> None:
    assert await store.add([]) == []
    assert await counts(store) == [0, 0, 0, 0, 0]


@pytest.mark.asyncio
async def test_a_survey_that_is_not_in_the_store_takes_and_shows_nothing(store: Store) -> None:
    with pytest.raises(StoreError):
        await store.add([report(1, 0), report(1, 0, survey=OTHER)])
    with pytest.raises(StoreError):
        await counts(store, 0, OTHER)
    with pytest.raises(StoreError):
        await store.newest_epoch(OTHER.survey_id)
    # Nothing of the batch was stored.
    assert await counts(store) == [0, 0, 0, 0, 0]
    assert await store.add([report(1, 1)]) == [A]


@pytest.mark.asyncio
async def test_a_survey_published_by_another_connection_is_found(
    place: Place, store: Store
) -> None:
    other = await place.open()
    await publish(other, OTHER)
    await other.close()
    assert await store.add([report(1, 0, survey=OTHER)]) == [A]
    assert await counts(store, 0, OTHER) == [1, 0, 0, 0, 0]
