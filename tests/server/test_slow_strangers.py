"""Whoever sends slowly, reads slowly, or does neither: each connection comes to its end."""

import asyncio
from contextlib import suppress
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

SECONDS_OF = {"HEAD": 1_000.0, "BODY": 2_000.0, "ANSWER": 3_000.0, "IDLE": 4_000.0}
"""By these it is seen which time runs. Nobody waits: connections are swept as if it were over."""
LARGE = manifest(name="large", categories=tuple(f"{i:x}" * 4 + "é" * 20 for i in range(1 << 14)))
LIST = b"GET /v1/surveys HTTP/1.1\r\nHost: x\r\n\r\n"


class Timed(connections.Connection):
    """A connection that notes when it began, and how much it was given."""

    def __init__(self, *arguments: Any) -> None:
        self.began, self.came = asyncio.get_running_loop().time(), 0
        super().__init__(*arguments)

    def data_received(self, data: bytes) -> None:
        self.came += len(data)
        super().data_received(data)

    async def take(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        """Wait until it was given what is sent."""
        wanted = self.came + len(data)
        writer.write(data)
        await until(lambda: self.came >= wanted)

    async def overdue(self, limit: str) -> float:
        """Return when it is overdue, once this is the time that runs."""
        seconds, now = SECONDS_OF[limit], asyncio.get_running_loop().time
        await until(lambda: self.began + seconds <= self._overdue_at <= now() + seconds)
        return self._overdue_at


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "Connection", Timed)
    for name, seconds in SECONDS_OF.items():
        monkeypatch.setattr(connections, f"{name}_SECONDS", seconds)


async def only_one(collector: Collector) -> Timed:
    """Return the server's end of the only connection."""
    await until(lambda: len(collector.server.connections) == 1)
    (connection,) = collector.server.connections
    assert isinstance(connection, Timed)
    return connection


async def until_closed(collector: Collector, *, left: int = 0) -> None:
    """Wait until the server has no more connections than these."""
    await until(lambda: len(collector.server.connections) <= left)


SLOW = {
    "nothing": ("HEAD", b"", b""),
    "nothing behind an answer": ("IDLE", HEALTH + b"\r\n", b""),
    "the first line": ("HEAD", b"GET /", b"aaa"),
    "a header": ("HEAD", HEALTH, b"X: a\r\n"),
    "a header's value": ("HEAD", HEALTH + b"X: ", b"aaa"),
    "empty lines": ("HEAD", b"\r\n", b"\r\n"),
    "a head behind an answer": ("HEAD", HEALTH + b"\r\n" + HEALTH, b"X: a\r\n"),
    "a body": ("BODY", UPLOAD + b"Content-Length: 60000\r\n\r\n", b"\x91\x91"),
    "a body that was asked for": (
        *("BODY", UPLOAD + b"Expect: 100-continue\r\nContent-Length: 9999\r\n\r\n", b"aaa"),
    ),
}


@pytest.mark.usefixtures("timed")
@pytest.mark.parametrize(("limit", "begun", "rest"), SLOW.values(), ids=SLOW)
async def test_n1_what_comes_a_byte_at_a_time_or_never_runs_out_of_time(
    collector: Collector, limit: str, begun: bytes, rest: bytes
) -> None:
    async with connected(collector) as (reader, writer):
        connection = await only_one(collector)
        await connection.take(writer, begun)
        for _ in range(begun.count(HEALTH + b"\r\n")):
            assert (await read_answer(reader)).status == 200
        overdue = await connection.overdue(limit)
        for byte in rest:
            await connection.take(writer, bytes([byte]))
        state = dict(vars(connection))
        connection.sweep(overdue - 1)
        assert vars(connection) == state
        connection.sweep(overdue)
        if rest:
            while (answer := await read_answer(reader)).status == 100:
                pass
            assert answer.problem() == (408, "timeout")
            assert answer.headers["connection"] == "close"
        assert await read_answers(reader) == []
    await until_closed(collector)
    assert collector.total("connections_overdue") == (limit != "BODY")


@pytest.mark.parametrize("head", [HEALTH, UPLOAD.replace(b"msgpack", b"x")])
async def test_a_body_that_nobody_reads_is_thrown_away_for_some_seconds_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    async def flood(writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while True:
                writer.write(bytes(1))
                await writer.drain()
                await asyncio.sleep(0)

    monkeypatch.setattr(connections, "_LINGER_SECONDS", 0.05)
    async with running(tmp_path) as collector, connected(collector) as (reader, writer):
        writer.write(head + b"Content-Length: 9999999999\r\n\r\n")
        flooding = asyncio.create_task(flood(writer))
        (answer,) = await read_answers(reader)
        assert answer.status in {200, 415}
        await until_closed(collector)
        flooding.cancel()


@pytest.mark.usefixtures("timed")
async def test_n2_who_reads_no_answer_and_no_last_word_is_cut_off(collector: Collector) -> None:
    await collector.publish(LARGE)
    async with connected(collector) as (_, writer):
        connection = await only_one(collector)
        writer.write(LIST * 100)  # far more than the sockets between them hold
        await until(lambda: connection.answering)
        connection.sweep(await connection.overdue("ANSWER"))
        await until_closed(collector)
    async with connected(collector) as (_, writer):
        connection = await only_one(collector)
        await connection.take(writer, b"GET /")
        assert connection.transport is not None
        connection.transport.write(bytes(1 << 24))
        connection.sweep(await connection.overdue("HEAD"))
        assert collector.server.connections == {connection}
        connection.sweep(asyncio.get_running_loop().time() + connections._LINGER_SECONDS)
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


async def test_hundreds_of_requests_are_answered_in_their_order(collector: Collector) -> None:
    async with connected(collector) as (reader, writer):
        several = (HEALTH + b"\r\n" + upload() + b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n") * 70
        writer.write(several + HEALTH + CLOSE + b"\r\n")
        answers = await read_answers(reader)
    assert [answer.status for answer in answers] == [200, 200, 404] * 70 + [200]


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
    ],
)
async def test_a_connection_closed_on_one_side_is_closed(
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
    monkeypatch.setattr(connections, "_SWEEP_SECONDS", 0.01)
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.05)
    async with (
        running(tmp_path) as collector,
        connected(collector) as (one, _),
        connected(collector) as (other, _),
    ):
        reading = [asyncio.create_task(read_answers(reader)) for reader in (one, other)]
        ended, _ = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
        assert [await answers for answers in ended] == [[]]
        assert all("could not be checked" in each for each in told)
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
