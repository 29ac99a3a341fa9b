"""More than can be done: refused before it costs anything, in bounded memory, others served."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from deniable.intake import judge_report
from deniable.messages import (
    UploadAnswer,
    pack_upload,
)
from deniable.server.routes import uploads
from tests.server.collector import problem, running
from tests.server.sockets import SECONDS, HeldStore, healthy
from tests.support.effort import effort
from tests.support.reports import envelope

BATCH = 256


class Judging:
    """Counts how many reports are judged."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        monkeypatch.setattr(uploads, "judge_report", self.judge)

    def judge(self, *arguments: Any) -> Any:
        self.count += 1
        return judge_report(*arguments)


def resident_bytes() -> int:
    """Return how much memory this process has."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def batch(number: int, size: int = BATCH) -> bytes:
    return pack_upload([envelope(number * size + device) for device in range(size)])


async def test_what_is_too_much_is_refused_before_it_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MOST_WAITING", 4 * BATCH)
    async with running(tmp_path, address_rate=0.0) as collector:
        held = HeldStore(collector, monkeypatch, 4 * BATCH)
        judging = Judging(monkeypatch)
        taken = [asyncio.create_task(collector.upload(batch(number))) for number in range(4)]
        async with asyncio.timeout(SECONDS):
            await held.entered.wait()
        assert judging.count == 4 * BATCH
        for size in (1, BATCH):
            answer = await collector.upload(batch(9, size))
            assert await problem(answer) == (503, "overloaded")
        assert judging.count == 4 * BATCH
        assert await healthy(collector)
        held.release.set()
        for sent in asyncio.as_completed(taken, timeout=SECONDS):
            answer = await sent
            assert UploadAnswer.from_json(await answer.read(), BATCH) == UploadAnswer(BATCH, 0)
        # Room again, as much as before.
        again = await asyncio.gather(*(collector.upload(batch(number)) for number in range(4)))
        assert [answer.status for answer in again] == [200] * 4


async def test_whoever_leaves_before_the_answer_leaves_no_place_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MOST_WAITING", BATCH)
    async with running(tmp_path, address_rate=0.0) as collector:
        held = HeldStore(collector, monkeypatch, BATCH)
        sending = asyncio.create_task(collector.upload(batch(0)))
        await held.entered.wait()
        sending.cancel()
        held.release.set()
        async with asyncio.timeout(SECONDS):
            answer = await collector.upload(batch(0))
            while answer.status == 503:
                answer = await collector.upload(batch(0))
        # What the leaver sent was stored: nobody knew yet that there is nobody to tell.
        assert UploadAnswer.from_json(await answer.read(), BATCH) == UploadAnswer(0, BATCH)


@pytest.mark.long
async def test_others_get_their_turn_while_many_connections_send_the_largest_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No time is measured: between two turns of the event loop, at most 16 reports are judged.

    So whoever is ready gets a turn after less than a millisecond of verification, whatever waits.
    """
    connections = effort(200)
    monkeypatch.setattr(uploads, "MOST_WAITING", 200 * BATCH)
    async with running(tmp_path, address_rate=0.0) as collector:
        judging = Judging(monkeypatch)
        body = batch(0)
        before = resident_bytes()
        done = asyncio.Event()
        most = 0

        async def watch() -> None:
            nonlocal most
            seen = judging.count
            while not done.is_set():
                await asyncio.sleep(0)
                most, seen = max(most, judging.count - seen), judging.count

        connector = collector.client.session.connector
        assert connector is not None
        monkeypatch.setattr(connector, "_limit", 0)
        watching = asyncio.create_task(watch())
        answers = await asyncio.gather(*(collector.upload(body) for _ in range(connections)))
        done.set()
        await watching
        assert [answer.status for answer in answers] == [200] * connections
        assert judging.count == connections * BATCH
        assert most <= uploads._JUDGED_AT_ONCE
        # 200 bodies of 42 KiB at both ends of their connections, and then some.
        assert resident_bytes() - before < 200 << 20


async def test_nonsense_is_counted_against_its_sender_too(tmp_path: Path) -> None:
    async with running(tmp_path, address_rate=1.0) as collector:
        for _ in range(100):
            answer = await collector.upload(b"nonsense" * 1_024)
            if answer.status == 429:
                return
            assert answer.status == 400
    pytest.fail("nonsense may be sent for ever")
