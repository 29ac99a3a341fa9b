"""What a store that fails does: exactly the group at hand is refused, and nothing of it stored."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from deniable.stores import Role, SqliteStore, StoreError, StoreFull, Token, UnknownSchema
from deniable.stores.sqlite.database import SqliteDatabase
from tests.stores.databases import SECONDS, Gate, hooked_store, many
from tests.stores.places import A, D, counts, publish
from tests.support.processes import child
from tests.support.reports import report
from tests.support.surveys import MANIFEST, START, manifest

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


async def test_a_failed_commit_fails_its_group_and_not_the_next(file: Path) -> None:
    async with hooked_store(file) as store:
        gate = Gate()
        most = store.pragma("max_page_count")

        def first_group_is_too_large(group: int) -> None:
            now = store.pragma("page_count")
            store.pragma(f"max_page_count={most if group else now}")
            gate(group)

        store.before = first_group_is_too_large
        failing = asyncio.create_task(store.add(many(300)))
        assert await asyncio.to_thread(gate.reached.wait, SECONDS)
        following = asyncio.create_task(store.add(many(5)))
        gate.open()
        with pytest.raises(StoreFull):
            await failing
        assert await following == [A] * 5
        assert store.groups == [300, 5]
        assert await counts(store) == [5, 0, 0, 0, 0]


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
            for write in (
                store.seal(MANIFEST.survey_id, 0, START),
                publish(store, manifest(sequence=1)),
                store.add_token(TOKEN),
            ):
                with pytest.raises(StoreError, match="locked"):
                    await write
            # Reading goes on: writers do not lock readers out.
            assert await counts(store) == [1, 0, 0, 0, 0]
            frozen.kill()
            frozen.wait()
        assert await store.add([report(1), report(2)]) == [D, A]
        assert len(await store.surveys()) == 1


@pytest.mark.parametrize("kind", ["text", "directory", "no parent"])
def test_what_is_no_store_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "thing"
    if kind == "text":
        path.write_text("not a database " * 100, "utf-8")
    elif kind == "directory":
        path.mkdir()
    else:
        path = path / "store.sqlite"
    with pytest.raises(StoreError, match="thing") as caught:
        SqliteDatabase(path)
    assert not isinstance(caught.value, UnknownSchema)


def take_away(file: Path, *, replaced: bool) -> None:
    content = file.read_bytes()
    file.unlink()
    if replaced:
        file.write_bytes(content)


@pytest.mark.parametrize("replaced", [False, True])
async def test_s1_in_a_file_that_is_gone_nothing_is_stored(file: Path, replaced: bool) -> None:
    store = await SqliteStore.open(file)
    try:
        await publish(store, MANIFEST)
        assert await store.add(many(3)) == [A] * 3
        take_away(file, replaced=replaced)
        with pytest.raises(StoreError, match="deleted or replaced"):
            await store.add(many(2, 3))
        with pytest.raises(StoreError, match="deleted or replaced"):
            await store.ping()
    finally:
        await store.close()
