"""Devices that send the same bytes, again and again, until they are acknowledged."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from deniable.messages import Report, SignedReport, UploadAnswer, pack_upload, sign_report
from tests.support.collector import CollectorProcess, Receipt, receipts_of
from tests.support.reports import secret
from tests.support.surveys import CATEGORIES

_ANSWER_SECONDS = 30.0
_MOST_SECONDS = 120.0


class StubbornDevices:
    """One report each, and a connection of its own for each request.

    Attributes:
        verdicts: how many reports were called accepted and duplicates, in all answers.
        later: what answers other than 200 say about when to come back.

    Args:
        survey_id: what they answer.
        devices: how many.
        together: so many devices share a relay, which sends their reports in one request.
        at_once: so many requests are under way at once.
    """

    def __init__(
        self, survey_id: bytes, devices: int, *, together: int = 1, at_once: int = 32
    ) -> None:
        envelopes = [
            sign_report(secret(device), Report(survey_id, 0, device % len(CATEGORIES)))
            for device in range(devices)
        ]
        parts = [envelopes[first : first + together] for first in range(0, devices, together)]
        self._bodies, self._sizes = [*map(pack_upload, parts)], [*map(len, parts)]
        self.reports: list[SignedReport] = [*map(SignedReport.from_envelope, envelopes)]
        self.acknowledged = 0  # how many devices were told so
        self.verdicts: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()  # of the answers, 0 for requests that got none
        self.later: Counter[str] = Counter()
        self._most = at_once
        self._at_once = asyncio.Semaphore(at_once)
        self._chance = random.Random(0)

    @property
    def receipts(self) -> Counter[Receipt]:
        """Return what a store must hold of all of them."""
        return receipts_of(self._bodies)

    @property
    def counts(self) -> list[int]:
        counted = Counter(signed.report.response for signed in self.reports)
        return [counted[response] for response in range(len(CATEGORIES))]

    def check(self, collector: CollectorProcess) -> None:
        """See that a collector's store holds exactly what the devices sent, once each."""
        assert collector.receipts() == self.receipts
        assert collector.shown_counts() == self.counts
        assert "Traceback" not in collector.complaints

    async def send(self, ports: Sequence[int], part: int = 0, parts: int = 1) -> None:
        """Send until all of one part of the devices are acknowledged, each time to one port."""
        self._at_once = asyncio.Semaphore(self._most)  # of this event loop
        async with asyncio.timeout(_MOST_SECONDS), asyncio.TaskGroup() as group:
            for number in range(len(self._bodies))[part::parts]:
                group.create_task(self._send_one(number, ports))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return once something holds of them."""
        async with asyncio.timeout(_MOST_SECONDS):
            while True:
                if holds():
                    return
                await asyncio.sleep(0.001)

    async def _send_one(self, number: int, ports: Sequence[int]) -> None:
        while True:
            if await self._try(number, self._chance.choice(ports)):
                self.acknowledged += self._sizes[number]
                return
            await asyncio.sleep(self._chance.uniform(0.005, 0.05))

    async def _try(self, number: int, port: int) -> bool:
        """Send an upload; return if all of it is acknowledged."""
        answer = b""
        async with self._at_once:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(_ANSWER_SECONDS):
                    answer = await _exchange(port, self._bodies[number])
        head, _, body = answer.partition(b"\r\n\r\n")
        status = int(head.split(maxsplit=2)[1]) if head.startswith(b"HTTP/1.1 ") else 0
        read = UploadAnswer.from_json(body, self._sizes[number]) if status == 200 else None
        if read is None:
            # A cut answer is none.
            self.statuses[0 if status == 200 else status] += 1
            self.later.update(line for line in head.decode().splitlines() if "Retry-After" in line)
            return False
        self.statuses[status] += 1
        assert read.refused == (), read.refused
        self.verdicts.update(accepted=read.accepted, duplicates=read.duplicates)
        return True


async def _exchange(port: int, body: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(
            b"POST /v1/reports HTTP/1.1\r\nHost: collector\r\nConnection: close\r\n"
            b"Content-Type: application/msgpack\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        writer.write(body)
        return await reader.read()
    finally:
        writer.transport.abort()
