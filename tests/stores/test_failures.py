"""What a store that fails does: exactly the group at hand is refused, and nothing of it stored."""

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

from deniable.stores import Role, StoreError, StoreFull, Token, UnknownSchema
from deniable.stores.sqlite.database import SqliteDatabase
from tests.stores.databases import hooked_store, many
from tests.stores.places import A, D, counts
from tests.support.processes import child
from tests.support.reports import report
from tests.support.surveys import MANIFEST, START

TOKEN = Token(bytes(32), Role.ANALYST, "", START)


async def test_a_full_disk_refuses_the_whole_group_and_keeps_what_was_before(file: Path) -> None:
    async with hooked_store(file) as store:
        assert await store.add(many(10)) == [A] * 10
        most = store.pragma("max_page_count")
        store.pragma(f"max_page_count={store.pragma('page_count')}")
        answers = await asyncio.gather(
            store.add(many(300, 10)), store.add(many(2, 310)), return_exceptions=True
        )
        assert [type(answer) for answer in answers] == [StoreFull, StoreFull]
        assert await counts(store) == [10, 0, 0, 0, 0]
        store.pragma(f"max_page_count={most}")
        # There is room again: repeats are known, and nothing of the failed group is.
        assert await store.add(many(312)) == [D] * 10 + [A] * 302
        assert await counts(store) == [312, 0, 0, 0, 0]


FROZEN = """
import os, signal, sys
from pathlib import Path
from deniable.stores.sqlite.database import SqliteDatabase
with SqliteDatabase(Path(sys.argv[1])).transaction():
    os.kill(os.getpid(), signal.SIGSTOP)
"""


async def test_a_frozen_writer_is_an_error_and_silences_nobody_for_long(file: Path) -> None:
    async with hooked_store(file, patience=0.1) as store:
        assert await store.add([report(1)]) == [A]
        with child([sys.executable, "-c", FROZEN, str(file)]) as frozen:
            await asyncio.to_thread(os.waitpid, frozen.pid, os.WUNTRACED)
            with pytest.raises(StoreError, match="locked") as caught:
                await store.add([report(2)])
            assert not isinstance(caught.value, StoreFull)
            for write in (store.seal(MANIFEST.survey_id, 0, START), store.add_token(TOKEN)):
                with pytest.raises(StoreError, match="locked"):
                    await write
            # Reading goes on: writers do not lock readers out.
            assert await counts(store) == [1, 0, 0, 0, 0]
            frozen.kill()
            frozen.wait()
        assert await store.add([report(1), report(2)]) == [D, A]
        assert len(await store.surveys()) == 1


def test_what_is_no_store_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "thing").write_text("not a database " * 100, "utf-8")
    (tmp_path / "things").mkdir()
    for path in ("thing", "things", "nothing/store.sqlite"):
        with pytest.raises(StoreError, match="thing") as caught:
            SqliteDatabase(tmp_path / path)
        assert not isinstance(caught.value, UnknownSchema)


def take_away(file: Path, *, replaced: bool) -> None:
    moved = file.rename(file.with_name("moved"))
    if replaced:
        shutil.copyfile(moved, file)


@pytest.mark.parametrize("replaced", [False, True])
async def test_s1_in_a_file_that_is_gone_nothing_is_stored(file: Path, replaced: bool) -> None:
    async with hooked_store(file) as store:
        assert await store.add(many(3)) == [A] * 3
        take_away(file, replaced=replaced)
        for write in (store.add(many(2, 3)), store.ping()):
            with pytest.raises(StoreError, match="deleted or replaced"):
                await write
