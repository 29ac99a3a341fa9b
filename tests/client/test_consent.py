"""Consent: nothing happens without it, withdrawn bytes go (D4, D9)."""

import random
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from deniable.client import (
    Consent,
    ConsentMissing,
    Delivery,
    NotReady,
    OutcomeStatus,
    StateUnavailable,
)
from deniable.client.client import engine_of
from deniable.client.consent import lowered_by_environment
from deniable.client.state import erasing, state_file
from deniable.client.state.mark import Mark
from deniable.messages import Schedule
from tests.support.devices import NAME, Bench
from tests.support.surveys import DAY, DECLARED, MANIFEST, START, manifest

RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED
MARK = "device.sqlite.mark"


@pytest.mark.parametrize("consent", [Consent.UNSET, Consent.OFF, "unset", "off"])
def test_without_consent_all_rests(bench: Bench, tmp_path: Path, consent: Consent | str) -> None:
    threads = threading.enumerate()
    bundled = [bench.transport.publish(MANIFEST)]
    client = bench.client(consent=consent, background=True, manifests=bundled)
    outcome = client.report(NAME, "good")
    assert outcome.status is OutcomeStatus.NOT_RECORDED
    assert isinstance(outcome.error, ConsentMissing)
    with pytest.raises(ConsentMissing):
        client.report(NAME, "good", strict=True)
    refresh = client.refresh(force=True)
    assert refresh.ready == ()
    assert isinstance(refresh.errors[NAME], ConsentMissing)
    assert client.flush() == Delivery()
    assert client.consent is Consent(consent)
    client.close()
    assert list(tmp_path.iterdir()) == []
    assert bench.transport.requests == []
    assert bench.draw.count == 0
    assert threading.enumerate() == threads


@pytest.mark.parametrize("stored", Consent)
def test_the_stored_decision_wins(bench: Bench, stored: Consent) -> None:
    with bench.client(consent="unset") as first:
        first.set_consent(stored)
    for constructed in Consent:
        with bench.client(consent=constructed) as again:
            assert again.consent is stored
            again.refresh(force=True)
            assert again.report(NAME, "good").ok is (stored is Consent.ON)


def test_a_refresh_before_consent_does_not_hold_up_the_one_after_it(bench: Bench) -> None:
    client = bench.client(consent="unset", delivery_seconds=0)
    client.refresh(force=True)
    client.set_consent("on")
    assert isinstance(client.report(NAME, "good").error, NotReady)
    engine_of(client).refresh_when_due()  # what the thread does each time it wakes
    assert client.report(NAME, "good").ok


@pytest.mark.parametrize("withdrawn", ["off", "unset"])
@pytest.mark.parametrize("days", [1, pytest.param(120, marks=pytest.mark.long)])
def test_d4_withdrawing_erases_all_reports_bytes(bench: Bench, days: int, withdrawn: str) -> None:
    bench.transport.publish(manifest(schedule=Schedule(START, DAY, 400, DAY)))
    client = bench.ready(lifetime_epsilon="1000")
    bench.report_daily(client, range(days))
    envelopes = [envelope for (envelope,) in bench.rows("SELECT envelope FROM decisions")]
    assert all(bench.on_disk(envelope) for envelope in envelopes)
    client.set_consent(withdrawn)
    # Not even a part of one: payloads, keys and signatures are looked for on their own.
    parts = [e[a:b] for e in envelopes for a, b in ((3, 35), (37, 74), (-60, -10))]
    assert not [part for part in parts if bench.on_disk(part)]
    assert len(bench.rows("SELECT epoch FROM decisions")) == days
    client.close()
    assert not [part for part in parts[2::3] if bench.on_disk(part)]


@pytest.mark.parametrize("no", ["off", "unset"])
def test_d5_an_unstored_no_holds(bench: Bench, monkeypatch: pytest.MonkeyPatch, no: str) -> None:
    client = bench.reported()
    requests = len(bench.transport.requests)
    with monkeypatch.context() as disk:
        disk.setattr(Mark, "write", Mock(side_effect=OSError(28, "No space left on device")))
        with pytest.raises(StateUnavailable):
            client.set_consent(no, strict=True)
        assert not client.set_consent("on")  # a later wish that is not stored lifts nothing
        client.start()
    # The disk has room again, and the file still says on.
    assert bench.rows("SELECT consent FROM device") == [("on",)]
    assert client.consent == no
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is not RECORDED
    missing = client.refresh().errors[NAME]
    assert isinstance(missing, ConsentMissing)
    assert "is not stored yet" in str(missing)
    engine_of(client).uploader.send_due()
    assert client.flush().delivered == 0
    assert len(bench.transport.requests) == requests
    assert client.set_consent("on")
    assert client.report(NAME, "good").status is RECORDED
    assert client.flush().delivered == 2


def test_a_decision_once_stored_is_stored(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    client = bench.client(background=True)
    monkeypatch.setattr(engine_of(client).state, "erase_remains", bench.path.unlink)
    assert client.set_consent("on")


def test_an_older_version_says_that_it_cannot_store_a_refusal(bench: Bench) -> None:
    bench.reported().close()
    bench.rows("PRAGMA user_version = 1000")  # as if this version were the older one
    state = bench.path.read_bytes()
    older = bench.client()
    assert not older.set_consent("off", "settings page")
    assert older.consent is Consent.OFF
    assert older.flush().delivered == 0
    assert bench.path.read_bytes() == state  # whose schema it does not know


@pytest.mark.parametrize(
    ("environment", "decisions"),  # of the user, and what holds then
    [
        ("", "on=on"),
        ("DO_NOT_TRACK=1", "on=off unset=unset"),
        ("DO_NOT_TRACK=true", "on=off"),
        ("DO_NOT_TRACK=0", "on=on"),
        ("DO_NOT_TRACK=", "on=on"),
        ("DENIABLE_CONSENT=off", "on=off off=off"),
        ("DENIABLE_CONSENT= ON ", "on=on"),
        ("DENIABLE_CONSENT=on", "on=on off=off unset=unset"),
        ("DENIABLE_CONSENT=onn", "on=off unset=unset"),
        ("DENIABLE_CONSENT=on;DO_NOT_TRACK=1", "on=off"),
    ],
)
def test_the_environment_only_lowers_it(environment: str, decisions: str) -> None:
    variables = dict(each.split("=") for each in environment.split(";") if each)
    for decided, effective in (each.split("=") for each in decisions.split()):
        assert lowered_by_environment(Consent(decided), variables) == effective


def test_the_environment_is_read_at_each_call(bench: Bench) -> None:
    environment: dict[str, str] = {}
    client = bench.reported(environment=environment)
    environment["DO_NOT_TRACK"] = "1"
    assert client.consent is Consent.OFF
    for error in (client.report(NAME, "good").error, client.refresh(force=True).errors[NAME]):
        assert isinstance(error, ConsentMissing)
        assert "DO_NOT_TRACK" in str(error)  # or its developer searches for a while
    assert client.flush() == Delivery()
    assert bench.transport.uploads == []
    environment["DO_NOT_TRACK"] = "0"
    # It is no decision of the user's, so it erases nothing; what waited is sent.
    assert client.report(NAME, "good").status is REPEATED
    assert client.flush().delivered == 1
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is RECORDED


def test_a_process_s_environment_counts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    assert bench.client().consent is Consent.OFF


def test_consent_is_stored_with_its_time_and_origin(bench: Bench) -> None:
    client = bench.client(consent="unset")
    record = client.consent_record
    assert (record.decided, record.since, record.origin) == (Consent.UNSET, None, "initial")
    bench.clock.time = START + 77.9
    client.set_consent("on", "half a pair: \ud800")  # no origin is a reason not to decide
    bench.clock.time += 50
    record = bench.client(environment={"DENIABLE_CONSENT": "off"}).consent_record
    assert (record.decided, record.effective) == (Consent.ON, Consent.OFF)
    assert (record.since, record.origin) == (START + 77, "half a pair: ?")
    assert bench.rows("SELECT at, kind, detail FROM events") == [
        (START + 77, "consent", f"on, from half a pair: ?, for {NAME}")
    ]


def test_events_are_bounded(bench: Bench) -> None:
    client = bench.ready()
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1000 UNION SELECT i + 1 FROM n LIMIT 500)"
    bench.rows(f"{numbers} INSERT INTO events SELECT i, 0, 'consent', i FROM n")
    for turn in range(3):
        client.set_consent("off" if turn % 2 else "on", f"turn {turn}")
    rows = bench.rows("SELECT detail FROM events ORDER BY number")
    assert len(rows) == 300
    assert rows[-2:] == [("off, from turn 1",), (f"on, from turn 2, for {NAME}",)]


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
