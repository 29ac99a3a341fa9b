"""What strangers can have made, and how often: nothing twice, little at once, nobody kept out."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import ClientResponse, web

from deniable.estimates import estimate_histogram
from deniable.reading import EpochCounts, EpochStanding, EpochState
from deniable.server.routes import estimating, figures, published
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.estimating import SharedAnswer
from deniable.stores import StoreError
from tests.server.collector import Collector, problem, running
from tests.server.sockets import SECONDS, connected, healthy, until
from tests.support.clock import FakeClock
from tests.support.reports import envelope
from tests.support.surveys import MANIFEST, manifest

PATH = f"/v1/surveys/{MANIFEST.name}/histogram"
OTHER = manifest(name="other")


class Counted:
    """Counts the calls of a function, and can hold them up in their thread."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self.calls: list[Any] = []
        self.entered = threading.Event()
        self.release = threading.Event()
        self.release.set()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.calls.append(arguments)
        self.entered.set()
        assert self.release.wait(SECONDS)
        return self._function(*arguments, **named)


@pytest.fixture
def estimates(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted = Counted(estimate_histogram)
    monkeypatch.setattr("deniable.presenting.surveys.estimate_histogram", counted)
    monkeypatch.setattr(figures, "_PUBLIC_REST", 0.0)
    return counted


@asynccontextmanager
async def public(directory: Path) -> AsyncIterator[Collector]:
    async with running(directory, public=frozenset({MANIFEST.name})) as collector:
        await collector.send(*(envelope(device) for device in range(5)))
        yield collector


async def held(estimates: Counted) -> None:
    """Wait until an estimate is under way, and held."""
    assert await asyncio.to_thread(estimates.entered.wait, SECONDS)


async def test_surveys_are_described_once_and_listed_once_for_each_change(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = Counted(published._description)
    monkeypatch.setattr(published, "_description", described)
    opened = Counted(Catalogue._open)
    monkeypatch.setattr(Catalogue, "_open", lambda *arguments: opened(*arguments))
    bodies = set()
    for _ in range(3):
        collector.clock.time += 1
        bodies.add(await (await collector.client.get("/v1/surveys")).read())
        await (await collector.client.get(f"/v1/surveys/{MANIFEST.name}")).read()
    assert len(bodies) == len(described.calls) == 1
    assert opened.calls == []
    await collector.publish(OTHER)
    listed = await (await collector.client.get("/v1/surveys")).json()
    assert [survey["name"] for survey in listed["surveys"]] == [OTHER.name, MANIFEST.name]
    assert len(described.calls) == 2
    assert len(opened.calls) == 2


async def ask_for_levels(
    collector: Collector, first: int, count: int
) -> list[asyncio.Task[ClientResponse]]:
    return [
        asyncio.create_task(collector.client.get(f"{PATH}?level=0.{level:04}1"))
        for level in range(first, first + count)
    ]


async def test_only_so_many_may_wait_and_neither_analysts_nor_devices_among_them(
    tmp_path: Path, estimates: Counted
) -> None:
    async with public(tmp_path) as collector:
        token = await collector.token()
        estimates.release.clear()
        asked = await ask_for_levels(collector, 1, 60)
        await held(estimates)
        await until(lambda: sum(task.done() for task in asked) == 60 - estimating._MOST_WAITING)
        for task in asked:
            if task.done():
                answer = task.result()
                assert await problem(answer) == (503, "overloaded")
        assert (await collector.send(envelope(77))).accepted == 1
        assert await healthy(collector)
        # One of the strangers' histograms is being made, and one of the analysts'.
        analysts = asyncio.create_task(collector.client.get(PATH, headers=token))
        await until(lambda: len(estimates.calls) == 2)
        estimates.release.set()
        assert (await analysts).status == 200
        statuses = [(await task).status for task in asked]
        assert statuses.count(200) == estimating._MOST_WAITING
        assert statuses.count(503) == 60 - estimating._MOST_WAITING


async def test_nothing_is_made_for_whoever_is_gone_and_that_is_no_error_of_ours(
    tmp_path: Path, estimates: Counted
) -> None:
    errors: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
    async with public(tmp_path) as collector:
        estimates.release.clear()
        first = asyncio.create_task(collector.client.get(PATH))
        await held(estimates)
        for level in ("0.95", "0.5"):  # what is made for another, and what would be for them alone
            async with connected(collector) as (_, writer):
                writer.write(f"GET {PATH}?level={level} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                await writer.drain()
                assert await healthy(collector)  # by then it has been read
        last = await ask_for_levels(collector, 7, 1)
        assert await healthy(collector)
        estimates.release.set()
        assert (await first).status == (await last[0]).status == 200
        assert [call[3] for call in estimates.calls] == [0.95, 0.00071]
    gc.collect()
    assert errors == []


async def test_many_levels_thrash_no_more_than_the_strangers_own_memory(
    tmp_path: Path, estimates: Counted
) -> None:
    async with public(tmp_path) as collector:
        token = await collector.token()
        await collector.client.get(PATH, headers=token)
        for task in await ask_for_levels(collector, 1, estimating._MOST_KEPT):
            assert (await task).status == 200
        made = len(estimates.calls)
        await collector.client.get(PATH, headers=token)
        assert len(estimates.calls) == made
        # A token that is none makes no analyst of a stranger.
        await collector.client.get(PATH, headers={"Authorization": "Bearer none"})
        assert len(estimates.calls) == made + 1


class Reader:
    """A request of somebody who has not left."""

    transport = object()


READER = cast("web.BaseRequest", Reader())


async def test_after_each_histogram_of_theirs_strangers_wait_three_times_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, pauses = 100.0, []

    def goes(seconds: float) -> None:
        nonlocal now
        now += max(0.0, seconds)

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        goes(seconds)

    async def read() -> list[EpochCounts]:
        goes(0.5)
        return [EpochCounts(b"id", 0, {0: 1, 1: 1}, 0, EpochStanding(EpochState.OPEN))]

    def made(_: object) -> bytes:
        goes(2.0)
        return b"made"

    monkeypatch.setattr(estimating, "monotonic", lambda: now)
    monkeypatch.setattr(estimating, "sleep", pause)
    strangers = estimating.Estimating(rest=3.0)
    for level in (0.1, 0.2, 0.2, 0.3):
        assert await strangers.made(READER, (b"id", level), read, made) == b"made"
    assert pauses[0] < 0
    # The third was made before, and took only the reading.
    assert pauses[1:] == [7.5, 7.5, 1.5]


async def test_whoever_watches_while_reports_arrive_shares_what_was_made_seconds_ago(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, counts = 100.0, EpochCounts(b"id", 0, {0: 1}, 0, EpochStanding(EpochState.OPEN))

    async def read() -> list[EpochCounts]:
        return [counts]

    def made(shown: Sequence[EpochCounts]) -> bytes:
        return f"{shown[0].reports} {shown[0].standing.state}".encode()

    monkeypatch.setattr(estimating, "monotonic", lambda: now)
    strangers = estimating.Estimating(fresh=2.0)
    told = []
    for seconds, reports, state in (
        (0.0, 1, EpochState.OPEN),
        (1.9, 2, EpochState.OPEN),
        (0.1, 3, EpochState.OPEN),
        (0.1, 3, EpochState.SEALED),
    ):
        now += seconds
        counts = replace(counts, counts={0: reports}, standing=EpochStanding(state))
        told.append(await strangers.made(READER, b"id", read, made))
    assert told == [b"1 open", b"1 open", b"3 open", b"3 sealed"]


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
        with pytest.raises(StoreError, match="has not responded"):
            await shared.get()
        clock.time += 60
    assert store.asked == 1
    store.answers.set()
    await asyncio.sleep(0)
    assert await shared.get() == 2, "an old answer is none"
