"""The collector is killed in mid-upload, again and again: what it acknowledged stands."""

import random
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from tests.support.collector import CollectorProcess, receipts_of
from tests.support.fleet import Held, assert_counted_once, behind_a_proxy, results
from tests.support.proxy import Proxy

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
    with (
        Proxy(burst=BURST) as proxy,
        behind_a_proxy(tmp_path, proxy, 60.0, BURST) as (collector, fleet),
    ):
        with fleet.reporting(DEVICES) as tasks:
            effective = 0
            while effective < KILLS and not all(task.done() for task in tasks):
                effective += kill_in_mid_upload(collector, proxy, tasks, chance)
                acknowledged = receipts_of(proxy.acknowledged)
                assert set(acknowledged) <= set(collector.receipts())
                collector.start()
            devices = results(tasks, 90.0)
        assert effective == KILLS
        assert_counted_once(collector, devices, DEVICES)
