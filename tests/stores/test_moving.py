"""Moving a store: all of it or nothing, and never two stores that take reports."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from deniable.stores import NotEmpty, Store, StoreError, StoreMoved, move, place_text
from deniable.stores.rules.copying import StoredRow
from tests.stores.fullness import everything, fill_at_once
from tests.stores.places import A, D, Place, publish, reports
from tests.support.surveys import manifest

TO = "elsewhere"


@pytest.fixture
async def stores(place: Place, other_place: Place) -> AsyncIterator[tuple[Store, Store]]:
    source, target = [await each.open() for each in (place, other_place)]
    await fill_at_once(source)
    yield source, target
    await source.close()
    await target.close()


@pytest.fixture
async def held(stores: tuple[Store, Store]) -> dict[str, object]:
    """Return what is seen of the source before it moves: afterwards it shows no figures (S8)."""
    return await everything(stores[0])


async def test_a_moved_store_goes_on_in_the_other_place(
    stores: tuple[Store, Store], held: dict[str, object]
) -> None:
    source, target = stores
    await source.move_away(TO)  # and then it was killed
    with pytest.raises(StoreMoved):
        await move(source, target, "another place")
    assert await target.surveys() == []
    await move(source, target, TO)
    assert await everything(target) == held
    assert await target.add(reports([0, 50], 1)) == [D, A]
    with pytest.raises(StoreMoved):
        await source.add(reports([50]))
    # As after a kill: doing it again finds it done.
    await move(source, target, TO)
    assert await target.check() == []
    with pytest.raises(StoreMoved):
        await move(target, source, "back")
    assert await target.moved_to() is None


class Broken:
    """A store whose filling breaks, before or after its commit."""

    def __init__(self, store: Store, chunks: int | None, error: BaseException) -> None:
        self._store, self._chunks, self._error = store, chunks, error

    async def fill(self, chunks: AsyncIterator[Sequence[StoredRow]]) -> None:
        async def some() -> AsyncGenerator[Sequence[StoredRow], None]:
            number = 0
            async for chunk in chunks:
                yield chunk
                number += 1
                if number == self._chunks:
                    raise self._error
            whole.append(number)

        whole: list[int] = []
        async with aclosing(some()) as taken:
            await self._store.fill(taken)
        if whole != [0]:
            raise self._error


@pytest.mark.parametrize(
    ("chunks", "error"),
    [(1, StoreError("broken")), (4, asyncio.CancelledError()), (None, StoreError("broken"))],
)
async def test_after_a_failure_one_of_the_two_takes_reports(
    stores: tuple[Store, Store], held: dict[str, object], chunks: int | None, error: BaseException
) -> None:
    source, target = stores
    broken: Store = Broken(target, chunks, error)  # type: ignore[assignment]
    with pytest.raises(type(error)):
        await move(source, broken, TO)
    if chunks is None:  # what was broken is the answer to the commit
        assert await source.moved_to() == TO
        assert await everything(target) == held
    else:
        assert await target.surveys() == []
        assert await source.add(reports([50])) == [A]
    await move(source, target, TO)
    assert await target.check() == []


async def test_a_lost_mark_is_lifted(
    stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = stores
    mark = source.move_away

    async def lost(to: str) -> None:
        await mark(to)
        raise StoreError("the connection was lost")

    monkeypatch.setattr(source, "move_away", lost)
    with pytest.raises(StoreError, match="lost"):
        await move(source, target, TO)
    assert await source.add(reports([50])) == [A]


@pytest.mark.long
async def test_a_move_that_fails_does_not_lift_the_mark_under_which_another_copies(
    stores: tuple[Store, Store], held: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = stores
    lift, second = source.cancel_move, list[asyncio.Task[None]]()

    async def cancel_move() -> None:
        second.append(asyncio.create_task(move(source, target, TO)))
        await asyncio.wait(second, timeout=1.0)  # if it need not wait for this one, it is done
        await lift()

    monkeypatch.setattr(source, "cancel_move", cancel_move)
    broken: Store = Broken(target, 1, StoreError("broken"))  # type: ignore[assignment]
    with pytest.raises(StoreError, match="broken"):
        await move(source, broken, TO)
    await second[0]
    assert await everything(target) == held
    with pytest.raises(StoreMoved):
        await source.add(reports([50]))


async def test_a_move_that_is_cancelled_while_the_store_is_copied_fails(
    stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = stores
    rows = source.rows

    async def disturbed() -> AsyncGenerator[Sequence[StoredRow], None]:
        async for chunk in rows():
            yield chunk
        await source.cancel_move()
        assert await source.add(reports([50])) == [A]

    monkeypatch.setattr(source, "rows", disturbed)
    with pytest.raises(StoreError, match="was cancelled"):
        await move(source, target, TO)
    assert await target.surveys() == []
    assert await source.moved_to() is None


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("postgresql://me:secret@db.example:5/x?password=secret", "postgresql://db.example:5/x"),
        ("postgres://me@/x?host=/run/pg&port=5&user=me", "postgresql:///x?host=/run/pg&port=5"),
        (Path("/var/lib/a.sqlite"), "/var/lib/a.sqlite"),
    ],
)
async def test_a_place_is_named_without_what_is_secret(target: Path | str, text: str) -> None:
    assert place_text(target) == text


async def test_a_store_that_holds_something_else_is_no_target(stores: tuple[Store, Store]) -> None:
    source, target = stores
    await publish(target, manifest(name="of-another-collector"))
    with pytest.raises(NotEmpty):
        await move(source, target, TO)
    assert await source.add(reports([50])) == [A]
    await source.move_away(TO)
    with pytest.raises(StoreError, match="differs from the old one"):
        await move(source, target, TO)
    assert await source.moved_to() == TO
