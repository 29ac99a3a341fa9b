"""What is erased is nowhere on the disk: D9, and the end of consent."""

import random
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from deniable.client.client import engine_of
from deniable.client.state import erasing, state_file
from deniable.messages import Schedule
from tests.support.devices import NAME, Bench
from tests.support.surveys import DAY, DECLARED, START, manifest

MARK = "device.sqlite.mark"


def test_off_leaves_no_copy_where_the_file_was_rearranged(bench: Bench) -> None:
    # secure_delete overwrites what is erased, but not the copies that SQLite leaves in a page when
    # it moves some of its rows to another. These names and days are such that it does.
    order = random.Random(3)
    days = Schedule(START, DAY, 40, DAY)
    bench.surveys = [replace(DECLARED, name=f"{NAME}-{number}") for number in range(10)]
    for survey in bench.surveys:
        bench.transport.publish(manifest(name=survey.name, schedule=days))
    client = bench.ready(lifetime_epsilon="9000")
    for epoch in range(40):
        bench.clock.time = START + epoch * DAY
        for survey in bench.surveys:
            if order.random() < 0.5:
                assert client.report(survey.name, "good").ok
    signatures = [envelope[-65:-1] for (envelope,) in bench.rows("SELECT envelope FROM decisions")]
    client.set_consent("off")
    left = b"".join(bench.files().values())
    parts = [part[place : place + 16] for part in signatures for place in range(0, 49, 4)]
    assert [part for part in parts if part in left] == []


def test_what_others_read_is_erased_later(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_file, "BUSY_SECONDS", 0)
    client = bench.reported()
    envelope = bench.envelope
    with closing(sqlite3.connect(bench.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM device").fetchone()
        client.set_consent("off")
        assert bench.on_disk(envelope) != []  # a reader keeps SQLite from truncating the log
    client.flush()
    assert bench.on_disk(envelope) == []
    assert bench.rows("SELECT remains FROM device") == [(0,)]


def test_a_flush_tries_once_to_erase_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    client, tries = bench.several(4), []
    bench.rows("UPDATE device SET remains = 1")
    with monkeypatch.context() as reader:  # each try waits for seconds
        reader.setattr(erasing, "truncate_log", lambda _: tries.append(False))
        assert client.flush(10.0).delivered == 4
    assert tries == [False]
    assert client.flush().pending == 0
    assert bench.rows("SELECT remains FROM device") == [(0,)]


def test_a_crash_before_copies_are_erased_leaves_that_to_the_next_opening(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = bench.reported()
    with monkeypatch.context() as crash:
        crash.setattr(engine_of(client).state, "erase_remains", lambda: None)
        client.purge()
    assert bench.rows("SELECT remains FROM device") == [(1,)]
    client.close()
    assert bench.client().consent == "on"
    assert bench.rows("SELECT remains FROM device") == [(0,)]


def test_a_damaged_state_with_its_reports_and_keys_goes_after_a_week(bench: Bench) -> None:
    client = bench.reported()
    envelope = bench.envelope
    client.close()
    bench.path.write_bytes(b"not a database at all" + bench.path.read_bytes()[21:])
    client = bench.client()
    assert client.consent == "on"
    bench.clock.time += 7 * DAY - 1
    client.flush()
    assert bench.on_disk(envelope) == [f"device.sqlite.damaged-{START}"]
    bench.clock.time += 1
    client.flush()
    assert list(bench.files()) == ["device.sqlite", "device.sqlite-shm", "device.sqlite-wal", MARK]
