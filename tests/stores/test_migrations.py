"""A store of this schema becomes one of a made-up second one, or stays as it was."""

from pathlib import Path

import pytest

from deniable.stores import StoreError, UnknownSchema, migrate_store, open_store
from tests.stores.databases import many
from tests.stores.fullness import everything, fill_at_once
from tests.stores.places import NOW, A, D, counts, publish
from tests.stores.second_schema import BROKEN, have_second_schema
from tests.support.postgres import postgres_server
from tests.support.surveys import MANIFEST


@pytest.mark.parametrize("kind", ["postgres", "sqlite"])
async def test_a_store_is_migrated_on_request_and_as_a_whole_and_there_is_no_way_back(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = postgres_server()
    target = tmp_path / "it" if kind == "sqlite" else server.url(await server.create())
    store = await open_store(target, create=True)
    await fill_at_once(store)
    before = await everything(store)
    await store.close()
    with monkeypatch.context() as later:
        have_second_schema(later, BROKEN)
        with pytest.raises(UnknownSchema, match=r"an older version .* store migrate"):
            await open_store(target)
        with pytest.raises(StoreError, match="what_is_not_there"):
            await migrate_store(target)
    store = await open_store(target)  # which it would not be with half of the second schema
    assert await everything(store) == before
    await store.close()
    with monkeypatch.context() as later:
        have_second_schema(later)
        assert await migrate_store(target) == (1, 2)
        assert await migrate_store(target) == (2, 2)
        store = await open_store(target)
        assert await everything(store) == before
        assert await store.check() == []
        await store.close()
    for attempt in (open_store, migrate_store):
        with pytest.raises(UnknownSchema, match=r"newer version .* upgrade"):
            await attempt(target)


@pytest.mark.parametrize("kind", ["postgres", "sqlite"])
async def test_a_collector_that_runs_takes_nothing_once_the_store_is_migrated(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = postgres_server()
    target = tmp_path / "it" if kind == "sqlite" else server.url(await server.create())
    store = await open_store(target, create=True)
    await publish(store)
    assert await store.add(many(3)) == [A] * 3
    with monkeypatch.context() as later:
        have_second_schema(later)
        assert await migrate_store(target) == (1, 2)
    writes = (
        lambda: store.add(many(5)),
        store.ping,
        lambda: store.seal(MANIFEST.survey_id, 0, NOW),
    )
    for write in writes:
        with pytest.raises(UnknownSchema, match="migrated the store while it was open"):
            await write()
    await store.close()
    with monkeypatch.context() as later:
        have_second_schema(later)
        store = await open_store(target)
        assert await counts(store) == [3, 0, 0, 0, 0]
        assert await store.add(many(5)) == [D] * 3 + [A] * 2
        await store.close()
