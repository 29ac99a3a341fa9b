"""Devices in numbers: the real client, each with its own state, in a few processes of threads."""

import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from unittest import mock

from deniable.client import IN_MEMORY, Client, ClientSettings, Survey
from deniable.client.client import engine_of
from deniable.client.ledger import refreshes
from deniable.client.sending import outbox, reply, uploader
from deniable.counterparts.signing import verify_signature
from deniable.messages import SignedReport
from deniable.stores.values import RECEIPT_KEY_BYTES
from tests.support.collector import NAME, CollectorProcess
from tests.support.proxy import Proxy
from tests.support.surveys import CATEGORIES, QUESTION

SURVEY = Survey(NAME, QUESTION, CATEGORIES, max_epsilon="1")
_PROCESSES = 2
_QUICKLY = reply.Backoff(first=0.02, most=0.5)


@dataclass(frozen=True, slots=True)
class Held:
    """What a device's state says of its one report."""

    key: bytes  # the public key under which it is signed
    response: int  # what the signed bytes say
    status: str  # pending, delivered or dropped
    verdict: str  # the collector's last word

    @property
    def receipt(self) -> tuple[bytes, int]:
        return self.key, self.response


def held(row: tuple[bytes, str, str]) -> Held:
    """Read a row (envelope, status, verdict) of a state."""
    envelope, status, verdict = row
    signed = SignedReport.from_envelope(envelope)
    verify_signature(signed)
    return Held(signed.public_key[:RECEIPT_KEY_BYTES], signed.report.response, status, verdict)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Devices that all run the same app."""

    collector: str  # the origin that the app was built with
    authority: str  # the public key that it was built with
    seconds: float  # how long they try at most, from when the first is let go
    files: Path  # where every tenth device keeps its state; the others keep theirs in memory
    threads: int = 8  # how many devices are at work at once in each process

    @contextmanager
    def reporting(self, devices: int) -> "Iterator[list[Future[list[Held]]]]":
        """Let devices report beside the test, until each is through or out of time."""
        shares = [range(first, devices, _PROCESSES) for first in range(_PROCESSES)]
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(_PROCESSES, mp_context=context) as pool:
            deadline = time.time() + self.seconds
            yield [pool.submit(self._report_all, share, deadline) for share in shares]

    def _report_all(self, devices: Sequence[int], deadline: float) -> list[Held]:
        # What the collector counts is the matter here: these never give up, and rest for no day.
        with (
            mock.patch.object(uploader, "BACKOFF", _QUICKLY),
            mock.patch.object(reply, "REST_SECONDS", _QUICKLY.most),
            mock.patch.object(reply, "MOST_SENDS", 1000),
            mock.patch.object(outbox, "MOST_SENDS", 1000),
            mock.patch.object(refreshes, "MOST_REQUESTS_A_DAY", 1000),
            ThreadPoolExecutor(self.threads) as pool,
        ):
            reports = pool.map(self._report, devices, repeat(deadline))
            return [report for report in reports if report is not None]

    def _report(self, device: int, deadline: float) -> Held | None:
        client = Client(
            self.collector,
            authority=self.authority,
            surveys=[SURVEY],
            state=self.files / f"{device}.sqlite" if device % 10 == 0 else IN_MEMORY,
            consent="on",
            background=False,
            settings=ClientSettings(first_epoch="now"),
        )
        with client:
            while NAME not in client.refresh(force=True).ready:
                if time.time() > deadline:
                    return None
                time.sleep(0.05)
            answer = CATEGORIES[device % len(CATEGORIES)]
            first = client.report(NAME, answer, strict=True)
            assert client.report(NAME, answer).epoch == first.epoch
            while client.flush(1.0).pending and time.time() < deadline:
                time.sleep(0.02)
            with engine_of(client).state.transaction(time.time()) as connection:
                query = "SELECT envelope, status, verdict FROM decisions"
                (row,) = connection.execute(query).fetchall()
        return held(row)


@contextmanager
def behind_a_proxy(
    folder: Path, proxy: Proxy, seconds: float, threads: int = 8
) -> Iterator[tuple[CollectorProcess, Fleet]]:
    """Yield a collector that was started behind a proxy, and a fleet that tries for so long."""
    with CollectorProcess(folder / "collector", proxy.origin) as collector:
        proxy.port = collector.port
        collector.start()
        yield collector, Fleet(proxy.origin, collector.authority, seconds, folder, threads)


def assert_counted_once(collector: CollectorProcess, devices: list[Held], expected: int) -> None:
    """See that so many devices delivered, and that the collector counted each of them once."""
    assert len(devices) == expected
    assert {device.status for device in devices} == {"delivered"}
    assert collector.receipts() == Counter(device.receipt for device in devices)
    responses = Counter(device.response for device in devices)
    counts = [responses[response] for response in range(len(CATEGORIES))]
    assert collector.shown_counts() == counts
    assert "Traceback" not in collector.complaints


def results(tasks: Sequence[Future[list[Held]]], seconds: float) -> list[Held]:
    deadline = time.monotonic() + seconds
    lists = [task.result(timeout=max(0.0, deadline - time.monotonic())) for task in tasks]
    return [record for records in lists for record in records]
