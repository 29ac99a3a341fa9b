"""Rows and their copies: every kind of store can be copied into every other, as of one moment."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from deniable.stores import NotEmpty, SqliteStore, Store, StoreError
from deniable.stores.rules.copying import ROW_TYPES, ROWS_AT_ONCE, ReceiptRow, ShownRow, StoredRow
from tests.stores.fullness import COURTEOUS, everything, fill_at_once, fill_with_everything
from tests.stores.places import Place, counts, publish, reports
from tests.support.reports import report


async def rows_of(store: Store) -> list[Sequence[StoredRow]]:
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


async def test_rows_come_in_the_order_of_their_types_and_name_no_numbers(place: Place) -> None:
    store = await place.open()
    assert await rows_of(store) == []
    await fill_with_everything(store)
    chunks = await rows_of(store)
    kinds = [type(chunk[0]) for chunk in chunks]
    assert kinds == sorted(kinds, key=ROW_TYPES.index)
    assert set(kinds) == set(ROW_TYPES)
    assert all(
        {type(row) for row in chunk} == {kind} for chunk, kind in zip(chunks, kinds, strict=True)
    )
    flat = [row for chunk in chunks for row in chunk]
    # Three surveys with 7 receipts in each of three epochs, of two of which one is pruned.
    receipts = [row for row in flat if isinstance(row, ReceiptRow)]
    assert len(receipts) == 2 * 2 * 7 + 3 * 7 + 1
    assert {len(row.survey_id) for row in receipts} == {32}
    assert Counter(len(row.issuer) for row in receipts)[32] == 3 * 7
    assert sum(row.reports for row in flat if isinstance(row, ShownRow)) == 7
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

    async def rest() -> AsyncIterator[Sequence[StoredRow]]:
        yield first
        async for chunk in chunks:
            assert len(chunk) <= ROWS_AT_ONCE
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

    async def only(chunk: Sequence[StoredRow]) -> AsyncIterator[Sequence[StoredRow]]:
        yield chunk

    for number in (0, 1, 2, len(ROW_TYPES) - 1):  # surveys, rotations, issuers, tokens
        (chunk,) = (each for each in chunks if type(each[0]) is ROW_TYPES[number])
        copy = await SqliteStore.open(tmp_path / str(number))
        await copy.fill(only(chunk))
        with pytest.raises(NotEmpty):
            await copy.fill(source.rows())
        assert await rows_of(copy) == [chunk]
        await copy.close()
    await source.close()


async def test_a_copy_that_fails_half_way_was_not_made(place: Place, other_place: Place) -> None:
    original, copy = await place.open(), await other_place.open()
    await fill_at_once(original)
    chunks = await rows_of(original)

    async def breaks(some: list[Sequence[StoredRow]]) -> AsyncIterator[Sequence[StoredRow]]:
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
