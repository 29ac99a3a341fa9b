"""The load: devices that send until they are acknowledged, and others that do not mean well."""

import asyncio
import heapq
import json
import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Final

from benchmarks.load import http_request
from benchmarks.soak.books import Books
from benchmarks.soak.connection import Answer, DeviceConnection
from benchmarks.soak.invalid import Invalid, InvalidRequest
from benchmarks.soak.plan import Plan
from benchmarks.soak.signing import Chunk
from benchmarks.soak.tally import Tally
from deniable.messages import pack_upload

_TICK_SECONDS: Final = 0.01
_MOST_BEHIND: Final = 10.0
"""Seconds of load that are made up for, if it could not be sent in time."""
_STOCK: Final = 512
_ALONE: Final = 128
"""Of a chunk's reports; the others are sent in batches."""
_BATCH: Final = 64
_CUT: Final = 0.02
"""Of all uploads, so many are cut in the middle, and as many right behind their end."""
_CALM_CONNECTIONS: Final = 64


@dataclass(slots=True)
class _Upload:
    """Reports of honest devices, on their way until they are acknowledged."""

    numbers: range
    request: bytes
    conflict: bytes | None = None
    attempts: int = 0


class Load:
    """Everything that is sent to a collector on 127.0.0.1.

    Signed reports come from ``chunks``, all others from ``invalid``; ``chance`` decides what is
    cut, and how long devices wait.
    """

    def __init__(
        self,
        plan: Plan,
        port: int,
        chunks: Connection,
        invalid: Invalid,
        books: Books,
        tally: Tally,
        chance: random.Random,
    ) -> None:
        self._plan = plan
        self._most_open = plan.connections * plan.workers
        self._port = port
        self._chunks = chunks
        self._invalid = invalid
        self._books = books
        self._tally = tally
        self._chance = chance
        self._fresh: deque[_Upload] = deque()
        self._waiting: list[tuple[float, int, _Upload]] = []
        self._under_way = 0
        self._idle: list[DeviceConnection] = []
        self._open: set[DeviceConnection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._acknowledged = 0

    async def calm(self) -> float:
        """Send valid reports, each once the last is acknowledged; return how many a second."""
        begun, before = time.monotonic(), self._acknowledged
        while (now := time.monotonic()) - begun < self._plan.calm_seconds:
            self._restock()
            while self._under_way < _CALM_CONNECTIONS and self._fresh:
                self._send(self._fresh.popleft(), whole=True)
            await asyncio.sleep(_TICK_SECONDS / 10)
        return (self._acknowledged - before) / (now - begun)

    async def storm(self, rate: float, seconds: float) -> None:
        """Send so many reports a second, valid and invalid, whatever becomes of them."""
        self._tally.offered = 0
        begun = last = time.monotonic()
        valid = invalid = 0.0
        while last - begun < seconds:
            await asyncio.sleep(_TICK_SECONDS)
            now = time.monotonic()
            due, last = rate * min(now - last, _MOST_BEHIND), now
            valid += due * (1 - self._plan.invalid)
            invalid += due * self._plan.invalid
            self._restock()
            self._sweep(now)
            while valid > 0 and (upload := self._next(now)) is not None:
                valid -= len(upload.numbers)
                self._send(upload)
            while invalid > 0 and self._has_connection():
                request = self._invalid.next()
                invalid -= request.reports
                self._send_invalid(request)
            most = rate * _MOST_BEHIND
            valid, invalid = min(valid, most), min(invalid, most)

    async def drain(self) -> int:
        """Let devices send until all are acknowledged; return how many reports are not."""
        deadline = time.monotonic() + self._plan.drain_seconds
        while (self._under_way or self._waiting) and (now := time.monotonic()) < deadline:
            self._sweep(now)
            while (
                self._under_way < _CALM_CONNECTIONS and self._waiting and self._waiting[0][0] <= now
            ):
                self._send(heapq.heappop(self._waiting)[2], whole=True)
            await asyncio.sleep(_TICK_SECONDS / 10)
        return sum(len(upload.numbers) for _, _, upload in self._waiting)

    async def close(self) -> None:
        """Close every connection."""
        for task in [*self._opening]:
            task.cancel()
        for connection in [*self._open]:
            connection.cut()
        await asyncio.sleep(0.1)

    def _restock(self) -> None:
        while len(self._fresh) < _STOCK and self._chunks.poll():
            chunk: Chunk = self._chunks.recv()
            first = self._books.enter(chunk).start
            bounds = [*range(_ALONE), *range(_ALONE, len(chunk.envelopes) + 1, _BATCH)]
            uploads = [
                _Upload(
                    range(first + start, first + stop),
                    http_request(pack_upload(chunk.envelopes[start:stop])),
                    chunk.conflicts[start] if start < len(chunk.conflicts) else None,
                )
                for start, stop in pairwise(bounds)
            ]
            self._chance.shuffle(uploads)
            self._fresh.extend(uploads)

    def _next(self, now: float) -> _Upload | None:
        if not self._has_connection():
            return None
        if self._waiting and self._waiting[0][0] <= now:
            return heapq.heappop(self._waiting)[2]
        return self._fresh.popleft() if self._fresh else None

    def _send(self, upload: _Upload, *, whole: bool = False) -> None:
        fault = 1.0 if whole else self._chance.random()
        request = upload.request
        self._under_way += 1
        self._tally.retries += upload.attempts > 0
        self._tally.offered += len(upload.numbers)
        if fault < _CUT:
            request = request[: len(request) // 2]
        else:
            self._books.send(upload.numbers)
        self._request(request, lambda answer: self._answered(upload, answer), cut=fault < 2 * _CUT)

    def _answered(self, upload: _Upload, answer: Answer | None) -> None:
        self._under_way -= 1
        status, body = answer or (0, b"")
        self._tally.statuses[status] += 1
        if status != 200:
            self._postpone(upload)
            return
        read = json.loads(body)
        refused = {each["index"]: each["code"] for each in read["refused"]}
        for code in refused.values():
            self._tally.broken[f"an honest report was refused as {code}"] += 1
        if read["accepted"] + read["duplicates"] + len(refused) != len(upload.numbers):
            self._tally.broken["an answer's numbers do not add up"] += 1
        self._books.acknowledge(upload.numbers, set(refused))
        self._acknowledged += len(upload.numbers) - len(refused)
        self._invalid.acknowledged(upload.request, len(upload.numbers), upload.conflict)

    def _postpone(self, upload: _Upload) -> None:
        upload.attempts += 1
        pause = min(self._plan.most_wait, 0.25 * 2.0 ** min(upload.attempts, 20))
        due = time.monotonic() + pause * self._chance.uniform(0.5, 1.0)
        heapq.heappush(self._waiting, (due, upload.numbers.start, upload))

    def _send_invalid(self, invalid: InvalidRequest) -> None:
        self._tally.invalid[invalid.kind] += 1
        self._tally.offered += invalid.reports

        def judge(answer: Answer | None) -> None:
            status, body = answer or (0, b"")
            self._tally.statuses[status] += 1
            if status == 500:
                self._tally.broken["an answer of status 500"] += 1
            if status == 200:
                read = json.loads(body)
                for each in read["refused"]:
                    self._tally.refused[each["code"]] += 1
                if read["accepted"] or (read["duplicates"] and not invalid.duplicates):
                    self._tally.broken[f"{invalid.kind} was taken"] += 1

        self._request(invalid.request, judge)

    def _has_connection(self) -> bool:
        return bool(self._idle) or (len(self._open) + len(self._opening) < self._most_open)

    def _request(
        self, request: bytes, answered: Callable[[Answer | None], None], *, cut: bool = False
    ) -> None:
        def use(connection: DeviceConnection) -> None:
            def finished(answer: Answer | None) -> None:
                if answer is not None and connection in self._open:
                    self._idle.append(connection)
                answered(answer)

            connection.request(request, time.monotonic(), finished)
            if cut:
                connection.hang_up()

        async def open_and_use() -> None:
            try:
                async with asyncio.timeout(10):
                    _, connection = await asyncio.get_running_loop().create_connection(
                        lambda: DeviceConnection(self._lost), "127.0.0.1", self._port
                    )
            except (OSError, TimeoutError):
                answered(None)
            else:
                self._open.add(connection)
                use(connection)

        if self._idle:
            use(self._idle.pop())
        else:
            task = asyncio.create_task(open_and_use())
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    def _lost(self, connection: DeviceConnection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _sweep(self, now: float) -> None:
        for connection in [*self._open]:
            if 0 < connection.deadline < now:
                connection.cut()
