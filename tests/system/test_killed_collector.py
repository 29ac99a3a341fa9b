"""The collector is killed in mid-upload, again and again: what it acknowledged stands."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from tests.support.collector import CollectorProcess, receipts_of
from tests.support.fleet import Fleet, Held, results
from tests.support.proxy import Proxy
from tests.support.surveys import CATEGORIES

DEVICES = 600
KILLS = 5
BURST = 16


def kill_in_mid_upload(
    collector: CollectorProcess,
    proxy: Proxy,
    tasks: Sequence[Future[list[Held]]],
    chance: random.Random,
) -> bool:
    """Kill the collector while it has requests to answer; tell whether it left any unanswered."""
    while proxy.under_way < BURST // 2:
        if all(task.done() for task in tasks):
            return False
        time.sleep(0.0005)
    time.sleep(chance.uniform(0, 0.008))  # before, between and after the commits of a burst
    unanswered = proxy.unanswered
    collector.kill()
    deadline = time.monotonic() + 10
    while proxy.under_way and time.monotonic() < deadline:
        time.sleep(0.001)
    return proxy.unanswered > unanswered


@pytest.mark.long
def test_kills_in_mid_upload_lose_nothing_acknowledged_and_count_nothing_twice(
    tmp_path: Path,
) -> None:
    chance = random.Random(2016)
    with Proxy(burst=BURST) as proxy:
        collector = CollectorProcess(tmp_path / "collector", proxy.origin)
        proxy.port = collector.port
        fleet = Fleet(proxy.origin, collector.authority, 60.0, tmp_path, threads=BURST)
        try:
            collector.start()
            with fleet.reporting(DEVICES) as tasks:
                effective = 0
                while effective < KILLS and not all(task.done() for task in tasks):
                    effective += kill_in_mid_upload(collector, proxy, tasks, chance)
                    acknowledged = receipts_of(proxy.acknowledged)
                    assert set(acknowledged) <= set(collector.receipts())
                    collector.start()
                devices = results(tasks, 90.0)
            counts = collector.shown_counts()
        finally:
            collector.close()

    assert effective == KILLS
    assert len(devices) == DEVICES
    assert {device.status for device in devices} == {"delivered"}
    assert collector.receipts() == Counter(device.receipt for device in devices)
    responses = Counter(device.response for device in devices)
    assert counts == [responses[response] for response in range(len(CATEGORIES))]
    assert "Traceback" not in collector.complaints
