"""A store as a whole: its clock and its last backup."""

import time

from tests.stores.places import NOW, Place


async def test_the_last_backup_is_remembered_and_the_clock_is_the_machines(place: Place) -> None:
    store, other = await place.open(), await place.open()
    assert await store.backed_up_at() is None
    for at in (NOW, NOW + 5):
        await store.note_backup(at)
    assert await other.backed_up_at() == NOW + 5
    assert abs(await store.time() - time.time()) < 60  # what upkeep allows
    for each in (store, other):
        await each.close()
