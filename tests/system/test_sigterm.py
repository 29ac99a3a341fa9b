"""SIGTERM under load: the collector finishes what it began, keeps what it acknowledged, exits 0."""

import socket
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from deniable.messages import Report, pack_upload, sign_report
from tests.support.collector import CollectorProcess, receipts_of
from tests.support.fleet import assert_counted_once, behind_a_proxy, results
from tests.support.proxy import Proxy

DEVICES = 300
BURST = 16
SECRET = bytes(range(32))
ACCEPTED = b'{"accepted": 1, "duplicates": 0, "refused": []}'
FAREWELL = "everything acknowledged is stored"


@pytest.mark.long
def test_what_was_acknowledged_under_load_is_stored_when_the_process_ends(tmp_path: Path) -> None:
    with (
        Proxy(burst=BURST) as proxy,
        behind_a_proxy(tmp_path, proxy, 60.0, BURST) as (collector, fleet),
    ):
        with fleet.reporting(DEVICES) as tasks:
            while len(proxy.acknowledged) < DEVICES // 3 or proxy.under_way < BURST // 2:
                assert not all(task.done() for task in tasks), "SIGTERM came too late"
                time.sleep(0.0005)
            collector.terminate()
            status, written = collector.wait()
            acknowledged = receipts_of(proxy.acknowledged)
            stored = collector.receipts()
            collector.start()
            devices = results(tasks, 90.0)
        assert_counted_once(collector, devices, DEVICES)
    assert (status, FAREWELL in written) == (0, True)
    assert len(acknowledged) >= DEVICES // 3
    assert set(acknowledged) <= set(stored)
    assert len(stored) < DEVICES  # there was load until the end


def await_refusal(port: int, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except ConnectionError:
            return
        time.sleep(0.01)
    raise AssertionError("the collector still listens")


@contextmanager
def begun_upload(collector: CollectorProcess, length: int) -> Iterator[socket.socket]:
    """Send the head of an upload; yield the connection once the collector handles the request."""
    with socket.create_connection(("127.0.0.1", collector.port), timeout=20) as connection:
        connection.sendall(
            b"POST /v1/reports HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n"
            b"Content-Type: application/msgpack\r\nContent-Length: %d\r\n\r\n" % length
        )
        # The interim answer proves it.
        assert connection.recv(1024).startswith(b"HTTP/1.1 100 ")
        yield connection


@pytest.mark.long  # tests/stores/test_group_commit.py closes a store that commits
def test_an_upload_that_waits_at_sigterm_is_stored(collector: CollectorProcess) -> None:
    body = pack_upload([sign_report(SECRET, Report(collector.survey_id, 0, 3))])
    with (
        closing(sqlite3.connect(collector.store, isolation_level=None)) as other,
        begun_upload(collector, len(body)) as connection,
    ):
        other.execute("BEGIN IMMEDIATE")  # no commit gets through while this one is open
        connection.sendall(body)
        collector.terminate()
        await_refusal(collector.port)
        assert not collector.receipts()
        other.execute("ROLLBACK")
        answer = connection.recv(65_536)
    status, written = collector.wait()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert ACCEPTED in answer
    assert (status, FAREWELL in written) == (0, True)
    assert collector.receipts() == receipts_of([body])


@pytest.mark.long
@pytest.mark.parametrize("comes", [True, False])
def test_a_body_that_comes_after_sigterm_or_never(collector: CollectorProcess, comes: bool) -> None:
    body = pack_upload([sign_report(SECRET, Report(collector.survey_id, 0, 3))])
    with begun_upload(collector, len(body)) as connection:
        collector.terminate()
        await_refusal(collector.port)
        connection.sendall(body if comes else body[:1])
        answer = connection.recv(65_536)
    status, written = collector.wait()
    assert (status, FAREWELL in written) == (0, True)
    # On a machine that stands still for half a second it comes too late, and is refused whole. It
    # would be cut without an answer once nobody waits for it any more.
    assert (ACCEPTED in answer) != (b"urn:deniable:error:timeout" in answer)
    assert comes or answer.startswith(b"HTTP/1.1 408 ")
    assert collector.receipts() == (receipts_of([body]) if ACCEPTED in answer else Counter())
