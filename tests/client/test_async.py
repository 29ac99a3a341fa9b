"""The client on asyncio: the same object, whose calls never block the event loop."""

import asyncio
import threading
from inspect import signature

import pytest

from deniable.client import Client, Delivery, OutcomeStatus
from tests.support.devices import NAME, NO_THREAD, Bench
from tests.support.watched import SECONDS, WatchedTransport

RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED


async def soon(event: threading.Event) -> None:
    """Wait for what another thread does, while the loop goes on."""
    assert await asyncio.to_thread(event.wait, SECONDS)


class SlowDraw:
    """A draw that is under way until the gate is opened."""

    def __init__(self) -> None:
        self.entered, self.gate = threading.Event(), threading.Event()

    def __call__(self) -> int:
        self.entered.set()
        assert self.gate.wait(SECONDS)
        return 0


@pytest.mark.parametrize("threaded", [True, False])
async def test_a_device_works_wholly_on_asyncio_also_where_no_thread_can_be_started(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, threaded: bool
) -> None:
    if not threaded:
        monkeypatch.setattr(threading.Thread, "start", NO_THREAD)
    async with bench.client() as client:
        assert (await client.arefresh()).ready == (NAME,)
        assert (await client.areport(NAME, "good")).status is RECORDED
        assert (await client.areport(NAME, "poor")).status is REPEATED
        assert (await client.aflush()).delivered == 1
    assert len(bench.transport.uploads) == 1
    assert not bench.is_open


def test_each_call_takes_what_its_synchronous_twin_takes() -> None:
    for method in ("report", "refresh", "flush", "close"):
        twin = getattr(Client, f"a{method}")
        assert signature(twin) == signature(getattr(Client, method))


async def test_the_loop_outruns_a_slow_network(bench: Bench, transport: WatchedTransport) -> None:
    client = bench.reported()
    transport.gate.clear()
    transport.threads.clear()
    sending = asyncio.create_task(client.aflush())
    await soon(transport.entered)
    # The request is under way, and here this coroutine is: it alone can let it go on.
    assert not sending.done()
    transport.gate.set()
    assert (await sending).delivered == 1
    assert threading.main_thread().name not in transport.threads


async def test_whoever_stops_waiting_for_a_report_undoes_nothing(bench: Bench) -> None:
    bench.ready()
    slow = SlowDraw()
    client = bench.client(unsafe_draw=slow)
    reporting = asyncio.create_task(client.areport(NAME, "good"))
    await soon(slow.entered)
    reporting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reporting
    slow.gate.set()
    # The thread has drawn: it commits, or D3 would allow a second draw.
    assert (await client.areport(NAME, "poor")).status is REPEATED
    assert bench.rows("SELECT count(*) FROM decisions") == [(1,)]


def test_nobody_waits_for_a_call_given_up(bench: Bench, transport: WatchedTransport) -> None:
    transport.gate.clear()
    abandoned: list[threading.Thread] = []

    async def app(client: Client) -> None:
        await client.areport(NAME, "good")
        flushing = asyncio.create_task(client.aflush())
        await soon(transport.entered)
        abandoned.extend(each for each in threading.enumerate() if each.name in transport.threads)
        flushing.cancel()

    client = bench.ready()
    transport.threads.clear()
    asyncio.run(app(client))  # ends while the request is held back: the gate is still shut
    assert {(each.daemon, each.is_alive()) for each in abandoned} == {(True, True)}
    transport.gate.set()
    for each in abandoned:
        each.join(SECONDS)
    assert bench.rows("SELECT status FROM decisions") == [("delivered",)]
    assert asyncio.run(client.aflush()) == Delivery()
    assert len(transport.uploads) == 1
