"""Surveys in the store: published once, in order, and kept as they were signed."""

import pytest

from deniable.messages import Manifest
from deniable.stores import Store, SurveyConflict
from tests.stores.places import A, Place, counts, publish
from tests.support.reports import report
from tests.support.surveys import manifest

SUCCESSOR = manifest(sequence=1)
LATER = manifest(sequence=5)


@pytest.mark.asyncio
async def test_publishing_the_same_survey_again_changes_nothing(store: Store) -> None:
    assert await store.add([report(1)]) == [A]
    envelope = await publish(store)
    assert await store.surveys() == [envelope]
    assert await counts(store) == [1, 0, 0, 0, 0]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "rival", [manifest(nonce=b"\1" * 16), manifest(question="Another question?")]
)
async def test_another_survey_of_the_same_sequence_is_a_conflict(
    store: Store, rival: Manifest
) -> None:
    before = await store.surveys()
    with pytest.raises(SurveyConflict):
        await publish(store, rival)
    assert await store.surveys() == before


@pytest.mark.asyncio
async def test_a_lower_sequence_than_the_newest_is_a_conflict(store: Store) -> None:
    await publish(store, LATER)
    with pytest.raises(SurveyConflict):
        await publish(store, SUCCESSOR)
    assert len(await store.surveys()) == 2


@pytest.mark.asyncio
async def test_a_conflict_does_not_block_the_next_survey(store: Store) -> None:
    with pytest.raises(SurveyConflict):
        await publish(store, manifest(nonce=b"\1" * 16))
    await publish(store, SUCCESSOR)
    assert await store.add([report(1, survey=SUCCESSOR)]) == [A]


@pytest.mark.asyncio
async def test_surveys_come_by_name_and_the_newest_first_as_they_were_signed(
    store: Store,
) -> None:
    successor = await publish(store, SUCCESSOR)
    first = await publish(store, manifest(name="a-first-name", sequence=9))
    last = await publish(store, manifest(name="z-last-name"))
    later = await publish(store, LATER)
    surveys = await store.surveys()
    assert surveys[0] == first
    assert surveys[1:3] == [later, successor]
    assert surveys[4] == last
    assert len(surveys) == 5


@pytest.mark.asyncio
async def test_predecessors_still_take_reports(store: Store) -> None:
    # Devices hold on to a manifest until they fetch the next one; ids are never pooled.
    await publish(store, SUCCESSOR)
    assert await store.add([report(1), report(1, survey=SUCCESSOR)]) == [A, A]
    assert await counts(store) == await counts(store, 0, SUCCESSOR) == [1, 0, 0, 0, 0]


@pytest.mark.asyncio
async def test_surveys_survive_a_restart_and_are_seen_by_other_connections(place: Place) -> None:
    store = await place.open()
    other = await place.open()
    envelope = await publish(store)
    assert await other.surveys() == [envelope]
    await store.close()
    await other.close()
    store = await place.open()
    assert await store.surveys() == [envelope]
    await store.close()


@pytest.mark.asyncio
async def test_an_open_store_answers_a_ping(store: Store) -> None:
    await store.ping()
