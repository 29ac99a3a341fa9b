"""Writers of one SQLite file take turns, whatever process they are in."""

import asyncio
import errno
import fcntl
import os
from contextlib import closing
from pathlib import Path

import pytest

from deniable.stores import StoreError
from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.sqlite.turns import Turns
from tests.stores.databases import SECONDS, hooked_store, many
from tests.stores.places import A, D, SqlitePlace, counts


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return SqlitePlace(tmp_path).file


@pytest.mark.asyncio
async def test_who_writes_waits_for_the_turn_and_readers_do_not(file: Path) -> None:
    async with hooked_store(file) as store:
        with closing(Turns(file)) as others:
            with others.mine():
                adding = asyncio.create_task(store.add(many(3)))
                assert await counts(store) == [0, 0, 0, 0, 0]
                assert (await asyncio.wait({adding}, timeout=0.2))[1] == {adding}
            assert await asyncio.wait_for(adding, SECONDS) == [A] * 3


@pytest.mark.asyncio
async def test_a_turn_ends_also_with_a_failure(file: Path) -> None:
    async with hooked_store(file) as store:
        for _ in range(2):
            with (
                closing(SqliteDatabase(file)) as other,
                pytest.raises(ZeroDivisionError),
                other.transaction(),
            ):
                raise ZeroDivisionError
            await store.add(many(3))
        assert await store.add(many(3)) == [D] * 3


@pytest.mark.asyncio
async def test_without_the_file_beside_it_a_store_still_counts_once(file: Path) -> None:
    async with hooked_store(file) as store:
        file.with_name(f"{file.name}-lock").unlink()
        async with hooked_store(file) as other:  # makes another
            answers = await asyncio.gather(
                *(each.add(many(40, start)) for start in (0, 20) for each in (store, other))
            )
            assert sum(verdicts.count(A) for verdicts in answers) == 60
            assert sum(await counts(other)) == 60


def test_the_file_beside_the_store_is_for_its_owner_alone(file: Path) -> None:
    SqliteDatabase(file).close()
    assert file.with_name("store.sqlite-lock").stat().st_mode & 0o777 == 0o600


@pytest.mark.asyncio
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EIO])
async def test_a_lock_that_the_system_refuses_is_an_error_of_the_store(
    file: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    async with hooked_store(file) as store:
        with monkeypatch.context() as broken:

            def refuse(*_: object) -> None:
                raise OSError(number, os.strerror(number))

            broken.setattr(fcntl, "flock", refuse)
            with pytest.raises(StoreError, match="lock beside the store"):
                await store.add(many(3))
        assert await store.add(many(3)) == [A] * 3
