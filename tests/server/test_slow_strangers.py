"""Whoever sends slowly, reads slowly, or does neither: each connection comes to its end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from deniable.messages import UploadAnswer
from deniable.server import connection_slots, connections
from tests.server.collector import Collector, running
from tests.server.sockets import (
    CLOSE,
    HEALTH,
    SECONDS,
    UPLOAD,
    HeldStore,
    connected,
    healthy,
    read_answer,
    read_answers,
    until,
    upload,
)
from tests.support.reports import envelope
from tests.support.surveys import manifest

pytestmark = pytest.mark.usefixtures("nothing_logged")

SHORT = 0.4
LONG = 1_000.0
LARGE = manifest(name="large", categories=tuple(f"{i:x}" * 4 + "é" * 20 for i in range(1 << 14)))


@asynccontextmanager
async def impatient(
    directory: Path, monkeypatch: pytest.MonkeyPatch, **seconds: float
) -> AsyncIterator[Collector]:
    """Yield a collector that has all the time there is, but for what is named."""
    monkeypatch.setattr(connections, "_SWEEP_SECONDS", 0.01)
    for name in ("HEAD_SECONDS", "BODY_SECONDS", "ANSWER_SECONDS", "IDLE_SECONDS"):
        monkeypatch.setattr(connections, name, seconds.get(name, LONG))
    async with running(directory) as collector:
        yield collector


async def drip(writer: asyncio.StreamWriter, data: bytes, *, pause: float = 0.005) -> None:
    """Send a byte at a time, over and over, for as long as it is taken."""
    with suppress(ConnectionError):
        while True:
            for at in range(len(data)):
                writer.write(data[at : at + 1])
                await writer.drain()
                await asyncio.sleep(pause)


async def until_closed(collector: Collector, *, left: int = 0) -> None:
    """Wait until the server has no more connections than these."""
    await until(lambda: len(collector.server.connections) <= left)


HEADS = {
    "the first line": (b"GET /", b"a"),
    "a header": (HEALTH, b"X: a\r\n"),
    "a header's value": (HEALTH + b"X: ", b"a"),
    "empty lines": (b"\r\n", b"\r\n"),
    "a head behind an answer": (HEALTH + b"\r\n" + HEALTH, b"X: a\r\n"),
}


@pytest.mark.parametrize(("begun", "rest"), HEADS.values(), ids=HEADS)
async def test_a_head_that_comes_a_byte_at_a_time_runs_out_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bytes, rest: bytes
) -> None:
    async with (
        impatient(tmp_path, monkeypatch, HEAD_SECONDS=SHORT, IDLE_SECONDS=SHORT) as collector,
        connected(collector) as (reader, writer),
    ):
        writer.write(begun)
        dripping = asyncio.create_task(drip(writer, rest))
        *first, last = await read_answers(reader)
        assert last.problem() == (408, "timeout")
        assert last.headers["connection"] == "close"
        assert [answer.status for answer in first] == [200] * (begun.count(b"\r\n\r\n"))
        await until_closed(collector)
        dripping.cancel()


BODIES = {
    "a body": (b"Content-Length: 60000\r\n\r\n", b"\x91"),
    "a chunk's size": (b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    "a chunk's extension": (b"Transfer-Encoding: chunked\r\n\r\n3;", b"a"),
    "a chunk": (b"Transfer-Encoding: chunked\r\n\r\nffff\r\n", b"\x91"),
    "chunks of a byte": (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    "a trailer": (b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: ", b"a"),
    "a body that was asked for": (b"Expect: 100-continue\r\nContent-Length: 9999\r\n\r\n", b"a"),
}


@pytest.mark.parametrize(("begun", "rest"), BODIES.values(), ids=BODIES)
async def test_a_body_that_comes_a_byte_at_a_time_runs_out_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bytes, rest: bytes
) -> None:
    monkeypatch.setattr(connections, "_LINGER_SECONDS", SHORT)
    async with (
        impatient(tmp_path, monkeypatch, BODY_SECONDS=SHORT) as collector,
        connected(collector) as (reader, writer),
    ):
        writer.write(UPLOAD + begun)
        dripping = asyncio.create_task(drip(writer, rest))
        answers = [answer for answer in await read_answers(reader) if answer.status != 100]
        assert [answer.problem() for answer in answers] == [(408, "timeout")]
        await until_closed(collector)
        dripping.cancel()


@pytest.mark.parametrize("head", [HEALTH, UPLOAD.replace(b"msgpack", b"x")])
async def test_a_body_that_nobody_reads_is_thrown_away_for_some_seconds_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    monkeypatch.setattr(connections, "_LINGER_SECONDS", SHORT)
    async with (
        impatient(tmp_path, monkeypatch) as collector,
        connected(collector) as (reader, writer),
    ):
        writer.write(head + b"Content-Length: 9999999999\r\n\r\n")
        dripping = asyncio.create_task(drip(writer, bytes(1), pause=0.0))
        (answer,) = await read_answers(reader)
        assert answer.status in {200, 415}
        await until_closed(collector)
        dripping.cancel()


@pytest.mark.parametrize(
    ("limit", "said"),
    [("HEAD_SECONDS", b""), ("IDLE_SECONDS", HEALTH + b"\r\n")],
    ids=["from the start", "behind an answer"],
)
async def test_a_connection_on_which_nothing_comes_is_closed_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, said: bytes
) -> None:
    async with (
        impatient(tmp_path, monkeypatch, **{limit: SHORT}) as collector,
        connected(collector) as (reader, writer),
    ):
        writer.write(said)
        answers = await read_answers(reader)
        assert [answer.status for answer in answers] == [200] * bool(said)
        await until_closed(collector)


async def test_who_reads_no_answer_is_cut_off_and_what_waited_is_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with impatient(tmp_path, monkeypatch, ANSWER_SECONDS=SHORT) as collector:
        await collector.publish(LARGE)
        async with connected(collector) as (_, writer):
            # Far more than the sockets between them hold.
            writer.write(b"GET /v1/surveys HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
            await until_closed(collector)


async def test_a_last_word_that_is_not_read_is_thrown_away_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers fill the socket, then the time for the next head runs out."""
    monkeypatch.setattr(connections, "_LINGER_SECONDS", SHORT)
    async with (
        impatient(tmp_path, monkeypatch, HEAD_SECONDS=SHORT, ANSWER_SECONDS=SHORT) as collector,
        connected(collector) as (_, writer),
    ):
        writer.write((HEALTH + b"\r\n") * 20_000 + b"GET /")
        await until_closed(collector)


@pytest.mark.parametrize("limit", ["MOST_CONNECTIONS", "_MOST_OF_ADDRESS"])
async def test_too_many_connections_are_turned_away_and_the_others_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    most = 8
    monkeypatch.setattr(connection_slots, limit, most)
    async with running(tmp_path) as collector:
        held = HeldStore(collector, monkeypatch, most)
        streams = []
        for device in range(most):
            reader, writer = await asyncio.open_connection(
                collector.client.host, collector.client.port
            )
            writer.write(upload(device))
            streams.append((reader, writer))
        async with asyncio.timeout(SECONDS):
            await held.entered.wait()
        for _ in range(3):
            async with connected(collector) as (reader, _):
                (answer,) = await read_answers(reader)
                assert answer.problem() == (503, "overloaded")
                assert answer.headers["connection"] == "close"
        assert collector.total("connections") == most
        assert collector.total("connections_refused") == 3
        held.release.set()
        for reader, _ in streams:
            served = await read_answer(reader)
            assert served.status == 200
        streams.pop()[1].close()
        await until_closed(collector, left=most - 1)
        assert collector.total("connections") == most - 1
        assert await healthy(collector)
        for _, writer in streams:
            writer.close()


async def test_hundreds_of_requests_in_one_segment_are_answered_in_their_order(
    collector: Collector,
) -> None:
    async with connected(collector) as (reader, writer):
        several = (HEALTH + b"\r\n" + upload() + b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n") * 200
        writer.write(several + HEALTH + CLOSE + b"\r\n")
        answers = await read_answers(reader)
    assert [answer.status for answer in answers] == [200, 200, 404] * 200 + [200]


FLOODS = {
    "requests": HEALTH + b"\r\n",
    "empty lines": b"\r\n",
    "a head without end": b"GET /healthz HTTP/1.1\r\n" + (b"X: " + b"a" * 8_000 + b"\r\n") * 60,
    "a long line": b"a" * 1_000,
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
async def test_what_comes_behind_a_request_is_not_read_before_its_answer(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, flood: bytes
) -> None:
    held = HeldStore(collector, monkeypatch)
    async with connected(collector) as (reader, writer):
        writer.write(upload())
        await held.entered.wait()
        (connection,) = collector.server.connections
        transport = connection.transport
        assert transport is not None
        writer.write(flood * (4_000_000 // len(flood)))
        await until(lambda: not transport.is_reading())
        assert len(connection._held) < 1 << 20
        held.release.set()
        answer = await read_answer(reader)
        assert answer.status == 200
    await until_closed(collector)


async def test_a_head_may_have_32_kib_and_no_more(collector: Collector) -> None:
    fields = b"".join(b"X%d: " % i + b"a" * 8_000 + b"\r\n" for i in range(3))
    async with connected(collector) as (reader, writer):
        for _ in range(2):  # each by itself
            writer.write(HEALTH + fields + b"\r\n")
            answer = await read_answer(reader)
            assert answer.status == 200
        writer.write(HEALTH + fields + b"Y: " + b"a" * 8_000 + b"\r\nZ: " + b"a" * 8_000)
        (answer,) = await read_answers(reader)
        assert answer.problem() == (400, "malformed")


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET /",
        HEALTH,
        upload()[:-1],
        UPLOAD + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
        UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\n",
    ],
)
async def test_a_connection_that_is_closed_on_one_side_is_closed(
    collector: Collector, begun: bytes
) -> None:
    async with connected(collector) as (reader, writer):
        writer.write(begun)
        writer.write_eof()
        assert [answer.status for answer in await read_answers(reader)] in ([], [100])
    await until_closed(collector)


async def test_a_report_whose_sender_has_left_is_counted_once(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldStore(collector, monkeypatch)
    async with connected(collector) as (reader, writer):
        writer.write(upload(1))
        await held.entered.wait()
        writer.write_eof()
        assert await read_answers(reader) == []
        held.release.set()
    await until_closed(collector)
    assert await collector.send(envelope(1)) == UploadAnswer(0, 1)


async def test_a_sender_who_leaves_just_before_the_body_is_read_is_no_failure_of_ours(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = connections.Connection.answer

    def lose_and_answer(self: connections.Connection, *arguments: Any) -> Any:
        self.evict()
        return answer(self, *arguments)

    monkeypatch.setattr(connections.Connection, "answer", lose_and_answer)
    async with connected(collector) as (reader, writer):
        writer.write(UPLOAD + b"Content-Length: 99\r\n\r\n\x91")
        assert await read_answers(reader) == []
    await until_closed(collector)
    assert collector.total("requests_failed") == 0


async def test_a_connection_that_cannot_be_swept_leaves_the_others_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told_: told.append(str(told_)))
    sweep = connections.Connection.sweep
    broken: list[connections.Connection] = []

    def sweep_but_one(self: connections.Connection, now: float) -> None:
        broken[:] = broken or [self]
        if self is broken[0]:
            raise KeyError
        sweep(self, now)

    monkeypatch.setattr(connections.Connection, "sweep", sweep_but_one)
    async with (
        impatient(tmp_path, monkeypatch, HEAD_SECONDS=SHORT) as collector,
        connected(collector) as (one, _),
        connected(collector) as (other, _),
    ):
        reading = [asyncio.create_task(read_answers(reader)) for reader in (one, other)]
        ended, _ = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
        assert [await answers for answers in ended] == [[]]
        assert all("could not be swept" in each for each in told)
        assert told


async def test_n2_nothing_is_read_while_aiohttp_wants_no_more_of_a_body(tmp_path: Path) -> None:
    async with running(tmp_path) as collector, connected(collector):
        await until(lambda: len(collector.server.connections) == 1)
        (connection,) = collector.server.connections
        assert connection.transport is not None
        connection.read_on(filled=True)
        connection.data_received(b"GET")  # what was on its way
        assert not connection.transport.is_reading()
        connection.read_on(filled=False)
        assert connection.transport.is_reading()
