"""Rows and their copies: every kind of store can be copied into every other, as of one moment."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deniable.stores import SqliteStore, Store, StoreError
from deniable.stores.rules.copying import COLUMNS, ROWS_AT_ONCE, Part
from tests.stores.fullness import COURTEOUS, everything, fill_at_once, fill_with_everything
from tests.stores.places import Place, counts, publish, reports
from tests.support.reports import report


async def rows_of(store: Store) -> list[Part]:
    return [chunk async for chunk in store.rows()]


async def test_a_copy_answers_as_the_original_does(place: Place, other_place: Place) -> None:
    original, copy = await place.open(), await other_place.open()
    await fill_with_everything(original)
    await copy.fill(original.rows())
    assert await copy.check() == []
    assert await everything(copy) == await everything(original)
    again = [
        *reports(range(7), 1),
        *reports(range(7), 1, epoch=1),
        *reports(range(7), 1, survey=COURTEOUS),
    ]
    assert await copy.add(again) == await original.add(again)
    assert await everything(copy) == await everything(original)
    for store in (original, copy):
        await store.close()


async def test_tables_come_in_their_order_and_whole(place: Place) -> None:
    store = await place.open()
    assert await rows_of(store) == []
    await fill_with_everything(store)
    parts = await rows_of(store)
    assert [part.table for part in parts] == [*COLUMNS]
    assert all(len(row) == len(COLUMNS[part.table]) for part in parts for row in part.rows)
    rows = {part.table: part.rows for part in parts}
    # Three surveys with 7 receipts in each of three epochs, of two of which one is pruned.
    assert len(rows["receipts"]) == 2 * 2 * 7 + 3 * 7 + 1
    assert sum(reports for *_, reports in rows["published_counts"]) == 7
    await store.close()


async def test_many_rows_come_in_parts_and_of_one_moment(place: Place, other_place: Place) -> None:
    store, copy = await place.open(), await other_place.open()
    await publish(store)
    template = report(0)
    many = [template._replace(key=n.to_bytes(16, "big")) for n in range(ROWS_AT_ONCE + 50)]
    for start in range(0, len(many), 5_000):
        await store.add(many[start : start + 5_000])
    chunks = store.rows()
    first = await anext(chunks)
    await store.add([report(1, 1), report(2, 1)])

    async def rest() -> AsyncIterator[Part]:
        yield first
        async for chunk in chunks:
            assert len(chunk.rows) <= ROWS_AT_ONCE
            yield chunk

    await copy.fill(rest())
    assert await counts(copy) == [len(many), 0, 0, 0, 0]
    assert await counts(store) == [len(many), 2, 0, 0, 0]
    assert await copy.check() == []
    for each in (store, copy):
        await each.close()


async def test_only_an_empty_store_is_filled(place: Place, tmp_path: Path) -> None:
    source = await place.open()
    await fill_at_once(source)
    chunks = await rows_of(source)

    async def only(chunk: Part) -> AsyncIterator[Part]:
        yield chunk

    for table in ("surveys", "rotations", "issuers", "tokens"):
        (chunk,) = (each for each in chunks if each.table == table)
        copy = await SqliteStore.open(tmp_path / table)
        await copy.fill(only(chunk))
        with pytest.raises(StoreError, match="not empty"):
            await copy.fill(source.rows())
        assert await rows_of(copy) == [chunk]
        await copy.close()
    await source.close()


async def test_a_copy_that_fails_half_way_was_not_made(place: Place, other_place: Place) -> None:
    original, copy = await place.open(), await other_place.open()
    await fill_at_once(original)
    chunks = await rows_of(original)

    async def breaks(some: list[Part]) -> AsyncIterator[Part]:
        for chunk in some:
            yield chunk
        raise OSError("the medium was taken out")

    # All but a few, and all without the surveys that they are of.
    for some, error in ((chunks[:-2], OSError), (chunks[1:], StoreError)):
        with pytest.raises(error):
            await copy.fill(breaks(some))
        assert await rows_of(copy) == []
    await copy.fill(original.rows())
    assert await everything(copy) == await everything(original)
    for each in (original, copy):
        await each.close()
