"""Group commit: acknowledged after the commit only, and whatever waits meanwhile goes together."""

import asyncio
from pathlib import Path

import pytest

from deniable.stores import Overloaded, SqliteStore, Verdict, group_commit
from deniable.stores.group_commit import GroupCommit
from deniable.stores.values import Receipt
from tests.stores.databases import Gate, HookedStore, hooked_store
from tests.stores.places import A, C, D, counts, publish
from tests.support.reports import report


async def settle() -> None:
    """Let every task run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_s1_nothing_is_acknowledged_before_its_commit(file: Path) -> None:
    async with hooked_store(file) as store:
        gate = store.before = Gate()
        adding = asyncio.create_task(store.add([report(1)]))
        await gate.until_reached()
        await settle()
        assert not adding.done()
        assert await counts(store) == [0, 0, 0, 0, 0]
        gate.open()
        assert await adding == [A]
        # The reader is another connection: what it sees is committed.
        assert await counts(store) == [1, 0, 0, 0, 0]


async def test_what_arrives_during_a_commit_is_committed_together_by_the_next(file: Path) -> None:
    async with hooked_store(file) as store:
        gate = store.before = Gate()
        first = asyncio.create_task(store.add([report(1)]))
        await gate.until_reached()
        rest = [
            asyncio.create_task(store.add([report(device), report(1, 1)]))
            for device in range(2, 12)
        ]
        await settle()
        assert store.groups == [1]
        gate.open()
        assert await first == [A]
        assert await asyncio.gather(*rest) == [[A, C]] * 10
        assert store.groups == [1, 20]


async def test_a_request_that_is_given_up_is_stored_and_disturbs_nobody(file: Path) -> None:
    async with hooked_store(file) as store:
        gate = store.before = Gate()
        given_up = asyncio.create_task(store.add([report(1)]))
        await gate.until_reached()
        waiting = [asyncio.create_task(store.add([report(device)])) for device in (2, 3)]
        await settle()
        given_up.cancel()
        waiting[0].cancel()
        gate.open()
        assert await waiting[1] == [A]
        assert given_up.cancelled()
        assert waiting[0].cancelled()
        assert await store.add([report(1), report(2), report(3)]) == [D, D, D]


async def test_more_than_may_wait_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "MOST_WAITING", 4)
    async with hooked_store(file) as store:
        gate = store.before = Gate()
        committing = asyncio.create_task(store.add([report(d) for d in range(4)]))
        await gate.until_reached()
        # Those under way no longer wait: as many again may.
        waiting = asyncio.create_task(store.add([report(4), report(5), report(6)]))
        await settle()
        with pytest.raises(Overloaded):
            await store.add([report(7), report(8)])
        with pytest.raises(Overloaded):  # which could never wait
            await store.add([report(d) for d in range(5)])
        last = asyncio.create_task(store.add([report(9)]))
        await settle()
        with pytest.raises(Overloaded):
            await store.add([report(7)])
        gate.open()
        assert await committing == [A] * 4
        assert await waiting == [A] * 3
        assert await last == [A]
        assert store.groups == [4, 4]
        assert sum(await counts(store)) == 8
        assert await store.add([report(7), report(8)]) == [A, A]


async def test_s1_closing_commits_what_was_taken(file: Path) -> None:
    store = HookedStore(file)
    gate = store.before = Gate()
    await publish(store)
    adding = [asyncio.create_task(store.add([report(1)]))]
    await gate.until_reached()
    adding += [asyncio.create_task(store.add([report(device)])) for device in (2, 3)]
    await settle()
    closing = asyncio.create_task(store.close())
    await settle()
    assert not closing.done()
    gate.open()
    await closing
    assert await asyncio.gather(*adding) == [[A], [A], [A]]
    again = await SqliteStore.open(file)
    assert await again.add([report(1), report(2), report(3)]) == [D, D, D]
    await again.close()


async def test_an_unforeseen_failure_fails_its_group_and_no_other() -> None:
    another_waits = asyncio.Event()

    async def commit(receipts: list[Receipt]) -> list[Verdict]:
        if len(receipts) > 1:
            await another_waits.wait()
            raise RuntimeError("unforeseen")
        return [A]

    group = GroupCommit(commit)
    first = asyncio.create_task(group.add([report(1), report(2)]))
    await settle()
    last = asyncio.create_task(group.add([report(3)]))
    await settle()
    another_waits.set()
    with pytest.raises(RuntimeError):
        await first
    assert await last == [A]
    assert await group.add([report(4)]) == [A]


async def test_one_commit_takes_no_more_than_it_is_told_unless_one_request_has_more() -> None:
    sizes: list[int] = []

    async def commit(receipts: list[Receipt]) -> list[Verdict]:
        sizes.append(len(receipts))
        return [A] * len(receipts)

    group = GroupCommit(commit, most_together=3)
    requests = [[report(1)] * count for count in (2, 2, 1, 5, 1)]
    answers = await asyncio.gather(*map(group.add, requests))
    assert [len(answer) for answer in answers] == [2, 2, 1, 5, 1]
    assert sizes == [2, 3, 5, 1]
