"""A store as a whole: moved away it takes and shows nothing; its clock and last backup."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest

from deniable.counterparts.signing import sign_rotation
from deniable.messages import Rotation, SigningKey
from deniable.stores import KEPT_SECONDS, LogExtension, Note, Role, Store, StoreMoved, Token
from deniable.stores.rules.copying import ReceiptRow, StoredRow
from tests.stores.databases import many
from tests.stores.fullness import COURTEOUS, GONE, NEXT, TOKEN, everything, fill_at_once
from tests.stores.places import NOW, OTHER_ISSUER, A, D, Place, publish, reports
from tests.support.surveys import MANIFEST, manifest

TO = "postgresql://elsewhere/deniable"
AFTER = SigningKey(b"authority seed of the tests 0003")


@pytest.fixture
async def moved(place: Place) -> AsyncIterator[Store]:
    """Yield a store with everything in it, moved away by another that is open."""
    store, other = await place.open(), await place.open()
    await fill_at_once(store)
    await other.move_away(TO)
    await other.close()
    yield store
    await store.close()


async def _nothing() -> AsyncIterator[Sequence[StoredRow]]:
    return
    yield


async def _rotate(store: Store) -> None:
    rotation = Rotation(NEXT.public_key, AFTER.public_key, 2)
    await store.rotate(rotation, sign_rotation(rotation, NEXT, AFTER), lambda signed: signed)


REFUSED: dict[str, Callable[[Store], Awaitable[object]]] = {
    "figures": lambda store: store.counts(MANIFEST.survey_id, 0),
    "how many reports": lambda store: store.reports(MANIFEST.survey_id, 0),
    "all that is counted": lambda store: store.counted(MANIFEST.survey_id, 0),
    "newest epoch": lambda store: store.newest_epoch(MANIFEST.survey_id),
    "oldest epoch": lambda store: store.oldest_epoch(MANIFEST.survey_id),
    "check": lambda store: store.check_unmoved(),
    "add": lambda store: store.add(reports([50])),
    "add a duplicate": lambda store: store.add(reports([0], 1)),
    "publish": lambda store: publish(store, manifest(name="new")),
    "publish again": publish,
    "rotate": _rotate,
    "step of figures": lambda store: store.counts(COURTEOUS.survey_id, 0),
    "seal": lambda store: store.seal(MANIFEST.survey_id, 0, NOW),
    "prune": lambda store: store.prune(MANIFEST.survey_id, 1, NOW + KEPT_SECONDS),
    "end": lambda store: store.end(MANIFEST.survey_id, NOW),
    "distrust": lambda store: store.distrust(OTHER_ISSUER, NOW),
    "add a token": lambda store: store.add_token(Token(bytes(32), Role.ANALYST, "", NOW)),
    "revoke a token": lambda store: store.revoke_token(TOKEN.digest),
    "open a survey": lambda store: store.set_public(MANIFEST.name, public=True),
    "add a note": lambda store: store.add_note(MANIFEST.name, Note(NOW, "2.0 released")),
    "remove a note": lambda store: store.remove_note(GONE.name, Note(NOW, "2.0 released")),
    "extend the log": lambda store: store.extend_log(LogExtension(3, (), "another key's\n")),
    "cosign the log": lambda store: store.cosign_log(lambda checkpoint: (checkpoint, True)),
    "note a backup": lambda store: store.note_backup(NOW),
    "ping": lambda store: store.ping(),
    "fill": lambda store: store.fill(_nothing()),
}


async def test_s8_a_moved_store_takes_and_shows_nothing_until_that_is_undone(moved: Store) -> None:
    await moved.cancel_move()
    await moved.add(reports([60, 61], survey=COURTEOUS))  # a step of the figures is due
    await moved.move_away(TO)
    before = [chunk async for chunk in moved.rows()]
    for work in REFUSED.values():
        with pytest.raises(StoreMoved, match=r"moved to postgresql://elsewhere/deniable; .* once"):
            await work(moved)
        assert [chunk async for chunk in moved.rows()] == before
    assert await moved.check() == []
    await moved.cancel_move()
    assert await moved.moved_to() is None
    for name, work in REFUSED.items():
        if name != "fill":  # which only an empty store takes
            await work(moved)


async def test_s8_the_mark_outlives_the_process(moved: Store, place: Place) -> None:
    await moved.move_away(TO)
    with pytest.raises(StoreMoved):
        await moved.move_away("somewhere else")
    held = [chunk async for chunk in moved.rows()]
    again = await place.open()
    assert await again.moved_to() == TO
    assert [chunk async for chunk in again.rows()] == held
    await again.cancel_move()
    await again.cancel_move()
    assert await everything(again) == await everything(moved)
    assert await moved.add(reports([0, 50], 1)) == [D, A]
    await again.close()


async def test_s8_whatever_was_acknowledged_before_the_mark_is_there_to_copy(place: Place) -> None:
    stores = [await place.open() for _ in range(3)]
    await publish(stores[0])
    acknowledged: set[bytes] = set()
    enough = asyncio.Event()

    async def send(store: Store, start: int) -> None:
        for first in range(start, start + 100_000, 7):
            group = many(7, first)
            try:
                assert await store.add(group) == [A] * 7
            except StoreMoved:
                return
            acknowledged.update(receipt.key for receipt in group)
            if len(acknowledged) > 200:
                enough.set()
        pytest.fail("the store was never moved")

    async def copied() -> set[bytes]:
        await enough.wait()
        await stores[2].move_away(TO)
        return {
            row.key
            async for chunk in stores[2].rows()
            for row in chunk
            if isinstance(row, ReceiptRow)
        }

    copying = asyncio.create_task(copied())
    await asyncio.gather(*(send(stores[n % 3], n * 100_000) for n in range(6)))
    assert acknowledged <= await copying
    for store in stores:
        await store.close()


async def test_the_last_backup_is_remembered_and_the_clock_is_the_machines(place: Place) -> None:
    store, other = await place.open(), await place.open()
    assert await store.backed_up_at() is None
    for at in (NOW, NOW + 5):
        await store.note_backup(at)
    assert await other.backed_up_at() == NOW + 5
    assert abs(await store.time() - time.time()) < 60  # what upkeep allows
    for each in (store, other):
        await each.close()
