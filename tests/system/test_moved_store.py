"""A store is moved while devices send: what the old one acknowledged is in the new one."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.cli.commands import succeed
from tests.support.collector import CollectorProcess, receipts_of
from tests.support.fleet import Fleet, assert_counted_once, results
from tests.support.postgres import postgres_server
from tests.support.proxy import Proxy

DEVICES = 240
BURST = 16


@pytest.mark.long
def test_a_move_under_load_loses_nothing_acknowledged_and_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = postgres_server()  # tests/stores/test_moving.py moves either kind to either
    first, second = str(tmp_path / "first"), server.url(asyncio.run(server.empty_store()))
    monkeypatch.setenv("DENIABLE_STORE", first)
    with Proxy(burst=BURST) as proxy:
        old = CollectorProcess(tmp_path / "collector", proxy.origin, {"DENIABLE_STORE": first})
        new = old.with_store(second)
        proxy.port = old.port
        fleet = Fleet(proxy.origin, old.authority, 240.0, tmp_path, threads=BURST)
        with old, new:
            old.start()
            with fleet.reporting(DEVICES) as tasks:
                while len(proxy.acknowledged) < DEVICES // 6:
                    assert not all(task.done() for task in tasks)
                    time.sleep(0.001)
                # In this process: a new one would take longer to start than all devices to report.
                succeed("store", "move", second, "--dir", old.directory)
                # The old collector runs on, and devices still send to it.
                acknowledged = receipts_of(proxy.acknowledged)
                assert acknowledged <= new.receipts() == old.receipts()
                old.terminate()
                assert old.wait()[0] == 0
                assert not all(task.done() for task in tasks)
                new.start()
                devices = results(tasks, 300.0)
            assert_counted_once(new, devices, DEVICES)
