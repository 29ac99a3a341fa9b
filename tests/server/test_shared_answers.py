"""What the store is asked for many at once: one answer, and none begun twice."""

import asyncio

import pytest

from deniable.server.routes.estimating import SharedAnswer
from deniable.stores import StoreError
from tests.support.clock import FakeClock


class Store:
    """Counts how often it is asked, and answers when it is told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.answers = asyncio.Event()
        self.error: Exception | None = None

    async def ask(self) -> int:
        self.asked += 1
        asked = self.asked
        await self.answers.wait()
        if self.error is not None:
            raise self.error
        return asked


async def test_whoever_asks_within_five_seconds_gets_the_same_answer() -> None:
    store, clock = Store(), FakeClock()
    shared = SharedAnswer(store.ask, 5.0, clock)
    first = [asyncio.create_task(shared.get()) for _ in range(100)]
    await asyncio.sleep(0)
    first[0].cancel()  # whoever leaves takes nobody's answer along
    store.answers.set()
    assert await asyncio.gather(*first[1:]) == [1] * 99
    clock.time += 4.9
    assert await shared.get() == 1
    clock.time += 0.1
    assert await shared.get() == 2
    store.error = StoreError("the disk is gone")
    clock.time += 5
    for _ in range(3):
        with pytest.raises(StoreError, match="the disk is gone"):
            await shared.get()
    assert store.asked == 3
    clock.time += 5
    store.error = None
    assert await shared.get() == 4


async def test_a_store_that_does_not_answer_fails_and_is_not_asked_again_meanwhile() -> None:
    store, clock = Store(), FakeClock()
    shared = SharedAnswer(store.ask, 0.01, clock)
    for _ in range(3):
        with pytest.raises(StoreError, match="has not answered"):
            await shared.get()
        clock.time += 60
    assert store.asked == 1
    store.answers.set()
    await asyncio.sleep(0)
    assert await shared.get() == 2, "an old answer is none"
