"""S6: receipts are erased no sooner than a day after their epoch's seal; counts stay."""

import asyncio
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.stores import KEPT_SECONDS, NotSealed, Store, StoreError
from deniable.stores.sqlite import sealing
from deniable.stores.sqlite.database import SqliteDatabase
from tests.stores.databases import hooked_store, many
from tests.stores.places import NOW, A, D, Place, S, SqlitePlace, counts, publish, reports
from tests.support.reports import report
from tests.support.surveys import MANIFEST, manifest

ID = MANIFEST.survey_id
LATER = NOW + KEPT_SECONDS
OTHER = manifest(name="another-survey")


@pytest.mark.asyncio
async def test_s6_receipts_go_and_counts_and_seal_stay(store: Store) -> None:
    await store.add([*reports(range(4), 2), report(9, 1)])
    seal = await store.seal(ID, 0, NOW)
    assert await store.prune(ID, 0, LATER) == 5
    assert await counts(store) == [0, 1, 4, 0, 0]
    assert await store.seals(ID) == [replace(seal, pruned_at=LATER)]
    assert await store.add([report(1, 2), report(20)]) == [S, S]
    assert await store.check() == []


@pytest.mark.asyncio
async def test_s6_an_open_epoch_keeps_its_receipts(store: Store) -> None:
    await store.add(reports(range(3)))
    with pytest.raises(NotSealed):
        await store.prune(ID, 0, LATER)
    assert await store.add(reports(range(4))) == [D, D, D, A]


@pytest.mark.asyncio
@pytest.mark.parametrize("early", [1, KEPT_SECONDS, 10 * KEPT_SECONDS])
async def test_s6_receipts_are_kept_a_whole_day(store: Store, early: int) -> None:
    await store.add(reports(range(3)))
    seal = await store.seal(ID, 0, NOW)
    with pytest.raises(NotSealed):
        await store.prune(ID, 0, LATER - early)
    assert await store.seals(ID) == [seal]
    assert await store.prune(ID, 0, LATER) == 3


@pytest.mark.asyncio
async def test_pruning_again_finds_nothing_and_changes_nothing(store: Store) -> None:
    await store.add(reports(range(3)))
    await store.seal(ID, 0, NOW)
    await store.prune(ID, 0, LATER)
    assert await store.prune(ID, 0, LATER + 5) == 0
    assert [seal.pruned_at for seal in await store.seals(ID)] == [LATER]


@pytest.mark.asyncio
async def test_an_epoch_without_receipts_is_pruned_too(store: Store) -> None:
    await store.seal(ID, 0, NOW)
    assert await store.prune(ID, 0, LATER) == 0
    assert [seal.pruned_at for seal in await store.seals(ID)] == [LATER]


@pytest.mark.asyncio
async def test_other_epochs_and_surveys_keep_their_receipts(store: Store) -> None:
    await publish(store, OTHER)
    kept = [*reports(range(3), epoch=1), *reports(range(3), survey=OTHER)]
    await store.add([*reports(range(3)), *kept])
    await store.seal(ID, 0, NOW)
    assert await store.prune(ID, 0, LATER) == 3
    assert await store.add(kept) == [D] * 6


@pytest.mark.asyncio
async def test_two_collectors_that_prune_at_once_erase_each_receipt_once(
    place: Place, store: Store
) -> None:
    other = await place.open()
    await store.add(reports(range(60)))
    await store.seal(ID, 0, NOW)
    erased = await asyncio.gather(*(each.prune(ID, 0, LATER) for each in (store, other)))
    assert sum(erased) == 60
    assert await counts(store) == [60, 0, 0, 0, 0]
    assert await store.check() == []
    await other.close()


@pytest.mark.asyncio
async def test_reports_of_other_epochs_are_stored_meanwhile(store: Store) -> None:
    await store.add(reports(range(50)))
    await store.seal(ID, 0, NOW)
    erased, *added = await asyncio.gather(
        store.prune(ID, 0, LATER), *(store.add([report(n, epoch=1)]) for n in range(20))
    )
    assert erased == 50
    assert added == [[A]] * 20


@pytest.mark.asyncio
async def test_an_unknown_survey_cannot_be_pruned(store: Store) -> None:
    with pytest.raises(StoreError):
        await store.prune(OTHER.survey_id, 0, LATER)


@pytest.mark.asyncio
async def test_sqlite_erases_in_parts_and_goes_on_where_it_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "_ERASED_AT_ONCE", 7)
    file = SqlitePlace(tmp_path).file
    async with hooked_store(file) as store:
        await store.add([*many(50), *reports(range(3), epoch=1)])
        await store.seal(ID, 0, NOW)
        with closing(SqliteDatabase(file)) as interrupted:
            assert [sealing.erase(interrupted, ID, 0, LATER) for _ in range(2)] == [7, 7]
        assert await store.check() == []
        assert [seal.pruned_at for seal in await store.seals(ID)] == [None]
        assert await store.prune(ID, 0, LATER + 1) == 36
        assert [seal.pruned_at for seal in await store.seals(ID)] == [LATER + 1]
        assert await store.add(reports(range(3), epoch=1)) == [D] * 3
        assert await store.check() == []
